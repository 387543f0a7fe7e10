CREATE TABLE owner (
  owner_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  town TEXT NOT NULL,
  email TEXT                           -- NULL if unknown
);
CREATE TABLE animal (
  animal_id INTEGER PRIMARY KEY,
  owner_id INTEGER NOT NULL REFERENCES owner (owner_id),
  name TEXT NOT NULL,
  species TEXT NOT NULL,               -- 'cat', 'dog', 'goat', 'horse', 'parrot' or 'rabbit'
  born INTEGER NOT NULL,               -- a year
  weight_kg REAL NOT NULL
);
CREATE TABLE vet (
  vet_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  speciality TEXT NOT NULL,            -- 'birds', 'dentistry', 'general', 'skin' or 'surgery'
  joined INTEGER NOT NULL              -- a year
);
CREATE TABLE appointment (
  appointment_id INTEGER PRIMARY KEY,
  animal_id INTEGER NOT NULL REFERENCES animal (animal_id),
  vet_id INTEGER NOT NULL REFERENCES vet (vet_id),
  day TEXT NOT NULL,                   -- 'YYYY-MM-DD'
  reason TEXT NOT NULL,                -- 'check-up', 'injury', 'surgery', 'teeth' or 'vaccination'
  minutes INTEGER NOT NULL,
  bill REAL NOT NULL,                  -- in euros
  paid TEXT                            -- day of payment, 'YYYY-MM-DD'; NULL while unpaid
);
CREATE TABLE prescription (
  prescription_id INTEGER PRIMARY KEY,
  appointment_id INTEGER NOT NULL REFERENCES appointment (appointment_id),
  drug TEXT NOT NULL,
  doses INTEGER NOT NULL
);
