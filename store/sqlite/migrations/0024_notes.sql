-- What programs keep about a thread, as JSON by name, and whether a note pins one of its runs, which then has the mark pin.

ALTER TABLE {p}_threads ADD COLUMN notes TEXT;
ALTER TABLE {p}_threads ADD COLUMN pinned INTEGER NOT NULL DEFAULT FALSE;
