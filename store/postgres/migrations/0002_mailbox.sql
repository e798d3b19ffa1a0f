-- The queue of runs, and whom a thread belongs to.
--
-- A row of dispatches is changed only by whoever has locked its queue's row; rows of
-- queues are locked in order of their keys, and before rows of threads.

ALTER TABLE {p}_threads ADD COLUMN resource text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX {p}_threads_resource ON {p}_threads (tenant, resource, touched DESC) WHERE resource <> '';

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
	request   text                        -- JSON; NULL wakes the run
);
CREATE INDEX {p}_dispatches_completed ON {p}_dispatches (completed) WHERE completed > 0;
CREATE UNIQUE INDEX {p}_dispatches_key ON {p}_dispatches (tenant, key) WHERE key <> '';
-- The tenant leads neither, so that one is not taken for the look-ups of the other.
ALTER TABLE {p}_dispatches ADD PRIMARY KEY (id, tenant);
CREATE INDEX {p}_dispatches_thread ON {p}_dispatches (thread, tenant, completed);

-- One row for each thread that ever had a dispatch. At most one dispatch of a thread is
-- claimed, so the claim is here.
CREATE TABLE {p}_queues (
	tenant   text COLLATE "C" NOT NULL,
	id       text COLLATE "C" NOT NULL, -- of the thread
	epoch    bigint NOT NULL DEFAULT 0,
	priority integer, -- the highest of what can be claimed now; NULL if nothing can
	since    bigint,  -- unix µs; how long something could be claimed. NULL if nothing can
	wake     bigint,  -- when more can be claimed. NULL if that is not a matter of time
	claimed  text COLLATE "C", -- the dispatch that somebody has, or NULL
	token    text,
	consumer text,
	lease    bigint,  -- until when
	stamp    bigint   -- when it was claimed
) WITH (fillfactor = 70);
CREATE INDEX {p}_queues_ready ON {p}_queues (priority, since) WHERE since IS NOT NULL;
CREATE INDEX {p}_queues_wake ON {p}_queues (wake) WHERE wake IS NOT NULL;
CREATE INDEX {p}_queues_lease ON {p}_queues (lease) WHERE lease IS NOT NULL;
ALTER TABLE {p}_queues ADD PRIMARY KEY (tenant, id);

-- The clock of the queue, unix µs.
CREATE FUNCTION {p}_now() RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

-- Locks a thread's queue, making it if it is not there.
CREATE FUNCTION {p}_queue(p_tenant text, p_thread text) RETURNS SETOF {p}_queues LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		RETURN QUERY SELECT * FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread FOR UPDATE;
		IF FOUND THEN RETURN; END IF;
		RETURN QUERY INSERT INTO {p}_queues (tenant, id) VALUES (p_tenant, p_thread) ON CONFLICT DO NOTHING RETURNING *;
		IF FOUND THEN RETURN; END IF;
	END LOOP;
END $$;

-- The functions below are for many rows at once. They are planned once, and rows must be
-- looked up by their keys then, in the order the statement says (LATERAL and LIMIT see to
-- that): PostgreSQL plans before it knows how large the tables get.

-- Says of queues that are locked and not claimed what can be claimed of them, and
-- returns of how many anything can.
CREATE FUNCTION {p}_ready(p_tenants text[], p_threads text[], p_now bigint) RETURNS bigint LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	n bigint;
BEGIN
	WITH u AS (
		UPDATE {p}_queues q SET priority = r.priority, wake = r.wake,
			since = CASE WHEN r.priority IS NOT NULL THEN coalesce(q.since, least(q.wake * 1000, p_now)) END
		FROM unnest(p_tenants, p_threads) AS t (tenant, id) CROSS JOIN LATERAL (
			SELECT min(d.priority) FILTER (WHERE d.available <= p_now / 1000) AS priority,
				min(d.available) FILTER (WHERE d.available > p_now / 1000) AS wake
			FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0) r
		WHERE q.tenant = t.tenant AND q.id = t.id AND q.claimed IS NULL
		RETURNING q.since
	) SELECT count(u.since) INTO n FROM u;
	RETURN n;
END $$;

