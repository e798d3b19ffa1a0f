-- Copies of messages, 256 in each, in a form that is read fast. A thread may have some, or none: they
-- are written later than the messages, and what no segment holds is read from the commits.

CREATE TABLE {p}_segments (
	tenant      TEXT    NOT NULL,
	thread      TEXT    NOT NULL,
	incarnation INTEGER NOT NULL, -- of the thread; a process of the version before does not remove segments
	upto        INTEGER NOT NULL, -- number of the last message
	data        BLOB    NOT NULL,
	PRIMARY KEY (tenant, thread, incarnation, upto)
);
