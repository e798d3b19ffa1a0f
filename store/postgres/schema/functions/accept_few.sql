-- Queues a few dispatches, as the function enqueue does, in a loop of plain statements: to begin and end the statements for many takes longer
-- than these. It also acquires new threads whose dispatch it claims, and returns their fences, or 0.
--
-- A row of p_rows is a dispatch: tenant, id, thread, run, priority, delay, limit of attempts, dedupe key, key, digest, request, user, whether the
-- thread must be idle, whether it is confined to the user, token, message, and the digests of the message. A row of p_queues is a thread of these
-- dispatches, in the order of the keys: tenant, thread, place of its first dispatch, highest priority of the dispatches without a delay, shortest
-- delay of the others (each '' if there are none), and the dispatch, token, consumer and lease of the claim if p_start says that they are to be
-- claimed.
CREATE OR REPLACE FUNCTION {p}_accept_few(p_rows text[], p_queues text[], p_look boolean, p_start boolean,
	OUT at bigint, OUT epochs bigint[], OUT fences bigint[], OUT seqs bigint[], OUT started boolean[], OUT owned bigint[]) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	v_now     bigint := {p}_now();
	v_first   bigint;  -- the highest priority that can be claimed
	v_start   boolean := false;
	v_alive   text := ''; -- a consumer that lives
	v_taken   text[] := '{}'; -- tokens of the queues that were claimed
	v_undone  boolean := false; -- a queue says more than is true
	v_tenants text[];
	v_threads text[];
	d         text[];
	q         text[];
	t         record;
	v_exists  boolean;
	v_ok      boolean;
	v_claimed boolean;
	v_born    bigint;
	v_epoch   bigint;
	v_fence   bigint;