-- Queues dispatches that start runs: those that can be, as mailbox.Store describes. It
-- returns the clock in ms, and for each dispatch its epoch, or -1 if it was left out.
--
-- Unless it is to look, it takes for granted that nothing is there yet: ids and keys are
-- new nearly always. If they are not, it fails, and has to be asked again, and to look.
-- So has whoever wanted to make the same at the same time.
CREATE FUNCTION {p}_enqueue(
	p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[],
	p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_records text[], p_look boolean,
	OUT at bigint, OUT epochs bigint[]
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now   bigint := {p}_now();
	v_floor bigint := coalesce((SELECT max(f.floor) FROM {p}_tenants f WHERE f.tenant = ANY (p_tenants)), 0);
BEGIN
	at := v_now / 1000;
	-- Locks the queues, and says of them what will be true if nothing is left out.
	INSERT INTO {p}_queues AS q (tenant, id, priority, since, wake)
		SELECT t.tenant, t.thread, t.priority, CASE WHEN t.priority IS NOT NULL THEN v_now + t.n END, t.wake FROM (
			SELECT s.tenant COLLATE "C" AS tenant, s.thread COLLATE "C" AS thread, min(s.n) AS n,
				min(s.priority) FILTER (WHERE s.delay <= 0) AS priority, min(at + s.delay) FILTER (WHERE s.delay > 0) AS wake
			FROM unnest(p_tenants, p_threads, p_priorities, p_delays) WITH ORDINALITY AS s (tenant, thread, priority, delay, n)
			GROUP BY 1, 2 ORDER BY 1, 2) t
		ON CONFLICT (tenant, id) DO UPDATE SET
			priority = least(q.priority, excluded.priority), since = coalesce(q.since, excluded.since), wake = least(q.wake, excluded.wake)
		WHERE q.claimed IS NULL AND (excluded.priority < coalesce(q.priority, 256) OR excluded.wake < coalesce(q.wake, 9223372036854775807));
	WITH s AS MATERIALIZED (
		SELECT s.*, q.epoch, t.id IS NULL AS fresh,
			(t.open_run = '' OR t.id IS NULL OR (SELECT r.status FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = t.open_run) IS DISTINCT FROM 'waiting')
			AND (NOT p_look OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id) IS NULL)
			AND (NOT p_look OR s.key = '' OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.key = s.key AND d.key <> '') IS NULL)
			AND (s.dedupe = '' OR (SELECT d.id FROM {p}_dispatches d
				WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 AND d.dedupe = s.dedupe LIMIT 1) IS NULL) AS ok
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, p_records)
			WITH ORDINALITY AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, record, n)
		CROSS JOIN LATERAL (SELECT q.epoch FROM {p}_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
		LEFT JOIN LATERAL (SELECT t.id, t.open_run FROM {p}_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true
	), d AS (
		INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request)
			SELECT s.tenant, s.id, s.thread, s.run, 'Queued', s.priority, at + greatest(s.delay, 0), at, at, s.epoch, s.max, s.dedupe, s.key, s.digest, s.request
			FROM s WHERE s.ok
	), t AS (
		INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence)
			SELECT s.tenant, s.thread, at, at, nextval('{p}_clock'), v_floor
			FROM s WHERE s.ok AND s.fresh GROUP BY s.tenant, s.thread
	), r AS (
		INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
			SELECT s.tenant, s.run, s.thread, 'created', nextval('{p}_clock'),
				replace(s.record, '"created_at":0,"updated_at":0', '"created_at":' || at / 1000 || ',"updated_at":' || at / 1000), 9223372036854775807, 0
			FROM s WHERE s.ok AND (NOT p_look OR (SELECT r.id FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL)
	) SELECT array_agg(CASE WHEN s.ok THEN s.epoch ELSE -1 END ORDER BY s.n) INTO epochs FROM s;
	IF -1 = ANY (epochs) THEN
		PERFORM {p}_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;

-- Claims what can be claimed, as mailbox.Queue describes.
CREATE FUNCTION {p}_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint)
RETURNS TABLE (tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint,
	available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint,
	token text, consumer text, lease bigint) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now     bigint := {p}_now();
	v_at      bigint := v_now / 1000;
	v_tenants text[];
	v_threads text[];
