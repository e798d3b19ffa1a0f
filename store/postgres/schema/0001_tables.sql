-- The tables of the first release. The tenant leads every key. Times are unix ms, except where a comment says otherwise. {p} is the prefix of all
-- names. Ids are compared byte by byte, whatever the database's language.
--
-- Some columns change with every commit; the free space in their tables' pages lets PostgreSQL change the rows in place.
--
-- Where a table has several indexes that begin with the tenant, the primary key is made last: PostgreSQL plans before it knows how large the
-- tables get, and of indexes that look equally good it takes the newest. Any other reads all rows of a tenant.

-- The functions that this database has, by the digests of their files.
CREATE TABLE {p}_functions (
	name    text COLLATE "C" NOT NULL PRIMARY KEY,
	digest  text   NOT NULL,
	release bigint NOT NULL
);

CREATE SEQUENCE {p}_clock;        -- orders threads and runs
CREATE SEQUENCE {p}_incarnations; -- of threads
-- Only every second position is of a row: one of kind accepted is two changes, and the first of them has the position before.
CREATE SEQUENCE {p}_changes_pos INCREMENT BY 2 START WITH 2;

CREATE TABLE {p}_tenants (
	tenant text COLLATE "C" NOT NULL,
	floor  bigint NOT NULL, -- highest fence of a thread that was removed; no thread gets it again
	PRIMARY KEY (tenant)
);

-- A thread. The incarnation tells it from a removed thread with the same id: processes keep the logs that they have read.
CREATE TABLE {p}_threads (
	tenant     text COLLATE "C" NOT NULL,
	id         text COLLATE "C" NOT NULL,
	parent     text COLLATE "C" NOT NULL DEFAULT '',
	title      text   NOT NULL DEFAULT '',
	custom     text,                       -- JSON object
	created    bigint NOT NULL DEFAULT 0,
	updated    bigint NOT NULL DEFAULT 0,
	touched    bigint NOT NULL DEFAULT 0,  -- the clock at the last commit; kept while no other thread commits, to spare the indexes
	fence      bigint NOT NULL DEFAULT 0,
	generation bigint NOT NULL DEFAULT 0,
	committed  bigint NOT NULL DEFAULT 0,  -- number of the owner's last commit
	messages   bigint NOT NULL DEFAULT 0,  -- length of the log
	last_seq   bigint NOT NULL DEFAULT 0,  -- highest number in the log of events
	posted     bigint NOT NULL DEFAULT 0,  -- inbox items that were ever posted
	unread     bigint NOT NULL DEFAULT 0,  -- inbox items that no commit has read
	open_run   text   NOT NULL DEFAULT '', -- the latest run, while it is not done
	latest_run text   NOT NULL DEFAULT '',
	commits    bigint NOT NULL DEFAULT 0,  -- rows that were ever written to commits
	run        text,                       -- the open run's record, JSON, while it is running; what runs has is older then
	fork_of    text COLLATE "C",           -- the thread that has the first fork_seq messages
	fork_seq   bigint NOT NULL DEFAULT 0,
	resource   text COLLATE "C" NOT NULL DEFAULT '',
	user_id    text COLLATE "C" NOT NULL DEFAULT '', -- '' if it belongs to no user
	incarnation bigint NOT NULL DEFAULT nextval('{p}_incarnations'),
	cost       bigint,                     -- of its runs, as they last began, waited or ended, in billionths of a US dollar; NULL if they cost nothing
	notes      text,                       -- JSON object: what programs keep about the thread, by name
	edits      bigint NOT NULL DEFAULT 0,  -- changes of the row that no owner made
	pinned     boolean NOT NULL DEFAULT false -- whether a note pins one of its runs, which then has the mark pin
) WITH (fillfactor = 70);
CREATE INDEX {p}_threads_touched ON {p}_threads (tenant, touched DESC);
CREATE INDEX {p}_threads_parent ON {p}_threads (tenant, parent, touched DESC) WHERE parent <> '';
CREATE INDEX {p}_threads_fork_of ON {p}_threads (tenant, fork_of, fork_seq) WHERE fork_of IS NOT NULL;
ALTER TABLE {p}_threads ADD PRIMARY KEY (tenant, id);
CREATE INDEX {p}_threads_resource ON {p}_threads (tenant, resource, touched DESC) WHERE resource <> '';
CREATE INDEX {p}_threads_user ON {p}_threads (tenant, user_id, touched DESC) WHERE user_id <> '';

