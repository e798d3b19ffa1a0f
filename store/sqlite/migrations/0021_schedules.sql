-- Schedules: runs that start at given times, and what became of each time.

CREATE TABLE {p}_schedules (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if there is nothing to do
	spec     TEXT    NOT NULL, -- JSON
	state    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_schedules_due ON {p}_schedules (due) WHERE due IS NOT NULL;

CREATE TABLE {p}_firings (
	tenant   TEXT    NOT NULL,
	schedule TEXT    NOT NULL,
	number   INTEGER NOT NULL,
	data     TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, schedule, number)
) WITHOUT ROWID;
