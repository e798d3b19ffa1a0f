-- The tables of the first release. The tenant leads every key. Times are unix ms, except where a comment says otherwise. {p} is the prefix of the
-- tables.

-- Tenants that threads were removed from.
CREATE TABLE {p}_tenants (
	tenant TEXT    NOT NULL,
	floor  INTEGER NOT NULL, -- highest fence of a thread that was removed; no thread gets it again
	PRIMARY KEY (tenant)
) WITHOUT ROWID;

-- A thread. The incarnation tells it from a removed thread with the same id: processes keep the logs that they have read.
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
	fork_of    TEXT,                        -- the thread that has the first fork_seq messages
	fork_seq   INTEGER NOT NULL DEFAULT 0,
	resource   TEXT    NOT NULL DEFAULT '',
	user_id    TEXT    NOT NULL DEFAULT '', -- '' if it belongs to no user
	incarnation INTEGER NOT NULL DEFAULT (random()),
	cost       INTEGER,                     -- of its runs, as they last began, waited or ended, in billionths of a US dollar; NULL if they cost nothing
	notes      TEXT,                        -- JSON object: what programs keep about the thread, by name
	edits      INTEGER NOT NULL DEFAULT 0,  -- changes of the row that no owner made
	pinned     INTEGER NOT NULL DEFAULT FALSE, -- whether a note pins one of its runs, which then has the mark pin
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_threads_touched ON {p}_threads (tenant, touched DESC);
CREATE INDEX {p}_threads_parent ON {p}_threads (tenant, parent, touched DESC) WHERE parent <> '';
CREATE INDEX {p}_threads_fork_of ON {p}_threads (tenant, fork_of, fork_seq) WHERE fork_of IS NOT NULL;
CREATE INDEX {p}_threads_resource ON {p}_threads (tenant, resource, touched DESC) WHERE resource <> '';
CREATE INDEX {p}_threads_user ON {p}_threads (tenant, user_id, touched DESC) WHERE user_id <> '';

-- What commits brought: one row for each, since that is how it is written and mostly read. Within a thread, rows come in the order of their ids. A
-- commit writes one index entry for its place in both logs. Where the row of a message is, the index of one row for every 32 messages says: it is
-- that row or one of the rows behind it.
CREATE TABLE {p}_commits (
	tenant   TEXT    NOT NULL,
	thread   TEXT    NOT NULL,
	last     INTEGER NOT NULL, -- highest number in the log of events so far; -1 in a row that was inherited from another thread
	before   INTEGER NOT NULL, -- length of the log of messages before
	upto     INTEGER NOT NULL, -- and after
	time     INTEGER NOT NULL,
	run      TEXT    NOT NULL,
	epoch    INTEGER NOT NULL, -- highest of the entries
	messages TEXT,             -- JSON array, or NULL; elements behind upto do not count
	entries  TEXT,             -- JSON array, or NULL; what differs from run and epoch says so itself
	calls    TEXT,             -- records of the ledger, JSON array, or NULL; later ones replace earlier ones
	asks     INTEGER           -- whether calls have tickets; NULL without calls
);
CREATE INDEX {p}_commits_last ON {p}_commits (tenant, thread, last, upto);
CREATE INDEX {p}_commits_upto ON {p}_commits (tenant, thread, upto) WHERE before / 32 < upto / 32;

