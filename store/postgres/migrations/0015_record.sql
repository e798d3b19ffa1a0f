-- Until a run starts, its dispatch is its record: no row is written for it before.

ALTER TABLE {p}_dispatches ADD COLUMN born bigint; -- the clock when it was accepted, if it is the record of its run until that has one; NULL otherwise
CREATE INDEX {p}_dispatches_born ON {p}_dispatches (tenant, born DESC) WHERE completed = 0 AND born IS NOT NULL;
CREATE UNIQUE INDEX {p}_dispatches_run ON {p}_dispatches (run, tenant) WHERE born IS NOT NULL;

-- Queues dispatches, as mailbox.Store describes: those that can be. It returns the clock in ms, and of each
-- dispatch its epoch, or -1 if it was left out, where the log of its thread ends, and whether it was claimed.
-- The functions of the same name with other arguments are for processes of previous versions.
--
-- Unless it is to look, it takes for granted that no dispatch has the ids, runs and keys, which are new
-- nearly always. If one has, it fails, and has to be asked again, and to look.
--
-- If there are consumers, one for each dispatch, it claims what it can, as mailbox.Terms describes: all of
-- them, or none if any must wait for its turn.
CREATE FUNCTION {p}_enqueue(
	p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[],
	p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_look boolean, p_users text[],
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
	WITH o AS MATERIALIZED (
		SELECT s.*, q.epoch, t.id IS NULL AS fresh, coalesce(t.open_run, '') AS open_run, coalesce(t.fence, 0) AS fence, coalesce(t.last_seq, 0) AS last_seq,
			(t.open_run = '' OR t.id IS NULL OR NOT s.idle AND (SELECT r.status FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = t.open_run) IS DISTINCT FROM 'waiting')
			AND (NOT s.idle OR s.taken OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 LIMIT 1) IS NULL)
			AND (NOT s.confined OR t.id IS NULL OR t.user_id = s.user_id)
			AND (NOT p_look OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id) IS NULL)
			AND (NOT p_look OR s.key = '' OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.key = s.key AND d.key <> '') IS NULL)
			AND (s.dedupe = '' OR (SELECT d.id FROM {p}_dispatches d
				WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 AND d.dedupe = s.dedupe LIMIT 1) IS NULL) AS ok,
			(SELECT r.id FROM {p}_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL
			AND (NOT p_look OR (SELECT d.id FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.run = s.run AND d.born IS NOT NULL) IS NULL) AS new
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, p_users, p_idle, p_confined, v_taken)
			WITH ORDINALITY AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, user_id, idle, confined, taken, n)
		CROSS JOIN LATERAL (SELECT q.epoch FROM {p}_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
		LEFT JOIN LATERAL (SELECT t.id, t.open_run, t.user_id, t.fence, t.last_seq FROM {p}_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true
	), s AS MATERIALIZED (
		SELECT o.*, CASE WHEN o.ok AND o.new THEN nextval('{p}_clock') END AS born FROM o
	), d AS (
		INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request, born)
			SELECT s.tenant, s.id, s.thread, s.run, 'Queued', s.priority, at + greatest(s.delay, 0), at, at, s.epoch, s.max, s.dedupe, s.key, s.digest, s.request, s.born
			FROM s WHERE s.ok
	), t AS (
		INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence, user_id)
			SELECT s.tenant, s.thread, at, at, coalesce(min(s.born), nextval('{p}_clock')), v_floor, (array_agg(s.user_id ORDER BY s.n))[1]
			FROM s WHERE s.ok AND s.fresh GROUP BY s.tenant, s.thread
	) SELECT array_agg(CASE WHEN s.ok THEN s.epoch ELSE -1 END ORDER BY s.n), array_agg(s.fence ORDER BY s.n), array_agg(s.last_seq ORDER BY s.n),
		array_agg(s.ok AND s.taken AND s.new AND s.open_run = '' ORDER BY s.n) INTO epochs, fences, seqs, started FROM s;
	IF -1 = ANY (epochs) OR v_taken <> started THEN
		UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
			FROM unnest(p_tenants, p_threads, p_tokens, started) AS s (tenant, id, token, started)
			WHERE NOT s.started AND q.tenant = s.tenant AND q.id = s.id AND q.token = s.token;
		PERFORM {p}_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;

-- Queues a few dispatches, as the function enqueue does. It is a loop of plain statements: to begin and end the
-- statements for many takes longer than these.
--
-- A row of p_rows is a dispatch: tenant, id, thread, run, priority, delay, most attempts, dedupe key, key,
-- digest, request, user, whether the thread must be idle, whether it is confined to the user, and token. A row of
-- p_queues is a thread of theirs, in the order of their keys: tenant, thread, place of its first dispatch, highest
-- priority of those without a delay, shortest delay of the others (each '' if there are none), and the dispatch,
-- token, consumer and lease of the claim if p_start says that they are to be claimed.
CREATE FUNCTION {p}_enqueue_few(p_rows text[], p_queues text[], p_look boolean, p_start boolean,
	OUT at bigint, OUT epochs bigint[], OUT fences bigint[], OUT seqs bigint[], OUT started boolean[]) LANGUAGE plpgsql
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
	v_new     boolean;
	v_claimed boolean;
	v_born    bigint;
	v_epoch   bigint;
