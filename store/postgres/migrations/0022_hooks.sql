-- The hooks of runs: who is told about a run, and how far that has come.

CREATE TABLE {p}_hooks (
	tenant   text   NOT NULL,
	run      text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- Unix ms; NULL if no process may take it any more
	data     text   NOT NULL, -- JSON
	updated  bigint NOT NULL, -- Unix ms
	PRIMARY KEY (tenant, run, id)
);
CREATE INDEX {p}_hooks_due ON {p}_hooks (due) WHERE due IS NOT NULL;
