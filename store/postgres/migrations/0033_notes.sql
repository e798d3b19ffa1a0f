-- What programs keep about a thread, as JSON by name, and whether a note pins one of its runs, which then has the mark pin.

ALTER TABLE {p}_threads ADD COLUMN notes text, ADD COLUMN pinned boolean NOT NULL DEFAULT false;