-- A run. The columns from agent on repeat what the record says, as it last began, waited or ended: lists select by them. Partial indexes have only
-- the runs that a list of few would have to look for.
CREATE TABLE {p}_runs (
	tenant TEXT    NOT NULL,
	id     TEXT    NOT NULL,
	thread TEXT    NOT NULL,
	status TEXT    NOT NULL,
	born   INTEGER NOT NULL, -- orders runs; threads.touched of the first commit
	data   TEXT    NOT NULL, -- JSON; an older record while threads.run has one
	first_seq INTEGER NOT NULL, -- commits.last of its first row, or less
	last_seq  INTEGER NOT NULL, -- and of its last row, or more
	agent   TEXT   NOT NULL DEFAULT '',
	version TEXT   NOT NULL DEFAULT '',
	origin  TEXT   NOT NULL DEFAULT '',
	parent  TEXT   NOT NULL DEFAULT '',
	user_id TEXT   NOT NULL DEFAULT '', -- of its thread
	detail  TEXT   NOT NULL DEFAULT '', -- how it ended or what it waits for
	error   TEXT   NOT NULL DEFAULT '', -- its code
	cost    INTEGER NOT NULL DEFAULT 0, -- billionths of a US dollar
	created INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_runs_born ON {p}_runs (tenant, born DESC);
CREATE INDEX {p}_runs_thread ON {p}_runs (tenant, thread, born DESC);
CREATE INDEX {p}_runs_status ON {p}_runs (tenant, status, born) WHERE status <> 'done';
CREATE INDEX {p}_runs_agent ON {p}_runs (tenant, agent, born);
CREATE INDEX {p}_runs_version ON {p}_runs (tenant, version, born) WHERE version <> '';
CREATE INDEX {p}_runs_origin ON {p}_runs (tenant, origin, born) WHERE origin <> 'user';
CREATE INDEX {p}_runs_parent ON {p}_runs (tenant, parent, born) WHERE parent <> '';
CREATE INDEX {p}_runs_user ON {p}_runs (tenant, user_id, born) WHERE user_id <> '';
CREATE INDEX {p}_runs_detail ON {p}_runs (tenant, detail, born) WHERE detail <> '' AND detail <> 'natural_end';
CREATE INDEX {p}_runs_error ON {p}_runs (tenant, error, born) WHERE error <> '';
CREATE INDEX {p}_runs_cost ON {p}_runs (tenant, born) WHERE cost >= 100000000;

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
	mark      TEXT,             -- JSON, or NULL: what is to be known about the value when it is read, such as that a tainted run wrote it
	PRIMARY KEY (tenant, namespace, key)
) WITHOUT ROWID;
CREATE INDEX {p}_profiles_key ON {p}_profiles (tenant, key);

-- The queue of runs. Until a run starts, its dispatch is its record.
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
	crashes   INTEGER NOT NULL DEFAULT 0, -- processes that died while they ran it
	lost      INTEGER NOT NULL DEFAULT 0, -- when its last owner was lost, or 0
	born      INTEGER, -- orders runs, if it is the record of its run until that starts; NULL otherwise
	failures  TEXT,                        -- of its attempts, the last 20: JSON array, or NULL
	message   TEXT    NOT NULL DEFAULT '', -- id of the client's message that it has accepted: a thread accepts one once
	said      TEXT    NOT NULL DEFAULT '', -- digests of the message
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_dispatches_thread ON {p}_dispatches (tenant, thread, completed);
CREATE INDEX {p}_dispatches_completed ON {p}_dispatches (completed) WHERE completed > 0;
CREATE UNIQUE INDEX {p}_dispatches_key ON {p}_dispatches (tenant, key) WHERE key <> '';
CREATE INDEX {p}_dispatches_run ON {p}_dispatches (tenant, run) WHERE born IS NOT NULL;
CREATE INDEX {p}_dispatches_born ON {p}_dispatches (tenant, born DESC) WHERE completed = 0 AND born IS NOT NULL;
-- For lists of the few that ended in another way than by being processed.
CREATE INDEX {p}_dispatches_ended ON {p}_dispatches (tenant, id) WHERE status IN ('DeadLetter', 'Cancelled', 'Superseded');
-- The thread does not lead, so that it is not taken for the look-ups of a thread's dispatches.
CREATE UNIQUE INDEX {p}_dispatches_message ON {p}_dispatches (message, thread, tenant) WHERE message <> '';