BEGIN
	IF EXISTS (SELECT FROM {p}_queues q WHERE q.wake <= v_at) THEN
		SELECT array_agg(w.tenant), array_agg(w.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM {p}_queues q WHERE q.wake <= v_at ORDER BY q.wake LIMIT greatest(p_limit, 1000) FOR UPDATE SKIP LOCKED) w;
		PERFORM {p}_ready(v_tenants, v_threads, v_now);
	END IF;
	-- What is in a queue is looked up after its row is locked, by a statement of its own:
	-- one statement would see what was there before it had the lock.
	SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM
		(SELECT q.tenant, q.id FROM {p}_queues q WHERE q.since IS NOT NULL ORDER BY q.priority, q.since LIMIT p_limit FOR UPDATE SKIP LOCKED) r;
	IF v_threads IS NULL THEN RETURN; END IF;
	v_at := {p}_now() / 1000; -- what was queued before the locks is available
	RETURN QUERY WITH h AS MATERIALIZED (
		SELECT d.*, t.n FROM unnest(v_tenants, v_threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT * FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0 AND d.available <= v_at
			ORDER BY d.priority, d.created, d.id LIMIT 1) d
	), u AS (
		UPDATE {p}_queues q SET claimed = h.id, token = p_token || h.n, consumer = p_consumer, lease = v_at + p_lease, stamp = v_at,
			priority = NULL, since = NULL, wake = NULL
		FROM h WHERE q.tenant = h.tenant AND q.id = h.thread
	) SELECT h.tenant, h.id, h.thread, h.run, h.request, h.priority, h.dedupe, h.epoch, h.status, h.cancel, h.revision,
		h.available, h.attempts, h.max_attempts, h.steps, h.error, h.key, h.digest, h.created, v_at, h.completed,
		p_token || h.n, p_consumer, v_at + p_lease
	FROM h ORDER BY h.n;
END $$;

-- Extends leases. It returns of each claim whether it is lost (0), as it should be (1),
-- or the dispatch is to be ended (2).
CREATE FUNCTION {p}_renew(p_lease bigint, p_tenants text[], p_ids text[], p_tokens text[], p_steps bigint[]) RETURNS bigint[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_at      bigint := {p}_now() / 1000;
	v_out     bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_ids)]);
	v_n       bigint[];
	v_tenants text[];
	v_threads text[];
	v_ids     text[];
	v_steps   bigint[];
BEGIN
	SELECT array_agg(h.n), array_agg(h.tenant), array_agg(h.thread), array_agg(h.id), array_agg(h.steps) INTO v_n, v_tenants, v_threads, v_ids, v_steps FROM (
		SELECT o.* FROM (
			SELECT s.*, d.thread FROM unnest(p_tenants, p_ids, p_tokens, p_steps) WITH ORDINALITY AS s (tenant, id, token, steps, n)
			CROSS JOIN LATERAL (SELECT d.thread FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id LIMIT 1) d
			ORDER BY s.tenant COLLATE "C", d.thread) o
		CROSS JOIN LATERAL (SELECT FROM {p}_queues q WHERE q.tenant = o.tenant AND q.id = o.thread AND q.claimed = o.id AND q.token = o.token FOR UPDATE) q) h;
	IF v_n IS NOT NULL THEN
		UPDATE {p}_queues q SET lease = v_at + p_lease FROM unnest(v_tenants, v_threads) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id;
		UPDATE {p}_dispatches d SET attempts = 0, steps = s.steps, updated = v_at
			FROM unnest(v_tenants, v_ids, v_steps) AS s (tenant, id, steps) WHERE d.tenant = s.tenant AND d.id = s.id AND d.steps < s.steps;
		FOR i IN 1 .. cardinality(v_n) LOOP
			v_out[v_n[i]] := (SELECT CASE WHEN d.cancel THEN 2 ELSE 1 END FROM {p}_dispatches d WHERE d.tenant = v_tenants[i] AND d.id = v_ids[i]);
		END LOOP;
	END IF;
	RETURN v_out;
