-- Budgets. Amounts are billionths of a US dollar.

CREATE TABLE {p}_balances (
	tenant   TEXT    NOT NULL,
	scope    TEXT    NOT NULL, -- tenant, agent, thread or run
	id       TEXT    NOT NULL,
	most     INTEGER,          -- the limit that somebody set, or NULL
	spent    INTEGER NOT NULL DEFAULT 0,
	reserved INTEGER NOT NULL DEFAULT 0, -- the sum of the reservations of this account
	in_doubt INTEGER NOT NULL DEFAULT 0, -- part of spent
	PRIMARY KEY (tenant, scope, id)
) WITHOUT ROWID;

CREATE TABLE {p}_reservations (
	tenant TEXT NOT NULL,
	run    TEXT NOT NULL,
	data   TEXT NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
) WITHOUT ROWID;