-- One row for each thread that ever had a dispatch. At most one dispatch of a thread is claimed, so the claim is here.
CREATE TABLE {p}_queues (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL, -- of the thread
	epoch    INTEGER NOT NULL DEFAULT 0,
	priority INTEGER, -- the highest of what can be claimed now; NULL if nothing can
	since    INTEGER, -- unix µs; how long something could be claimed. NULL if nothing can
	wake     INTEGER, -- when more can be claimed. NULL if that is not a matter of time
	claimed  TEXT,    -- the dispatch that a consumer has, or NULL
	token    TEXT,
	consumer TEXT,
	lease    INTEGER, -- until when
	stamp    INTEGER, -- when it was claimed
	suspect INTEGER NOT NULL DEFAULT 0, -- one of its dispatches may have killed its processes
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_queues_wake ON {p}_queues (wake) WHERE wake IS NOT NULL;
CREATE INDEX {p}_queues_lease ON {p}_queues (lease) WHERE lease IS NOT NULL;
CREATE INDEX {p}_queues_ready ON {p}_queues (suspect, priority, since) WHERE since IS NOT NULL;
-- The threads of each tenant that can be claimed, for claims that except some tenants: they go
-- from tenant to tenant and read nothing of those.
CREATE INDEX {p}_queues_tenant ON {p}_queues (suspect, tenant, priority, since) WHERE since IS NOT NULL;

-- The number of dispatches that have ever become dead letters, which does not fall when they are retried, dropped or purged. It has one row.
CREATE TABLE {p}_dead_letters (n INTEGER NOT NULL);
INSERT INTO {p}_dead_letters (n) VALUES (0);

-- Budgets. Amounts are billionths of a US dollar.
CREATE TABLE {p}_balances (
	tenant   TEXT    NOT NULL,
	scope    TEXT    NOT NULL, -- tenant, agent, thread or run
	id       TEXT    NOT NULL,
	most     INTEGER,          -- the limit, or NULL
	spent    INTEGER NOT NULL DEFAULT 0,
	reserved INTEGER NOT NULL DEFAULT 0, -- the sum of the reservations of this account
	in_doubt INTEGER NOT NULL DEFAULT 0, -- part of spent
	PRIMARY KEY (tenant, scope, id)
) WITHOUT ROWID;

CREATE TABLE {p}_reservations (
	tenant TEXT NOT NULL,
	run    TEXT NOT NULL,
	data   TEXT NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
) WITHOUT ROWID;

-- The configuration of the whole server: it belongs to no tenant.
CREATE TABLE {p}_config_head (
	one      INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	revision INTEGER NOT NULL DEFAULT 0,
	last     INTEGER NOT NULL DEFAULT 0,
	live     INTEGER NOT NULL DEFAULT 0,
	canary   TEXT -- JSON, or NULL
);
INSERT INTO {p}_config_head (one) VALUES (1);

CREATE TABLE {p}_config_records (
	namespace TEXT    NOT NULL,
	id        TEXT    NOT NULL,
	revision  INTEGER NOT NULL,
	spec      TEXT    NOT NULL, -- JSON
	overrides TEXT    NOT NULL, -- JSON, or ''
	meta      TEXT    NOT NULL, -- JSON, without the overrides
	PRIMARY KEY (namespace, id)
);

CREATE TABLE {p}_config_secrets (
	ref  TEXT NOT NULL,
	data TEXT NOT NULL, -- JSON; the secret in it is encrypted
	PRIMARY KEY (ref)
);

CREATE TABLE {p}_config_publications (
	number   INTEGER NOT NULL PRIMARY KEY,
	base     INTEGER NOT NULL,
	at       INTEGER NOT NULL,
	data     TEXT    NOT NULL, -- JSON, without the manifest
	manifest TEXT,             -- JSON array, or NULL
	runs     INTEGER,          -- the tally; NULL if there is none
	errors   INTEGER,
	cost     INTEGER,          -- billionths of a US dollar
	latency  INTEGER
);

CREATE TABLE {p}_config_documents (
	hash TEXT NOT NULL,
	data TEXT NOT NULL, -- JSON
	PRIMARY KEY (hash)
);

-- Which publications have a document, in their entries or their manifest.
CREATE TABLE {p}_config_uses (
	hash        TEXT    NOT NULL,
	publication INTEGER NOT NULL,
	PRIMARY KEY (hash, publication)
) WITHOUT ROWID;
CREATE INDEX {p}_config_uses_publication ON {p}_config_uses (publication);

CREATE TABLE {p}_config_events (
	seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- the order in which they were applied
	id       TEXT    NOT NULL UNIQUE,
	time     INTEGER NOT NULL, -- unix µs
	action   TEXT    NOT NULL,
	resource TEXT    NOT NULL,
	actor    TEXT    NOT NULL,
	data     TEXT    NOT NULL, -- JSON, without before and after
	before   TEXT    NOT NULL, -- JSON, or ''
	after    TEXT    NOT NULL
);
CREATE INDEX {p}_config_events_time ON {p}_config_events (time);
CREATE INDEX {p}_config_events_action ON {p}_config_events (action);
CREATE INDEX {p}_config_events_resource ON {p}_config_events (resource);
CREATE INDEX {p}_config_events_actor ON {p}_config_events (actor);

-- The decisions that were accepted, one for each question. It is removed with the thread that asked.
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

-- Copies of messages, 256 in each, in a form that is read fast. A thread may have some, or none: they are written later than the messages, and what
-- no segment holds is read from the commits.
CREATE TABLE {p}_segments (
	tenant      TEXT    NOT NULL,
	thread      TEXT    NOT NULL,
	incarnation INTEGER NOT NULL, -- of the thread
	upto        INTEGER NOT NULL, -- number of the last message
	data        BLOB    NOT NULL,
	PRIMARY KEY (tenant, thread, incarnation, upto)
);

-- Files that messages refer to, by the digest of their type and bytes.
CREATE TABLE {p}_blobs (
	tenant     TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	media_type TEXT    NOT NULL,
	size       INTEGER NOT NULL,
	created    INTEGER NOT NULL, -- unix µs
	data       BLOB,             -- if it is small
	body       TEXT    NOT NULL, -- the key of its parts, or ''
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_blobs_created ON {p}_blobs (tenant, created, id, size);

CREATE TABLE {p}_blob_parts (
	body TEXT    NOT NULL,
	n    INTEGER NOT NULL,
	data BLOB    NOT NULL,
	PRIMARY KEY (body, n)
);

-- Uploads that are not finished.
CREATE TABLE {p}_blob_uploads (
	body TEXT    NOT NULL PRIMARY KEY,
	at   INTEGER NOT NULL -- unix µs
);

-- What keeps a blob: a thread, or the user that uploaded it.
CREATE TABLE {p}_blob_holds (
	tenant TEXT    NOT NULL,
	blob   TEXT    NOT NULL,
	kind   TEXT    NOT NULL, -- user or thread
	holder TEXT    NOT NULL,
	at     INTEGER NOT NULL, -- unix µs
	PRIMARY KEY (tenant, blob, kind, holder)
) WITHOUT ROWID;
CREATE INDEX {p}_blob_holds_holder ON {p}_blob_holds (tenant, kind, holder);
CREATE INDEX {p}_blob_holds_at ON {p}_blob_holds (at) WHERE kind = 'user';

-- The rate limits of providers, which all processes share.
CREATE TABLE {p}_limits (
	name     TEXT    PRIMARY KEY,
	revision INTEGER NOT NULL,
	data     TEXT    NOT NULL, -- JSON
	updated  INTEGER NOT NULL  -- Unix ms
) WITHOUT ROWID;

-- The hooks of runs: the receivers of their events, and how far delivery has come.
CREATE TABLE {p}_hooks (
	tenant   TEXT    NOT NULL,
	run      TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if no process may take it any more
	data     TEXT    NOT NULL, -- JSON
	updated  INTEGER NOT NULL, -- Unix ms
	PRIMARY KEY (tenant, run, id)
) WITHOUT ROWID;
CREATE INDEX {p}_hooks_due ON {p}_hooks (due) WHERE due IS NOT NULL;
CREATE INDEX {p}_hooks_endpoint ON {p}_hooks (tenant, id, run); -- of an endpoint, by run

-- The log of changes: what happens to runs, dispatches and questions of a tenant, in one order.
--
-- Triggers write it, in the transactions that make the changes, so that no way to make one leaves it out. A step of a run writes nothing
-- here. There is one writer, so the order of positions is that of the transactions. The last row is never removed: the
-- next position follows it.
CREATE TABLE {p}_changes (
	pos    INTEGER PRIMARY KEY,
	tenant TEXT    NOT NULL,
	kind   TEXT    NOT NULL,
	time   INTEGER NOT NULL,
	thread TEXT    NOT NULL DEFAULT '',
	run    TEXT    NOT NULL DEFAULT '',
	status TEXT    NOT NULL DEFAULT '',
	ref    TEXT    NOT NULL DEFAULT '', -- the dispatch, the ticket that was decided, or the number of the publication
	n      INTEGER                      -- of kind ticket: the row of the commit
);

CREATE TABLE {p}_changes_floor (
	one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	pos  INTEGER NOT NULL DEFAULT 0, -- changes up to it may be gone
	time INTEGER NOT NULL DEFAULT 0, -- of the last of them
	marked INTEGER NOT NULL DEFAULT 0 -- the runs whose ends are up to this position are marked in {p}_ended
);
INSERT INTO {p}_changes_floor (one) VALUES (1);

-- Figures about runs by hour and by day. A process marks the runs that the log of changes says have ended; one that counts a run removes its mark in
-- the transaction that adds its figures.
CREATE TABLE {p}_ended (
	mark   INTEGER PRIMARY KEY, -- in the order in which they ended; used again once it is removed
	tenant TEXT    NOT NULL,
	run    TEXT    NOT NULL
);

CREATE TABLE {p}_rollups (
	tenant TEXT    NOT NULL,
	dim    TEXT    NOT NULL, -- total, agent, user, version, model or tool
	span   INTEGER NOT NULL, -- seconds: an hour or a day
	at     INTEGER NOT NULL, -- when that began, Unix seconds
	value  TEXT    NOT NULL, -- of the dimension
	n INTEGER NOT NULL DEFAULT 0, errors INTEGER NOT NULL DEFAULT 0, prompt INTEGER NOT NULL DEFAULT 0, completion INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0, cache_read INTEGER NOT NULL DEFAULT 0,
	cache_made INTEGER NOT NULL DEFAULT 0, thinking INTEGER NOT NULL DEFAULT 0, cost INTEGER NOT NULL DEFAULT 0, timed INTEGER NOT NULL DEFAULT 0, ms INTEGER NOT NULL DEFAULT 0, b0 INTEGER NOT NULL DEFAULT 0,
	b1 INTEGER NOT NULL DEFAULT 0, b2 INTEGER NOT NULL DEFAULT 0, b3 INTEGER NOT NULL DEFAULT 0, b4 INTEGER NOT NULL DEFAULT 0, b5 INTEGER NOT NULL DEFAULT 0, b6 INTEGER NOT NULL DEFAULT 0,
	b7 INTEGER NOT NULL DEFAULT 0, b8 INTEGER NOT NULL DEFAULT 0, b9 INTEGER NOT NULL DEFAULT 0, b10 INTEGER NOT NULL DEFAULT 0, b11 INTEGER NOT NULL DEFAULT 0, b12 INTEGER NOT NULL DEFAULT 0,
	b13 INTEGER NOT NULL DEFAULT 0, b14 INTEGER NOT NULL DEFAULT 0, b15 INTEGER NOT NULL DEFAULT 0, b16 INTEGER NOT NULL DEFAULT 0, b17 INTEGER NOT NULL DEFAULT 0, b18 INTEGER NOT NULL DEFAULT 0,
	b19 INTEGER NOT NULL DEFAULT 0, b20 INTEGER NOT NULL DEFAULT 0, b21 INTEGER NOT NULL DEFAULT 0, b22 INTEGER NOT NULL DEFAULT 0, b23 INTEGER NOT NULL DEFAULT 0, b24 INTEGER NOT NULL DEFAULT 0,
	b25 INTEGER NOT NULL DEFAULT 0, b26 INTEGER NOT NULL DEFAULT 0, b27 INTEGER NOT NULL DEFAULT 0, b28 INTEGER NOT NULL DEFAULT 0, b29 INTEGER NOT NULL DEFAULT 0, b30 INTEGER NOT NULL DEFAULT 0,
	b31 INTEGER NOT NULL DEFAULT 0, b32 INTEGER NOT NULL DEFAULT 0, b33 INTEGER NOT NULL DEFAULT 0, b34 INTEGER NOT NULL DEFAULT 0, b35 INTEGER NOT NULL DEFAULT 0, b36 INTEGER NOT NULL DEFAULT 0,
	b37 INTEGER NOT NULL DEFAULT 0, b38 INTEGER NOT NULL DEFAULT 0, b39 INTEGER NOT NULL DEFAULT 0, -- b0 to b39: durations by size
	PRIMARY KEY (tenant, dim, span, at, value)
) WITHOUT ROWID;
CREATE INDEX {p}_rollups_at ON {p}_rollups (span, at);

-- What runs did: tool:<name> if a run called that tool (the digest of a name longer than 256 bytes), in_doubt if it has a call whose outcome was not
-- known, pin if a note pins it.
CREATE TABLE {p}_run_marks (
	tenant TEXT    NOT NULL,
	mark   TEXT    NOT NULL,
	born   INTEGER NOT NULL, -- of the run
	run    TEXT    NOT NULL,
	PRIMARY KEY (tenant, mark, born, run)
) WITHOUT ROWID;

-- Schedules: runs that start at given times, and what became of each time.
CREATE TABLE {p}_schedules (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if there is nothing to do
	spec     TEXT    NOT NULL, -- JSON
	state    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_schedules_due ON {p}_schedules (due) WHERE due IS NOT NULL;

CREATE TABLE {p}_firings (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL, -- of the schedule
	number   INTEGER NOT NULL,
	data     TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id, number)
) WITHOUT ROWID;

-- Endpoints of webhooks: the receivers of events of a tenant's runs.
CREATE TABLE {p}_endpoints (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if no process may take it
	spec     TEXT    NOT NULL, -- JSON
	state    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX {p}_endpoints_due ON {p}_endpoints (due) WHERE due IS NOT NULL;

-- The judgements of runs that have ended, a share of them by the policies of their agents.
CREATE TABLE {p}_judgements (
	tenant   TEXT    NOT NULL,
	run      TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- Unix ms; NULL if no process may take it
	born     INTEGER NOT NULL, -- when the run was created, Unix ms
	agent    TEXT    NOT NULL,
	version  TEXT    NOT NULL,
	status   TEXT    NOT NULL,
	score    REAL,             -- NULL if there is none
	data     TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
) WITHOUT ROWID;
CREATE INDEX {p}_judgements_due ON {p}_judgements (due) WHERE due IS NOT NULL;
CREATE INDEX {p}_judgements_born ON {p}_judgements (tenant, born DESC, run DESC);
CREATE INDEX {p}_judgements_agent ON {p}_judgements (tenant, agent, born DESC, run DESC);

-- Triggers: requests of other systems that start runs of a tenant.
CREATE TABLE {p}_triggers (
	tenant   TEXT    NOT NULL,
	id       TEXT    NOT NULL,
	revision INTEGER NOT NULL,
	due      INTEGER,          -- always NULL
	spec     TEXT    NOT NULL, -- JSON
	state    TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- What became of the requests to a trigger, by run.
CREATE TABLE {p}_fired (
	tenant TEXT    NOT NULL,
	id     TEXT    NOT NULL, -- of the trigger
	run    TEXT    NOT NULL,
	at     INTEGER NOT NULL, -- Unix ms
	data   TEXT    NOT NULL, -- JSON
	PRIMARY KEY (tenant, id, run)
) WITHOUT ROWID;
CREATE INDEX {p}_fired_at ON {p}_fired (tenant, id, at, run);

-- The requests to models and their answers, of the runs that a policy selects.
CREATE TABLE {p}_bodies (
	tenant TEXT NOT NULL,
	thread TEXT NOT NULL,
	run    TEXT NOT NULL,
	id     TEXT NOT NULL, -- sorts by time
	data   BLOB NOT NULL, -- compressed JSON
	PRIMARY KEY (tenant, thread, run, id)
);

CREATE TRIGGER {p}_runs_made AFTER INSERT ON {p}_runs BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.thread, NEW.id, NEW.status);
END;

CREATE TRIGGER {p}_runs_changed AFTER UPDATE OF status ON {p}_runs WHEN OLD.status <> NEW.status BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.thread, NEW.id, NEW.status);
END;

-- A dispatch that is the record of its run is the beginning of both: the run was created, and then the dispatch. It is one row, and the
-- first of the two changes has the position before.
CREATE TRIGGER {p}_dispatches_made AFTER INSERT ON {p}_dispatches BEGIN
	INSERT INTO {p}_changes (pos, tenant, kind, time, thread, run, status, ref)
		VALUES ((SELECT coalesce(max(pos), 0) FROM {p}_changes) + iif(NEW.born IS NULL, 1, 2), NEW.tenant, iif(NEW.born IS NULL, 'dispatch', 'accepted'),
			NEW.created, NEW.thread, NEW.run, NEW.status, NEW.id);
END;

CREATE TRIGGER {p}_dispatches_changed AFTER UPDATE ON {p}_dispatches
	WHEN OLD.status <> NEW.status OR NEW.completed = 0 AND (NEW.available <> OLD.available OR NEW.attempts > OLD.attempts OR NEW.lost > OLD.lost) BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
		VALUES (NEW.tenant, 'dispatch', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.thread, NEW.run, NEW.status, NEW.id);
END;

CREATE TRIGGER {p}_decisions_made AFTER INSERT ON {p}_decisions BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, ref) VALUES (NEW.tenant, 'decision', NEW.at, NEW.thread, NEW.run, NEW.ticket);
END;

CREATE TRIGGER {p}_config_changed AFTER UPDATE ON {p}_config_head WHEN OLD.live <> NEW.live BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, status, ref)
		VALUES ('awaken.server', 'publication', CAST(unixepoch('subsec') * 1000 AS INTEGER), 'live', CAST(NEW.live AS TEXT));