END $$;

-- Ends claims. It returns the indexes, from 1, of those that could be ended, and whether
-- any of their threads has something that can be claimed.
CREATE FUNCTION {p}_settle(
	p_tenants text[], p_ids text[], p_tokens text[], p_steps bigint[], p_statuses text[], p_delays bigint[], p_failed boolean[], p_errors text[],
	OUT settled bigint[], OUT ready boolean
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now bigint := {p}_now();
	v_at  bigint := v_now / 1000;
	c     record;
BEGIN
	ready := false;
	SELECT array_agg(l.n) AS n, array_agg(l.tenant) AS tenants, array_agg(l.thread) AS threads, array_agg(l.id) AS ids, array_agg(l.steps) AS steps,
		array_agg(l.status) AS statuses, array_agg(l.delay) AS delays, array_agg(l.failed) AS failed, array_agg(l.error) AS errors INTO c FROM (
			SELECT o.* FROM (
				SELECT s.*, d.thread FROM unnest(p_tenants, p_ids, p_tokens, p_steps, p_statuses, p_delays, p_failed, p_errors) WITH ORDINALITY
					AS s (tenant, id, token, steps, status, delay, failed, error, n)
				CROSS JOIN LATERAL (SELECT d.thread FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id LIMIT 1) d
				ORDER BY s.tenant COLLATE "C", d.thread) o
			CROSS JOIN LATERAL (SELECT FROM {p}_queues q WHERE q.tenant = o.tenant AND q.id = o.thread AND q.claimed = o.id AND q.token = o.token FOR UPDATE) q) l;
	settled := c.n;
	IF settled IS NULL THEN RETURN; END IF;
	UPDATE {p}_dispatches d SET
		status = s.status, updated = v_at, completed = CASE s.status WHEN 'Queued' THEN 0 ELSE v_at END,
		available = CASE s.status WHEN 'Queued' THEN v_at + s.delay ELSE d.available END,
		attempts = CASE WHEN s.steps > d.steps THEN 0 ELSE d.attempts END + s.failed::int, steps = greatest(d.steps, s.steps),
		error = CASE s.error WHEN '' THEN d.error ELSE s.error END
		FROM unnest(c.tenants, c.ids, c.steps, c.statuses, c.delays, c.failed, c.errors) AS s (tenant, id, steps, status, delay, failed, error)
		WHERE d.tenant = s.tenant AND d.id = s.id;
	WITH u AS (
		UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
			priority = r.priority, wake = r.wake, since = CASE WHEN r.priority IS NOT NULL THEN v_now + t.n END
		FROM unnest(c.tenants, c.threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT min(d.priority) FILTER (WHERE d.available <= v_at) AS priority, min(d.available) FILTER (WHERE d.available > v_at) AS wake
			FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0) r
		WHERE q.tenant = t.tenant AND q.id = t.id
		RETURNING coalesce(q.since, q.wake) AS due
	) SELECT count(u.due) > 0 INTO ready FROM u;
END $$;

-- Puts dispatches whose lease is over back into the queue, and returns how many.
CREATE FUNCTION {p}_reclaim(p_limit bigint) RETURNS bigint LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now bigint := {p}_now();
	v_at  bigint := v_now / 1000;
	c     record;
BEGIN
	SELECT array_agg(l.tenant) AS tenants, array_agg(l.id) AS threads, array_agg(l.claimed) AS ids INTO c FROM
		(SELECT q.tenant, q.id, q.claimed FROM {p}_queues q WHERE q.lease <= v_at ORDER BY q.lease LIMIT p_limit FOR UPDATE SKIP LOCKED) l;
	IF c.ids IS NULL THEN RETURN 0; END IF;
	UPDATE {p}_dispatches d SET attempts = d.attempts + 1, available = v_at, updated = v_at
		FROM unnest(c.tenants, c.ids) AS s (tenant, id) WHERE d.tenant = s.tenant AND d.id = s.id;
	UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
		FROM unnest(c.tenants, c.threads) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id;
	PERFORM {p}_ready(c.tenants, c.threads, v_now);
	RETURN cardinality(c.ids);
END $$;
