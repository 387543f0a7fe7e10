CREATE TABLE stage (
  stage_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  capacity INTEGER NOT NULL,
  covered INTEGER NOT NULL             -- 1 or 0
);
CREATE TABLE band (
  band_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  genre TEXT NOT NULL,                 -- 'blues', 'choir', 'folk', 'jazz', 'punk' or 'techno'
  country TEXT NOT NULL,
  formed INTEGER NOT NULL              -- a year
);
CREATE TABLE musician (
  musician_id INTEGER PRIMARY KEY,
  band_id INTEGER NOT NULL REFERENCES band (band_id),
  name TEXT NOT NULL,
  instrument TEXT NOT NULL,            -- 'bass', 'drums', 'guitar', 'keys', 'trumpet' or 'voice'
  age INTEGER NOT NULL
);
CREATE TABLE concert (
  concert_id INTEGER PRIMARY KEY,
  band_id INTEGER NOT NULL REFERENCES band (band_id),
  stage_id INTEGER NOT NULL REFERENCES stage (stage_id),
  day TEXT NOT NULL,                   -- 'YYYY-MM-DD'
  starts TEXT NOT NULL,                -- 'HH:MM'
  price REAL NOT NULL,                 -- in euros
  visitors INTEGER                     -- NULL where nobody counted
);
CREATE TABLE review (
  review_id INTEGER PRIMARY KEY,
  concert_id INTEGER NOT NULL REFERENCES concert (concert_id),
  paper TEXT NOT NULL,
  stars INTEGER NOT NULL               -- 1 to 5
);
