-- The hooks of runs: who is told about a run, and how far that has come.

CREATE TABLE {p}_hooks (
	tenant   TEXT    NOT NULL,
	run      TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if no process may take it any more
	data     TEXT    NOT NULL, -- JSON
	updated  INTEGER NOT NULL, -- Unix ms
	PRIMARY KEY (tenant, run, id)
) WITHOUT ROWID;
CREATE INDEX {p}_hooks_due ON {p}_hooks (due) WHERE due IS NOT NULL;
