-- The user that a thread belongs to; '' if it belongs to none, as those of before.

ALTER TABLE {p}_threads ADD COLUMN user_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX {p}_threads_user ON {p}_threads (tenant, user_id, touched DESC) WHERE user_id <> '';

-- Makes a commit as {p}_commit does. If it is the first of a thread that no dispatch made, the
-- thread belongs to the user.
CREATE FUNCTION {p}_user_commit(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_user text
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	fresh boolean;
	code  bigint;
BEGIN
	SELECT h.created = 0 INTO fresh FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread FOR NO KEY UPDATE;
	code := {p}_commit(p_tenant, p_thread, p_fence, p_number, p_generation, p_time, p_expect, p_run, p_record, p_messages, p_first, p_last,
		p_epoch, p_entries, p_calls, p_rest, p_parent, p_run_thread, p_status, p_state_runs, p_keys, p_values, p_read, p_valid);
	IF fresh AND code >= 0 THEN
		UPDATE {p}_threads h SET user_id = p_user WHERE h.tenant = p_tenant AND h.id = p_thread;
	END IF;
	RETURN code;
END $$;

-- Queues dispatches, as before, and gives each new thread the user of the first of its own. The
-- function without users stays for processes of the version before.
CREATE FUNCTION {p}_enqueue(
	p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[],
	p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_records text[], p_look boolean, p_users text[],
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
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, p_records, p_users)
			WITH ORDINALITY AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, record, user_id, n)
		CROSS JOIN LATERAL (SELECT q.epoch FROM {p}_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
		LEFT JOIN LATERAL (SELECT t.id, t.open_run FROM {p}_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true
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
	) SELECT array_agg(CASE WHEN s.ok THEN s.epoch ELSE -1 END ORDER BY s.n) INTO epochs FROM s;
	IF -1 = ANY (epochs) THEN
		PERFORM {p}_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;