-- What commits brought: one row for each, since that is how it is written and mostly read. Rows of up to a page are not compressed: that would take
-- as long as the rest of the commit. The primary key has a thread's rows in the order of its messages, too. Where the row of a message is, the index
-- of every 16th row says: it is that row or one of the rows behind it.
CREATE TABLE {p}_commits (
	tenant   text COLLATE "C" NOT NULL,
	thread   text COLLATE "C" NOT NULL,
	last     bigint NOT NULL, -- highest number in the log of events so far; negative in a row that was inherited from another thread
	n        bigint NOT NULL, -- counts the rows of a thread
	upto     bigint NOT NULL, -- length of the log of messages so far
	time     bigint NOT NULL,
	run      text COLLATE "C" NOT NULL,
	epoch    bigint NOT NULL, -- highest of the entries
	messages text[],          -- JSON each, or NULL
	entries  text,            -- JSON array, or NULL; what differs from run and epoch says so itself
	calls    text[]           -- records of the ledger, JSON each, or NULL; later ones replace earlier ones
) WITH (toast_tuple_target = 8160);
CREATE INDEX {p}_commits_upto ON {p}_commits (tenant, thread, upto) WHERE n % 16 = 0;
ALTER TABLE {p}_commits ADD PRIMARY KEY (tenant, thread, last, n);
DO $$ BEGIN -- larger rows, of several steps that were committed together, are compressed the quick way where the server has it
	ALTER TABLE {p}_commits ALTER COLUMN messages SET COMPRESSION lz4, ALTER COLUMN entries SET COMPRESSION lz4, ALTER COLUMN calls SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;

