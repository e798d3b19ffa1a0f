-- Schedules: runs that start at given times, and what became of each time.

CREATE TABLE {p}_schedules (
	tenant   text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- Unix ms; NULL if there is nothing to do
	spec     text   NOT NULL, -- JSON
	state    text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_schedules_due ON {p}_schedules (due) WHERE due IS NOT NULL;

CREATE TABLE {p}_firings (
	tenant   text   NOT NULL,
	schedule text   NOT NULL,
	number   bigint NOT NULL,
	data     text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, schedule, number)
);
