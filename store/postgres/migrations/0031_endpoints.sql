-- Endpoints of webhooks: who is told about the runs of a tenant.

CREATE TABLE {p}_endpoints (
	tenant   text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- Unix ms; NULL if no process may take it
	spec     text   NOT NULL, -- JSON
	state    text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_endpoints_due ON {p}_endpoints (due) WHERE due IS NOT NULL;

-- The hooks that were made for an endpoint, by run.
CREATE INDEX {p}_hooks_endpoint ON {p}_hooks (tenant, id, run COLLATE "C");