-- A run. The columns from agent on repeat what the record says, as it last began, waited or ended: lists select by them. Partial indexes have only
-- the runs that a list of few would have to look for.
CREATE TABLE {p}_runs (
	tenant text COLLATE "C" NOT NULL,
	id     text COLLATE "C" NOT NULL,
	thread text COLLATE "C" NOT NULL,
	status text COLLATE "C" NOT NULL,
	born   bigint NOT NULL, -- the clock at the first commit
	data   text   NOT NULL, -- JSON; an older record while threads.run has one
	first_seq bigint NOT NULL, -- commits.last of its first row, or less
	last_seq  bigint NOT NULL, -- and of its last row, or more
	agent   text COLLATE "C" NOT NULL DEFAULT '',
	version text COLLATE "C" NOT NULL DEFAULT '',
	origin  text COLLATE "C" NOT NULL DEFAULT '',
	parent  text COLLATE "C" NOT NULL DEFAULT '',
	user_id text COLLATE "C" NOT NULL DEFAULT '', -- of its thread
	detail  text COLLATE "C" NOT NULL DEFAULT '', -- how it ended or what it waits for
	error   text COLLATE "C" NOT NULL DEFAULT '', -- its code
	cost    bigint NOT NULL DEFAULT 0, -- billionths of a US dollar
	created bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
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
ALTER TABLE {p}_runs ADD PRIMARY KEY (tenant, id);

CREATE TABLE {p}_state (
	tenant text COLLATE "C" NOT NULL,
	thread text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL, -- '' for state of the thread
	key    text COLLATE "C" NOT NULL,
	value  text NOT NULL, -- JSON
	PRIMARY KEY (tenant, thread, run, key)
) WITH (fillfactor = 70);

CREATE TABLE {p}_inbox (
	tenant text COLLATE "C" NOT NULL,
	thread text COLLATE "C" NOT NULL,
	id     text COLLATE "C" NOT NULL,
	pos    bigint NOT NULL,
	data   text  -- JSON; NULL once the item was read, for the id to be known
);
CREATE INDEX {p}_inbox_unread ON {p}_inbox (tenant, thread, pos) WHERE data IS NOT NULL;
ALTER TABLE {p}_inbox ADD PRIMARY KEY (tenant, thread, id);

CREATE TABLE {p}_profiles (
	tenant    text COLLATE "C" NOT NULL,
	namespace text COLLATE "C" NOT NULL,
	key       text COLLATE "C" NOT NULL,
	value     text   NOT NULL, -- JSON
	updated   bigint NOT NULL, -- unix ns
	mark      text             -- JSON, or NULL: what is to be known about the value when it is read, such as that a tainted run wrote it
);
CREATE INDEX {p}_profiles_key ON {p}_profiles (tenant, key);
ALTER TABLE {p}_profiles ADD PRIMARY KEY (tenant, namespace, key);

-- The queue of runs. A row of dispatches is changed only by a transaction that has locked its queue's row; rows of queues are locked in order of
-- their keys, and before rows of threads.
CREATE TABLE {p}_dispatches (
	tenant    text COLLATE "C" NOT NULL,
	id        text COLLATE "C" NOT NULL,
	thread    text COLLATE "C" NOT NULL,
	run       text COLLATE "C" NOT NULL,
	status    text COLLATE "C" NOT NULL, -- Queued also while it is claimed: its queue's row tells
	completed bigint  NOT NULL DEFAULT 0, -- 0 while it is queued or claimed
	priority  integer NOT NULL,
	available bigint  NOT NULL,
	created   bigint  NOT NULL,
	updated   bigint  NOT NULL,
	epoch     bigint  NOT NULL,
	revision  bigint  NOT NULL DEFAULT 0,
	cancel    boolean NOT NULL DEFAULT false,
	attempts  bigint  NOT NULL DEFAULT 0,
	max_attempts bigint NOT NULL,
	steps     bigint  NOT NULL DEFAULT 0,
	error     text    NOT NULL DEFAULT '',
	dedupe    text COLLATE "C" NOT NULL DEFAULT '',
	key       text COLLATE "C" NOT NULL DEFAULT '', -- of idempotency
	digest    text    NOT NULL DEFAULT '',
	request   text,                      -- JSON; NULL wakes the run
	crashes   bigint  NOT NULL DEFAULT 0, -- processes that died while they ran it
	lost      bigint  NOT NULL DEFAULT 0, -- when its last owner was lost, or 0
	born      bigint,                    -- the clock when it was accepted, if it is the record of its run until that starts; NULL otherwise
	failures  text,                      -- of its attempts, the last 20: JSON array, or NULL
	message   text COLLATE "C" NOT NULL DEFAULT '', -- id of the client's message that it has accepted: a thread accepts one once
	said      text    NOT NULL DEFAULT ''  -- digests of the message
);
CREATE INDEX {p}_dispatches_completed ON {p}_dispatches (completed) WHERE completed > 0;
CREATE UNIQUE INDEX {p}_dispatches_key ON {p}_dispatches (tenant, key) WHERE key <> '';
-- The tenant leads neither this key nor the next index, so that one is not taken for the look-ups of the other.
ALTER TABLE {p}_dispatches ADD PRIMARY KEY (id, tenant);
CREATE INDEX {p}_dispatches_thread ON {p}_dispatches (thread, tenant, completed);
CREATE INDEX {p}_dispatches_born ON {p}_dispatches (tenant, born DESC) WHERE completed = 0 AND born IS NOT NULL;
CREATE UNIQUE INDEX {p}_dispatches_run ON {p}_dispatches (run, tenant) WHERE born IS NOT NULL;
-- For lists of the few that ended in another way than by being processed.
CREATE INDEX {p}_dispatches_ended ON {p}_dispatches (tenant, id) WHERE status IN ('DeadLetter', 'Cancelled', 'Superseded');
-- The thread does not lead, so that it is not taken for the look-ups of a thread's dispatches.
CREATE UNIQUE INDEX {p}_dispatches_message ON {p}_dispatches (message, thread, tenant) WHERE message <> '';

-- One row for each thread that ever had a dispatch. At most one dispatch of a thread is claimed, so the claim is here.
CREATE TABLE {p}_queues (
	tenant   text COLLATE "C" NOT NULL,
	id       text COLLATE "C" NOT NULL, -- of the thread
	epoch    bigint NOT NULL DEFAULT 0,
	priority integer, -- the highest of what can be claimed now; NULL if nothing can
	since    bigint,  -- unix µs; how long something could be claimed. NULL if nothing can
	wake     bigint,  -- when more can be claimed. NULL if that is not a matter of time
	claimed  text COLLATE "C", -- the dispatch that a consumer has, or NULL
	token    text,
	consumer text,
	lease    bigint,  -- until when
	stamp    bigint,  -- when it was claimed
	suspect  boolean NOT NULL DEFAULT false -- one of its dispatches has at least 2 crashes (mailbox.SuspectCrashes)
) WITH (fillfactor = 70);
CREATE INDEX {p}_queues_wake ON {p}_queues (wake) WHERE wake IS NOT NULL;
CREATE INDEX {p}_queues_lease ON {p}_queues (lease) WHERE lease IS NOT NULL;
ALTER TABLE {p}_queues ADD PRIMARY KEY (tenant, id);
CREATE INDEX {p}_queues_ready ON {p}_queues (suspect, priority, since) WHERE since IS NOT NULL;
CREATE INDEX {p}_queues_tenant ON {p}_queues (suspect, tenant, priority, since) WHERE since IS NOT NULL; -- for claims that except tenants

-- Budgets. Amounts are billionths of a US dollar. Rows of balances are locked in order of scope and id.
CREATE TABLE {p}_balances (
	tenant   text COLLATE "C" NOT NULL,
	scope    text COLLATE "C" NOT NULL, -- tenant, agent, thread or run
	id       text COLLATE "C" NOT NULL,
	most     bigint,          -- the limit, or NULL
	spent    bigint NOT NULL DEFAULT 0,
	reserved bigint NOT NULL DEFAULT 0, -- the sum of the reservations of this account
	in_doubt bigint NOT NULL DEFAULT 0, -- part of spent
	PRIMARY KEY (tenant, scope, id)
);

CREATE TABLE {p}_reservations (
	tenant text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL,
	data   text NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
);

-- The configuration of the whole server: it belongs to no tenant.
CREATE TABLE {p}_config_head (
	one      integer NOT NULL PRIMARY KEY CHECK (one = 1),
	revision bigint NOT NULL DEFAULT 0,
	last     bigint NOT NULL DEFAULT 0,
	live     bigint NOT NULL DEFAULT 0,
	canary   text -- JSON, or NULL
);
INSERT INTO {p}_config_head (one) VALUES (1);

CREATE TABLE {p}_config_records (
	namespace text COLLATE "C" NOT NULL,
	id        text COLLATE "C" NOT NULL,
	revision  bigint NOT NULL,
	spec      text    NOT NULL, -- JSON
	overrides text    NOT NULL, -- JSON, or ''
	meta      text    NOT NULL, -- JSON, without the overrides
	PRIMARY KEY (namespace, id)
);

CREATE TABLE {p}_config_secrets (
	ref  text COLLATE "C" NOT NULL,
	data text NOT NULL, -- JSON; the secret in it is encrypted
	PRIMARY KEY (ref)
);

CREATE TABLE {p}_config_publications (
	number   bigint NOT NULL PRIMARY KEY,
	base     bigint NOT NULL,
	at       bigint NOT NULL,
	data     text    NOT NULL, -- JSON, without the manifest
	manifest text,             -- JSON array, or NULL
	runs     bigint,          -- the tally; NULL if there is none
	errors   bigint,
	cost     bigint,          -- billionths of a US dollar
	latency  bigint
);

CREATE TABLE {p}_config_documents (
	hash text COLLATE "C" NOT NULL,
	data text NOT NULL, -- JSON
	PRIMARY KEY (hash)
);

-- Which publications have a document, in their entries or their manifest.
CREATE TABLE {p}_config_uses (
	hash        text COLLATE "C" NOT NULL,
	publication bigint NOT NULL,
	PRIMARY KEY (hash, publication)
);
CREATE INDEX {p}_config_uses_publication ON {p}_config_uses (publication);

CREATE TABLE {p}_config_events (
	seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- the order in which they were applied
	id       text COLLATE "C" NOT NULL UNIQUE,
	time     bigint NOT NULL, -- unix µs
	action   text COLLATE "C" NOT NULL,
	resource text COLLATE "C" NOT NULL,
	actor    text COLLATE "C" NOT NULL,
	data     text    NOT NULL, -- JSON, without before and after
	before   text    NOT NULL, -- JSON, or ''
	after    text    NOT NULL
);
CREATE INDEX {p}_config_events_time ON {p}_config_events (time);
CREATE INDEX {p}_config_events_action ON {p}_config_events (action, seq);
CREATE INDEX {p}_config_events_resource ON {p}_config_events (resource, seq);
CREATE INDEX {p}_config_events_actor ON {p}_config_events (actor, seq);

-- The number of dispatches that have ever become dead letters: the sum of n. The functions that settle dispatches add rows in the same
-- transaction, so that none waits for another; Purge adds them up. The sum does not fall when dead letters are retried, dropped or purged.
CREATE TABLE {p}_dead_letters (
	id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	n  bigint NOT NULL
);

-- The processes that live.
CREATE TABLE {p}_processes (
	id    text COLLATE "C" NOT NULL PRIMARY KEY, -- the consumer of its claims
	until bigint NOT NULL                        -- it is dead if it was silent until then
) WITH (fillfactor = 50);

-- The decisions that were accepted, one for each question. It is removed with the thread that asked.
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

-- Copies of messages, 256 in each, in a form that is read fast. A thread may have some, or none: they are written later than the messages, and what
-- no segment holds is read from the commits.
CREATE TABLE {p}_segments (
	tenant      text COLLATE "C" NOT NULL,
	thread      text COLLATE "C" NOT NULL,
	incarnation bigint NOT NULL, -- of the thread
	upto        bigint NOT NULL, -- number of the last message
	data        bytea  NOT NULL,
	PRIMARY KEY (tenant, thread, incarnation, upto)
);
DO $$ BEGIN -- the quick way, or not at all
	ALTER TABLE {p}_segments ALTER COLUMN data SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
	ALTER TABLE {p}_segments ALTER COLUMN data SET STORAGE EXTERNAL;
END $$;

-- Files that messages refer to, by the digest of their type and bytes.
CREATE TABLE {p}_blobs (
	tenant     text COLLATE "C" NOT NULL,
	id         text COLLATE "C" NOT NULL,
	media_type text   NOT NULL,
	size       bigint NOT NULL,
	created    bigint NOT NULL, -- unix µs
	data       bytea,           -- if it is small
	body       text COLLATE "C" NOT NULL, -- the key of its parts, or ''
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_blobs_created ON {p}_blobs (tenant, created, id) INCLUDE (size);

CREATE TABLE {p}_blob_parts (
	body text COLLATE "C" NOT NULL,
	n    bigint NOT NULL,
	data bytea  NOT NULL,
	PRIMARY KEY (body, n)
);
ALTER TABLE {p}_blob_parts ALTER COLUMN data SET STORAGE EXTERNAL; -- most files are compressed already

-- Uploads that are not finished.
CREATE TABLE {p}_blob_uploads (
	body text COLLATE "C" NOT NULL PRIMARY KEY,
	at   bigint NOT NULL -- unix µs
);

-- What keeps a blob: a thread, or the user that uploaded it.
CREATE TABLE {p}_blob_holds (
	tenant text COLLATE "C" NOT NULL,
	blob   text COLLATE "C" NOT NULL,
	kind   text COLLATE "C" NOT NULL, -- user or thread
	holder text COLLATE "C" NOT NULL,
	at     bigint NOT NULL, -- unix µs
	PRIMARY KEY (tenant, blob, kind, holder)
);
CREATE INDEX {p}_blob_holds_holder ON {p}_blob_holds (tenant, kind, holder);
CREATE INDEX {p}_blob_holds_at ON {p}_blob_holds (at) WHERE kind = 'user';

-- The rate limits of providers, which all processes share. Rows are small, few, and written several times a second, so the table has room for new
-- versions of a row without an index entry.
CREATE TABLE {p}_limits (
	name     text   PRIMARY KEY,
	revision bigint NOT NULL,
	data     text   NOT NULL, -- JSON
	updated  bigint NOT NULL  -- Unix ms
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- The hooks of runs: the receivers of their events, and how far delivery has come.
CREATE TABLE {p}_hooks (
	tenant   text   NOT NULL,
	run      text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- Unix ms; NULL if no process may take it any more
	data     text   NOT NULL, -- JSON
	updated  bigint NOT NULL, -- Unix ms
	PRIMARY KEY (tenant, run, id)
);
CREATE INDEX {p}_hooks_due ON {p}_hooks (due) WHERE due IS NOT NULL;
CREATE INDEX {p}_hooks_endpoint ON {p}_hooks (tenant, id, run COLLATE "C"); -- of an endpoint, by run

-- The log of changes: what happens to runs, dispatches and questions of a tenant, in one order.
--
-- Triggers write it, in the transactions that make the changes, so that no way to make one leaves it out, and commits have no further statement. A
-- step of a run writes nothing here. A position is taken while the transaction holds the lock of the thread or its queue, so the changes of a thread
-- are in the order of their commits. Positions become visible in another order; see horizon.go.
CREATE TABLE {p}_changes (
	tenant text COLLATE "C" NOT NULL,
	pos    bigint NOT NULL DEFAULT nextval('{p}_changes_pos'),
	kind   text   NOT NULL,
	time   bigint NOT NULL,
	thread text COLLATE "C" NOT NULL DEFAULT '',
	run    text COLLATE "C" NOT NULL DEFAULT '',
	status text   NOT NULL DEFAULT '',
	ref    text COLLATE "C" NOT NULL DEFAULT '', -- the dispatch, the ticket that was decided, or the number of the publication
	seq    bigint,                               -- of kind ticket: the columns last and n of the commit
	n      bigint,
	PRIMARY KEY (pos, tenant)
);

CREATE TABLE {p}_changes_floor (
	one  integer NOT NULL PRIMARY KEY CHECK (one = 1),
	pos  bigint NOT NULL DEFAULT 0, -- changes up to it may be gone
	time bigint NOT NULL DEFAULT 0, -- of the last of them
	marked bigint NOT NULL DEFAULT 0 -- the runs whose ends are up to this position are marked in {p}_ended
);
INSERT INTO {p}_changes_floor (one) VALUES (1);

-- Figures about runs by hour and by day. A process marks the runs that the log of changes says have ended; one that counts a run removes its mark in
-- the transaction that adds its figures.
CREATE TABLE {p}_ended (
	mark   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- about in the order in which they ended
	tenant text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL
);

CREATE TABLE {p}_rollups (
	tenant text COLLATE "C" NOT NULL,
	dim    text   NOT NULL, -- total, agent, user, version, model or tool
	span   bigint NOT NULL, -- seconds: an hour or a day
	at     bigint NOT NULL, -- when that began, Unix seconds
	value  text COLLATE "C" NOT NULL, -- of the dimension
	n bigint NOT NULL DEFAULT 0, errors bigint NOT NULL DEFAULT 0, prompt bigint NOT NULL DEFAULT 0, completion bigint NOT NULL DEFAULT 0, tokens bigint NOT NULL DEFAULT 0, cache_read bigint NOT NULL DEFAULT 0,
	cache_made bigint NOT NULL DEFAULT 0, thinking bigint NOT NULL DEFAULT 0, cost bigint NOT NULL DEFAULT 0, timed bigint NOT NULL DEFAULT 0, ms bigint NOT NULL DEFAULT 0, b0 bigint NOT NULL DEFAULT 0,
	b1 bigint NOT NULL DEFAULT 0, b2 bigint NOT NULL DEFAULT 0, b3 bigint NOT NULL DEFAULT 0, b4 bigint NOT NULL DEFAULT 0, b5 bigint NOT NULL DEFAULT 0, b6 bigint NOT NULL DEFAULT 0,
	b7 bigint NOT NULL DEFAULT 0, b8 bigint NOT NULL DEFAULT 0, b9 bigint NOT NULL DEFAULT 0, b10 bigint NOT NULL DEFAULT 0, b11 bigint NOT NULL DEFAULT 0, b12 bigint NOT NULL DEFAULT 0,
	b13 bigint NOT NULL DEFAULT 0, b14 bigint NOT NULL DEFAULT 0, b15 bigint NOT NULL DEFAULT 0, b16 bigint NOT NULL DEFAULT 0, b17 bigint NOT NULL DEFAULT 0, b18 bigint NOT NULL DEFAULT 0,
	b19 bigint NOT NULL DEFAULT 0, b20 bigint NOT NULL DEFAULT 0, b21 bigint NOT NULL DEFAULT 0, b22 bigint NOT NULL DEFAULT 0, b23 bigint NOT NULL DEFAULT 0, b24 bigint NOT NULL DEFAULT 0,
	b25 bigint NOT NULL DEFAULT 0, b26 bigint NOT NULL DEFAULT 0, b27 bigint NOT NULL DEFAULT 0, b28 bigint NOT NULL DEFAULT 0, b29 bigint NOT NULL DEFAULT 0, b30 bigint NOT NULL DEFAULT 0,
	b31 bigint NOT NULL DEFAULT 0, b32 bigint NOT NULL DEFAULT 0, b33 bigint NOT NULL DEFAULT 0, b34 bigint NOT NULL DEFAULT 0, b35 bigint NOT NULL DEFAULT 0, b36 bigint NOT NULL DEFAULT 0,
	b37 bigint NOT NULL DEFAULT 0, b38 bigint NOT NULL DEFAULT 0, b39 bigint NOT NULL DEFAULT 0, -- b0 to b39: durations by size
	PRIMARY KEY (tenant, dim, span, at, value)
);
CREATE INDEX {p}_rollups_at ON {p}_rollups (span, at);

-- What runs did: tool:<name> if a run called that tool (the digest of a name that is too long for an index), in_doubt if it has a call whose outcome
-- was not known, pin if a note pins it.
CREATE TABLE {p}_run_marks (
	tenant text COLLATE "C" NOT NULL,
	mark   text COLLATE "C" NOT NULL,
	born   bigint NOT NULL, -- of the run
	run    text COLLATE "C" NOT NULL
);
ALTER TABLE {p}_run_marks ADD PRIMARY KEY (tenant, mark, born, run);

-- Schedules: runs that start at given times, and what became of each time.
CREATE TABLE {p}_schedules (
	tenant   text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- Unix ms; NULL if there is nothing to do
	spec     text   NOT NULL, -- JSON
	state    text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_schedules_due ON {p}_schedules (due) WHERE due IS NOT NULL;

CREATE TABLE {p}_firings (
	tenant   text   NOT NULL,
	id       text   NOT NULL, -- of the schedule
	number   bigint NOT NULL,
	data     text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id, number)
);

-- Endpoints of webhooks: the receivers of events of a tenant's runs.
CREATE TABLE {p}_endpoints (
	tenant   text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- Unix ms; NULL if no process may take it
	spec     text   NOT NULL, -- JSON
	state    text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
);
CREATE INDEX {p}_endpoints_due ON {p}_endpoints (due) WHERE due IS NOT NULL;

-- The judgements of runs that have ended, a share of them by the policies of their agents.
CREATE TABLE {p}_judgements (
	tenant   text             NOT NULL,
	run      text COLLATE "C" NOT NULL,
	revision bigint           NOT NULL,
	due      bigint,          -- Unix ms; NULL if no process may take it
	born     bigint           NOT NULL, -- when the run was created, Unix ms
	agent    text             NOT NULL,
	version  text             NOT NULL,
	status   text             NOT NULL,
	score    double precision, -- NULL if there is none
	data     text             NOT NULL, -- JSON
	PRIMARY KEY (tenant, run)
);
CREATE INDEX {p}_judgements_due ON {p}_judgements (due) WHERE due IS NOT NULL;
CREATE INDEX {p}_judgements_born ON {p}_judgements (tenant, born DESC, run DESC);
CREATE INDEX {p}_judgements_agent ON {p}_judgements (tenant, agent, born DESC, run DESC);

-- Triggers: requests of other systems that start runs of a tenant.
CREATE TABLE {p}_triggers (
	tenant   text   NOT NULL,
	id       text   NOT NULL,
	revision bigint NOT NULL,
	due      bigint,          -- always NULL
	spec     text   NOT NULL, -- JSON
	state    text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id)
);

-- What became of the requests to a trigger, by run.
CREATE TABLE {p}_fired (
	tenant text   NOT NULL,
	id     text   NOT NULL, -- of the trigger
	run    text   NOT NULL,
	at     bigint NOT NULL, -- Unix ms
	data   text   NOT NULL, -- JSON
	PRIMARY KEY (tenant, id, run)
);
CREATE INDEX {p}_fired_at ON {p}_fired (tenant, id, at, run COLLATE "C");

-- The requests to models and their answers, of the runs that a policy selects.
CREATE TABLE {p}_bodies (
	tenant text COLLATE "C" NOT NULL,
	thread text COLLATE "C" NOT NULL,
	run    text COLLATE "C" NOT NULL,
	id     text COLLATE "C" NOT NULL, -- sorts by time
	data   bytea NOT NULL,            -- compressed JSON
	PRIMARY KEY (tenant, thread, run, id)
);
ALTER TABLE {p}_bodies ALTER COLUMN data SET STORAGE EXTERNAL;
