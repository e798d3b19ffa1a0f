-- Claims what can be claimed, as mailbox.Queue describes. Fresh says that the run has not started, and that its thread has no open run. A claim
-- acquires a thread that is new and returns its row: the owner needs nothing else of such a thread. Processes that are dead or have left claim
-- nothing.
CREATE OR REPLACE FUNCTION {p}_claim_next(p_consumer text, p_token text, p_lease bigint, p_limit bigint, p_suspects bigint, p_except text[])
RETURNS TABLE (tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint,
	available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint,
	token text, consumer text, lease bigint, crashes bigint, lost bigint, fresh boolean, owned {p}_threads) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now     bigint := {p}_now();
	v_at      bigint := v_now / 1000;
	v_tenants text[];
	v_threads text[];
BEGIN
	IF (SELECT q.wake FROM {p}_queues q WHERE q.wake IS NOT NULL ORDER BY q.wake LIMIT 1) <= v_at THEN
		SELECT array_agg(w.tenant), array_agg(w.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM {p}_queues q WHERE q.wake <= v_at ORDER BY q.wake LIMIT greatest(p_limit, 1000) FOR UPDATE SKIP LOCKED) w;
		PERFORM {p}_ready(v_tenants, v_threads, v_now);
	END IF;
	-- What is in a queue is looked up after its row is locked, by a statement of its own:
	-- one statement would see what was there before it had the lock.
	IF coalesce(cardinality(p_except), 0) = 0 THEN
		SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM {p}_queues q WHERE q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
				LIMIT least(p_suspects, p_limit) FOR UPDATE SKIP LOCKED) r;
		SELECT v_tenants || array_agg(r.tenant), v_threads || array_agg(r.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM {p}_queues q WHERE NOT q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
				LIMIT p_limit - coalesce(cardinality(v_threads), 0) FOR UPDATE SKIP LOCKED) r;
	ELSE
		SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM {p}_claimable(true, least(p_suspects, p_limit), p_except) r;
		SELECT v_tenants || array_agg(r.tenant), v_threads || array_agg(r.id) INTO v_tenants, v_threads FROM
			{p}_claimable(false, p_limit - coalesce(cardinality(v_threads), 0), p_except) r;
	END IF;
	IF v_threads IS NULL THEN RETURN; END IF;
	v_at := {p}_now() / 1000; -- what was queued before the locks is available
	-- A process that is leaving or being buried claims nothing; one that does so later waits for this
	-- lock, and then finds what is claimed here. The lock does not hold up heartbeats, nor wait for any.
	PERFORM FROM {p}_processes p WHERE p.id = p_consumer AND p.until > v_at FOR KEY SHARE SKIP LOCKED;
	IF NOT FOUND THEN RAISE EXCEPTION 'process % is dead or not known', p_consumer USING ERRCODE = 'AW002'; END IF;
	RETURN QUERY WITH h AS MATERIALIZED (
		SELECT d.*, t.n, d.born IS NOT NULL AND d.attempts = 0 AND d.crashes = 0 AND d.lost = 0
			AND (SELECT r.id FROM {p}_runs r WHERE r.tenant = d.tenant AND r.id = d.run) IS NULL AS new
		FROM unnest(v_tenants, v_threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT * FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0 AND d.available <= v_at
			ORDER BY d.priority, d.created, d.id LIMIT 1) d
	), u AS (
		UPDATE {p}_queues q SET claimed = h.id, token = p_token || h.n, consumer = p_consumer, lease = v_at + p_lease, stamp = v_at,
			priority = NULL, since = NULL, wake = NULL
		FROM h WHERE q.tenant = h.tenant AND q.id = h.thread
	), o AS (
		UPDATE {p}_threads t SET fence = t.fence + 1, committed = 0 FROM h
		WHERE h.new AND NOT h.cancel AND t.tenant = h.tenant AND t.id = h.thread AND t.latest_run = '' AND t.messages = 0 AND t.last_seq = 0 AND t.unread = 0
		RETURNING h.n, t AS thread
	) SELECT h.tenant, h.id, h.thread, h.run, h.request, h.priority, h.dedupe, h.epoch, h.status, h.cancel, h.revision,
		h.available, h.attempts, h.max_attempts, h.steps, h.error, h.key, h.digest, h.created, v_at, h.completed,
		p_token || h.n, p_consumer, v_at + p_lease, h.crashes, h.lost,
		h.new AND (o.n IS NOT NULL OR (SELECT t.open_run FROM {p}_threads t WHERE t.tenant = h.tenant AND t.id = h.thread) = ''), o.thread
	FROM h LEFT JOIN o ON o.n = h.n ORDER BY h.n;
END $$;
