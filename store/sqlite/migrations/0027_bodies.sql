-- What models were asked and answered, of the runs that a policy selects.

CREATE TABLE {p}_bodies (
	tenant TEXT NOT NULL,
	thread TEXT NOT NULL,
	run    TEXT NOT NULL,
	id     TEXT NOT NULL, -- sorts by time
	data   BLOB NOT NULL, -- compressed JSON
	PRIMARY KEY (tenant, thread, run, id)
);
