-- The decisions that were accepted, one for each question. It is removed with the thread
-- that asked.
CREATE TABLE {p}_decisions (
	tenant text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL, -- the run that asked
	ticket text COLLATE "C" NOT NULL,
	thread text COLLATE "C" NOT NULL, -- of the run
	tool   text COLLATE "C" NOT NULL,
	key_id text COLLATE "C" NOT NULL, -- of the actor, as are label and person
	label  text COLLATE "C" NOT NULL,
	person text COLLATE "C" NOT NULL,
	at     bigint NOT NULL, -- unix ms
	digest text COLLATE "C" NOT NULL, -- equal decisions have the same one
	data   text NOT NULL -- JSON
);
CREATE INDEX {p}_decisions_at ON {p}_decisions (tenant, at DESC, run, ticket);
CREATE INDEX {p}_decisions_thread ON {p}_decisions (tenant, thread);
ALTER TABLE {p}_decisions ADD PRIMARY KEY (tenant, run, ticket);
