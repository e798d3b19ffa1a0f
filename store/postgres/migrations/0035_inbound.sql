-- Triggers: requests of other systems that start runs of a tenant.

CREATE TABLE {p}_triggers (
	tenant   text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- always NULL
	spec     text   NOT NULL, -- JSON
	state    text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
);

-- What became of the requests to a trigger, by run.
CREATE TABLE {p}_fired (
	tenant text   NOT NULL,
	id     text   NOT NULL, -- of the trigger
	run    text   NOT NULL,
	at     bigint NOT NULL, -- Unix ms
	data   text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id, run)
);
CREATE INDEX {p}_fired_at ON {p}_fired (tenant, id, at, run COLLATE "C");
