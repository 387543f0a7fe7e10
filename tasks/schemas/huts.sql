CREATE TABLE hut (
  hut_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  valley TEXT NOT NULL,
  altitude_m INTEGER NOT NULL,
  beds INTEGER NOT NULL
);
CREATE TABLE warden (
  warden_id INTEGER PRIMARY KEY,
  hut_id INTEGER NOT NULL REFERENCES hut (hut_id),
  name TEXT NOT NULL,
  since INTEGER NOT NULL               -- a year
);
CREATE TABLE guest (
  guest_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  home TEXT NOT NULL,                  -- a town
  birth_year INTEGER NOT NULL,
  club_member INTEGER NOT NULL         -- 1 or 0
);
CREATE TABLE stay (
  stay_id INTEGER PRIMARY KEY,
  guest_id INTEGER NOT NULL REFERENCES guest (guest_id),
  hut_id INTEGER NOT NULL REFERENCES hut (hut_id),
  first_night TEXT NOT NULL,           -- 'YYYY-MM-DD'
  nights INTEGER NOT NULL,
  price REAL NOT NULL,                 -- of the whole stay, in euros
  cancelled INTEGER NOT NULL           -- 1 or 0
);
CREATE TABLE meal (
  meal_id INTEGER PRIMARY KEY,
  stay_id INTEGER NOT NULL REFERENCES stay (stay_id),
  dish TEXT NOT NULL,
  cost REAL NOT NULL                   -- in euros
);
CREATE TABLE repair (
  repair_id INTEGER PRIMARY KEY,
  hut_id INTEGER NOT NULL REFERENCES hut (hut_id),
  part TEXT NOT NULL,                  -- 'bridge', 'heating', 'kitchen', 'roof' or 'windows'
  ordered TEXT NOT NULL,               -- 'YYYY-MM-DD'
  finished TEXT,                       -- 'YYYY-MM-DD'; NULL while under way
  cost REAL NOT NULL                   -- in euros
);
