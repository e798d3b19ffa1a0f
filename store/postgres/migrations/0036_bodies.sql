-- What models were asked and answered, of the runs that a policy selects.

CREATE TABLE {p}_bodies (
	tenant text COLLATE "C" NOT NULL,
	thread text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL,
	id     text COLLATE "C" NOT NULL, -- sorts by time
	data   bytea NOT NULL,            -- compressed JSON
	PRIMARY KEY (tenant, thread, run, id)
);
ALTER TABLE {p}_bodies ALTER COLUMN data SET STORAGE EXTERNAL;
