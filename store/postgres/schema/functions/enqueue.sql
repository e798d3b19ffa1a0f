-- Queues dispatches, as mailbox.Store describes: the ones that can be, without the ones whose message the thread has accepted. It returns the clock
-- in ms, and of each dispatch its epoch, or -1 if it was left out, where the log of its thread ends, and whether it was claimed.
--
-- Unless p_look is set, it assumes that no dispatch has the ids, runs and keys, which are new nearly always, and that threads that it does not find
-- are new. If that is wrong, it fails with a unique violation, and the caller has to call it again with p_look.
--
-- If there are consumers, one for each dispatch, it claims what it can, as mailbox.Terms describes: all of them, or none if any must wait for its
-- turn.
--
-- The functions for many rows are planned once, with a generic plan, and rows must be found by their keys then, in the order of the statement
-- (LATERAL and LIMIT see to that): PostgreSQL plans before it knows how large the tables get. For the same reason functions ask for the first
-- of an index (ORDER BY … LIMIT 1) and compare it, where EXISTS could be answered by reading the whole table.
CREATE OR REPLACE FUNCTION {p}_enqueue(
	p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[],
	p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_look boolean, p_users text[],
	p_idle boolean[], p_confined boolean[], p_consumers text[], p_tokens text[], p_leases bigint[], p_messages text[], p_said text[],
	OUT at bigint, OUT epochs bigint[], OUT fences bigint[], OUT seqs bigint[], OUT started boolean[]
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now    bigint := {p}_now();
	v_size   integer := cardinality(p_ids);
	v_made   integer := 0;
	v_first  bigint;
	v_living text[];
	v_taken  boolean[] := array_fill(false, ARRAY[v_size]);
	v_fresh  boolean; -- all threads are new, and later whether some are
BEGIN
	at := v_now / 1000;
	IF p_consumers IS NOT NULL AND coalesce((SELECT q.wake FROM {p}_queues q WHERE q.wake IS NOT NULL ORDER BY q.wake LIMIT 1) > at, true) THEN
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
	v_fresh := NOT p_look AND NOT EXISTS (SELECT FROM unnest(p_tenants, p_threads) AS s (tenant, thread)
		CROSS JOIN LATERAL (SELECT t.id FROM {p}_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t);
	IF false = ANY (v_taken) AND v_fresh THEN
		INSERT INTO {p}_queues (tenant, id, priority, since, wake)
			SELECT s.tenant COLLATE "C", s.thread COLLATE "C", min(s.priority) FILTER (WHERE s.delay <= 0),
				CASE WHEN min(s.delay) <= 0 THEN v_now + min(s.n) END, min(at + s.delay) FILTER (WHERE s.delay > 0)
			FROM unnest(p_tenants, p_threads, p_priorities, p_delays, v_taken) WITH ORDINALITY AS s (tenant, thread, priority, delay, taken, n) WHERE NOT s.taken
			GROUP BY 1, 2 ORDER BY 1, 2;
	ELSIF false = ANY (v_taken) THEN
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
	IF v_fresh THEN
		-- A dispatch on a new thread is not left out. The queue of one was never interrupted.
		epochs := array_fill(0::bigint, ARRAY[v_size]);
		fences := array_fill(NULL::bigint, ARRAY[v_size]);
		seqs := epochs;
		started := v_taken;
	ELSE
		SELECT array_agg(CASE WHEN (t.id IS NULL OR t.open_run = '' OR NOT s.idle
					AND (SELECT r.status FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = t.open_run) IS DISTINCT FROM 'waiting')
				AND (NOT s.idle OR s.taken OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 LIMIT 1) IS NULL)
				AND (NOT s.confined OR t.id IS NULL OR t.user_id = s.user_id)
				AND (NOT p_look OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id) IS NULL
					AND (s.key = '' OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.key = s.key AND d.key <> '') IS NULL)
					AND (s.message = '' OR (SELECT d.id FROM {p}_dispatches d
						WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.message = s.message AND d.message <> '') IS NULL)
					AND (SELECT r.id FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL
					AND (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.run = s.run AND d.born IS NOT NULL) IS NULL)
				AND (s.dedupe = '' OR (SELECT d.id FROM {p}_dispatches d
					WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 AND d.dedupe = s.dedupe LIMIT 1) IS NULL)
				THEN q.epoch ELSE -1 END ORDER BY s.n),
			array_agg(t.fence ORDER BY s.n), array_agg(t.last_seq ORDER BY s.n), array_agg(s.taken AND coalesce(t.open_run, '') = '' ORDER BY s.n)
			INTO epochs, fences, seqs, started
			FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_dedupes, p_keys, p_users, p_idle, p_confined, v_taken, p_messages)
				WITH ORDINALITY AS s (tenant, id, thread, run, dedupe, key, user_id, idle, confined, taken, message, n)
			CROSS JOIN LATERAL (SELECT q.epoch FROM {p}_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
			LEFT JOIN LATERAL (SELECT t.id, t.open_run, t.user_id, t.fence, t.last_seq FROM {p}_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true;
		IF -1 = ANY (epochs) THEN
			v_size := v_size - cardinality(array_positions(epochs, -1));
			started := ARRAY(SELECT s.started AND s.epoch >= 0 FROM unnest(started, epochs) WITH ORDINALITY AS s (started, epoch, n) ORDER BY s.n);
		END IF;
		v_fresh := array_position(fences, NULL) IS NOT NULL;
	END IF;
	IF v_fresh THEN
		INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence, user_id)
			SELECT s.tenant, s.thread, at, at, nextval('{p}_clock'), coalesce((SELECT max(f.floor) FROM {p}_tenants f WHERE f.tenant = ANY (p_tenants)), 0), s.user_id FROM (
				SELECT DISTINCT ON (1, 2) s.tenant COLLATE "C" AS tenant, s.thread COLLATE "C" AS thread, s.user_id
				FROM unnest(p_tenants, p_threads, p_users, epochs, fences) WITH ORDINALITY AS s (tenant, thread, user_id, epoch, fence, n)
				WHERE s.epoch >= 0 AND s.fence IS NULL ORDER BY 1, 2, s.n) s;
	END IF;
	INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request, born, message, said)
		SELECT s.tenant, s.id, s.thread, s.run, 'Queued', s.priority, at + greatest(s.delay, 0), at, at, s.epoch, s.max, s.dedupe, s.key, s.digest, s.request, nextval('{p}_clock'), s.message, s.said
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, epochs, p_messages, p_said)
			AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, epoch, message, said)
		WHERE s.epoch >= 0 AND (SELECT r.id FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL;
	GET DIAGNOSTICS v_made = ROW_COUNT;
	fences := array_replace(fences, NULL, 0);
	seqs := array_replace(seqs, NULL, 0);
	IF v_made < v_size THEN
		RAISE EXCEPTION 'a run exists' USING ERRCODE = 'unique_violation';
	END IF;
	IF -1 = ANY (epochs) OR v_taken <> started THEN
		UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
			FROM unnest(p_tenants, p_threads, p_tokens, started) AS s (tenant, id, token, started)
			WHERE NOT s.started AND q.tenant = s.tenant AND q.id = s.id AND q.token = s.token;
		PERFORM {p}_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;
