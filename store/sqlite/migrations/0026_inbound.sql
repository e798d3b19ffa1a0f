-- Triggers: requests of other systems that start runs of a tenant.

CREATE TABLE {p}_triggers (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- always NULL
	spec     TEXT    NOT NULL, -- JSON
	state    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- What became of the requests to a trigger, by run.
CREATE TABLE {p}_fired (
	tenant TEXT    NOT NULL,
	id     TEXT    NOT NULL, -- of the trigger
	run    TEXT    NOT NULL,
	at     INTEGER NOT NULL, -- Unix ms
	data   TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id, run)
) WITHOUT ROWID;
CREATE INDEX {p}_fired_at ON {p}_fired (tenant, id, at, run);
