-- Endpoints of webhooks: who is told about the runs of a tenant.

CREATE TABLE {p}_endpoints (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if no process may take it
	spec     TEXT    NOT NULL, -- JSON
	state    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_endpoints_due ON {p}_endpoints (due) WHERE due IS NOT NULL;

-- The hooks that were made for an endpoint, by run.
CREATE INDEX {p}_hooks_endpoint ON {p}_hooks (tenant, id, run);