BEGIN
	at := v_now / 1000;
	IF p_start AND array_length(p_rows, 1) = array_length(p_queues, 1) AND NOT EXISTS (SELECT FROM {p}_queues o WHERE o.wake <= at) THEN
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
				AND NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.key = d[9] AND o.key <> '');
		END IF;
		IF v_ok THEN
			v_new := NOT EXISTS (SELECT FROM {p}_runs r WHERE r.tenant = d[1] AND r.id = d[4])
				AND (NOT p_look OR NOT EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = d[1] AND o.run = d[4] AND o.born IS NOT NULL));
			v_born := CASE WHEN v_new THEN nextval('{p}_clock') END;
			IF NOT v_exists THEN
				INSERT INTO {p}_threads (tenant, id, created, updated, touched, fence, user_id) VALUES (d[1], d[3], at, at,
					coalesce(v_born, nextval('{p}_clock')), coalesce((SELECT f.floor FROM {p}_tenants f WHERE f.tenant = d[1]), 0), d[12]);
			END IF;
			INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request, born)
				VALUES (d[1], d[2], d[3], d[4], 'Queued', d[5]::integer, at + greatest(d[6]::bigint, 0), at, at, v_epoch, d[7]::bigint, d[8], d[9], d[10], d[11], v_born);
			started := started || (v_claimed AND v_new AND (NOT v_exists OR t.open_run = ''));
			v_undone := v_undone OR v_claimed AND NOT started[cardinality(started)];
		ELSE
			v_epoch := -1;
			started := started || false;
			v_undone := true;
		END IF;
		epochs := epochs || v_epoch;
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

-- Makes a commit, as before. A run that a dispatch was the record of keeps its place among the runs.
CREATE OR REPLACE FUNCTION {p}_commit(
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
		VALUES (p_tenant, p_run, p_run_thread, p_status,
			coalesce((SELECT d.born FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.run = p_run AND d.born IS NOT NULL), stamp), p_record, t.last_seq,
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

-- Claims what can be claimed, as mailbox.Queue describes. Fresh says that the run has not started, and that
-- its thread has no open one.
CREATE FUNCTION {p}_next(p_consumer text, p_token text, p_lease bigint, p_limit bigint, p_suspects bigint, p_except text[])
RETURNS TABLE (tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint,
	available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint,
	token text, consumer text, lease bigint, crashes bigint, lost bigint, fresh boolean) LANGUAGE plpgsql
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
		SELECT d.*, t.n FROM unnest(v_tenants, v_threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT * FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0 AND d.available <= v_at
			ORDER BY d.priority, d.created, d.id LIMIT 1) d
	), u AS (
		UPDATE {p}_queues q SET claimed = h.id, token = p_token || h.n, consumer = p_consumer, lease = v_at + p_lease, stamp = v_at,
			priority = NULL, since = NULL, wake = NULL
		FROM h WHERE q.tenant = h.tenant AND q.id = h.thread
	) SELECT h.tenant, h.id, h.thread, h.run, h.request, h.priority, h.dedupe, h.epoch, h.status, h.cancel, h.revision,
		h.available, h.attempts, h.max_attempts, h.steps, h.error, h.key, h.digest, h.created, v_at, h.completed,
		p_token || h.n, p_consumer, v_at + p_lease, h.crashes, h.lost,
		h.born IS NOT NULL AND h.attempts = 0 AND h.crashes = 0 AND h.lost = 0
			AND (SELECT r.id FROM {p}_runs r WHERE r.tenant = h.tenant AND r.id = h.run) IS NULL
			AND (SELECT t.open_run FROM {p}_threads t WHERE t.tenant = h.tenant AND t.id = h.thread) = ''
	FROM h ORDER BY h.n;
END $$;

-- Processes of previous versions do not find the record of a run that has not started, and would take the
-- run for deleted. They claim no more, and leave the queue to those of this version.
CREATE OR REPLACE FUNCTION {p}_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint)
RETURNS TABLE (tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint,
	available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint,
	token text, consumer text, lease bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$;
CREATE OR REPLACE FUNCTION {p}_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint, p_suspects bigint)
RETURNS TABLE (tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint,
	available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint,
	token text, consumer text, lease bigint, crashes bigint, lost bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$;
CREATE OR REPLACE FUNCTION {p}_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint, p_suspects bigint, p_except text[])
RETURNS TABLE (tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint,
	available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint,
	token text, consumer text, lease bigint, crashes bigint, lost bigint) LANGUAGE plpgsql AS $$ BEGIN RETURN; END $$;
