-- Threads, runs and profiles. The tenant leads every key. Times are unix ms, except
-- where a comment says otherwise. {p} is the prefix of the tables.

CREATE TABLE {p}_tenants (
	tenant TEXT    NOT NULL,
	floor  INTEGER NOT NULL, -- highest fence of a thread that was removed; no thread gets it again
	PRIMARY KEY (tenant)
) WITHOUT ROWID;

CREATE TABLE {p}_threads (
	tenant     TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	parent     TEXT    NOT NULL DEFAULT '',
	title      TEXT    NOT NULL DEFAULT '',
	custom     TEXT,                        -- JSON object
	created    INTEGER NOT NULL DEFAULT 0,
	updated    INTEGER NOT NULL DEFAULT 0,
	touched    INTEGER NOT NULL DEFAULT 0,  -- orders the tenant's threads by their last commit
	fence      INTEGER NOT NULL DEFAULT 0,
	generation INTEGER NOT NULL DEFAULT 0,
	committed  INTEGER NOT NULL DEFAULT 0,  -- number of the owner's last commit
	messages   INTEGER NOT NULL DEFAULT 0,  -- length of the log
	last_seq   INTEGER NOT NULL DEFAULT 0,  -- highest number in the log of events
	posted     INTEGER NOT NULL DEFAULT 0,  -- inbox items that were ever posted
	unread     INTEGER NOT NULL DEFAULT 0,  -- inbox items that no commit has read
	open_run   TEXT    NOT NULL DEFAULT '', -- the latest run, while it is not done
	latest_run TEXT    NOT NULL DEFAULT '',
	run        TEXT,                        -- the open run's record, JSON, while it is running; what runs has is older then
	fork_of    TEXT,                        -- holds the first fork_seq messages, with those it is itself a fork of
	fork_seq   INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_threads_touched ON {p}_threads (tenant, touched DESC);
CREATE INDEX {p}_threads_parent ON {p}_threads (tenant, parent, touched DESC) WHERE parent <> '';
CREATE INDEX {p}_threads_fork_of ON {p}_threads (tenant, fork_of, fork_seq) WHERE fork_of IS NOT NULL;

-- What commits brought: one row for each, since that is how it is written and mostly
-- read. Within a thread, rows come in the order of their ids.
CREATE TABLE {p}_commits (
	tenant   TEXT    NOT NULL,
	thread   TEXT    NOT NULL,
	last     INTEGER NOT NULL, -- highest number in the log of events so far; -1 in a row that was inherited from another thread
	before   INTEGER NOT NULL, -- length of the log of messages before
	upto     INTEGER NOT NULL, -- and after
	time     INTEGER NOT NULL,
	run      TEXT    NOT NULL,
	epoch    INTEGER NOT NULL, -- highest of the entries
	messages TEXT,             -- JSON array, or NULL; those behind upto do not count
	entries  TEXT,             -- JSON array, or NULL; what differs from run and epoch says so itself
	calls    TEXT              -- records of the ledger, JSON array, or NULL; later ones replace earlier ones
);
CREATE INDEX {p}_commits_last ON {p}_commits (tenant, thread, last);
CREATE INDEX {p}_commits_upto ON {p}_commits (tenant, thread, upto) WHERE messages IS NOT NULL;

CREATE TABLE {p}_runs (
	tenant TEXT    NOT NULL,
	id     TEXT    NOT NULL,
	thread TEXT    NOT NULL,
	status TEXT    NOT NULL,
	born   INTEGER NOT NULL, -- orders runs; threads.touched of the first commit
	data   TEXT    NOT NULL, -- JSON; an older record while threads.run has one
	first_seq INTEGER NOT NULL, -- commits.last of its first row, or less
	last_seq  INTEGER NOT NULL, -- and of its last row, or more
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_runs_born ON {p}_runs (tenant, born DESC);
CREATE INDEX {p}_runs_thread ON {p}_runs (tenant, thread, born DESC);
CREATE INDEX {p}_runs_status ON {p}_runs (tenant, status, born DESC);

CREATE TABLE {p}_state (
	tenant TEXT NOT NULL,
	thread TEXT NOT NULL,
	run    TEXT NOT NULL, -- '' for state of the thread
	key    TEXT NOT NULL,
	value  TEXT NOT NULL, -- JSON
	PRIMARY KEY (tenant, thread, run, key)
) WITHOUT ROWID;

CREATE TABLE {p}_inbox (
	tenant TEXT    NOT NULL,
	thread TEXT    NOT NULL,
	id     TEXT    NOT NULL,
	pos    INTEGER NOT NULL,
	data   TEXT,             -- JSON; NULL once the item was read, for the id to be known
	PRIMARY KEY (tenant, thread, id)
) WITHOUT ROWID;
CREATE INDEX {p}_inbox_unread ON {p}_inbox (tenant, thread, pos) WHERE data IS NOT NULL;

CREATE TABLE {p}_profiles (
	tenant    TEXT    NOT NULL,
	namespace TEXT    NOT NULL,
	key       TEXT    NOT NULL,
	value     TEXT    NOT NULL, -- JSON
	updated   INTEGER NOT NULL, -- unix ns
	PRIMARY KEY (tenant, namespace, key)
) WITHOUT ROWID;
CREATE INDEX {p}_profiles_key ON {p}_profiles (tenant, key);
