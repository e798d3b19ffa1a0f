-- The queue of runs, and whom a thread belongs to.

ALTER TABLE {p}_threads ADD COLUMN resource TEXT NOT NULL DEFAULT '';
CREATE INDEX {p}_threads_resource ON {p}_threads (tenant, resource, touched DESC) WHERE resource <> '';

CREATE TABLE {p}_dispatches (
	tenant    TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	thread    TEXT    NOT NULL,
	run       TEXT    NOT NULL,
	status    TEXT    NOT NULL,           -- Queued also while it is claimed: its queue's row tells
	completed INTEGER NOT NULL DEFAULT 0, -- 0 while it is queued or claimed
	priority  INTEGER NOT NULL,
	available INTEGER NOT NULL,
	created   INTEGER NOT NULL,
	updated   INTEGER NOT NULL,
	epoch     INTEGER NOT NULL,
	revision  INTEGER NOT NULL DEFAULT 0,
	cancel    INTEGER NOT NULL DEFAULT 0,
	attempts  INTEGER NOT NULL DEFAULT 0,
	max_attempts INTEGER NOT NULL,
	steps     INTEGER NOT NULL DEFAULT 0,
	error     TEXT    NOT NULL DEFAULT '',
	dedupe    TEXT    NOT NULL DEFAULT '',
	key       TEXT    NOT NULL DEFAULT '', -- of idempotency
	digest    TEXT    NOT NULL DEFAULT '',
	request   TEXT,                        -- JSON; NULL wakes the run
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_dispatches_thread ON {p}_dispatches (tenant, thread, completed);
CREATE INDEX {p}_dispatches_run ON {p}_dispatches (tenant, run);
CREATE INDEX {p}_dispatches_completed ON {p}_dispatches (completed) WHERE completed > 0;
CREATE UNIQUE INDEX {p}_dispatches_key ON {p}_dispatches (tenant, key) WHERE key <> '';

-- One row for each thread that ever had a dispatch. At most one dispatch of a thread is
-- claimed, so the claim is here.
CREATE TABLE {p}_queues (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL, -- of the thread
	epoch    INTEGER NOT NULL DEFAULT 0,
	priority INTEGER, -- the highest of what can be claimed now; NULL if nothing can
	since    INTEGER, -- unix µs; how long something could be claimed. NULL if nothing can
	wake     INTEGER, -- when more can be claimed. NULL if that is not a matter of time
	claimed  TEXT,    -- the dispatch that somebody has, or NULL
	token    TEXT,
	consumer TEXT,
	lease    INTEGER, -- until when
	stamp    INTEGER, -- when it was claimed
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_queues_ready ON {p}_queues (priority, since) WHERE since IS NOT NULL;
CREATE INDEX {p}_queues_wake ON {p}_queues (wake) WHERE wake IS NOT NULL;
CREATE INDEX {p}_queues_lease ON {p}_queues (lease) WHERE lease IS NOT NULL;
