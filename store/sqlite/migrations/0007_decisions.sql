-- The decisions that were accepted, one for each question. It is removed with the thread
-- that asked.
CREATE TABLE {p}_decisions (
	tenant TEXT    NOT NULL,
	run    TEXT    NOT NULL, -- the run that asked
	ticket TEXT    NOT NULL,
	thread TEXT    NOT NULL, -- of the run
	tool   TEXT    NOT NULL,
	key_id TEXT    NOT NULL, -- of the actor, as are label and person
	label  TEXT    NOT NULL,
	person TEXT    NOT NULL,
	at     INTEGER NOT NULL, -- unix ms
	digest TEXT    NOT NULL, -- equal decisions have the same one
	data   TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, run, ticket)
) WITHOUT ROWID;
CREATE INDEX {p}_decisions_at ON {p}_decisions (tenant, at DESC, run, ticket);
CREATE INDEX {p}_decisions_thread ON {p}_decisions (tenant, thread);