BEGIN
	at := v_now / 1000;
	IF p_start AND array_length(p_rows, 1) = array_length(p_queues, 1) AND coalesce((SELECT o.wake FROM {p}_queues o WHERE o.wake IS NOT NULL ORDER BY o.wake LIMIT 1) > at, true) THEN
		v_start := true;
		v_first := coalesce((SELECT o.priority FROM {p}_queues o WHERE NOT o.suspect AND o.since IS NOT NULL ORDER BY o.priority LIMIT 1), 256);
		FOREACH q SLICE 1 IN ARRAY p_queues LOOP
			v_start := v_start AND q[5] = '' AND q[4]::bigint < v_first;
			IF v_start AND v_alive <> q[8] THEN
				-- A process that is leaving or being buried claims nothing; one that does so later waits for this
				-- lock, and then finds what is claimed here. The lock does not hold up heartbeats, nor wait for any.
				PERFORM FROM {p}_processes p WHERE p.id = q[8] AND p.until > at FOR KEY SHARE SKIP LOCKED;
				v_start := FOUND;
				v_alive := q[8];
			END IF;
		END LOOP;
	END IF;
	-- Locks the queues, and says of them what will be true if nothing is left out.
	FOREACH q SLICE 1 IN ARRAY p_queues LOOP
		IF v_start THEN
			-- A queue that is neither claimed nor ready, and does not wait for a time, is empty.
			INSERT INTO {p}_queues AS o (tenant, id, claimed, token, consumer, lease, stamp) VALUES (q[1], q[2], q[6], q[7], q[8], at + q[9]::bigint, at)
				ON CONFLICT (tenant, id) DO UPDATE SET
					claimed = excluded.claimed, token = excluded.token, consumer = excluded.consumer, lease = excluded.lease, stamp = excluded.stamp
				WHERE o.claimed IS NULL AND o.since IS NULL AND o.wake IS NULL;
			IF FOUND THEN
				v_taken := v_taken || q[7];
				CONTINUE;
			END IF;
		END IF;
		INSERT INTO {p}_queues AS o (tenant, id, priority, since, wake)
			VALUES (q[1], q[2], nullif(q[4], '')::integer, CASE WHEN q[4] <> '' THEN v_now + q[3]::bigint END, at + nullif(q[5], '')::bigint)
			ON CONFLICT (tenant, id) DO UPDATE SET
				priority = least(o.priority, excluded.priority), since = coalesce(o.since, excluded.since), wake = least(o.wake, excluded.wake)
			WHERE o.claimed IS NULL AND (excluded.priority < coalesce(o.priority, 256) OR excluded.wake < coalesce(o.wake, 9223372036854775807));
	END LOOP;
	FOREACH d SLICE 1 IN ARRAY p_rows LOOP
		v_claimed := v_start AND d[15] = ANY (v_taken);
		v_ok := true;
		SELECT o.epoch INTO v_epoch FROM {p}_queues o WHERE o.tenant = d[1] AND o.id = d[3];
		SELECT h.open_run, h.user_id, h.fence, h.last_seq INTO t FROM {p}_threads h WHERE h.tenant = d[1] AND h.id = d[3];
		v_exists := FOUND;
		IF v_exists THEN
			v_ok := d[14] = 'f' OR t.user_id = d[12];
			IF t.open_run <> '' THEN
				v_ok := v_ok AND d[13] = 'f' AND (SELECT r.status FROM {p}_runs r WHERE r.tenant = d[1] AND r.id = t.open_run) IS DISTINCT FROM 'waiting';
			END IF;
			IF d[13] = 't' AND NOT v_claimed THEN
				v_ok := v_ok AND NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.thread = d[3] AND o.completed = 0);
			END IF;
			IF d[8] <> '' THEN
				v_ok := v_ok AND NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.thread = d[3] AND o.completed = 0 AND o.dedupe = d[8]);
			END IF;
		END IF;
		IF p_look THEN
			v_ok := v_ok AND NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.id = d[2])
				AND NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.key = d[9] AND o.key <> '')
				AND NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.thread = d[3] AND o.message = d[16] AND o.message <> '')
				AND NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.run = d[4] AND o.born IS NOT NULL);
		END IF;
		v_ok := v_ok AND NOT EXISTS (SELECT FROM {p}_runs r WHERE r.tenant = d[1] AND r.id = d[4]);
		IF v_ok THEN
			v_born := nextval('{p}_clock');
			IF NOT v_exists THEN
				v_fence := coalesce((SELECT f.floor FROM {p}_tenants f WHERE f.tenant = d[1]), 0) + v_claimed::int;
				INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence, user_id) VALUES (d[1], d[3], at, at, v_born, v_fence, d[12]);
			END IF;
			INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request, born, message, said)
				VALUES (d[1], d[2], d[3], d[4], 'Queued', d[5]::integer, at + greatest(d[6]::bigint, 0), at, at, v_epoch, d[7]::bigint, d[8], d[9], d[10], d[11], v_born,
					coalesce(d[16], ''), coalesce(d[17], ''));
			started := started || (v_claimed AND (NOT v_exists OR t.open_run = ''));
			v_undone := v_undone OR v_claimed AND NOT started[cardinality(started)];
		ELSE
			v_epoch := -1;
			started := started || false;
			v_undone := true;
		END IF;
		epochs := epochs || v_epoch;
		owned := owned || CASE WHEN started[cardinality(started)] AND NOT v_exists THEN v_fence ELSE 0 END;
		fences := fences || CASE WHEN v_exists THEN t.fence ELSE 0 END;
		seqs := seqs || CASE WHEN v_exists THEN t.last_seq ELSE 0 END;
	END LOOP;
	IF v_undone THEN
		FOREACH d SLICE 1 IN ARRAY p_rows LOOP
			v_tenants := v_tenants || d[1];
			v_threads := v_threads || d[3];
			UPDATE {p}_queues o SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
				WHERE NOT started[cardinality(v_threads)] AND o.tenant = d[1] AND o.id = d[3] AND o.token = d[15];
		END LOOP;
		PERFORM {p}_ready(v_tenants, v_threads, v_now);
	END IF;
END $$;
