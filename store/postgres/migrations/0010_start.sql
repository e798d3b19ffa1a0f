-- Queues dispatches, as the function with fewer arguments, which stays for processes of the
-- version before. It leaves out those that do not meet their terms (mailbox.Terms): p_idle,
-- that the thread has neither an open run nor a live dispatch, and p_confined, that it is new
-- or belongs to the user. It also returns where each thread's log of events ends.
--
-- If there are consumers, one for each dispatch, it claims what it can instead, as
-- mailbox.Terms describes: all of them, or none if any must wait for its turn.
CREATE FUNCTION {p}_enqueue(
	p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[],
	p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_records text[], p_look boolean, p_users text[],
	p_idle boolean[], p_confined boolean[], p_consumers text[], p_tokens text[], p_leases bigint[],
	OUT at bigint, OUT epochs bigint[], OUT fences bigint[], OUT seqs bigint[], OUT started boolean[]
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now    bigint := {p}_now();
	v_floor  bigint := coalesce((SELECT max(f.floor) FROM {p}_tenants f WHERE f.tenant = ANY (p_tenants)), 0);
	v_first  bigint;
	v_living text[];
	v_taken  boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);
BEGIN
	at := v_now / 1000;
	IF p_consumers IS NOT NULL AND NOT EXISTS (SELECT FROM {p}_queues q WHERE q.wake <= at) THEN
		v_first := coalesce((SELECT q.priority FROM {p}_queues q WHERE NOT q.suspect AND q.since IS NOT NULL ORDER BY q.priority LIMIT 1), 256);
		-- A process that is leaving or being buried claims nothing; one that does so later waits for this
		-- lock, and then finds what is claimed here. The lock does not hold up heartbeats, nor wait for any.
		SELECT array_agg(l.id) INTO v_living FROM
			(SELECT p.id FROM {p}_processes p WHERE p.id = ANY (p_consumers) AND p.until > at FOR KEY SHARE SKIP LOCKED) l;
		-- Queues are locked in the order of their keys, so the others are not locked later.
		IF p_consumers <@ v_living AND (SELECT bool_and(s.delay <= 0 AND s.priority < v_first) AND count(*) = count(DISTINCT (s.tenant, s.thread))
				FROM unnest(p_tenants, p_threads, p_priorities, p_delays) AS s (tenant, thread, priority, delay)) THEN
			-- A queue that is neither claimed nor ready, and does not wait for a time, is empty.
			WITH u AS (
				INSERT INTO {p}_queues AS q (tenant, id, claimed, token, consumer, lease, stamp)
					SELECT s.tenant, s.thread, s.id, s.token, s.consumer, at + s.lease, at
					FROM unnest(p_tenants, p_ids, p_threads, p_consumers, p_tokens, p_leases) AS s (tenant, id, thread, consumer, token, lease)
					ORDER BY s.tenant COLLATE "C", s.thread COLLATE "C"
				ON CONFLICT (tenant, id) DO UPDATE SET
					claimed = excluded.claimed, token = excluded.token, consumer = excluded.consumer, lease = excluded.lease, stamp = excluded.stamp
				WHERE q.claimed IS NULL AND q.since IS NULL AND q.wake IS NULL
				RETURNING q.token
			) SELECT array_agg(u.token IS NOT NULL ORDER BY s.n) INTO v_taken FROM unnest(p_tokens) WITH ORDINALITY AS s (token, n) LEFT JOIN u ON u.token = s.token;
		END IF;
	END IF;
	IF false = ANY (v_taken) THEN
		-- Locks the queues, and says of them what will be true if nothing is left out.
		INSERT INTO {p}_queues AS q (tenant, id, priority, since, wake)
			SELECT t.tenant, t.thread, t.priority, CASE WHEN t.priority IS NOT NULL THEN v_now + t.n END, t.wake FROM (
				SELECT s.tenant COLLATE "C" AS tenant, s.thread COLLATE "C" AS thread, min(s.n) AS n,
					min(s.priority) FILTER (WHERE s.delay <= 0) AS priority, min(at + s.delay) FILTER (WHERE s.delay > 0) AS wake
				FROM unnest(p_tenants, p_threads, p_priorities, p_delays, v_taken) WITH ORDINALITY AS s (tenant, thread, priority, delay, taken, n) WHERE NOT s.taken
				GROUP BY 1, 2 ORDER BY 1, 2) t
			ON CONFLICT (tenant, id) DO UPDATE SET
				priority = least(q.priority, excluded.priority), since = coalesce(q.since, excluded.since), wake = least(q.wake, excluded.wake)
			WHERE q.claimed IS NULL AND (excluded.priority < coalesce(q.priority, 256) OR excluded.wake < coalesce(q.wake, 9223372036854775807));
	END IF;
	WITH s AS MATERIALIZED (
		SELECT s.*, q.epoch, t.id IS NULL AS fresh, coalesce(t.open_run, '') AS open_run, coalesce(t.fence, 0) AS fence, coalesce(t.last_seq, 0) AS last_seq,
			(t.open_run = '' OR t.id IS NULL OR NOT s.idle AND (SELECT r.status FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = t.open_run) IS DISTINCT FROM 'waiting')
			AND (NOT s.idle OR s.taken OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 LIMIT 1) IS NULL)
			AND (NOT s.confined OR t.id IS NULL OR t.user_id = s.user_id)
			AND (NOT p_look OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id) IS NULL)
			AND (NOT p_look OR s.key = '' OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.key = s.key AND d.key <> '') IS NULL)
			AND (s.dedupe = '' OR (SELECT d.id FROM {p}_dispatches d
				WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 AND d.dedupe = s.dedupe LIMIT 1) IS NULL) AS ok
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, p_records, p_users, p_idle, p_confined, v_taken)
			WITH ORDINALITY AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, record, user_id, idle, confined, taken, n)
		CROSS JOIN LATERAL (SELECT q.epoch FROM {p}_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
		LEFT JOIN LATERAL (SELECT t.id, t.open_run, t.user_id, t.fence, t.last_seq FROM {p}_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true
	), d AS (
		INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request)
			SELECT s.tenant, s.id, s.thread, s.run, 'Queued', s.priority, at + greatest(s.delay, 0), at, at, s.epoch, s.max, s.dedupe, s.key, s.digest, s.request
			FROM s WHERE s.ok
	), t AS (
		INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence, user_id)
			SELECT s.tenant, s.thread, at, at, nextval('{p}_clock'), v_floor, (array_agg(s.user_id ORDER BY s.n))[1]
			FROM s WHERE s.ok AND s.fresh GROUP BY s.tenant, s.thread
	), r AS (
		INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
			SELECT s.tenant, s.run, s.thread, 'created', nextval('{p}_clock'),
				replace(s.record, '"created_at":0,"updated_at":0', '"created_at":' || at / 1000 || ',"updated_at":' || at / 1000), 9223372036854775807, 0
			FROM s WHERE s.ok AND (NOT p_look OR (SELECT r.id FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL)
	) SELECT array_agg(CASE WHEN s.ok THEN s.epoch ELSE -1 END ORDER BY s.n), array_agg(s.fence ORDER BY s.n), array_agg(s.last_seq ORDER BY s.n),
		array_agg(s.ok AND s.taken AND s.open_run = '' ORDER BY s.n) INTO epochs, fences, seqs, started FROM s;
	IF -1 = ANY (epochs) OR v_taken <> started THEN
		UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
			FROM unnest(p_tenants, p_threads, p_tokens, started) AS s (tenant, id, token, started)
			WHERE NOT s.started AND q.tenant = s.tenant AND q.id = s.id AND q.token = s.token;
		PERFORM {p}_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;
