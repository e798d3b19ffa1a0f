-- The rate limits of providers, which all processes share.

CREATE TABLE {p}_limits (
	name     TEXT    PRIMARY KEY,
	revision INTEGER NOT NULL,
	data     TEXT    NOT NULL, -- JSON
	updated  INTEGER NOT NULL  -- Unix ms
) WITHOUT ROWID;
