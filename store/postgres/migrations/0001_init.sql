-- Threads, runs and profiles. The tenant leads every key. Times are unix ms, except
-- where a comment says otherwise. {p} is the prefix of all names. Ids are compared
-- byte by byte, whatever the database's language.
--
-- Some columns change with every commit; the free space in their tables' pages lets
-- PostgreSQL change the rows in place.
--
-- Where a table has several indexes that begin with the tenant, the primary key is made
-- last: PostgreSQL plans before it knows how large the tables get, and of indexes that
-- look equally good it takes the newest. Any other reads all rows of a tenant.

CREATE SEQUENCE {p}_clock; -- orders threads and runs

CREATE TABLE {p}_tenants (
	tenant text COLLATE "C" NOT NULL,
	floor  bigint NOT NULL, -- highest fence of a thread that was removed; no thread gets it again
	PRIMARY KEY (tenant)
);

CREATE TABLE {p}_threads (
	tenant     text COLLATE "C" NOT NULL,
	id         text COLLATE "C" NOT NULL,
	parent     text COLLATE "C" NOT NULL DEFAULT '',
	title      text   NOT NULL DEFAULT '',
	custom     text,                       -- JSON object
	created    bigint NOT NULL DEFAULT 0,
	updated    bigint NOT NULL DEFAULT 0,
	touched    bigint NOT NULL DEFAULT 0,  -- the clock at the last commit; kept while nobody else commits, to spare the indexes
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
	fork_of    text COLLATE "C",           -- holds the first fork_seq messages, with those it is itself a fork of
	fork_seq   bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE INDEX {p}_threads_touched ON {p}_threads (tenant, touched DESC);
CREATE INDEX {p}_threads_parent ON {p}_threads (tenant, parent, touched DESC) WHERE parent <> '';
CREATE INDEX {p}_threads_fork_of ON {p}_threads (tenant, fork_of, fork_seq) WHERE fork_of IS NOT NULL;
ALTER TABLE {p}_threads ADD PRIMARY KEY (tenant, id);

-- What commits brought: one row for each, since that is how it is written and mostly
-- read. Rows of up to a page are not compressed: that would take as long as the rest of
-- the commit.
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
CREATE INDEX {p}_commits_upto ON {p}_commits (tenant, thread, upto) WHERE messages IS NOT NULL;
ALTER TABLE {p}_commits ADD PRIMARY KEY (tenant, thread, last, n);
DO $$ BEGIN -- larger rows, of several steps that travelled together, are compressed the quick way where the server has it
	ALTER TABLE {p}_commits ALTER COLUMN messages SET COMPRESSION lz4, ALTER COLUMN entries SET COMPRESSION lz4, ALTER COLUMN calls SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN NULL;
END $$;

CREATE TABLE {p}_runs (
	tenant text COLLATE "C" NOT NULL,
	id     text COLLATE "C" NOT NULL,
	thread text COLLATE "C" NOT NULL,
	status text COLLATE "C" NOT NULL,
	born   bigint NOT NULL, -- the clock at the first commit
	data   text   NOT NULL, -- JSON; an older record while threads.run has one
	first_seq bigint NOT NULL, -- commits.last of its first row, or less
	last_seq  bigint NOT NULL  -- and of its last row, or more
) WITH (fillfactor = 70);
CREATE INDEX {p}_runs_born ON {p}_runs (tenant, born DESC);
CREATE INDEX {p}_runs_thread ON {p}_runs (tenant, thread, born DESC);
CREATE INDEX {p}_runs_status ON {p}_runs (tenant, status, born DESC);
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
	updated   bigint NOT NULL  -- unix ns
);
CREATE INDEX {p}_profiles_key ON {p}_profiles (tenant, key);
ALTER TABLE {p}_profiles ADD PRIMARY KEY (tenant, namespace, key);

-- Raises the fence of a thread, making the thread if it is not there. A new one begins
-- with a fence that no thread had that was removed, so that the owner of one of the
-- same id stays fenced off. The statements see each what was done before they began,
-- which one statement would not if it had to wait for a removal.
CREATE FUNCTION {p}_acquire(p_tenant text, p_thread text) RETURNS SETOF {p}_threads LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		RETURN QUERY UPDATE {p}_threads h SET fence = h.fence + 1, committed = 0 WHERE h.tenant = p_tenant AND h.id = p_thread RETURNING h.*;
		IF FOUND THEN RETURN; END IF;
		RETURN QUERY INSERT INTO {p}_threads (tenant, id, fence)
			VALUES (p_tenant, p_thread, 1 + coalesce((SELECT f.floor FROM {p}_tenants f WHERE f.tenant = p_tenant), 0))
			ON CONFLICT DO NOTHING RETURNING *;
		IF FOUND THEN RETURN; END IF;
	END LOOP;