END;

-- Keeps the last 20 failures of a dispatch's attempts.
CREATE TRIGGER {p}_dispatches_failures AFTER UPDATE OF attempts, lost, status ON {p}_dispatches
WHEN NEW.lost > 0 AND NEW.lost <> OLD.lost
	OR NEW.lost = 0 AND NEW.attempts > 0 AND (NEW.attempts <> OLD.attempts OR NEW.steps <> OLD.steps)
	OR NEW.status = 'DeadLetter' AND OLD.status <> 'DeadLetter' AND NEW.error <> OLD.error
BEGIN
	UPDATE {p}_dispatches SET failures = json_insert(
			CASE WHEN json_array_length(coalesce(failures, '[]')) >= 20 THEN json_remove(failures, '$[0]') ELSE coalesce(failures, '[]') END,
			'$[#]', json_object('at', NEW.updated, 'error', CASE WHEN NEW.lost > 0 THEN '' ELSE NEW.error END,
				'worker', coalesce((SELECT q.consumer FROM {p}_queues q WHERE q.tenant = NEW.tenant AND q.id = NEW.thread AND q.claimed = NEW.id), ''),
				'lost', json(CASE WHEN NEW.lost > 0 THEN 'true' ELSE 'false' END)))
		WHERE tenant = NEW.tenant AND id = NEW.id;
