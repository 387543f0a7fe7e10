CREATE TABLE company (
  company_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  country TEXT NOT NULL,
  founded INTEGER NOT NULL             -- a year
);
CREATE TABLE ship (
  ship_id INTEGER PRIMARY KEY,
  company_id INTEGER NOT NULL REFERENCES company (company_id),  -- the owner
  name TEXT NOT NULL,
  kind TEXT NOT NULL,                  -- 'bulk carrier', 'container ship', 'ferry', 'tanker' or 'trawler'
  built INTEGER NOT NULL,              -- a year
  length_m REAL NOT NULL
);
CREATE TABLE berth (
  berth_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  depth_m REAL NOT NULL,
  has_crane INTEGER NOT NULL           -- 1 or 0
);
CREATE TABLE visit (
  visit_id INTEGER PRIMARY KEY,
  ship_id INTEGER NOT NULL REFERENCES ship (ship_id),
  berth_id INTEGER NOT NULL REFERENCES berth (berth_id),
  arrived TEXT NOT NULL,               -- 'YYYY-MM-DD'
  departed TEXT,                       -- 'YYYY-MM-DD'; NULL while the ship is still in port
  fee REAL NOT NULL                    -- in euros
);
CREATE TABLE cargo (
  cargo_id INTEGER PRIMARY KEY,
  visit_id INTEGER NOT NULL REFERENCES visit (visit_id),
  goods TEXT NOT NULL,                 -- 'coal', 'fish', 'fruit', 'grain', 'machines', 'oil' or 'timber'
  tonnes INTEGER NOT NULL,
  hazardous INTEGER NOT NULL           -- 1 or 0
);
