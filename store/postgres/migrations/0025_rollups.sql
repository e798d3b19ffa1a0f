-- Figures about runs by hour and by day. A process marks the runs that the log of changes says have ended; one that counts a run removes
-- its mark in the transaction that adds its figures.

CREATE TABLE {p}_ended (
	mark   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- about in the order in which they ended
	tenant text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL
);
INSERT INTO {p}_ended (tenant, run) SELECT tenant, id FROM {p}_runs WHERE status = 'done' ORDER BY born;

ALTER TABLE {p}_changes_floor ADD COLUMN marked bigint NOT NULL DEFAULT 0; -- the runs whose ends are up to this position are marked
UPDATE {p}_changes_floor SET marked = (SELECT coalesce(max(pos), 0) FROM {p}_changes);

CREATE TABLE {p}_rollups (
	tenant text COLLATE "C" NOT NULL,
	dim    text   NOT NULL, -- total, agent, user, version, model or tool
	span   bigint NOT NULL, -- seconds: an hour or a day
	at     bigint NOT NULL, -- when that began, Unix seconds
	value  text COLLATE "C" NOT NULL, -- of the dimension
	n bigint NOT NULL DEFAULT 0, errors bigint NOT NULL DEFAULT 0, prompt bigint NOT NULL DEFAULT 0, completion bigint NOT NULL DEFAULT 0, tokens bigint NOT NULL DEFAULT 0, cache_read bigint NOT NULL DEFAULT 0,
	cache_made bigint NOT NULL DEFAULT 0, thinking bigint NOT NULL DEFAULT 0, cost bigint NOT NULL DEFAULT 0, timed bigint NOT NULL DEFAULT 0, ms bigint NOT NULL DEFAULT 0, b0 bigint NOT NULL DEFAULT 0,
	b1 bigint NOT NULL DEFAULT 0, b2 bigint NOT NULL DEFAULT 0, b3 bigint NOT NULL DEFAULT 0, b4 bigint NOT NULL DEFAULT 0, b5 bigint NOT NULL DEFAULT 0, b6 bigint NOT NULL DEFAULT 0,
	b7 bigint NOT NULL DEFAULT 0, b8 bigint NOT NULL DEFAULT 0, b9 bigint NOT NULL DEFAULT 0, b10 bigint NOT NULL DEFAULT 0, b11 bigint NOT NULL DEFAULT 0, b12 bigint NOT NULL DEFAULT 0,
	b13 bigint NOT NULL DEFAULT 0, b14 bigint NOT NULL DEFAULT 0, b15 bigint NOT NULL DEFAULT 0, b16 bigint NOT NULL DEFAULT 0, b17 bigint NOT NULL DEFAULT 0, b18 bigint NOT NULL DEFAULT 0,
	b19 bigint NOT NULL DEFAULT 0, b20 bigint NOT NULL DEFAULT 0, b21 bigint NOT NULL DEFAULT 0, b22 bigint NOT NULL DEFAULT 0, b23 bigint NOT NULL DEFAULT 0, b24 bigint NOT NULL DEFAULT 0,
	b25 bigint NOT NULL DEFAULT 0, b26 bigint NOT NULL DEFAULT 0, b27 bigint NOT NULL DEFAULT 0, b28 bigint NOT NULL DEFAULT 0, b29 bigint NOT NULL DEFAULT 0, b30 bigint NOT NULL DEFAULT 0,
	b31 bigint NOT NULL DEFAULT 0, b32 bigint NOT NULL DEFAULT 0, b33 bigint NOT NULL DEFAULT 0, b34 bigint NOT NULL DEFAULT 0, b35 bigint NOT NULL DEFAULT 0, b36 bigint NOT NULL DEFAULT 0,
	b37 bigint NOT NULL DEFAULT 0, b38 bigint NOT NULL DEFAULT 0, b39 bigint NOT NULL DEFAULT 0, -- b0 to b39: durations by size
	PRIMARY KEY (tenant, dim, span, at, value)
);
CREATE INDEX {p}_rollups_at ON {p}_rollups (span, at);