END $$;

-- Makes a commit, all or nothing, or says why not. An array is NULL if it is empty. The
-- generation is that of a commit that begins something, otherwise -1.
--
--     0  made, or made before; the inbox is empty
--     1  made, or made before; the inbox is not empty
--    -1  there is no such thread
--    -2  another owner has it, or has ended the run
--    -3  it was interrupted
--    -4  the inbox has items that were not read
--    -6  the log of events holds the first event already
--    -5  the run's record is invalid, and nothing else is wrong
--   -10 - n  the log has n messages
--
-- The thread's row is locked from the first statement on, so commits, posts and
-- acquisitions of a thread come one after the other.
CREATE FUNCTION {p}_commit(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	t       record;
	running boolean := p_status = 'running' AND p_run_thread = p_thread;
	stamp   bigint;
	n_read  bigint := 0;
BEGIN
	SELECT * INTO t FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread FOR NO KEY UPDATE;
	IF NOT FOUND THEN RETURN -1; END IF;
	IF t.fence <> p_fence THEN RETURN -2; END IF;
	IF t.committed = p_number AND p_number <> 0 THEN RETURN (t.unread > 0)::int; END IF;
	IF t.open_run <> p_run AND p_status <> 'done' AND EXISTS (SELECT FROM {p}_runs r WHERE r.tenant = p_tenant AND r.id = p_run AND r.status = 'done') THEN
		RETURN -2;
	END IF;
	IF p_generation >= 0 AND t.generation <> p_generation THEN RETURN -3; END IF;
	IF t.messages <> p_expect THEN RETURN -10 - t.messages; END IF;
	IF t.last_seq >= p_first THEN RETURN -6; END IF;
	IF p_read IS NOT NULL THEN
		SELECT count(*) INTO n_read FROM {p}_inbox i
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.id = ANY (p_read) AND i.data IS NOT NULL;
	END IF;
	IF p_rest AND t.unread <> n_read THEN RETURN -4; END IF;
	IF NOT p_valid THEN RETURN -5; END IF;

	UPDATE {p}_threads h SET
		committed = p_number, updated = p_time, commits = t.commits + 1,
		touched = CASE WHEN t.latest_run = p_run AND t.touched = pg_sequence_last_value('{p}_clock') THEN t.touched ELSE nextval('{p}_clock') END,
		parent = CASE WHEN t.latest_run = '' AND t.parent = '' THEN p_parent ELSE t.parent END,
		created = CASE t.created WHEN 0 THEN p_time ELSE t.created END,
		messages = p_expect + coalesce(cardinality(p_messages), 0), last_seq = greatest(t.last_seq, p_last), unread = t.unread - n_read,
		latest_run = p_run, open_run = CASE p_status WHEN 'done' THEN '' ELSE p_run END, run = CASE WHEN running THEN p_record END
	WHERE h.tenant = p_tenant AND h.id = p_thread RETURNING h.touched INTO stamp;
	INSERT INTO {p}_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries, calls)
		VALUES (p_tenant, p_thread, greatest(t.last_seq, p_last), t.commits + 1, p_expect + coalesce(cardinality(p_messages), 0), p_time,
			p_run, p_epoch, p_messages, p_entries, p_calls);
	IF t.run IS NOT NULL AND t.open_run <> p_run THEN -- that run was given up
		UPDATE {p}_runs r SET data = t.run, last_seq = t.last_seq WHERE r.tenant = p_tenant AND r.id = t.open_run;
	END IF;
	INSERT INTO {p}_runs AS r (tenant, id, thread, status, born, data, first_seq, last_seq)
		VALUES (p_tenant, p_run, p_run_thread, p_status, stamp, p_record, t.last_seq,
			CASE WHEN running THEN 9223372036854775807 ELSE greatest(t.last_seq, p_last) END)
		ON CONFLICT (tenant, id) DO UPDATE SET thread = excluded.thread, status = excluded.status, data = excluded.data,
			first_seq = least(r.first_seq, excluded.first_seq), last_seq = excluded.last_seq;
	IF p_keys IS NOT NULL THEN
		INSERT INTO {p}_state (tenant, thread, run, key, value)
			SELECT p_tenant, p_thread, s.run, s.key, s.value
			FROM unnest(p_state_runs, p_keys, p_values) AS s (run, key, value) WHERE s.value IS NOT NULL
			ON CONFLICT (tenant, thread, run, key) DO UPDATE SET value = excluded.value;
		DELETE FROM {p}_state d USING unnest(p_state_runs, p_keys, p_values) AS s (run, key, value)
			WHERE s.value IS NULL AND d.tenant = p_tenant AND d.thread = p_thread AND d.run = s.run AND d.key = s.key;
	END IF;
	IF n_read > 0 THEN
		UPDATE {p}_inbox i SET data = NULL
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.id = ANY (p_read) AND i.data IS NOT NULL;
	END IF;
	RETURN (t.unread > n_read)::int;
