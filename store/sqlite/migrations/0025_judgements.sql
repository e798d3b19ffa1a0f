-- What is said about runs that have ended, a share of them by the policies of their agents.

CREATE TABLE {p}_judgements (
	tenant   TEXT    NOT NULL,
	run      TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if no process may take it
	born     INTEGER NOT NULL, -- when the run was created, Unix ms
	agent    TEXT    NOT NULL,
	version  TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	score    REAL,             -- NULL if there is none
	data     TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
) WITHOUT ROWID;
CREATE INDEX {p}_judgements_due ON {p}_judgements (due) WHERE due IS NOT NULL;
CREATE INDEX {p}_judgements_born ON {p}_judgements (tenant, born DESC, run DESC);
CREATE INDEX {p}_judgements_agent ON {p}_judgements (tenant, agent, born DESC, run DESC);
