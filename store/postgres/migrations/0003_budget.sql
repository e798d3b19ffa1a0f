-- Budgets. Amounts are billionths of a US dollar. Rows of balances are locked in order of
-- scope and id.

CREATE TABLE {p}_balances (
	tenant   text COLLATE "C" NOT NULL,
	scope    text COLLATE "C" NOT NULL, -- tenant, agent, thread or run
	id       text COLLATE "C" NOT NULL,
	most     bigint,          -- the limit that somebody set, or NULL
	spent    bigint NOT NULL DEFAULT 0,
	reserved bigint NOT NULL DEFAULT 0, -- the sum of the reservations of this account
	in_doubt bigint NOT NULL DEFAULT 0, -- part of spent
	PRIMARY KEY (tenant, scope, id)
);

CREATE TABLE {p}_reservations (
	tenant text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL,
	data   text NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
);