END;

-- Gives the runs of a thread to the user that the thread is given to.
CREATE TRIGGER {p}_threads_user_id AFTER UPDATE OF user_id ON {p}_threads WHEN OLD.user_id <> NEW.user_id BEGIN
	UPDATE {p}_runs SET user_id = NEW.user_id WHERE tenant = NEW.tenant AND thread = NEW.id;
END;

CREATE TRIGGER {p}_runs_cost_set AFTER INSERT ON {p}_runs WHEN NEW.cost <> 0 BEGIN
	UPDATE {p}_threads SET cost = CAST(max(min(coalesce(cost, 0) + NEW.cost, 9223372036854775807), 0) AS INTEGER) WHERE tenant = NEW.tenant AND id = NEW.thread;
END;

CREATE TRIGGER {p}_runs_cost_changed AFTER UPDATE OF cost ON {p}_runs WHEN OLD.cost <> NEW.cost BEGIN
	UPDATE {p}_threads SET cost = CAST(max(min(coalesce(cost, 0) + NEW.cost - OLD.cost, 9223372036854775807), 0) AS INTEGER) WHERE tenant = NEW.tenant AND id = NEW.thread;
END;

CREATE TRIGGER {p}_commits_made AFTER INSERT ON {p}_commits WHEN NEW.asks BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, n) VALUES (NEW.tenant, 'ticket', NEW.time, NEW.thread, NEW.run, NEW.rowid);
END;