END $$;

-- Posts items; false if there is no such thread.
CREATE FUNCTION {p}_post(p_tenant text, p_thread text, p_ids text[], p_items text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	start bigint;
	added bigint;
BEGIN
	SELECT h.posted INTO start FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread FOR UPDATE;
	IF NOT FOUND THEN RETURN false; END IF;
	INSERT INTO {p}_inbox (tenant, thread, id, pos, data)
		SELECT p_tenant, p_thread, i.id, start + i.n, i.data FROM unnest(p_ids, p_items) WITH ORDINALITY AS i (id, data, n) ORDER BY i.n
		ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
	IF added > 0 THEN
		UPDATE {p}_threads h SET posted = start + cardinality(p_ids), unread = h.unread + added WHERE h.tenant = p_tenant AND h.id = p_thread;
	END IF;
	RETURN true;
END $$;

-- The records of a thread's log behind p_after, up to and including p_upto, in order;
-- a row holds those of one commit, and the number of the first. What the thread shares
-- with those it is a fork of is read from there.
CREATE FUNCTION {p}_log(p_tenant text, p_thread text, p_after bigint, p_upto bigint)
RETURNS TABLE (seq bigint, created bigint, data text[]) LANGUAGE plpgsql STABLE AS $$
DECLARE
	f record;
BEGIN
	SELECT h.fork_of, h.fork_seq INTO f FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF f.fork_of IS NOT NULL AND p_after < f.fork_seq THEN
		RETURN QUERY SELECT l.seq, l.created, l.data FROM {p}_log(p_tenant, f.fork_of, p_after, least(p_upto, f.fork_seq)) l;
	END IF;
	RETURN QUERY SELECT c.before + c.skip + 1, c.time, CASE WHEN c.skip = 0 AND c.upto <= p_upto THEN c.messages
			ELSE c.messages[c.skip + 1 : least(p_upto - c.before, cardinality(c.messages))] END
		FROM (SELECT r.time, r.messages, r.upto, r.upto - cardinality(r.messages) AS before, greatest(p_after - r.upto + cardinality(r.messages), 0) AS skip
			FROM {p}_commits r WHERE r.tenant = p_tenant AND r.thread = p_thread AND r.upto > p_after AND r.messages IS NOT NULL
			ORDER BY r.upto LIMIT p_upto - p_after) c
		WHERE c.before < p_upto ORDER BY c.upto;
END $$;

-- What else a new owner needs: the latest run (r), its ledger (c), the state of the
-- thread and of the run (s), and the unread items (i).
CREATE FUNCTION {p}_load(p_tenant text, p_thread text) RETURNS TABLE (kind text, id text, key text, data text[]) LANGUAGE plpgsql STABLE AS $$
DECLARE
	t record;
BEGIN
	SELECT h.open_run, h.latest_run, h.run, h.unread INTO t FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF t.latest_run <> '' THEN
		RETURN QUERY SELECT 'r', r.id, r.thread, ARRAY[CASE WHEN t.open_run = r.id AND t.run IS NOT NULL THEN t.run ELSE r.data END]
			FROM {p}_runs r WHERE r.tenant = p_tenant AND r.id = t.latest_run;
		RETURN QUERY SELECT 'c', '', '', c.calls FROM {p}_calls(p_tenant, t.latest_run) c;
		RETURN QUERY SELECT 's', s.run, s.key, ARRAY[s.value] FROM {p}_state s
			WHERE s.tenant = p_tenant AND s.thread = p_thread AND s.run IN ('', t.latest_run);
	END IF;
	IF t.unread > 0 THEN
		RETURN QUERY SELECT 'i', i.id, '', ARRAY[i.data] FROM {p}_inbox i
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.data IS NOT NULL ORDER BY i.pos;
	END IF;
END $$;

-- The ledger of a run, commit by commit.
CREATE FUNCTION {p}_calls(p_tenant text, p_run text) RETURNS TABLE (calls text[]) LANGUAGE plpgsql STABLE AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM {p}_runs o WHERE o.tenant = p_tenant AND o.id = p_run;
	RETURN QUERY SELECT c.calls FROM {p}_commits c WHERE c.tenant = p_tenant AND c.thread = r.thread AND c.last >= r.first_seq AND c.last <= r.last_seq
		AND c.run = p_run AND c.calls IS NOT NULL ORDER BY c.last, c.n;
END $$;
