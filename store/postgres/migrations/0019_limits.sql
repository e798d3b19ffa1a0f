-- The rate limits of providers, which all processes share. Rows are small, few, and written several
-- times a second, so they are kept where a new version of a row can be written without an index entry.

CREATE TABLE {p}_limits (
	name     text   PRIMARY KEY,
	revision bigint NOT NULL,
	data     text   NOT NULL, -- JSON
	updated  bigint NOT NULL  -- Unix ms
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
