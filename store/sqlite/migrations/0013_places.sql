-- A commit writes one entry of an index for its place in both logs. Where the row of a message is, the index of
-- one row for every 32 messages says: it is that row or one of those behind it.

DROP INDEX {p}_commits_upto;
DROP INDEX {p}_commits_last;
CREATE INDEX {p}_commits_last ON {p}_commits (tenant, thread, last, upto);
CREATE INDEX {p}_commits_upto ON {p}_commits (tenant, thread, upto) WHERE before / 32 < upto / 32;
