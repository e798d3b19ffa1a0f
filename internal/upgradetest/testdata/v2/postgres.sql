SET check_function_bodies = false;
SET standard_conforming_strings = on;

--
-- PostgreSQL database dump
--


-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)


--
-- Name: awaken_incarnations; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.awaken_incarnations
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;




--
-- Name: awaken_threads; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_threads (
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    parent text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    title text DEFAULT ''::text NOT NULL,
    custom text,
    created bigint DEFAULT 0 NOT NULL,
    updated bigint DEFAULT 0 NOT NULL,
    touched bigint DEFAULT 0 NOT NULL,
    fence bigint DEFAULT 0 NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    committed bigint DEFAULT 0 NOT NULL,
    messages bigint DEFAULT 0 NOT NULL,
    last_seq bigint DEFAULT 0 NOT NULL,
    posted bigint DEFAULT 0 NOT NULL,
    unread bigint DEFAULT 0 NOT NULL,
    open_run text DEFAULT ''::text NOT NULL,
    latest_run text DEFAULT ''::text NOT NULL,
    commits bigint DEFAULT 0 NOT NULL,
    run text,
    fork_of text COLLATE pg_catalog."C",
    fork_seq bigint DEFAULT 0 NOT NULL,
    resource text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    user_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint DEFAULT nextval('public.awaken_incarnations'::regclass) NOT NULL
)
WITH (fillfactor='70');


--
-- Name: awaken_acquire(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_acquire(p_tenant text, p_thread text) RETURNS SETOF public.awaken_threads
    LANGUAGE plpgsql
    AS $$
BEGIN
	LOOP
		RETURN QUERY UPDATE awaken_threads h SET fence = h.fence + 1, committed = 0 WHERE h.tenant = p_tenant AND h.id = p_thread RETURNING h.*;
		IF FOUND THEN RETURN; END IF;
		RETURN QUERY INSERT INTO awaken_threads (tenant, id, fence)
			VALUES (p_tenant, p_thread, 1 + coalesce((SELECT f.floor FROM awaken_tenants f WHERE f.tenant = p_tenant), 0))
			ON CONFLICT DO NOTHING RETURNING *;
		IF FOUND THEN RETURN; END IF;
	END LOOP;
END $$;


--
-- Name: awaken_calls(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_calls(p_tenant text, p_run text) RETURNS TABLE(calls text[])
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM awaken_runs o WHERE o.tenant = p_tenant AND o.id = p_run;
	RETURN QUERY SELECT c.calls FROM awaken_commits c WHERE c.tenant = p_tenant AND c.thread = r.thread AND c.last >= r.first_seq AND c.last <= r.last_seq
		AND c.run = p_run AND c.calls IS NOT NULL ORDER BY c.last, c.n;
END $$;


--
-- Name: awaken_claim(text, text, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint) RETURNS TABLE(tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint, available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint, token text, consumer text, lease bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now     bigint := awaken_now();
	v_at      bigint := v_now / 1000;
	v_tenants text[];
	v_threads text[];
BEGIN
	IF EXISTS (SELECT FROM awaken_queues q WHERE q.wake <= v_at) THEN
		SELECT array_agg(w.tenant), array_agg(w.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM awaken_queues q WHERE q.wake <= v_at ORDER BY q.wake LIMIT greatest(p_limit, 1000) FOR UPDATE SKIP LOCKED) w;
		PERFORM awaken_ready(v_tenants, v_threads, v_now);
	END IF;
	-- What is in a queue is looked up after its row is locked, by a statement of its own:
	-- one statement would see what was there before it had the lock.
	SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM
		(SELECT q.tenant, q.id FROM awaken_queues q WHERE q.since IS NOT NULL ORDER BY q.priority, q.since LIMIT p_limit FOR UPDATE SKIP LOCKED) r;
	IF v_threads IS NULL THEN RETURN; END IF;
	v_at := awaken_now() / 1000; -- what was queued before the locks is available
	RETURN QUERY WITH h AS MATERIALIZED (
		SELECT d.*, t.n FROM unnest(v_tenants, v_threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT * FROM awaken_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0 AND d.available <= v_at
			ORDER BY d.priority, d.created, d.id LIMIT 1) d
	), u AS (
		UPDATE awaken_queues q SET claimed = h.id, token = p_token || h.n, consumer = p_consumer, lease = v_at + p_lease, stamp = v_at,
			priority = NULL, since = NULL, wake = NULL
		FROM h WHERE q.tenant = h.tenant AND q.id = h.thread
	) SELECT h.tenant, h.id, h.thread, h.run, h.request, h.priority, h.dedupe, h.epoch, h.status, h.cancel, h.revision,
		h.available, h.attempts, h.max_attempts, h.steps, h.error, h.key, h.digest, h.created, v_at, h.completed,
		p_token || h.n, p_consumer, v_at + p_lease
	FROM h ORDER BY h.n;
END $$;


--
-- Name: awaken_claim(text, text, bigint, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint, p_suspects bigint) RETURNS TABLE(tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint, available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint, token text, consumer text, lease bigint, crashes bigint, lost bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now     bigint := awaken_now();
	v_at      bigint := v_now / 1000;
	v_tenants text[];
	v_threads text[];
BEGIN
	IF EXISTS (SELECT FROM awaken_queues q WHERE q.wake <= v_at) THEN
		SELECT array_agg(w.tenant), array_agg(w.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM awaken_queues q WHERE q.wake <= v_at ORDER BY q.wake LIMIT greatest(p_limit, 1000) FOR UPDATE SKIP LOCKED) w;
		PERFORM awaken_ready(v_tenants, v_threads, v_now);
	END IF;
	-- What is in a queue is looked up after its row is locked, by a statement of its own:
	-- one statement would see what was there before it had the lock.
	SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM
		(SELECT q.tenant, q.id FROM awaken_queues q WHERE q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
			LIMIT least(p_suspects, p_limit) FOR UPDATE SKIP LOCKED) r;
	SELECT v_tenants || array_agg(r.tenant), v_threads || array_agg(r.id) INTO v_tenants, v_threads FROM
		(SELECT q.tenant, q.id FROM awaken_queues q WHERE NOT q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
			LIMIT p_limit - coalesce(cardinality(v_threads), 0) FOR UPDATE SKIP LOCKED) r;
	IF v_threads IS NULL THEN RETURN; END IF;
	v_at := awaken_now() / 1000; -- what was queued before the locks is available
	RETURN QUERY WITH h AS MATERIALIZED (
		SELECT d.*, t.n FROM unnest(v_tenants, v_threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT * FROM awaken_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0 AND d.available <= v_at
			ORDER BY d.priority, d.created, d.id LIMIT 1) d
	), u AS (
		UPDATE awaken_queues q SET claimed = h.id, token = p_token || h.n, consumer = p_consumer, lease = v_at + p_lease, stamp = v_at,
			priority = NULL, since = NULL, wake = NULL
		FROM h WHERE q.tenant = h.tenant AND q.id = h.thread
	) SELECT h.tenant, h.id, h.thread, h.run, h.request, h.priority, h.dedupe, h.epoch, h.status, h.cancel, h.revision,
		h.available, h.attempts, h.max_attempts, h.steps, h.error, h.key, h.digest, h.created, v_at, h.completed,
		p_token || h.n, p_consumer, v_at + p_lease, h.crashes, h.lost
	FROM h ORDER BY h.n;
END $$;


--
-- Name: awaken_claim(text, text, bigint, bigint, bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint, p_suspects bigint, p_except text[]) RETURNS TABLE(tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint, available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint, token text, consumer text, lease bigint, crashes bigint, lost bigint)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now     bigint := awaken_now();
	v_at      bigint := v_now / 1000;
	v_tenants text[];
	v_threads text[];
BEGIN
	IF EXISTS (SELECT FROM awaken_queues q WHERE q.wake <= v_at) THEN
		SELECT array_agg(w.tenant), array_agg(w.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM awaken_queues q WHERE q.wake <= v_at ORDER BY q.wake LIMIT greatest(p_limit, 1000) FOR UPDATE SKIP LOCKED) w;
		PERFORM awaken_ready(v_tenants, v_threads, v_now);
	END IF;
	-- What is in a queue is looked up after its row is locked, by a statement of its own:
	-- one statement would see what was there before it had the lock.
	IF coalesce(cardinality(p_except), 0) = 0 THEN
		SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM awaken_queues q WHERE q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
				LIMIT least(p_suspects, p_limit) FOR UPDATE SKIP LOCKED) r;
		SELECT v_tenants || array_agg(r.tenant), v_threads || array_agg(r.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM awaken_queues q WHERE NOT q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
				LIMIT p_limit - coalesce(cardinality(v_threads), 0) FOR UPDATE SKIP LOCKED) r;
	ELSE
		SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM awaken_claimable(true, least(p_suspects, p_limit), p_except) r;
		SELECT v_tenants || array_agg(r.tenant), v_threads || array_agg(r.id) INTO v_tenants, v_threads FROM
			awaken_claimable(false, p_limit - coalesce(cardinality(v_threads), 0), p_except) r;
	END IF;
	IF v_threads IS NULL THEN RETURN; END IF;
	v_at := awaken_now() / 1000; -- what was queued before the locks is available
	-- A process that is leaving or being buried claims nothing; one that does so later waits for this
	-- lock, and then finds what is claimed here. The lock does not hold up heartbeats, nor wait for any.
	PERFORM FROM awaken_processes p WHERE p.id = p_consumer AND p.until > v_at FOR KEY SHARE SKIP LOCKED;
	IF NOT FOUND THEN RAISE EXCEPTION 'process % is dead or not known', p_consumer USING ERRCODE = 'AW002'; END IF;
	RETURN QUERY WITH h AS MATERIALIZED (
		SELECT d.*, t.n FROM unnest(v_tenants, v_threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT * FROM awaken_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0 AND d.available <= v_at
			ORDER BY d.priority, d.created, d.id LIMIT 1) d
	), u AS (
		UPDATE awaken_queues q SET claimed = h.id, token = p_token || h.n, consumer = p_consumer, lease = v_at + p_lease, stamp = v_at,
			priority = NULL, since = NULL, wake = NULL
		FROM h WHERE q.tenant = h.tenant AND q.id = h.thread
	) SELECT h.tenant, h.id, h.thread, h.run, h.request, h.priority, h.dedupe, h.epoch, h.status, h.cancel, h.revision,
		h.available, h.attempts, h.max_attempts, h.steps, h.error, h.key, h.digest, h.created, v_at, h.completed,
		p_token || h.n, p_consumer, v_at + p_lease, h.crashes, h.lost
	FROM h ORDER BY h.n;
END $$;


--
-- Name: awaken_claimable(boolean, bigint, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_claimable(p_suspect boolean, p_limit bigint, p_except text[]) RETURNS TABLE(tenant text, id text)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
	RETURN QUERY WITH RECURSIVE t (tenant) AS (
		(SELECT q.tenant FROM awaken_queues q WHERE q.suspect = p_suspect AND q.since IS NOT NULL ORDER BY q.tenant LIMIT 1)
		UNION ALL
		SELECT (SELECT q.tenant FROM awaken_queues q WHERE q.suspect = p_suspect AND q.since IS NOT NULL AND q.tenant > t.tenant ORDER BY q.tenant LIMIT 1)
			FROM t WHERE t.tenant IS NOT NULL
	) SELECT r.tenant, r.id FROM t CROSS JOIN LATERAL (
		SELECT q.tenant, q.id, q.priority, q.since FROM awaken_queues q WHERE q.suspect = p_suspect AND q.since IS NOT NULL AND q.tenant = t.tenant
			ORDER BY q.priority, q.since LIMIT p_limit FOR UPDATE SKIP LOCKED) r
	WHERE t.tenant <> ALL (p_except) ORDER BY r.priority, r.since LIMIT p_limit;
END $$;


--
-- Name: awaken_commit(text, text, bigint, bigint, bigint, bigint, bigint, text, text, text[], bigint, bigint, bigint, text, text[], boolean, text, text, text, text[], text[], text[], text[], boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_commit(p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint, p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[], p_rest boolean, p_parent text, p_run_thread text, p_status text, p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	t       record;
	running boolean := p_status = 'running' AND p_run_thread = p_thread;
	stamp   bigint;
	n_read  bigint := 0;
BEGIN
	SELECT * INTO t FROM awaken_threads h WHERE h.tenant = p_tenant AND h.id = p_thread FOR NO KEY UPDATE;
	IF NOT FOUND THEN RETURN -1; END IF;
	IF t.fence <> p_fence THEN RETURN -2; END IF;
	IF t.committed = p_number AND p_number <> 0 THEN RETURN (t.unread > 0)::int; END IF;
	IF t.open_run <> p_run AND p_status <> 'done' AND EXISTS (SELECT FROM awaken_runs r WHERE r.tenant = p_tenant AND r.id = p_run AND r.status = 'done') THEN
		RETURN -2;
	END IF;
	IF p_generation >= 0 AND t.generation <> p_generation THEN RETURN -3; END IF;
	IF t.messages <> p_expect THEN RETURN -10 - t.messages; END IF;
	IF t.last_seq >= p_first THEN RETURN -6; END IF;
	IF p_read IS NOT NULL THEN
		SELECT count(*) INTO n_read FROM awaken_inbox i
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.id = ANY (p_read) AND i.data IS NOT NULL;
	END IF;
	IF p_rest AND t.unread <> n_read THEN RETURN -4; END IF;
	IF NOT p_valid THEN RETURN -5; END IF;

	UPDATE awaken_threads h SET
		committed = p_number, updated = p_time, commits = t.commits + 1,
		touched = CASE WHEN t.latest_run = p_run AND t.touched = pg_sequence_last_value('awaken_clock') THEN t.touched ELSE nextval('awaken_clock') END,
		parent = CASE WHEN t.latest_run = '' AND t.parent = '' THEN p_parent ELSE t.parent END,
		created = CASE t.created WHEN 0 THEN p_time ELSE t.created END,
		messages = p_expect + coalesce(cardinality(p_messages), 0), last_seq = greatest(t.last_seq, p_last), unread = t.unread - n_read,
		latest_run = p_run, open_run = CASE p_status WHEN 'done' THEN '' ELSE p_run END, run = CASE WHEN running THEN p_record END
	WHERE h.tenant = p_tenant AND h.id = p_thread RETURNING h.touched INTO stamp;
	INSERT INTO awaken_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries, calls)
		VALUES (p_tenant, p_thread, greatest(t.last_seq, p_last), t.commits + 1, p_expect + coalesce(cardinality(p_messages), 0), p_time,
			p_run, p_epoch, p_messages, p_entries, p_calls);
	IF t.run IS NOT NULL AND t.open_run <> p_run THEN -- that run was given up
		UPDATE awaken_runs r SET data = t.run, last_seq = t.last_seq WHERE r.tenant = p_tenant AND r.id = t.open_run;
	END IF;
	INSERT INTO awaken_runs AS r (tenant, id, thread, status, born, data, first_seq, last_seq)
		VALUES (p_tenant, p_run, p_run_thread, p_status, stamp, p_record, t.last_seq,
			CASE WHEN running THEN 9223372036854775807 ELSE greatest(t.last_seq, p_last) END)
		ON CONFLICT (tenant, id) DO UPDATE SET thread = excluded.thread, status = excluded.status, data = excluded.data,
			first_seq = least(r.first_seq, excluded.first_seq), last_seq = excluded.last_seq;
	IF p_keys IS NOT NULL THEN
		INSERT INTO awaken_state (tenant, thread, run, key, value)
			SELECT p_tenant, p_thread, s.run, s.key, s.value
			FROM unnest(p_state_runs, p_keys, p_values) AS s (run, key, value) WHERE s.value IS NOT NULL
			ON CONFLICT (tenant, thread, run, key) DO UPDATE SET value = excluded.value;
		DELETE FROM awaken_state d USING unnest(p_state_runs, p_keys, p_values) AS s (run, key, value)
			WHERE s.value IS NULL AND d.tenant = p_tenant AND d.thread = p_thread AND d.run = s.run AND d.key = s.key;
	END IF;
	IF n_read > 0 THEN
		UPDATE awaken_inbox i SET data = NULL
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.id = ANY (p_read) AND i.data IS NOT NULL;
	END IF;
	RETURN (t.unread > n_read)::int;
END $$;


--
-- Name: awaken_end(text, text, bigint, bigint, text, text, text, boolean, boolean, bigint, text, bigint, boolean, text, text, bigint, bigint, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_end(p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_id text, p_token text, p_run text, p_done boolean, p_cancelled boolean, p_steps bigint, p_status text, p_delay bigint, p_failed boolean, p_error text, p_wake text, p_wake_delay bigint, p_wake_priority bigint, p_wake_max bigint, p_wake_steps bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	v_now    bigint := awaken_now();
	v_at     bigint := v_now / 1000;
	v_unread bigint;
	v_epoch  bigint;
	v_due    boolean;
BEGIN
	SELECT t.unread INTO v_unread FROM awaken_threads t WHERE t.tenant = p_tenant AND t.id = p_thread AND t.fence = p_fence AND t.committed = p_number;
	IF NOT FOUND THEN RETURN 0; END IF;
	SELECT q.epoch INTO v_epoch FROM awaken_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token;
	IF NOT FOUND THEN RETURN 1; END IF;
	IF p_done THEN
		-- The operators of json decode every string, and fail on U+0000 and single surrogates.
		IF v_unread > 0 AND EXISTS (SELECT FROM awaken_inbox i CROSS JOIN LATERAL (SELECT CASE WHEN i.data ~ '\\u(0000|[dD][89a-fA-F])'
				THEN regexp_replace(i.data, '(?<!\\)((\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F][0-9a-fA-F])', '\1_', 'g') ELSE i.data END::json AS item OFFSET 0) x
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.data IS NOT NULL
			AND json_array_length(coalesce(x.item -> 'messages', '[]')) > 0 AND coalesce(x.item ->> 'run_id', '') = '') THEN
			RETURN 0;
		END IF;
		UPDATE awaken_dispatches d SET status = CASE WHEN d.cancel AND p_cancelled THEN 'Cancelled' ELSE 'Acked' END, completed = v_at, updated = v_at
			WHERE d.tenant = p_tenant AND d.thread = p_thread AND d.completed = 0 AND d.run = p_run AND d.id <> p_id;
	END IF;
	IF p_wake <> '' THEN
		INSERT INTO awaken_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, steps)
			VALUES (p_tenant, p_wake, p_thread, p_run, 'Queued', p_wake_priority, v_at + p_wake_delay, v_at, v_at, v_epoch, p_wake_max, p_wake_steps);
	END IF;
	IF p_status = '' THEN RETURN 1; END IF;
	UPDATE awaken_dispatches d SET
		status = p_status, updated = v_at, completed = CASE p_status WHEN 'Queued' THEN 0 ELSE v_at END,
		available = CASE p_status WHEN 'Queued' THEN v_at + p_delay ELSE d.available END,
		attempts = CASE WHEN p_steps > d.steps THEN 0 ELSE d.attempts END + p_failed::int,
		crashes = CASE WHEN p_steps > d.steps THEN 0 ELSE d.crashes END, lost = 0, steps = greatest(d.steps, p_steps),
		error = CASE p_error WHEN '' THEN d.error ELSE p_error END
		WHERE d.tenant = p_tenant AND d.id = p_id;
	UPDATE awaken_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
		priority = r.priority, wake = r.wake, suspect = r.suspect, since = CASE WHEN r.priority IS NOT NULL THEN v_now END
		FROM (SELECT min(d.priority) FILTER (WHERE d.available <= v_at) AS priority, min(d.available) FILTER (WHERE d.available > v_at) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM awaken_dispatches d WHERE d.tenant = p_tenant AND d.thread = p_thread AND d.completed = 0) r
		WHERE q.tenant = p_tenant AND q.id = p_thread RETURNING coalesce(q.since, q.wake) IS NOT NULL INTO v_due;
	RETURN 1 + v_due::int;
END $$;


--
-- Name: awaken_enqueue(text[], text[], text[], text[], bigint[], bigint[], bigint[], text[], text[], text[], text[], text[], boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_enqueue(p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[], p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_records text[], p_look boolean, OUT at bigint, OUT epochs bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now   bigint := awaken_now();
	v_floor bigint := coalesce((SELECT max(f.floor) FROM awaken_tenants f WHERE f.tenant = ANY (p_tenants)), 0);
BEGIN
	at := v_now / 1000;
	-- Locks the queues, and says of them what will be true if nothing is left out.
	INSERT INTO awaken_queues AS q (tenant, id, priority, since, wake)
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
			(t.open_run = '' OR t.id IS NULL OR (SELECT r.status FROM awaken_runs r WHERE r.tenant = s.tenant AND r.id = t.open_run) IS DISTINCT FROM 'waiting')
			AND (NOT p_look OR (SELECT d.id FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id) IS NULL)
			AND (NOT p_look OR s.key = '' OR (SELECT d.id FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.key = s.key AND d.key <> '') IS NULL)
			AND (s.dedupe = '' OR (SELECT d.id FROM awaken_dispatches d
				WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 AND d.dedupe = s.dedupe LIMIT 1) IS NULL) AS ok
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, p_records)
			WITH ORDINALITY AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, record, n)
		CROSS JOIN LATERAL (SELECT q.epoch FROM awaken_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
		LEFT JOIN LATERAL (SELECT t.id, t.open_run FROM awaken_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true
	), d AS (
		INSERT INTO awaken_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request)
			SELECT s.tenant, s.id, s.thread, s.run, 'Queued', s.priority, at + greatest(s.delay, 0), at, at, s.epoch, s.max, s.dedupe, s.key, s.digest, s.request
			FROM s WHERE s.ok
	), t AS (
		INSERT INTO awaken_threads (tenant, id, created, updated, touched, fence)
			SELECT s.tenant, s.thread, at, at, nextval('awaken_clock'), v_floor
			FROM s WHERE s.ok AND s.fresh GROUP BY s.tenant, s.thread
	), r AS (
		INSERT INTO awaken_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
			SELECT s.tenant, s.run, s.thread, 'created', nextval('awaken_clock'),
				replace(s.record, '"created_at":0,"updated_at":0', '"created_at":' || at / 1000 || ',"updated_at":' || at / 1000), 9223372036854775807, 0
			FROM s WHERE s.ok AND (NOT p_look OR (SELECT r.id FROM awaken_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL)
	) SELECT array_agg(CASE WHEN s.ok THEN s.epoch ELSE -1 END ORDER BY s.n) INTO epochs FROM s;
	IF -1 = ANY (epochs) THEN
		PERFORM awaken_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;


--
-- Name: awaken_enqueue(text[], text[], text[], text[], bigint[], bigint[], bigint[], text[], text[], text[], text[], text[], boolean, text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_enqueue(p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[], p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_records text[], p_look boolean, p_users text[], OUT at bigint, OUT epochs bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now   bigint := awaken_now();
	v_floor bigint := coalesce((SELECT max(f.floor) FROM awaken_tenants f WHERE f.tenant = ANY (p_tenants)), 0);
BEGIN
	at := v_now / 1000;
	-- Locks the queues, and says of them what will be true if nothing is left out.
	INSERT INTO awaken_queues AS q (tenant, id, priority, since, wake)
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
			(t.open_run = '' OR t.id IS NULL OR (SELECT r.status FROM awaken_runs r WHERE r.tenant = s.tenant AND r.id = t.open_run) IS DISTINCT FROM 'waiting')
			AND (NOT p_look OR (SELECT d.id FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id) IS NULL)
			AND (NOT p_look OR s.key = '' OR (SELECT d.id FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.key = s.key AND d.key <> '') IS NULL)
			AND (s.dedupe = '' OR (SELECT d.id FROM awaken_dispatches d
				WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 AND d.dedupe = s.dedupe LIMIT 1) IS NULL) AS ok
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, p_records, p_users)
			WITH ORDINALITY AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, record, user_id, n)
		CROSS JOIN LATERAL (SELECT q.epoch FROM awaken_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
		LEFT JOIN LATERAL (SELECT t.id, t.open_run FROM awaken_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true
	), d AS (
		INSERT INTO awaken_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request)
			SELECT s.tenant, s.id, s.thread, s.run, 'Queued', s.priority, at + greatest(s.delay, 0), at, at, s.epoch, s.max, s.dedupe, s.key, s.digest, s.request
			FROM s WHERE s.ok
	), t AS (
		INSERT INTO awaken_threads (tenant, id, created, updated, touched, fence, user_id)
			SELECT s.tenant, s.thread, at, at, nextval('awaken_clock'), v_floor, (array_agg(s.user_id ORDER BY s.n))[1]
			FROM s WHERE s.ok AND s.fresh GROUP BY s.tenant, s.thread
	), r AS (
		INSERT INTO awaken_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
			SELECT s.tenant, s.run, s.thread, 'created', nextval('awaken_clock'),
				replace(s.record, '"created_at":0,"updated_at":0', '"created_at":' || at / 1000 || ',"updated_at":' || at / 1000), 9223372036854775807, 0
			FROM s WHERE s.ok AND (NOT p_look OR (SELECT r.id FROM awaken_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL)
	) SELECT array_agg(CASE WHEN s.ok THEN s.epoch ELSE -1 END ORDER BY s.n) INTO epochs FROM s;
	IF -1 = ANY (epochs) THEN
		PERFORM awaken_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;


--
-- Name: awaken_enqueue(text[], text[], text[], text[], bigint[], bigint[], bigint[], text[], text[], text[], text[], text[], boolean, text[], boolean[], boolean[], text[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_enqueue(p_tenants text[], p_ids text[], p_threads text[], p_runs text[], p_priorities bigint[], p_delays bigint[], p_max bigint[], p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_records text[], p_look boolean, p_users text[], p_idle boolean[], p_confined boolean[], p_consumers text[], p_tokens text[], p_leases bigint[], OUT at bigint, OUT epochs bigint[], OUT fences bigint[], OUT seqs bigint[], OUT started boolean[]) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now    bigint := awaken_now();
	v_floor  bigint := coalesce((SELECT max(f.floor) FROM awaken_tenants f WHERE f.tenant = ANY (p_tenants)), 0);
	v_first  bigint;
	v_living text[];
	v_taken  boolean[] := array_fill(false, ARRAY[cardinality(p_ids)]);
BEGIN
	at := v_now / 1000;
	IF p_consumers IS NOT NULL AND NOT EXISTS (SELECT FROM awaken_queues q WHERE q.wake <= at) THEN
		v_first := coalesce((SELECT q.priority FROM awaken_queues q WHERE NOT q.suspect AND q.since IS NOT NULL ORDER BY q.priority LIMIT 1), 256);
		-- A process that is leaving or being buried claims nothing; one that does so later waits for this
		-- lock, and then finds what is claimed here. The lock does not hold up heartbeats, nor wait for any.
		SELECT array_agg(l.id) INTO v_living FROM
			(SELECT p.id FROM awaken_processes p WHERE p.id = ANY (p_consumers) AND p.until > at FOR KEY SHARE SKIP LOCKED) l;
		-- Queues are locked in the order of their keys, so the others are not locked later.
		IF p_consumers <@ v_living AND (SELECT bool_and(s.delay <= 0 AND s.priority < v_first) AND count(*) = count(DISTINCT (s.tenant, s.thread))
				FROM unnest(p_tenants, p_threads, p_priorities, p_delays) AS s (tenant, thread, priority, delay)) THEN
			-- A queue that is neither claimed nor ready, and does not wait for a time, is empty.
			WITH u AS (
				INSERT INTO awaken_queues AS q (tenant, id, claimed, token, consumer, lease, stamp)
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
		INSERT INTO awaken_queues AS q (tenant, id, priority, since, wake)
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
			(t.open_run = '' OR t.id IS NULL OR NOT s.idle AND (SELECT r.status FROM awaken_runs r WHERE r.tenant = s.tenant AND r.id = t.open_run) IS DISTINCT FROM 'waiting')
			AND (NOT s.idle OR s.taken OR (SELECT d.id FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 LIMIT 1) IS NULL)
			AND (NOT s.confined OR t.id IS NULL OR t.user_id = s.user_id)
			AND (NOT p_look OR (SELECT d.id FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id) IS NULL)
			AND (NOT p_look OR s.key = '' OR (SELECT d.id FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.key = s.key AND d.key <> '') IS NULL)
			AND (s.dedupe = '' OR (SELECT d.id FROM awaken_dispatches d
				WHERE d.tenant = s.tenant AND d.thread = s.thread AND d.completed = 0 AND d.dedupe = s.dedupe LIMIT 1) IS NULL) AS ok
		FROM unnest(p_tenants, p_ids, p_threads, p_runs, p_priorities, p_delays, p_max, p_dedupes, p_keys, p_digests, p_requests, p_records, p_users, p_idle, p_confined, v_taken)
			WITH ORDINALITY AS s (tenant, id, thread, run, priority, delay, max, dedupe, key, digest, request, record, user_id, idle, confined, taken, n)
		CROSS JOIN LATERAL (SELECT q.epoch FROM awaken_queues q WHERE q.tenant = s.tenant AND q.id = s.thread LIMIT 1) q
		LEFT JOIN LATERAL (SELECT t.id, t.open_run, t.user_id, t.fence, t.last_seq FROM awaken_threads t WHERE t.tenant = s.tenant AND t.id = s.thread LIMIT 1) t ON true
	), d AS (
		INSERT INTO awaken_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request)
			SELECT s.tenant, s.id, s.thread, s.run, 'Queued', s.priority, at + greatest(s.delay, 0), at, at, s.epoch, s.max, s.dedupe, s.key, s.digest, s.request
			FROM s WHERE s.ok
	), t AS (
		INSERT INTO awaken_threads (tenant, id, created, updated, touched, fence, user_id)
			SELECT s.tenant, s.thread, at, at, nextval('awaken_clock'), v_floor, (array_agg(s.user_id ORDER BY s.n))[1]
			FROM s WHERE s.ok AND s.fresh GROUP BY s.tenant, s.thread
	), r AS (
		INSERT INTO awaken_runs (tenant, id, thread, status, born, data, first_seq, last_seq)
			SELECT s.tenant, s.run, s.thread, 'created', nextval('awaken_clock'),
				replace(s.record, '"created_at":0,"updated_at":0', '"created_at":' || at / 1000 || ',"updated_at":' || at / 1000), 9223372036854775807, 0
			FROM s WHERE s.ok AND (NOT p_look OR (SELECT r.id FROM awaken_runs r WHERE r.tenant = s.tenant AND r.id = s.run) IS NULL)
	) SELECT array_agg(CASE WHEN s.ok THEN s.epoch ELSE -1 END ORDER BY s.n), array_agg(s.fence ORDER BY s.n), array_agg(s.last_seq ORDER BY s.n),
		array_agg(s.ok AND s.taken AND s.open_run = '' ORDER BY s.n) INTO epochs, fences, seqs, started FROM s;
	IF -1 = ANY (epochs) OR v_taken <> started THEN
		UPDATE awaken_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
			FROM unnest(p_tenants, p_threads, p_tokens, started) AS s (tenant, id, token, started)
			WHERE NOT s.started AND q.tenant = s.tenant AND q.id = s.id AND q.token = s.token;
		PERFORM awaken_ready(p_tenants, p_threads, v_now);
	END IF;
END $$;


--
-- Name: awaken_finish(text, text, bigint, bigint, bigint, bigint, bigint, text, text, text[], bigint, bigint, bigint, text, text[], boolean, text, text, text, text[], text[], text[], text[], boolean, text, text, boolean, boolean, bigint, text, bigint, boolean, text, text, bigint, bigint, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_finish(p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint, p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[], p_rest boolean, p_parent text, p_run_thread text, p_status text, p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_id text, p_token text, p_done boolean, p_cancelled boolean, p_steps bigint, p_as text, p_delay bigint, p_failed boolean, p_error text, p_wake text, p_wake_delay bigint, p_wake_priority bigint, p_wake_max bigint, p_wake_steps bigint, OUT code bigint, OUT settled bigint) RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM awaken_hold(p_tenant, p_thread, p_fence, p_number, p_id, p_token);
	code := awaken_commit(p_tenant, p_thread, p_fence, p_number, p_generation, p_time, p_expect, p_run, p_record, p_messages, p_first, p_last,
		p_epoch, p_entries, p_calls, p_rest, p_parent, p_run_thread, p_status, p_state_runs, p_keys, p_values, p_read, p_valid);
	settled := 0;
	IF code >= 0 THEN
		settled := awaken_end(p_tenant, p_thread, p_fence, p_number, p_id, p_token, p_run, p_done, p_cancelled, p_steps, p_as, p_delay, p_failed, p_error,
			p_wake, p_wake_delay, p_wake_priority, p_wake_max, p_wake_steps);
	END IF;
END $$;


--
-- Name: awaken_history(text, text, bigint, bigint, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_history(p_tenant text, p_thread text, p_after bigint, p_upto bigint, p_incarnation bigint, p_segments boolean) RETURNS TABLE(seq bigint, created bigint, data text[], segment bytea)
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
	t  record;
	s  record;
	at bigint := 0;
BEGIN
	SELECT h.incarnation, h.messages INTO t FROM awaken_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF NOT FOUND THEN RETURN; END IF;
	IF t.incarnation = p_incarnation THEN at := p_after; END IF;
	IF p_segments AND at = 0 AND least(p_upto, t.messages) >= 256 THEN
		FOR s IN SELECT o.thread, o.incarnation, o.upto FROM awaken_segments_of(p_tenant, p_thread, p_upto) o ORDER BY o.upto LOOP
			IF s.upto = at + 256 THEN -- otherwise there is a gap, or it is there twice
				RETURN QUERY SELECT g.upto, 0::bigint, NULL::text[], g.data FROM awaken_segments g
					WHERE g.tenant = p_tenant AND g.thread = s.thread AND g.incarnation = s.incarnation AND g.upto = s.upto;
				at := s.upto;
			END IF;
		END LOOP;
	END IF;
	RETURN QUERY SELECT l.seq, l.created, l.data, NULL::bytea FROM awaken_log(p_tenant, p_thread, at, p_upto) l;
END $$;


--
-- Name: awaken_hold(text, text, bigint, bigint, text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_hold(p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_id text, p_token text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
	PERFORM FROM awaken_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
	IF NOT FOUND AND NOT EXISTS (SELECT FROM awaken_threads t
		WHERE t.tenant = p_tenant AND t.id = p_thread AND t.fence = p_fence AND t.committed = p_number AND p_number <> 0) THEN
		RAISE EXCEPTION 'the claim is void' USING ERRCODE = 'AW001';
	END IF;
	RETURN 0;
END $$;


--
-- Name: awaken_load(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_load(p_tenant text, p_thread text) RETURNS TABLE(kind text, id text, key text, data text[])
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
	t record;
BEGIN
	SELECT h.open_run, h.latest_run, h.run, h.unread INTO t FROM awaken_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF t.latest_run <> '' THEN
		RETURN QUERY SELECT 'r', r.id, r.thread, ARRAY[CASE WHEN t.open_run = r.id AND t.run IS NOT NULL THEN t.run ELSE r.data END]
			FROM awaken_runs r WHERE r.tenant = p_tenant AND r.id = t.latest_run;
		RETURN QUERY SELECT 'c', '', '', c.calls FROM awaken_calls(p_tenant, t.latest_run) c;
		RETURN QUERY SELECT 's', s.run, s.key, ARRAY[s.value] FROM awaken_state s
			WHERE s.tenant = p_tenant AND s.thread = p_thread AND s.run IN ('', t.latest_run);
	END IF;
	IF t.unread > 0 THEN
		RETURN QUERY SELECT 'i', i.id, '', ARRAY[i.data] FROM awaken_inbox i
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.data IS NOT NULL ORDER BY i.pos;
	END IF;
END $$;


--
-- Name: awaken_log(text, text, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_log(p_tenant text, p_thread text, p_after bigint, p_upto bigint) RETURNS TABLE(seq bigint, created bigint, data text[])
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
	f record;
BEGIN
	SELECT h.fork_of, h.fork_seq INTO f FROM awaken_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF f.fork_of IS NOT NULL AND p_after < f.fork_seq THEN
		RETURN QUERY SELECT l.seq, l.created, l.data FROM awaken_log(p_tenant, f.fork_of, p_after, least(p_upto, f.fork_seq)) l;
	END IF;
	RETURN QUERY SELECT c.before + c.skip + 1, c.time, CASE WHEN c.skip = 0 AND c.upto <= p_upto THEN c.messages
			ELSE c.messages[c.skip + 1 : least(p_upto - c.before, cardinality(c.messages))] END
		FROM (SELECT r.time, r.messages, r.upto, r.upto - cardinality(r.messages) AS before, greatest(p_after - r.upto + cardinality(r.messages), 0) AS skip
			FROM awaken_commits r WHERE r.tenant = p_tenant AND r.thread = p_thread AND r.upto > p_after AND r.messages IS NOT NULL
			ORDER BY r.upto LIMIT p_upto - p_after) c
		WHERE c.before < p_upto ORDER BY c.upto;
END $$;


--
-- Name: awaken_now(); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_now() RETURNS bigint
    LANGUAGE sql
    AS $$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;


--
-- Name: awaken_post(text, text, text[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_post(p_tenant text, p_thread text, p_ids text[], p_items text[]) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
	start bigint;
	added bigint;
BEGIN
	SELECT h.posted INTO start FROM awaken_threads h WHERE h.tenant = p_tenant AND h.id = p_thread FOR UPDATE;
	IF NOT FOUND THEN RETURN false; END IF;
	INSERT INTO awaken_inbox (tenant, thread, id, pos, data)
		SELECT p_tenant, p_thread, i.id, start + i.n, i.data FROM unnest(p_ids, p_items) WITH ORDINALITY AS i (id, data, n) ORDER BY i.n
		ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
	IF added > 0 THEN
		UPDATE awaken_threads h SET posted = start + cardinality(p_ids), unread = h.unread + added WHERE h.tenant = p_tenant AND h.id = p_thread;
	END IF;
	RETURN true;
END $$;


--
-- Name: awaken_queues; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_queues (
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    epoch bigint DEFAULT 0 NOT NULL,
    priority integer,
    since bigint,
    wake bigint,
    claimed text COLLATE pg_catalog."C",
    token text,
    consumer text,
    lease bigint,
    stamp bigint,
    suspect boolean DEFAULT false NOT NULL
)
WITH (fillfactor='70');


--
-- Name: awaken_queue(text, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_queue(p_tenant text, p_thread text) RETURNS SETOF public.awaken_queues
    LANGUAGE plpgsql
    AS $$
BEGIN
	LOOP
		RETURN QUERY SELECT * FROM awaken_queues q WHERE q.tenant = p_tenant AND q.id = p_thread FOR UPDATE;
		IF FOUND THEN RETURN; END IF;
		RETURN QUERY INSERT INTO awaken_queues (tenant, id) VALUES (p_tenant, p_thread) ON CONFLICT DO NOTHING RETURNING *;
		IF FOUND THEN RETURN; END IF;
	END LOOP;
END $$;


--
-- Name: awaken_ready(text[], text[], bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_ready(p_tenants text[], p_threads text[], p_now bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	n bigint;
BEGIN
	WITH u AS (
		UPDATE awaken_queues q SET priority = r.priority, wake = r.wake, suspect = r.suspect,
			since = CASE WHEN r.priority IS NOT NULL THEN coalesce(q.since, least(q.wake * 1000, p_now)) END
		FROM unnest(p_tenants, p_threads) AS t (tenant, id) CROSS JOIN LATERAL (
			SELECT min(d.priority) FILTER (WHERE d.available <= p_now / 1000) AS priority,
				min(d.available) FILTER (WHERE d.available > p_now / 1000) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM awaken_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0) r
		WHERE q.tenant = t.tenant AND q.id = t.id AND q.claimed IS NULL
		RETURNING q.since
	) SELECT count(u.since) INTO n FROM u;
	RETURN n;
END $$;


--
-- Name: awaken_reclaim(bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_reclaim(p_limit bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now bigint := awaken_now();
	v_at  bigint := v_now / 1000;
	c     record;
BEGIN
	SELECT array_agg(l.tenant) AS tenants, array_agg(l.id) AS threads, array_agg(l.claimed) AS ids INTO c FROM
		(SELECT q.tenant, q.id, q.claimed FROM awaken_queues q WHERE q.lease <= v_at ORDER BY q.lease LIMIT p_limit FOR UPDATE SKIP LOCKED) l;
	IF c.ids IS NULL THEN RETURN 0; END IF;
	UPDATE awaken_dispatches d SET attempts = d.attempts + 1, available = v_at, updated = v_at, lost = v_at
		FROM unnest(c.tenants, c.ids) AS s (tenant, id) WHERE d.tenant = s.tenant AND d.id = s.id;
	UPDATE awaken_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
		FROM unnest(c.tenants, c.threads) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id;
	PERFORM awaken_ready(c.tenants, c.threads, v_now);
	RETURN cardinality(c.ids);
END $$;


--
-- Name: awaken_renew(bigint, text[], text[], text[], bigint[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_renew(p_lease bigint, p_tenants text[], p_ids text[], p_tokens text[], p_steps bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_at      bigint := awaken_now() / 1000;
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
			CROSS JOIN LATERAL (SELECT d.thread FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id LIMIT 1) d
			ORDER BY s.tenant COLLATE "C", d.thread) o
		CROSS JOIN LATERAL (SELECT FROM awaken_queues q WHERE q.tenant = o.tenant AND q.id = o.thread AND q.claimed = o.id AND q.token = o.token FOR UPDATE) q) h;
	IF v_n IS NOT NULL THEN
		UPDATE awaken_queues q SET lease = v_at + p_lease FROM unnest(v_tenants, v_threads) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id;
		UPDATE awaken_dispatches d SET attempts = 0, crashes = 0, steps = s.steps, updated = v_at
			FROM unnest(v_tenants, v_ids, v_steps) AS s (tenant, id, steps) WHERE d.tenant = s.tenant AND d.id = s.id AND d.steps < s.steps;
		FOR i IN 1 .. cardinality(v_n) LOOP
			v_out[v_n[i]] := (SELECT CASE WHEN d.cancel THEN 2 ELSE 1 END FROM awaken_dispatches d WHERE d.tenant = v_tenants[i] AND d.id = v_ids[i]);
		END LOOP;
	END IF;
	RETURN v_out;
END $$;


--
-- Name: awaken_segments_of(text, text, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_segments_of(p_tenant text, p_thread text, p_upto bigint) RETURNS TABLE(thread text, incarnation bigint, upto bigint)
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
	t record;
BEGIN
	SELECT h.fork_of, h.fork_seq, h.incarnation INTO t FROM awaken_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF t.fork_of IS NOT NULL AND t.fork_seq >= 256 THEN
		RETURN QUERY SELECT s.thread, s.incarnation, s.upto FROM awaken_segments_of(p_tenant, t.fork_of, least(p_upto, t.fork_seq)) s;
	END IF;
	RETURN QUERY SELECT s.thread, s.incarnation, s.upto FROM awaken_segments s
		WHERE s.tenant = p_tenant AND s.thread = p_thread AND s.incarnation = t.incarnation AND s.upto <= p_upto;
END $$;


--
-- Name: awaken_settle(text[], text[], text[], bigint[], text[], bigint[], boolean[], text[]); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_settle(p_tenants text[], p_ids text[], p_tokens text[], p_steps bigint[], p_statuses text[], p_delays bigint[], p_failed boolean[], p_errors text[], OUT settled bigint[], OUT ready boolean) RETURNS record
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
	v_now bigint := awaken_now();
	v_at  bigint := v_now / 1000;
	c     record;
BEGIN
	ready := false;
	SELECT array_agg(l.n) AS n, array_agg(l.tenant) AS tenants, array_agg(l.thread) AS threads, array_agg(l.id) AS ids, array_agg(l.steps) AS steps,
		array_agg(l.status) AS statuses, array_agg(l.delay) AS delays, array_agg(l.failed) AS failed, array_agg(l.error) AS errors INTO c FROM (
			SELECT o.* FROM (
				SELECT s.*, d.thread FROM unnest(p_tenants, p_ids, p_tokens, p_steps, p_statuses, p_delays, p_failed, p_errors) WITH ORDINALITY
					AS s (tenant, id, token, steps, status, delay, failed, error, n)
				CROSS JOIN LATERAL (SELECT d.thread FROM awaken_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id LIMIT 1) d
				ORDER BY s.tenant COLLATE "C", d.thread) o
			CROSS JOIN LATERAL (SELECT FROM awaken_queues q WHERE q.tenant = o.tenant AND q.id = o.thread AND q.claimed = o.id AND q.token = o.token FOR UPDATE) q) l;
	settled := c.n;
	IF settled IS NULL THEN RETURN; END IF;
	UPDATE awaken_dispatches d SET
		status = s.status, updated = v_at, completed = CASE s.status WHEN 'Queued' THEN 0 ELSE v_at END,
		available = CASE s.status WHEN 'Queued' THEN v_at + s.delay ELSE d.available END,
		attempts = CASE WHEN s.steps > d.steps THEN 0 ELSE d.attempts END + s.failed::int,
		crashes = CASE WHEN s.steps > d.steps THEN 0 ELSE d.crashes END, lost = 0, steps = greatest(d.steps, s.steps),
		error = CASE s.error WHEN '' THEN d.error ELSE s.error END
		FROM unnest(c.tenants, c.ids, c.steps, c.statuses, c.delays, c.failed, c.errors) AS s (tenant, id, steps, status, delay, failed, error)
		WHERE d.tenant = s.tenant AND d.id = s.id;
	WITH u AS (
		UPDATE awaken_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
			priority = r.priority, wake = r.wake, suspect = r.suspect, since = CASE WHEN r.priority IS NOT NULL THEN v_now + t.n END
		FROM unnest(c.tenants, c.threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT min(d.priority) FILTER (WHERE d.available <= v_at) AS priority, min(d.available) FILTER (WHERE d.available > v_at) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM awaken_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0) r
		WHERE q.tenant = t.tenant AND q.id = t.id
		RETURNING coalesce(q.since, q.wake) AS due
	) SELECT count(u.due) > 0 INTO ready FROM u;
END $$;


--
-- Name: awaken_take(text, text, text, text, bigint, bigint); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_take(p_tenant text, p_thread text, p_id text, p_token text, p_incarnation bigint, p_known bigint) RETURNS TABLE(thread public.awaken_threads, kind text, id text, key text, seq bigint, created bigint, data text[])
    LANGUAGE plpgsql
    AS $$
DECLARE
	h        awaken_threads;
	v_cancel text := '';
BEGIN
	IF p_token <> '' THEN -- queues are locked before threads
		PERFORM FROM awaken_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
		IF NOT FOUND THEN RETURN; END IF;
		SELECT CASE WHEN d.cancel THEN 'cancel' ELSE '' END INTO v_cancel FROM awaken_dispatches d WHERE d.tenant = p_tenant AND d.id = p_id;
	END IF;
	SELECT * INTO h FROM awaken_acquire(p_tenant, p_thread);
	RETURN QUERY SELECT h, 't', v_cancel, '', 0::bigint, 0::bigint, NULL::text[];
	IF h.messages > 0 THEN
		RETURN QUERY SELECT NULL::awaken_threads, 'm', '', '', l.seq, l.created, l.data
			FROM awaken_log(p_tenant, p_thread, CASE WHEN h.incarnation = p_incarnation THEN p_known ELSE 0 END, 9223372036854775807) l;
	END IF;
	IF h.latest_run <> '' OR h.unread > 0 THEN
		RETURN QUERY SELECT NULL::awaken_threads, l.kind, l.id, l.key, 0::bigint, 0::bigint, l.data FROM awaken_load(p_tenant, p_thread) l;
	END IF;
END $$;


--
-- Name: awaken_take(text, text, text, text, bigint, bigint, boolean); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_take(p_tenant text, p_thread text, p_id text, p_token text, p_incarnation bigint, p_known bigint, p_segments boolean) RETURNS TABLE(thread public.awaken_threads, kind text, id text, key text, seq bigint, created bigint, data text[], segment bytea)
    LANGUAGE plpgsql
    AS $$
DECLARE
	h        awaken_threads;
	v_cancel text := '';
	v_known  bigint := 0;
BEGIN
	IF p_token <> '' THEN -- queues are locked before threads
		PERFORM FROM awaken_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
		IF NOT FOUND THEN RETURN; END IF;
		SELECT CASE WHEN d.cancel THEN 'cancel' ELSE '' END INTO v_cancel FROM awaken_dispatches d WHERE d.tenant = p_tenant AND d.id = p_id;
	END IF;
	SELECT * INTO h FROM awaken_acquire(p_tenant, p_thread);
	RETURN QUERY SELECT h, 't', v_cancel, '', 0::bigint, 0::bigint, NULL::text[], NULL::bytea;
	IF h.incarnation = p_incarnation THEN v_known := p_known; END IF;
	IF p_segments AND v_known = 0 AND h.messages >= 256 THEN
		RETURN QUERY SELECT NULL::awaken_threads, 'm', '', '', l.seq, l.created, l.data, l.segment
			FROM awaken_history(p_tenant, p_thread, 0, 9223372036854775807, h.incarnation, true) l;
	ELSIF h.messages > 0 THEN
		RETURN QUERY SELECT NULL::awaken_threads, 'm', '', '', l.seq, l.created, l.data, NULL::bytea
			FROM awaken_log(p_tenant, p_thread, v_known, 9223372036854775807) l;
	END IF;
	IF h.latest_run <> '' OR h.unread > 0 THEN
		RETURN QUERY SELECT NULL::awaken_threads, l.kind, l.id, l.key, 0::bigint, 0::bigint, l.data, NULL::bytea FROM awaken_load(p_tenant, p_thread) l;
	END IF;
END $$;


--
-- Name: awaken_user_commit(text, text, bigint, bigint, bigint, bigint, bigint, text, text, text[], bigint, bigint, bigint, text, text[], boolean, text, text, text, text[], text[], text[], text[], boolean, text); Type: FUNCTION; Schema: public; Owner: -
--

CREATE FUNCTION public.awaken_user_commit(p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint, p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[], p_rest boolean, p_parent text, p_run_thread text, p_status text, p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_user text) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	fresh boolean;
	code  bigint;
BEGIN
	SELECT h.created = 0 INTO fresh FROM awaken_threads h WHERE h.tenant = p_tenant AND h.id = p_thread FOR NO KEY UPDATE;
	code := awaken_commit(p_tenant, p_thread, p_fence, p_number, p_generation, p_time, p_expect, p_run, p_record, p_messages, p_first, p_last,
		p_epoch, p_entries, p_calls, p_rest, p_parent, p_run_thread, p_status, p_state_runs, p_keys, p_values, p_read, p_valid);
	IF fresh AND code >= 0 THEN
		UPDATE awaken_threads h SET user_id = p_user WHERE h.tenant = p_tenant AND h.id = p_thread;
	END IF;
	RETURN code;
END $$;


--
-- Name: awaken_balances; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_balances (
    tenant text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    most bigint,
    spent bigint DEFAULT 0 NOT NULL,
    reserved bigint DEFAULT 0 NOT NULL,
    in_doubt bigint DEFAULT 0 NOT NULL
);


--
-- Name: awaken_clock; Type: SEQUENCE; Schema: public; Owner: -
--

CREATE SEQUENCE public.awaken_clock
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


--
-- Name: awaken_commits; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_commits (
    tenant text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL,
    n bigint NOT NULL,
    upto bigint NOT NULL,
    "time" bigint NOT NULL,
    run text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    messages text[],
    entries text,
    calls text[]
)
WITH (toast_tuple_target='8160');


--
-- Name: awaken_config_documents; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_config_documents (
    hash text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: awaken_config_events; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_config_events (
    seq bigint NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    "time" bigint NOT NULL,
    action text NOT NULL COLLATE pg_catalog."C",
    resource text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL,
    before text NOT NULL,
    after text NOT NULL
);


--
-- Name: awaken_config_events_seq_seq; Type: SEQUENCE; Schema: public; Owner: -
--

ALTER TABLE public.awaken_config_events ALTER COLUMN seq ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.awaken_config_events_seq_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: awaken_config_head; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_config_head (
    one integer NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    last bigint DEFAULT 0 NOT NULL,
    live bigint DEFAULT 0 NOT NULL,
    canary text,
    CONSTRAINT awaken_config_head_one_check CHECK ((one = 1))
);


--
-- Name: awaken_config_publications; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_config_publications (
    number bigint NOT NULL,
    base bigint NOT NULL,
    at bigint NOT NULL,
    data text NOT NULL,
    manifest text,
    runs bigint,
    errors bigint,
    cost bigint,
    latency bigint
);


--
-- Name: awaken_config_records; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_config_records (
    namespace text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    revision bigint NOT NULL,
    spec text NOT NULL,
    overrides text NOT NULL,
    meta text NOT NULL
);


--
-- Name: awaken_config_secrets; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_config_secrets (
    ref text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: awaken_config_uses; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_config_uses (
    hash text NOT NULL COLLATE pg_catalog."C",
    publication bigint NOT NULL
);


--
-- Name: awaken_decisions; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_decisions (
    tenant text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    ticket text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    tool text NOT NULL COLLATE pg_catalog."C",
    key_id text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    person text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    digest text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: awaken_dispatches; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_dispatches (
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    completed bigint DEFAULT 0 NOT NULL,
    priority integer NOT NULL,
    available bigint NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    epoch bigint NOT NULL,
    revision bigint DEFAULT 0 NOT NULL,
    cancel boolean DEFAULT false NOT NULL,
    attempts bigint DEFAULT 0 NOT NULL,
    max_attempts bigint NOT NULL,
    steps bigint DEFAULT 0 NOT NULL,
    error text DEFAULT ''::text NOT NULL,
    dedupe text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    digest text DEFAULT ''::text NOT NULL,
    request text,
    crashes bigint DEFAULT 0 NOT NULL,
    lost bigint DEFAULT 0 NOT NULL
);


--
-- Name: awaken_inbox; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_inbox (
    tenant text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    pos bigint NOT NULL,
    data text
);


--
-- Name: awaken_processes; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_processes (
    id text NOT NULL COLLATE pg_catalog."C",
    until bigint NOT NULL
)
WITH (fillfactor='50');


--
-- Name: awaken_profiles; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_profiles (
    tenant text NOT NULL COLLATE pg_catalog."C",
    namespace text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL,
    updated bigint NOT NULL
);


--
-- Name: awaken_reservations; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_reservations (
    tenant text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    data text NOT NULL
);


--
-- Name: awaken_runs; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_runs (
    tenant text NOT NULL COLLATE pg_catalog."C",
    id text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    born bigint NOT NULL,
    data text NOT NULL,
    first_seq bigint NOT NULL,
    last_seq bigint NOT NULL
)
WITH (fillfactor='70');


--
-- Name: awaken_schema; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_schema (
    version bigint NOT NULL,
    name text NOT NULL,
    applied bigint NOT NULL
);


--
-- Name: awaken_segments; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_segments (
    tenant text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    incarnation bigint NOT NULL,
    upto bigint NOT NULL,
    data bytea NOT NULL
);


--
-- Name: awaken_state; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_state (
    tenant text NOT NULL COLLATE pg_catalog."C",
    thread text NOT NULL COLLATE pg_catalog."C",
    run text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL
)
WITH (fillfactor='70');


--
-- Name: awaken_tenants; Type: TABLE; Schema: public; Owner: -
--

CREATE TABLE public.awaken_tenants (
    tenant text NOT NULL COLLATE pg_catalog."C",
    floor bigint NOT NULL
);


--
-- Data for Name: awaken_balances; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-parent', NULL, 560000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-waiting', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-failed', NULL, 0, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-decided', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'agent', 'greeter', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-greeted', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 'b2a77520-2f42-8fdd-9490-31026b649b6b', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-deep', NULL, 280000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-allowed', NULL, 280000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-cancelled', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-done', NULL, 420000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('acme', 'agent', 'clerk', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('acme', 'tenant', '', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('acme', 'thread', 't-done', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-json', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-inbox', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-doubt', NULL, 140000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-cut', NULL, 140000, 3682000, 0);
INSERT INTO public.awaken_balances VALUES ('', 'agent', 'scout', NULL, 420000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', NULL, 280000, 0, 0);
INSERT INTO public.awaken_balances VALUES ('', 'agent', 'clerk', 50000000000, 2660000, 7364000, 0);
INSERT INTO public.awaken_balances VALUES ('', 'tenant', '', 100000000000, 2800000, 7364000, 0);
INSERT INTO public.awaken_balances VALUES ('', 'thread', 't-steered', NULL, 140000, 3682000, 0);


--
-- Data for Name: awaken_commits; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_commits VALUES ('', 't-waiting', 1, 1, 1, 1794805318589, 'r-waiting', 1, '{"{\"id\":\"01a1e2bb-c373-737f-b6d1-103a0e97d107\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use wire\"}]}"}', '[{"seq":1,"time":1794805318589,"event":{"event_type":"run_start","thread_id":"t-waiting","run_id":"r-waiting","identity":{"thread_id":"t-waiting","run_id":"r-waiting","agent_id":"clerk","dispatch_id":"01a1e2bb-c373-7380-8466-9834c1b23f67","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-waiting', 12, 2, 2, 1794805318799, 'r-waiting', 1, '{"{\"id\":\"r-waiting-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}}],\"metadata\":{\"run_id\":\"r-waiting\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805318593,"event":{"event_type":"step_start","message_id":"r-waiting-0"}},{"seq":3,"time":1794805318721,"event":{"event_type":"tool_call_start","id":"call-1","name":"wire"}},{"seq":4,"time":1794805318721,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use wire\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805318794,"event":{"event_type":"tool_call_ready","id":"call-1","name":"wire","arguments":{"note":"use wire"}}},{"seq":7,"time":1794805318794,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":200,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805318799,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"","result":{"tool_name":"wire","status":"pending","data":null,"message":"Tool ''wire'' suspended: awaiting approval","suspension":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"}},"outcome":"suspended"}},{"seq":9,"time":1794805318799,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-waiting","status":"running","updated_at":1794805318799,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805318799,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-waiting","step":0,"index":0,"key":"r-waiting/0/0"}}}}}}},{"seq":10,"time":1794805318799,"event":{"event_type":"step_end"}},{"seq":11,"time":1794805318799,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-waiting","status":"waiting","status_reason":"suspended","updated_at":1794805318799,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805318799,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-waiting","step":0,"index":0,"key":"r-waiting/0/0"}}}}}}},{"seq":12,"time":1794805318799,"event":{"event_type":"run_finish","thread_id":"t-waiting","run_id":"r-waiting","identity":{"thread_id":"t-waiting","run_id":"r-waiting","agent_id":"clerk","dispatch_id":"01a1e2bb-c373-7380-8466-9834c1b23f67","origin":"user"},"result":{"response":"","status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318799}]},"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"ToolUse"},"termination":{"type":"suspended"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"suspended\",\"updated_at\":1794805318799,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"run_id\":\"r-waiting\",\"step\":0,\"index\":0,\"key\":\"r-waiting/0/0\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-decided', 1, 1, 1, 1794805318878, 'r-decided', 1, '{"{\"id\":\"01a1e2bb-c4d5-739b-8bb8-ff5a5c08cf65\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use wire\"}]}"}', '[{"seq":1,"time":1794805318878,"event":{"event_type":"run_start","thread_id":"t-decided","run_id":"r-decided","identity":{"thread_id":"t-decided","run_id":"r-decided","agent_id":"clerk","dispatch_id":"01a1e2bb-c4d5-739c-ab8c-a0cf1989b007","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-deep', 1, 1, 1, 1794805318926, 'r-deep', 1, '{"{\"id\":\"01a1e2bb-c50c-750f-bb84-8c7b3b65fa22\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"give scout use wire\"}]}"}', '[{"seq":1,"time":1794805318926,"event":{"event_type":"run_start","thread_id":"t-deep","run_id":"r-deep","identity":{"thread_id":"t-deep","run_id":"r-deep","agent_id":"clerk","dispatch_id":"01a1e2bb-c50c-7510-ad0d-142d4154d31b","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-decided', 12, 2, 2, 1794805318911, 'r-decided', 1, '{"{\"id\":\"r-decided-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}}],\"metadata\":{\"run_id\":\"r-decided\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805318882,"event":{"event_type":"step_start","message_id":"r-decided-0"}},{"seq":3,"time":1794805318907,"event":{"event_type":"tool_call_start","id":"call-1","name":"wire"}},{"seq":4,"time":1794805318907,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use wire\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805318909,"event":{"event_type":"tool_call_ready","id":"call-1","name":"wire","arguments":{"note":"use wire"}}},{"seq":7,"time":1794805318909,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":26,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805318911,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"","result":{"tool_name":"wire","status":"pending","data":null,"message":"Tool ''wire'' suspended: awaiting approval","suspension":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"}},"outcome":"suspended"}},{"seq":9,"time":1794805318911,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-decided","status":"running","updated_at":1794805318911,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805318911,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-decided","step":0,"index":0,"key":"r-decided/0/0"}}}}}}},{"seq":10,"time":1794805318911,"event":{"event_type":"step_end"}},{"seq":11,"time":1794805318911,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-decided","status":"waiting","status_reason":"suspended","updated_at":1794805318911,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805318911,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-decided","step":0,"index":0,"key":"r-decided/0/0"}}}}}}},{"seq":12,"time":1794805318911,"event":{"event_type":"run_finish","thread_id":"t-decided","run_id":"r-decided","identity":{"thread_id":"t-decided","run_id":"r-decided","agent_id":"clerk","dispatch_id":"01a1e2bb-c4d5-739c-ab8c-a0cf1989b007","origin":"user"},"result":{"response":"","status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318911}]},"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"ToolUse"},"termination":{"type":"suspended"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"suspended\",\"updated_at\":1794805318911,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"run_id\":\"r-decided\",\"step\":0,\"index\":0,\"key\":\"r-decided/0/0\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-done', 28, 5, 6, 1794805321257, 'r-again', 2, '{"{\"id\":\"r-again-0\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two: more\"}],\"metadata\":{\"run_id\":\"r-again\",\"step_index\":0}}"}', '[{"seq":21,"time":1794805321246,"event":{"event_type":"step_start","message_id":"r-again-0"}},{"seq":22,"time":1794805321246,"event":{"event_type":"text_delta","delta":"two: more"},"chunks":[[0,5],[1,4]]},{"seq":24,"time":1794805321257,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":10,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":25,"time":1794805321257,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-again","status":"running","updated_at":1794805321257,"step_count":1}}}}},{"seq":26,"time":1794805321257,"event":{"event_type":"step_end"}},{"seq":27,"time":1794805321257,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-again","status":"done","status_reason":"natural","updated_at":1794805321257,"step_count":1}}}}},{"seq":28,"time":1794805321257,"event":{"event_type":"run_finish","thread_id":"t-done","run_id":"r-again","identity":{"thread_id":"t-done","run_id":"r-again","agent_id":"clerk","dispatch_id":"01a1e2bb-cdf3-7292-83ad-5ed0431cedb8","origin":"user"},"result":{"response":"two: more","status":"done","status_reason":"natural","usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-deep', 7, 2, 2, 1794805318931, 'r-deep', 1, '{"{\"id\":\"r-deep-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"agent_run_scout\",\"arguments\":{\"prompt\":\"use wire\"}}],\"metadata\":{\"run_id\":\"r-deep\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805318928,"event":{"event_type":"step_start","message_id":"r-deep-0"}},{"seq":3,"time":1794805318930,"event":{"event_type":"tool_call_start","id":"call-1","name":"agent_run_scout"}},{"seq":4,"time":1794805318930,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"prompt\":\"use wire\"}"},"chunks":[[0,2],[1,19]]},{"seq":6,"time":1794805318931,"event":{"event_type":"tool_call_ready","id":"call-1","name":"agent_run_scout","arguments":{"prompt":"use wire"}}},{"seq":7,"time":1794805318931,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":2,"cost_usd":0.00014,"finish_reason":"ToolUse"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"agent_run_scout\",\"arguments\":{\"prompt\":\"use wire\"},\"status\":\"running\",\"updated_at\":1794805318931,\"run_id\":\"r-deep\",\"step\":0,\"index\":0,\"key\":\"r-deep/0/0\",\"effect\":\"idempotent\",\"started_at\":1794805318931,\"child_run_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 'b2a77520-2f42-8fdd-9490-31026b649b6b', 1, 1, 1, 1794805318969, 'b2a77520-2f42-8fdd-9490-31026b649b6b', 1, '{"{\"id\":\"01a1e2bb-c539-72b0-873f-3e5eaa72e7f5\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use wire\"}]}"}', '[{"seq":1,"time":1794805318969,"event":{"event_type":"run_start","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","parent_run_id":"r-deep","identity":{"thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","parent_thread_id":"t-deep","run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","parent_run_id":"r-deep","agent_id":"scout","parent_tool_call_id":"call-1","origin":"subagent","depth":1}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-json', 1, 1, 1, 1794805321276, 'r-json', 1, '{"{\"id\":\"01a1e2bb-ce37-74c2-aa01-d47950e8611d\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"report the weather\"}]}"}', '[{"seq":1,"time":1794805321276,"event":{"event_type":"run_start","thread_id":"t-json","run_id":"r-json","identity":{"thread_id":"t-json","run_id":"r-json","agent_id":"clerk","dispatch_id":"01a1e2bb-ce37-74c3-b5e6-4320a365b6d3","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-json', 9, 2, 2, 1794805321293, 'r-json', 1, '{"{\"id\":\"r-json-0\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"{\\\"city\\\": \\\"Oslo\\\", \\\"degrees\\\": 7}\"}],\"metadata\":{\"run_id\":\"r-json\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805321277,"event":{"event_type":"step_start","message_id":"r-json-0"}},{"seq":3,"time":1794805321277,"event":{"event_type":"text_delta","delta":"{\"city\": \"Oslo\", \"degrees\": 7}"},"chunks":[[0,17],[1,13]]},{"seq":5,"time":1794805321293,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":15,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":6,"time":1794805321293,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-json","status":"running","updated_at":1794805321293,"step_count":1}}}}},{"seq":7,"time":1794805321293,"event":{"event_type":"step_end"}},{"seq":8,"time":1794805321293,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-json","status":"done","status_reason":"natural","updated_at":1794805321293,"step_count":1}}}}},{"seq":9,"time":1794805321293,"event":{"event_type":"run_finish","thread_id":"t-json","run_id":"r-json","identity":{"thread_id":"t-json","run_id":"r-json","agent_id":"clerk","dispatch_id":"01a1e2bb-ce37-74c3-b5e6-4320a365b6d3","origin":"user"},"result":{"response":"{\"city\": \"Oslo\", \"degrees\": 7}","status":"done","status_reason":"natural","structured_output":{"city":"Oslo","degrees":7},"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-parent', 1, 1, 1, 1794805321354, 'r-parent', 1, '{"{\"id\":\"01a1e2bb-ce63-75f6-9c42-e64923dcd1d7\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"give scout use look\"}]}"}', '[{"seq":1,"time":1794805321354,"event":{"event_type":"run_start","thread_id":"t-parent","run_id":"r-parent","identity":{"thread_id":"t-parent","run_id":"r-parent","agent_id":"clerk","dispatch_id":"01a1e2bb-ce63-75f7-a317-903968098fc6","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-parent', 7, 2, 2, 1794805321414, 'r-parent', 1, '{"{\"id\":\"r-parent-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"agent_run_scout\",\"arguments\":{\"prompt\":\"use look\"}}],\"metadata\":{\"run_id\":\"r-parent\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805321366,"event":{"event_type":"step_start","message_id":"r-parent-0"}},{"seq":3,"time":1794805321412,"event":{"event_type":"tool_call_start","id":"call-1","name":"agent_run_scout"}},{"seq":4,"time":1794805321412,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"prompt\":\"use look\"}"},"chunks":[[0,2],[1,19]]},{"seq":6,"time":1794805321414,"event":{"event_type":"tool_call_ready","id":"call-1","name":"agent_run_scout","arguments":{"prompt":"use look"}}},{"seq":7,"time":1794805321414,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":47,"cost_usd":0.00014,"finish_reason":"ToolUse"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"agent_run_scout\",\"arguments\":{\"prompt\":\"use look\"},\"status\":\"running\",\"updated_at\":1794805321414,\"run_id\":\"r-parent\",\"step\":0,\"index\":0,\"key\":\"r-parent/0/0\",\"effect\":\"idempotent\",\"started_at\":1794805321414,\"child_run_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 1, 1, 1, 1794805321417, 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 1, '{"{\"id\":\"01a1e2bb-cec9-7635-8653-68e8770a9879\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use look\"}]}"}', '[{"seq":1,"time":1794805321417,"event":{"event_type":"run_start","thread_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","parent_run_id":"r-parent","identity":{"thread_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","parent_thread_id":"t-parent","run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","parent_run_id":"r-parent","agent_id":"scout","parent_tool_call_id":"call-1","origin":"subagent","depth":1}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 'b2a77520-2f42-8fdd-9490-31026b649b6b', 12, 2, 2, 1794805318992, 'b2a77520-2f42-8fdd-9490-31026b649b6b', 1, '{"{\"id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}}],\"metadata\":{\"run_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805318973,"event":{"event_type":"step_start","message_id":"b2a77520-2f42-8fdd-9490-31026b649b6b-0"}},{"seq":3,"time":1794805318980,"event":{"event_type":"tool_call_start","id":"call-1","name":"wire"}},{"seq":4,"time":1794805318980,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use wire\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805318988,"event":{"event_type":"tool_call_ready","id":"call-1","name":"wire","arguments":{"note":"use wire"}}},{"seq":7,"time":1794805318988,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":15,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805318992,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"","result":{"tool_name":"wire","status":"pending","data":null,"message":"Tool ''wire'' suspended: awaiting approval","suspension":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"}},"outcome":"suspended"}},{"seq":9,"time":1794805318992,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","status":"running","updated_at":1794805318992,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805318992,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","step":0,"index":0,"key":"b2a77520-2f42-8fdd-9490-31026b649b6b/0/0"}}}}}}},{"seq":10,"time":1794805318992,"event":{"event_type":"step_end"}},{"seq":11,"time":1794805318992,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","status":"waiting","status_reason":"suspended","updated_at":1794805318992,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805318992,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","step":0,"index":0,"key":"b2a77520-2f42-8fdd-9490-31026b649b6b/0/0"}}}}}}},{"seq":12,"time":1794805318992,"event":{"event_type":"run_finish","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","identity":{"thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","parent_thread_id":"t-deep","run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","parent_run_id":"r-deep","agent_id":"scout","parent_tool_call_id":"call-1","origin":"subagent","depth":1},"result":{"response":"","status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318992}]},"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"ToolUse"},"termination":{"type":"suspended"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"suspended\",\"updated_at\":1794805318992,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"run_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b\",\"step\":0,\"index\":0,\"key\":\"b2a77520-2f42-8fdd-9490-31026b649b6b/0/0\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-greeted', 1, 1, 1, 1794805322071, 'r-greeted', 1, '{"{\"id\":\"01a1e2bb-d154-7586-88d9-8979e77f9dfe\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"say hi\"}]}"}', '[{"seq":1,"time":1794805322071,"event":{"event_type":"run_start","thread_id":"t-greeted","run_id":"r-greeted","identity":{"thread_id":"t-greeted","run_id":"r-greeted","agent_id":"greeter","dispatch_id":"01a1e2bb-d154-7587-98c6-7214448a4dab","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-deep', 13, 3, 2, 1794805318996, 'r-deep', 1, NULL, '[{"seq":8,"time":1794805318967,"event":{"event_type":"activity_snapshot","message_id":"tool_call:call-1","activity_type":"tool-call-progress","content":{"schema":"tool-call-progress.v1","node_id":"tool_call:call-1","call_id":"call-1","tool_name":"agent_run_scout","status":"running","message":"scout","parent_node_id":"run:r-deep","run_id":"r-deep","thread_id":"t-deep"},"replace":true}},{"seq":9,"time":1794805318996,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"","result":{"tool_name":"agent_run_scout","status":"pending","data":null,"message":"Tool ''agent_run_scout'' suspended: awaiting approval","suspension":{"suspension":{"id":"delegate_run:b2a77520-2f42-8fdd-9490-31026b649b6b","action":"agent_delegate:suspended","message":"Agent ''scout'' waits for a decision"},"pending":{"id":"call-1","name":"agent_run_scout","arguments":{"prompt":"use wire"}},"resume_mode":"replay_tool_call","child_run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","tickets":[{"ticket_id":"b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318992,"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","agent_id":"scout"}]}},"outcome":"suspended"}},{"seq":10,"time":1794805318996,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-deep","status":"running","updated_at":1794805318996,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"agent_run_scout","arguments":{"prompt":"use wire"},"status":"suspended","updated_at":1794805318996,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"delegate_run:b2a77520-2f42-8fdd-9490-31026b649b6b","action":"agent_delegate:suspended","message":"Agent ''scout'' waits for a decision"},"pending":{"id":"call-1","name":"agent_run_scout","arguments":{"prompt":"use wire"}},"resume_mode":"replay_tool_call","child_run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","tickets":[{"ticket_id":"b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318992,"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","agent_id":"scout"}]},"run_id":"r-deep","step":0,"index":0,"key":"r-deep/0/0","effect":"idempotent","started_at":1794805318931,"child_run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b"}}}}}}},{"seq":11,"time":1794805318996,"event":{"event_type":"step_end"}},{"seq":12,"time":1794805318996,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-deep","status":"waiting","status_reason":"suspended","updated_at":1794805318996,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"agent_run_scout","arguments":{"prompt":"use wire"},"status":"suspended","updated_at":1794805318996,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"delegate_run:b2a77520-2f42-8fdd-9490-31026b649b6b","action":"agent_delegate:suspended","message":"Agent ''scout'' waits for a decision"},"pending":{"id":"call-1","name":"agent_run_scout","arguments":{"prompt":"use wire"}},"resume_mode":"replay_tool_call","child_run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","tickets":[{"ticket_id":"b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318992,"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","agent_id":"scout"}]},"run_id":"r-deep","step":0,"index":0,"key":"r-deep/0/0","effect":"idempotent","started_at":1794805318931,"child_run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b"}}}}}}},{"seq":13,"time":1794805318996,"event":{"event_type":"run_finish","thread_id":"t-deep","run_id":"r-deep","identity":{"thread_id":"t-deep","run_id":"r-deep","agent_id":"clerk","dispatch_id":"01a1e2bb-c50c-7510-ad0d-142d4154d31b","origin":"user"},"result":{"response":"","status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1"],"tickets":[{"ticket_id":"b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318992,"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","agent_id":"scout"}]},"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"ToolUse"},"termination":{"type":"suspended"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"agent_run_scout\",\"arguments\":{\"prompt\":\"use wire\"},\"status\":\"suspended\",\"updated_at\":1794805318996,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"delegate_run:b2a77520-2f42-8fdd-9490-31026b649b6b\",\"action\":\"agent_delegate:suspended\",\"message\":\"Agent ''scout'' waits for a decision\"},\"pending\":{\"id\":\"call-1\",\"name\":\"agent_run_scout\",\"arguments\":{\"prompt\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\",\"child_run_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b\",\"tickets\":[{\"ticket_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1\",\"tool_call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"resume_mode\":\"replay_tool_call\",\"reason\":\"Tool ''wire'' needs your approval\",\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"updated_at\":1794805318992,\"run_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b\",\"thread_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b\",\"agent_id\":\"scout\"}]},\"run_id\":\"r-deep\",\"step\":0,\"index\":0,\"key\":\"r-deep/0/0\",\"effect\":\"idempotent\",\"started_at\":1794805318931,\"child_run_id\":\"b2a77520-2f42-8fdd-9490-31026b649b6b\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-broke', 1, 1, 1, 1794805319013, 'r-broke', 1, '{"{\"id\":\"01a1e2bb-c55b-7515-8f0b-cf395ecbd15e\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"say hello\"}]}"}', '[{"seq":1,"time":1794805319013,"event":{"event_type":"run_start","thread_id":"t-broke","run_id":"r-broke","identity":{"thread_id":"t-broke","run_id":"r-broke","agent_id":"clerk","dispatch_id":"01a1e2bb-c55b-7516-9a95-1b7069d54796","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-broke', 6, 2, 1, 1794805319044, 'r-broke', 1, NULL, '[{"seq":2,"time":1794805319030,"event":{"event_type":"step_start","message_id":"r-broke-0"}},{"seq":3,"time":1794805319044,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-broke","status":"running","updated_at":1794805319044,"step_count":1}}}}},{"seq":4,"time":1794805319044,"event":{"event_type":"step_end"}},{"seq":5,"time":1794805319044,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-broke","status":"waiting","status_reason":"budget_exhausted","updated_at":1794805319044,"step_count":0}}}}},{"seq":6,"time":1794805319044,"event":{"event_type":"run_finish","thread_id":"t-broke","run_id":"r-broke","identity":{"thread_id":"t-broke","run_id":"r-broke","agent_id":"clerk","dispatch_id":"01a1e2bb-c55b-7516-9a95-1b7069d54796","origin":"user"},"result":{"response":"","status":"waiting","status_reason":"budget_exhausted","waiting":{"reason":"budget_exhausted","ticket_ids":[],"tickets":[],"message":"the budget of run r-broke is used up: the next call needs 0.002129 USD, 0 of 1e-09 are spent and 0 reserved","budget":{"scope":"run","id":"r-broke","limit_usd":1e-9,"spent_usd":0,"needed_usd":0.002129}}},"termination":{"type":"suspended"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-done', 1, 1, 1, 1794805320959, 'r-done', 1, '{"{\"id\":\"01a1e2bb-cc2a-74ff-81f8-d9770eb14fd9\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use look\"}]}"}', '[{"seq":1,"time":1794805320959,"event":{"event_type":"run_start","thread_id":"t-done","run_id":"r-done","identity":{"thread_id":"t-done","run_id":"r-done","agent_id":"clerk","dispatch_id":"01a1e2bb-cc2a-7500-9aed-bdeebc92404d","session_id":"session-1","user_id":"alice","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-done', 19, 3, 4, 1794805321186, 'r-done', 1, '{"{\"id\":\"r-done-1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two: look did use look\"}],\"metadata\":{\"run_id\":\"r-done\",\"step_index\":1}}"}', '[{"seq":12,"time":1794805321158,"event":{"event_type":"step_start","message_id":"r-done-1"}},{"seq":13,"time":1794805321158,"event":{"event_type":"text_delta","delta":"two: look did use look"},"chunks":[[0,5],[1,17]]},{"seq":15,"time":1794805321186,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":27,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":16,"time":1794805321186,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-done","status":"running","updated_at":1794805321186,"step_count":2},"__runtime.tool_call_states":{"calls":{}}}}}},{"seq":17,"time":1794805321186,"event":{"event_type":"step_end"}},{"seq":18,"time":1794805321186,"event":{"event_type":"state_snapshot","snapshot":{"revision":4,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-done","status":"done","status_reason":"natural","updated_at":1794805321186,"step_count":2},"__runtime.tool_call_states":{"calls":{}}}}}},{"seq":19,"time":1794805321186,"event":{"event_type":"run_finish","thread_id":"t-done","run_id":"r-done","identity":{"thread_id":"t-done","run_id":"r-done","agent_id":"clerk","dispatch_id":"01a1e2bb-cc2a-7500-9aed-bdeebc92404d","session_id":"session-1","user_id":"alice","origin":"user"},"result":{"response":"two: look did use look","status":"done","status_reason":"natural","usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-done', 20, 4, 5, 1794805321244, 'r-again', 2, '{"{\"id\":\"01a1e2bb-cdf3-7291-b494-0cebaed7e3cd\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"say more\"}]}"}', '[{"seq":20,"time":1794805321244,"event":{"event_type":"run_start","thread_id":"t-done","run_id":"r-again","identity":{"thread_id":"t-done","run_id":"r-again","agent_id":"clerk","dispatch_id":"01a1e2bb-cdf3-7292-83ad-5ed0431cedb8","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-done', 11, 2, 3, 1794805321158, 'r-done', 1, '{"{\"id\":\"r-done-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"look\",\"arguments\":{\"note\":\"use look\"}}],\"metadata\":{\"run_id\":\"r-done\",\"step_index\":0}}","{\"id\":\"01a1e2bb-cdc6-7790-82ac-35bb809cb8b0\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"look did use look\"}],\"tool_call_id\":\"call-1\",\"metadata\":{\"run_id\":\"r-done\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805320962,"event":{"event_type":"step_start","message_id":"r-done-0"}},{"seq":3,"time":1794805321143,"event":{"event_type":"tool_call_start","id":"call-1","name":"look"}},{"seq":4,"time":1794805321143,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use look\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805321158,"event":{"event_type":"tool_call_ready","id":"call-1","name":"look","arguments":{"note":"use look"}}},{"seq":7,"time":1794805321158,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":195,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805321158,"event":{"event_type":"tool_call_stream_delta","id":"call-1","name":"look","delta":"working on use look"}},{"seq":9,"time":1794805321158,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"01a1e2bb-cdc6-7790-82ac-35bb809cb8b0","result":{"tool_name":"look","status":"success","data":"look did use look"},"outcome":"succeeded"}},{"seq":10,"time":1794805321158,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-done","status":"running","updated_at":1794805321158,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"look","arguments":{"note":"use look"},"status":"succeeded","updated_at":1794805321158,"run_id":"r-done","step":0,"index":0,"key":"r-done/0/0","effect":"read_only","started_at":1794805321158,"result":{"tool_name":"look","status":"success","data":"look did use look"}}}}}}}},{"seq":11,"time":1794805321158,"event":{"event_type":"step_end"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"look\",\"arguments\":{\"note\":\"use look\"},\"status\":\"succeeded\",\"updated_at\":1794805321158,\"run_id\":\"r-done\",\"step\":0,\"index\":0,\"key\":\"r-done/0/0\",\"effect\":\"read_only\",\"started_at\":1794805321158,\"result\":{\"tool_name\":\"look\",\"status\":\"success\",\"data\":\"look did use look\"}}"}');
INSERT INTO public.awaken_commits VALUES ('', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 11, 2, 3, 1794805321421, 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 1, '{"{\"id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"look\",\"arguments\":{\"note\":\"use look\"}}],\"metadata\":{\"run_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\",\"step_index\":0}}","{\"id\":\"01a1e2bb-cecd-716d-87fe-8535f3673254\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"look did use look\"}],\"tool_call_id\":\"call-1\",\"metadata\":{\"run_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805321418,"event":{"event_type":"step_start","message_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa-0"}},{"seq":3,"time":1794805321420,"event":{"event_type":"tool_call_start","id":"call-1","name":"look"}},{"seq":4,"time":1794805321420,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use look\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805321420,"event":{"event_type":"tool_call_ready","id":"call-1","name":"look","arguments":{"note":"use look"}}},{"seq":7,"time":1794805321420,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":2,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805321421,"event":{"event_type":"tool_call_stream_delta","id":"call-1","name":"look","delta":"working on use look"}},{"seq":9,"time":1794805321421,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"01a1e2bb-cecd-716d-87fe-8535f3673254","result":{"tool_name":"look","status":"success","data":"look did use look"},"outcome":"succeeded"}},{"seq":10,"time":1794805321421,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","status":"running","updated_at":1794805321421,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"look","arguments":{"note":"use look"},"status":"succeeded","updated_at":1794805321421,"run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","step":0,"index":0,"key":"c9a706c9-37dd-8251-a84a-cf99b0838baa/0/0","effect":"read_only","started_at":1794805321421,"result":{"tool_name":"look","status":"success","data":"look did use look"}}}}}}}},{"seq":11,"time":1794805321421,"event":{"event_type":"step_end"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"look\",\"arguments\":{\"note\":\"use look\"},\"status\":\"succeeded\",\"updated_at\":1794805321421,\"run_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\",\"step\":0,\"index\":0,\"key\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa/0/0\",\"effect\":\"read_only\",\"started_at\":1794805321421,\"result\":{\"tool_name\":\"look\",\"status\":\"success\",\"data\":\"look did use look\"}}"}');
INSERT INTO public.awaken_commits VALUES ('', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 19, 3, 4, 1794805321593, 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 1, '{"{\"id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa-1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"scout: look did use look\"}],\"metadata\":{\"run_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\",\"step_index\":1}}"}', '[{"seq":12,"time":1794805321421,"event":{"event_type":"step_start","message_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa-1"}},{"seq":13,"time":1794805321421,"event":{"event_type":"text_delta","delta":"scout: look did use look"},"chunks":[[0,7],[1,17]]},{"seq":15,"time":1794805321511,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":89,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":16,"time":1794805321511,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","status":"running","updated_at":1794805321511,"step_count":2},"__runtime.tool_call_states":{"calls":{}}}}}},{"seq":17,"time":1794805321511,"event":{"event_type":"step_end"}},{"seq":18,"time":1794805321593,"event":{"event_type":"state_snapshot","snapshot":{"revision":4,"extensions":{"__runtime.run_lifecycle":{"run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","status":"done","status_reason":"natural","updated_at":1794805321593,"step_count":2},"__runtime.tool_call_states":{"calls":{}}}}}},{"seq":19,"time":1794805321593,"event":{"event_type":"run_finish","thread_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","identity":{"thread_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","parent_thread_id":"t-parent","run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","parent_run_id":"r-parent","agent_id":"scout","parent_tool_call_id":"call-1","origin":"subagent","depth":1},"result":{"response":"scout: look did use look","status":"done","status_reason":"natural","usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-parent', 14, 3, 3, 1794805321597, 'r-parent', 1, '{"{\"id\":\"01a1e2bb-cf7d-7447-b724-e165a6ea2695\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"{\\\"agent_id\\\":\\\"scout\\\",\\\"status\\\":\\\"completed\\\",\\\"response\\\":\\\"scout: look did use look\\\",\\\"steps\\\":2}\"}],\"tool_call_id\":\"call-1\",\"metadata\":{\"run_id\":\"r-parent\",\"step_index\":0}}"}', '[{"seq":8,"time":1794805321418,"event":{"event_type":"activity_snapshot","message_id":"tool_call:call-1","activity_type":"tool-call-progress","content":{"schema":"tool-call-progress.v1","node_id":"tool_call:call-1","call_id":"call-1","tool_name":"agent_run_scout","status":"running","message":"scout","parent_node_id":"run:r-parent","run_id":"r-parent","thread_id":"t-parent"},"replace":true}},{"seq":9,"time":1794805321593,"event":{"event_type":"tool_call_stream_delta","id":"call-1","name":"agent_run_scout","delta":"scout: look did use look"},"chunks":[[0,7],[1,17]]},{"seq":11,"time":1794805321597,"event":{"event_type":"activity_snapshot","message_id":"tool_call:call-1","activity_type":"tool-call-progress","content":{"schema":"tool-call-progress.v1","node_id":"tool_call:call-1","call_id":"call-1","tool_name":"agent_run_scout","status":"done","message":"scout","parent_node_id":"run:r-parent","run_id":"r-parent","thread_id":"t-parent"},"replace":true}},{"seq":12,"time":1794805321597,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"01a1e2bb-cf7d-7447-b724-e165a6ea2695","result":{"tool_name":"agent_run_scout","status":"success","data":{"agent_id":"scout","status":"completed","response":"scout: look did use look","steps":2},"metadata":{"child_run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","child_thread_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa"}},"outcome":"succeeded"}},{"seq":13,"time":1794805321597,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-parent","status":"running","updated_at":1794805321597,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"agent_run_scout","arguments":{"prompt":"use look"},"status":"succeeded","updated_at":1794805321597,"run_id":"r-parent","step":0,"index":0,"key":"r-parent/0/0","effect":"idempotent","started_at":1794805321414,"child_run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","result":{"tool_name":"agent_run_scout","status":"success","data":{"agent_id":"scout","status":"completed","response":"scout: look did use look","steps":2},"metadata":{"child_run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","child_thread_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa"}}}}}}}}},{"seq":14,"time":1794805321597,"event":{"event_type":"step_end"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"agent_run_scout\",\"arguments\":{\"prompt\":\"use look\"},\"status\":\"succeeded\",\"updated_at\":1794805321597,\"run_id\":\"r-parent\",\"step\":0,\"index\":0,\"key\":\"r-parent/0/0\",\"effect\":\"idempotent\",\"started_at\":1794805321414,\"child_run_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\",\"result\":{\"tool_name\":\"agent_run_scout\",\"status\":\"success\",\"data\":{\"agent_id\":\"scout\",\"status\":\"completed\",\"response\":\"scout: look did use look\",\"steps\":2},\"metadata\":{\"child_run_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\",\"child_thread_id\":\"c9a706c9-37dd-8251-a84a-cf99b0838baa\"}}}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-parent', 22, 4, 4, 1794805322053, 'r-parent', 1, '{"{\"id\":\"r-parent-1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two: {\\\"agent_id\\\":\\\"scout\\\",\\\"status\\\":\\\"completed\\\",\\\"response\\\":\\\"scout: look did use look\\\",\\\"steps\\\":2}\"}],\"metadata\":{\"run_id\":\"r-parent\",\"step_index\":1}}"}', '[{"seq":15,"time":1794805321599,"event":{"event_type":"step_start","message_id":"r-parent-1"}},{"seq":16,"time":1794805321599,"event":{"event_type":"text_delta","delta":"two: {\"agent_id\":\"scout\",\"status\":\"completed\",\"response\":\"scout: look did use look\",\"steps\":2}"},"chunks":[[0,5],[1,89]]},{"seq":18,"time":1794805322053,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":453,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":19,"time":1794805322053,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-parent","status":"running","updated_at":1794805322053,"step_count":2},"__runtime.tool_call_states":{"calls":{}}}}}},{"seq":20,"time":1794805322053,"event":{"event_type":"step_end"}},{"seq":21,"time":1794805322053,"event":{"event_type":"state_snapshot","snapshot":{"revision":4,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-parent","status":"done","status_reason":"natural","updated_at":1794805322053,"step_count":2},"__runtime.tool_call_states":{"calls":{}}}}}},{"seq":22,"time":1794805322053,"event":{"event_type":"run_finish","thread_id":"t-parent","run_id":"r-parent","identity":{"thread_id":"t-parent","run_id":"r-parent","agent_id":"clerk","dispatch_id":"01a1e2bb-ce63-75f7-a317-903968098fc6","origin":"user"},"result":{"response":"two: {\"agent_id\":\"scout\",\"status\":\"completed\",\"response\":\"scout: look did use look\",\"steps\":2}","status":"done","status_reason":"natural","usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-failed', 1, 1, 1, 1794805322064, 'r-failed', 1, '{"{\"id\":\"01a1e2bb-d14d-7406-9d01-37a4f0dd6361\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"fail\"}]}"}', '[{"seq":1,"time":1794805322064,"event":{"event_type":"run_start","thread_id":"t-failed","run_id":"r-failed","identity":{"thread_id":"t-failed","run_id":"r-failed","agent_id":"clerk","dispatch_id":"01a1e2bb-d14d-7407-a70d-c8fbb32f2cff","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-failed', 6, 2, 1, 1794805322066, 'r-failed', 1, NULL, '[{"seq":2,"time":1794805322065,"event":{"event_type":"step_start","message_id":"r-failed-0"}},{"seq":3,"time":1794805322066,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-failed","status":"running","updated_at":1794805322066,"step_count":1}}}}},{"seq":4,"time":1794805322066,"event":{"event_type":"step_end"}},{"seq":5,"time":1794805322066,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-failed","status":"done","status_reason":"error","updated_at":1794805322066,"step_count":1}}}}},{"seq":6,"time":1794805322066,"event":{"event_type":"run_finish","thread_id":"t-failed","run_id":"r-failed","identity":{"thread_id":"t-failed","run_id":"r-failed","agent_id":"clerk","dispatch_id":"01a1e2bb-d14d-7407-a70d-c8fbb32f2cff","origin":"user"},"result":{"response":"","status":"done","status_reason":"error"},"termination":{"type":"error","value":"inference: invalid request: as asked"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-greeted', 9, 2, 2, 1794805322074, 'r-greeted', 1, '{"{\"id\":\"r-greeted-0\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"overridden: hi\"}],\"metadata\":{\"run_id\":\"r-greeted\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322071,"event":{"event_type":"step_start","message_id":"r-greeted-0"}},{"seq":3,"time":1794805322071,"event":{"event_type":"text_delta","delta":"overridden: hi"},"chunks":[[0,12],[1,2]]},{"seq":5,"time":1794805322074,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":2,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":6,"time":1794805322074,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-greeted","status":"running","updated_at":1794805322074,"step_count":1}}}}},{"seq":7,"time":1794805322074,"event":{"event_type":"step_end"}},{"seq":8,"time":1794805322074,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-greeted","status":"done","status_reason":"natural","updated_at":1794805322074,"step_count":1}}}}},{"seq":9,"time":1794805322074,"event":{"event_type":"run_finish","thread_id":"t-greeted","run_id":"r-greeted","identity":{"thread_id":"t-greeted","run_id":"r-greeted","agent_id":"greeter","dispatch_id":"01a1e2bb-d154-7587-98c6-7214448a4dab","origin":"user"},"result":{"response":"overridden: hi","status":"done","status_reason":"natural","usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-allowed', 1, 1, 1, 1794805322078, 'r-allowed', 1, '{"{\"id\":\"01a1e2bb-d15c-7319-8880-d828f057bcfd\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use wire\"}]}"}', '[{"seq":1,"time":1794805322078,"event":{"event_type":"run_start","thread_id":"t-allowed","run_id":"r-allowed","identity":{"thread_id":"t-allowed","run_id":"r-allowed","agent_id":"clerk","dispatch_id":"01a1e2bb-d15c-731a-9e02-0a804ac70dad","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-allowed', 13, 3, 2, 1794805322118, 'r-allowed', 2, NULL, '[{"seq":13,"time":1794805322118,"event":{"event_type":"run_start","thread_id":"t-allowed","run_id":"r-allowed","identity":{"thread_id":"t-allowed","run_id":"r-allowed","agent_id":"clerk","dispatch_id":"01a1e2bb-d15c-731a-9e02-0a804ac70dad","origin":"user","run_mode":"resume"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"resuming\",\"updated_at\":1794805322118,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"resume_input\":{\"target\":\"perm_call-1\",\"decision_id\":\"yes\",\"action\":\"resume\",\"result\":{\"remember\":\"thread\"},\"updated_at\":1794805322094},\"approved\":[\"perm_call-1\"],\"run_id\":\"r-allowed\",\"step\":0,\"index\":0,\"key\":\"r-allowed/0/0\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-allowed', 13, 4, 2, 1794805322121, 'r-allowed', 0, NULL, NULL, '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"running\",\"updated_at\":1794805322121,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"resume_input\":{\"target\":\"perm_call-1\",\"decision_id\":\"yes\",\"action\":\"resume\",\"result\":{\"remember\":\"thread\"},\"updated_at\":1794805322094},\"approved\":[\"perm_call-1\"],\"run_id\":\"r-allowed\",\"step\":0,\"index\":0,\"key\":\"r-allowed/0/0\",\"started_at\":1794805322121}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-allowed', 16, 5, 3, 1794805322122, 'r-allowed', 2, '{"{\"id\":\"01a1e2bb-d18a-7143-bb92-69359dab6126\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"wire did use wire\"}],\"tool_call_id\":\"call-1\",\"metadata\":{\"run_id\":\"r-allowed\",\"step_index\":0}}"}', '[{"seq":14,"time":1794805322122,"event":{"event_type":"tool_call_stream_delta","id":"call-1","name":"wire","delta":"working on use wire"}},{"seq":15,"time":1794805322122,"event":{"event_type":"tool_call_resumed","target_id":"call-1","result":"wire did use wire","message_id":"01a1e2bb-d18a-7143-bb92-69359dab6126","outcome":"succeeded","decision":{"id":"yes","action":"resume","at":1794805322094,"payload":{"remember":"thread"},"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","run_id":"r-allowed","thread_id":"t-allowed"}}},{"seq":16,"time":1794805322122,"event":{"event_type":"state_delta","delta":[{"op":"add","path":"/extensions/permission_policy","value":[{"tool":"wire","behavior":"allow","scope":"thread"}]}]}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"succeeded\",\"updated_at\":1794805322122,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"resume_input\":{\"target\":\"perm_call-1\",\"decision_id\":\"yes\",\"action\":\"resume\",\"result\":{\"remember\":\"thread\"},\"updated_at\":1794805322094},\"approved\":[\"perm_call-1\"],\"run_id\":\"r-allowed\",\"step\":0,\"index\":0,\"key\":\"r-allowed/0/0\",\"started_at\":1794805322121,\"result\":{\"tool_name\":\"wire\",\"status\":\"success\",\"data\":\"wire did use wire\"}}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-cancelled', 1, 1, 1, 1794805322139, 'r-cancelled', 1, '{"{\"id\":\"01a1e2bb-d191-744e-b665-47d3178c7a3c\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use wire\"}]}"}', '[{"seq":1,"time":1794805322139,"event":{"event_type":"run_start","thread_id":"t-cancelled","run_id":"r-cancelled","identity":{"thread_id":"t-cancelled","run_id":"r-cancelled","agent_id":"clerk","dispatch_id":"01a1e2bb-d191-744f-b840-3b6bc1e4317c","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-allowed', 12, 2, 2, 1794805322091, 'r-allowed', 1, '{"{\"id\":\"r-allowed-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}}],\"metadata\":{\"run_id\":\"r-allowed\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322078,"event":{"event_type":"step_start","message_id":"r-allowed-0"}},{"seq":3,"time":1794805322088,"event":{"event_type":"tool_call_start","id":"call-1","name":"wire"}},{"seq":4,"time":1794805322088,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use wire\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805322089,"event":{"event_type":"tool_call_ready","id":"call-1","name":"wire","arguments":{"note":"use wire"}}},{"seq":7,"time":1794805322089,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":10,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805322091,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"","result":{"tool_name":"wire","status":"pending","data":null,"message":"Tool ''wire'' suspended: awaiting approval","suspension":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"}},"outcome":"suspended"}},{"seq":9,"time":1794805322091,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-allowed","status":"running","updated_at":1794805322091,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805322091,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-allowed","step":0,"index":0,"key":"r-allowed/0/0"}}}}}}},{"seq":10,"time":1794805322091,"event":{"event_type":"step_end"}},{"seq":11,"time":1794805322091,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-allowed","status":"waiting","status_reason":"suspended","updated_at":1794805322091,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805322091,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-allowed","step":0,"index":0,"key":"r-allowed/0/0"}}}}}}},{"seq":12,"time":1794805322091,"event":{"event_type":"run_finish","thread_id":"t-allowed","run_id":"r-allowed","identity":{"thread_id":"t-allowed","run_id":"r-allowed","agent_id":"clerk","dispatch_id":"01a1e2bb-d15c-731a-9e02-0a804ac70dad","origin":"user"},"result":{"response":"","status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805322091}]},"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"ToolUse"},"termination":{"type":"suspended"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"suspended\",\"updated_at\":1794805322091,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"run_id\":\"r-allowed\",\"step\":0,\"index\":0,\"key\":\"r-allowed/0/0\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-allowed', 24, 6, 4, 1794805322125, 'r-allowed', 2, '{"{\"id\":\"r-allowed-1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two: wire did use wire\"}],\"metadata\":{\"run_id\":\"r-allowed\",\"step_index\":1}}"}', '[{"seq":17,"time":1794805322123,"event":{"event_type":"step_start","message_id":"r-allowed-1"}},{"seq":18,"time":1794805322123,"event":{"event_type":"text_delta","delta":"two: wire did use wire"},"chunks":[[0,5],[1,17]]},{"seq":20,"time":1794805322125,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":1,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":21,"time":1794805322125,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-allowed","status":"running","updated_at":1794805322125,"step_count":2},"__runtime.tool_call_states":{"calls":{}},"permission_policy":[{"tool":"wire","behavior":"allow","scope":"thread"}]}}}},{"seq":22,"time":1794805322125,"event":{"event_type":"step_end"}},{"seq":23,"time":1794805322125,"event":{"event_type":"state_snapshot","snapshot":{"revision":4,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-allowed","status":"done","status_reason":"natural","updated_at":1794805322125,"step_count":2},"__runtime.tool_call_states":{"calls":{}},"permission_policy":[{"tool":"wire","behavior":"allow","scope":"thread"}]}}}},{"seq":24,"time":1794805322125,"event":{"event_type":"run_finish","thread_id":"t-allowed","run_id":"r-allowed","identity":{"thread_id":"t-allowed","run_id":"r-allowed","agent_id":"clerk","dispatch_id":"01a1e2bb-d15c-731a-9e02-0a804ac70dad","origin":"user","run_mode":"resume"},"result":{"response":"two: wire did use wire","status":"done","status_reason":"natural","usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-cancelled', 13, 3, 2, 1794805322161, 'r-cancelled', 2, NULL, '[{"seq":13,"time":1794805322161,"event":{"event_type":"run_start","thread_id":"t-cancelled","run_id":"r-cancelled","identity":{"thread_id":"t-cancelled","run_id":"r-cancelled","agent_id":"clerk","dispatch_id":"01a1e2bb-d191-744f-b840-3b6bc1e4317c","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-cancelled', 16, 4, 3, 1794805322161, 'r-cancelled', 2, '{"{\"id\":\"01a1e2bb-d1b1-7455-aa39-bf00a49b6bfd\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"[Tool execution was interrupted] the call was not made, the run ended: cancelled\"}],\"tool_call_id\":\"call-1\",\"metadata\":{\"run_id\":\"r-cancelled\",\"step_index\":0}}"}', '[{"seq":14,"time":1794805322161,"event":{"event_type":"tool_call_resumed","target_id":"call-1","result":{"error":"[Tool execution was interrupted] the call was not made, the run ended: cancelled"},"message_id":"01a1e2bb-d1b1-7455-aa39-bf00a49b6bfd","outcome":"cancelled"}},{"seq":15,"time":1794805322161,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-cancelled","status":"done","status_reason":"cancelled","updated_at":1794805322161,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"cancelled","updated_at":1794805322161,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-cancelled","step":0,"index":0,"key":"r-cancelled/0/0","result":{"tool_name":"wire","status":"error","data":null,"message":"[Tool execution was interrupted] the call was not made, the run ended: cancelled"}}}}}}}},{"seq":16,"time":1794805322161,"event":{"event_type":"run_finish","thread_id":"t-cancelled","run_id":"r-cancelled","identity":{"thread_id":"t-cancelled","run_id":"r-cancelled","agent_id":"clerk","dispatch_id":"01a1e2bb-d191-744f-b840-3b6bc1e4317c","origin":"user"},"result":{"response":"","status":"done","status_reason":"cancelled","usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"ToolUse"},"termination":{"type":"cancelled"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"cancelled\",\"updated_at\":1794805322161,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"run_id\":\"r-cancelled\",\"step\":0,\"index\":0,\"key\":\"r-cancelled/0/0\",\"result\":{\"tool_name\":\"wire\",\"status\":\"error\",\"data\":null,\"message\":\"[Tool execution was interrupted] the call was not made, the run ended: cancelled\"}}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-dead', 3, 1, 1, 1794805322213, 'r-dead', 2, '{"{\"id\":\"01a1e2bb-d1b4-7418-a148-d3e2da485f14\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"say it again\"}]}"}', '[{"seq":1,"time":1794805322213,"event":{"event_type":"run_start","thread_id":"t-dead","run_id":"r-dead","identity":{"thread_id":"t-dead","run_id":"r-dead","agent_id":"missing","dispatch_id":"01a1e2bb-d1b4-7419-ae12-1b5b167fdb12","origin":"user"}}},{"seq":2,"time":1794805322213,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-dead","status":"done","status_reason":"error","updated_at":1794805322213,"step_count":0}}}}},{"seq":3,"time":1794805322213,"event":{"event_type":"run_finish","thread_id":"t-dead","run_id":"r-dead","identity":{"thread_id":"t-dead","run_id":"r-dead","agent_id":"missing","dispatch_id":"01a1e2bb-d1b4-7419-ae12-1b5b167fdb12","origin":"user"},"result":{"response":"","status":"done","status_reason":"error"},"termination":{"type":"error","value":"agent \"missing\" not found; available: [\"clerk\" \"greeter\" \"scout\" \"trial\"]"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('acme', 't-done', 1, 1, 1, 1794805322262, 'r-done', 1, '{"{\"id\":\"01a1e2bb-d214-7440-a537-87cfa29fc334\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"say hello to acme\"}]}"}', '[{"seq":1,"time":1794805322262,"event":{"event_type":"run_start","thread_id":"t-done","run_id":"r-done","identity":{"thread_id":"t-done","run_id":"r-done","agent_id":"clerk","dispatch_id":"01a1e2bb-d214-7441-9255-1ce44ee0529f","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-cancelled', 12, 2, 2, 1794805322144, 'r-cancelled', 1, '{"{\"id\":\"r-cancelled-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}}],\"metadata\":{\"run_id\":\"r-cancelled\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322140,"event":{"event_type":"step_start","message_id":"r-cancelled-0"}},{"seq":3,"time":1794805322141,"event":{"event_type":"tool_call_start","id":"call-1","name":"wire"}},{"seq":4,"time":1794805322141,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use wire\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805322142,"event":{"event_type":"tool_call_ready","id":"call-1","name":"wire","arguments":{"note":"use wire"}}},{"seq":7,"time":1794805322142,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":1,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805322144,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"","result":{"tool_name":"wire","status":"pending","data":null,"message":"Tool ''wire'' suspended: awaiting approval","suspension":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"}},"outcome":"suspended"}},{"seq":9,"time":1794805322144,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-cancelled","status":"running","updated_at":1794805322144,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805322144,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-cancelled","step":0,"index":0,"key":"r-cancelled/0/0"}}}}}}},{"seq":10,"time":1794805322144,"event":{"event_type":"step_end"}},{"seq":11,"time":1794805322144,"event":{"event_type":"state_snapshot","snapshot":{"revision":3,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-cancelled","status":"waiting","status_reason":"suspended","updated_at":1794805322144,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"status":"suspended","updated_at":1794805322144,"resume_mode":"replay_tool_call","ticket":{"suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"pending":{"id":"call-1","name":"wire","arguments":{"note":"use wire"}},"resume_mode":"replay_tool_call"},"run_id":"r-cancelled","step":0,"index":0,"key":"r-cancelled/0/0"}}}}}}},{"seq":12,"time":1794805322144,"event":{"event_type":"run_finish","thread_id":"t-cancelled","run_id":"r-cancelled","identity":{"thread_id":"t-cancelled","run_id":"r-cancelled","agent_id":"clerk","dispatch_id":"01a1e2bb-d191-744f-b840-3b6bc1e4317c","origin":"user"},"result":{"response":"","status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805322144}]},"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"ToolUse"},"termination":{"type":"suspended"}}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"wire\",\"arguments\":{\"note\":\"use wire\"},\"status\":\"suspended\",\"updated_at\":1794805322144,\"resume_mode\":\"replay_tool_call\",\"ticket\":{\"suspension\":{\"id\":\"perm_call-1\",\"action\":\"tool:PermissionConfirm\",\"message\":\"Tool ''wire'' needs your approval\",\"parameters\":{\"tool_name\":\"wire\",\"tool_args\":{\"note\":\"use wire\"},\"remember\":{\"scopes\":[\"run\",\"thread\",\"project\"],\"tools\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"response_schema\":{\"properties\":{\"remember\":{\"anyOf\":[{\"enum\":[\"run\",\"thread\",\"project\"]},{\"additionalProperties\":false,\"properties\":{\"scope\":{\"enum\":[\"run\",\"thread\",\"project\"]},\"tool\":{\"enum\":[\"wire\",\"wire(note = \\\"use wire\\\")\"]}},\"required\":[\"scope\"],\"type\":\"object\"}]}}}},\"pending\":{\"id\":\"call-1\",\"name\":\"wire\",\"arguments\":{\"note\":\"use wire\"}},\"resume_mode\":\"replay_tool_call\"},\"run_id\":\"r-cancelled\",\"step\":0,\"index\":0,\"key\":\"r-cancelled/0/0\"}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-inbox', 1, 1, 1, 1794805322318, 'r-inbox', 1, '{"{\"id\":\"01a1e2bb-d245-707e-a44b-00c79540f78d\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"say something\"}]}"}', '[{"seq":1,"time":1794805322318,"event":{"event_type":"run_start","thread_id":"t-inbox","run_id":"r-inbox","identity":{"thread_id":"t-inbox","run_id":"r-inbox","agent_id":"clerk","dispatch_id":"01a1e2bb-d245-707f-b6e0-94c623b83b04","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('acme', 't-done', 9, 2, 2, 1794805322264, 'r-done', 1, '{"{\"id\":\"r-done-0\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two: hello to acme\"}],\"metadata\":{\"run_id\":\"r-done\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322262,"event":{"event_type":"step_start","message_id":"r-done-0"}},{"seq":3,"time":1794805322262,"event":{"event_type":"text_delta","delta":"two: hello to acme"},"chunks":[[0,5],[1,13]]},{"seq":5,"time":1794805322264,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":1,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":6,"time":1794805322264,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-done","status":"running","updated_at":1794805322264,"step_count":1}}}}},{"seq":7,"time":1794805322264,"event":{"event_type":"step_end"}},{"seq":8,"time":1794805322264,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-done","status":"done","status_reason":"natural","updated_at":1794805322264,"step_count":1}}}}},{"seq":9,"time":1794805322264,"event":{"event_type":"run_finish","thread_id":"t-done","run_id":"r-done","identity":{"thread_id":"t-done","run_id":"r-done","agent_id":"clerk","dispatch_id":"01a1e2bb-d214-7441-9255-1ce44ee0529f","origin":"user"},"result":{"response":"two: hello to acme","status":"done","status_reason":"natural","usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-doubt', 1, 1, 1, 1794805322349, 'r-doubt', 1, '{"{\"id\":\"01a1e2bb-d264-72f0-a647-bb526a5e3369\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"use ship\"}]}"}', '[{"seq":1,"time":1794805322349,"event":{"event_type":"run_start","thread_id":"t-doubt","run_id":"r-doubt","identity":{"thread_id":"t-doubt","run_id":"r-doubt","agent_id":"clerk","dispatch_id":"01a1e2bb-d264-72f1-8f43-80eee1f96fc7","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-doubt', 7, 2, 2, 1794805322358, 'r-doubt', 1, '{"{\"id\":\"r-doubt-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"ship\",\"arguments\":{\"note\":\"use ship\"}}],\"metadata\":{\"run_id\":\"r-doubt\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322351,"event":{"event_type":"step_start","message_id":"r-doubt-0"}},{"seq":3,"time":1794805322353,"event":{"event_type":"tool_call_start","id":"call-1","name":"ship"}},{"seq":4,"time":1794805322353,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"use ship\"}"},"chunks":[[0,2],[1,17]]},{"seq":6,"time":1794805322357,"event":{"event_type":"tool_call_ready","id":"call-1","name":"ship","arguments":{"note":"use ship"}}},{"seq":7,"time":1794805322357,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":6,"cost_usd":0.00014,"finish_reason":"ToolUse"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"ship\",\"arguments\":{\"note\":\"use ship\"},\"status\":\"running\",\"updated_at\":1794805322358,\"run_id\":\"r-doubt\",\"step\":0,\"index\":0,\"key\":\"r-doubt/0/0\",\"started_at\":1794805322358}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-steered', 1, 1, 1, 1794805322439, 'r-steered', 1, '{"{\"id\":\"01a1e2bb-d295-70c2-8b2c-6385788140c2\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"ponder\"}]}"}', '[{"seq":1,"time":1794805322439,"event":{"event_type":"run_start","thread_id":"t-steered","run_id":"r-steered","identity":{"thread_id":"t-steered","run_id":"r-steered","agent_id":"clerk","dispatch_id":"01a1e2bb-d295-70c3-9180-11b7335d9cda","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-inbox', 9, 2, 2, 1794805322323, 'r-inbox', 1, '{"{\"id\":\"r-inbox-0\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"two: something\"}],\"metadata\":{\"run_id\":\"r-inbox\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322319,"event":{"event_type":"step_start","message_id":"r-inbox-0"}},{"seq":3,"time":1794805322319,"event":{"event_type":"text_delta","delta":"two: something"},"chunks":[[0,5],[1,9]]},{"seq":5,"time":1794805322323,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":3,"cost_usd":0.00014,"finish_reason":"EndTurn"}},{"seq":6,"time":1794805322323,"event":{"event_type":"state_snapshot","snapshot":{"revision":1,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-inbox","status":"running","updated_at":1794805322323,"step_count":1}}}}},{"seq":7,"time":1794805322323,"event":{"event_type":"step_end"}},{"seq":8,"time":1794805322323,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-inbox","status":"done","status_reason":"natural","updated_at":1794805322323,"step_count":1}}}}},{"seq":9,"time":1794805322323,"event":{"event_type":"run_finish","thread_id":"t-inbox","run_id":"r-inbox","identity":{"thread_id":"t-inbox","run_id":"r-inbox","agent_id":"clerk","dispatch_id":"01a1e2bb-d245-707f-b6e0-94c623b83b04","origin":"user"},"result":{"response":"two: something","status":"done","status_reason":"natural","usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014,"finish_reason":"EndTurn"},"termination":{"type":"natural_end"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-cut', 1, 1, 1, 1794805322383, 'r-cut', 1, '{"{\"id\":\"01a1e2bb-d278-74a0-b113-88f397ff953d\",\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"ponder\"}]}"}', '[{"seq":1,"time":1794805322383,"event":{"event_type":"run_start","thread_id":"t-cut","run_id":"r-cut","identity":{"thread_id":"t-cut","run_id":"r-cut","agent_id":"clerk","dispatch_id":"01a1e2bb-d278-74a1-aca0-ab4b2799624b","origin":"user"}}}]', NULL);
INSERT INTO public.awaken_commits VALUES ('', 't-cut', 11, 2, 3, 1794805322388, 'r-cut', 1, '{"{\"id\":\"r-cut-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"look\",\"arguments\":{\"note\":\"ponder\"}}],\"metadata\":{\"run_id\":\"r-cut\",\"step_index\":0}}","{\"id\":\"01a1e2bb-d294-7362-a271-681c204da0ee\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"look did ponder\"}],\"tool_call_id\":\"call-1\",\"metadata\":{\"run_id\":\"r-cut\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322385,"event":{"event_type":"step_start","message_id":"r-cut-0"}},{"seq":3,"time":1794805322386,"event":{"event_type":"tool_call_start","id":"call-1","name":"look"}},{"seq":4,"time":1794805322386,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"ponder\"}"},"chunks":[[0,2],[1,15]]},{"seq":6,"time":1794805322388,"event":{"event_type":"tool_call_ready","id":"call-1","name":"look","arguments":{"note":"ponder"}}},{"seq":7,"time":1794805322388,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":2,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805322388,"event":{"event_type":"tool_call_stream_delta","id":"call-1","name":"look","delta":"working on ponder"}},{"seq":9,"time":1794805322388,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"01a1e2bb-d294-7362-a271-681c204da0ee","result":{"tool_name":"look","status":"success","data":"look did ponder"},"outcome":"succeeded"}},{"seq":10,"time":1794805322388,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-cut","status":"running","updated_at":1794805322388,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"look","arguments":{"note":"ponder"},"status":"succeeded","updated_at":1794805322388,"run_id":"r-cut","step":0,"index":0,"key":"r-cut/0/0","effect":"read_only","started_at":1794805322388,"result":{"tool_name":"look","status":"success","data":"look did ponder"}}}}}}}},{"seq":11,"time":1794805322388,"event":{"event_type":"step_end"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"look\",\"arguments\":{\"note\":\"ponder\"},\"status\":\"succeeded\",\"updated_at\":1794805322388,\"run_id\":\"r-cut\",\"step\":0,\"index\":0,\"key\":\"r-cut/0/0\",\"effect\":\"read_only\",\"started_at\":1794805322388,\"result\":{\"tool_name\":\"look\",\"status\":\"success\",\"data\":\"look did ponder\"}}"}');
INSERT INTO public.awaken_commits VALUES ('', 't-steered', 11, 2, 3, 1794805322467, 'r-steered', 1, '{"{\"id\":\"r-steered-0\",\"role\":\"assistant\",\"content\":[],\"tool_calls\":[{\"id\":\"call-1\",\"name\":\"look\",\"arguments\":{\"note\":\"ponder\"}}],\"metadata\":{\"run_id\":\"r-steered\",\"step_index\":0}}","{\"id\":\"01a1e2bb-d2e3-723e-81db-e65cfd622b81\",\"role\":\"tool\",\"content\":[{\"type\":\"text\",\"text\":\"look did ponder\"}],\"tool_call_id\":\"call-1\",\"metadata\":{\"run_id\":\"r-steered\",\"step_index\":0}}"}', '[{"seq":2,"time":1794805322451,"event":{"event_type":"step_start","message_id":"r-steered-0"}},{"seq":3,"time":1794805322464,"event":{"event_type":"tool_call_start","id":"call-1","name":"look"}},{"seq":4,"time":1794805322464,"event":{"event_type":"tool_call_delta","id":"call-1","args_delta":"{\"note\":\"ponder\"}"},"chunks":[[0,2],[1,15]]},{"seq":6,"time":1794805322467,"event":{"event_type":"tool_call_ready","id":"call-1","name":"look","arguments":{"note":"ponder"}}},{"seq":7,"time":1794805322467,"event":{"event_type":"inference_complete","model":"up","usage":{"prompt_tokens":100,"completion_tokens":20},"duration_ms":15,"cost_usd":0.00014,"finish_reason":"ToolUse"}},{"seq":8,"time":1794805322467,"event":{"event_type":"tool_call_stream_delta","id":"call-1","name":"look","delta":"working on ponder"}},{"seq":9,"time":1794805322467,"event":{"event_type":"tool_call_done","id":"call-1","message_id":"01a1e2bb-d2e3-723e-81db-e65cfd622b81","result":{"tool_name":"look","status":"success","data":"look did ponder"},"outcome":"succeeded"}},{"seq":10,"time":1794805322467,"event":{"event_type":"state_snapshot","snapshot":{"revision":2,"extensions":{"__runtime.run_lifecycle":{"run_id":"r-steered","status":"running","updated_at":1794805322467,"step_count":1},"__runtime.tool_call_states":{"calls":{"call-1":{"call_id":"call-1","tool_name":"look","arguments":{"note":"ponder"},"status":"succeeded","updated_at":1794805322467,"run_id":"r-steered","step":0,"index":0,"key":"r-steered/0/0","effect":"read_only","started_at":1794805322467,"result":{"tool_name":"look","status":"success","data":"look did ponder"}}}}}}}},{"seq":11,"time":1794805322467,"event":{"event_type":"step_end"}}]', '{"{\"call_id\":\"call-1\",\"tool_name\":\"look\",\"arguments\":{\"note\":\"ponder\"},\"status\":\"succeeded\",\"updated_at\":1794805322467,\"run_id\":\"r-steered\",\"step\":0,\"index\":0,\"key\":\"r-steered/0/0\",\"effect\":\"read_only\",\"started_at\":1794805322467,\"result\":{\"tool_name\":\"look\",\"status\":\"success\",\"data\":\"look did ponder\"}}"}');


--
-- Data for Name: awaken_config_documents; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_config_documents VALUES ('09548e98cfb4ed9f61fbc90242259e1952fd2a855a6032e6bb8b9bb5de47a45a', '{"adapter":"scripted","api_key":{"$secret":"providers/p#/api_key"},"id":"p","timeout_secs":300}');
INSERT INTO public.awaken_config_documents VALUES ('35be043052059b9aaaaae05cc1ea6a2e7d75ebe7987e62106986d9e21e32171c', '{"context_window":100000,"id":"m","input_token_price_per_million_usd":1,"max_output_tokens":1000,"output_token_price_per_million_usd":2,"provider_id":"p","structured_output":true,"upstream_model":"up"}');
INSERT INTO public.awaken_config_documents VALUES ('6fd0c3a1e82660576551365aaa0df809ffc03e59eef80ac1dfb29f07b02213ca', '{"id":"all","members":[{"model_id":"m","role":"member"}],"routing":{"home":"deterministic","sticky_scope":"thread"},"switch":{"on_circuit_open":true,"on_permanent":true,"on_quota":true}}');
INSERT INTO public.awaken_config_documents VALUES ('b23ea761fe1639f1e09f7bacf268db80f8de32f3cdd8ea1939ec77c9f99eb537', '{"id":"scout","max_continuation_retries":2,"max_rounds":16,"model_id":"all","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"scout"}');
INSERT INTO public.awaken_config_documents VALUES ('53d8a6e05e2c15734cf118939012188f16f13c0fe6f65b34b605c96da3c0aa0f', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"one"}');
INSERT INTO public.awaken_config_documents VALUES ('1f7716487be8ef84ada7662e9758815274c35e74272be5b8f041c06a5b13338d', '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"old trial"}');
INSERT INTO public.awaken_config_documents VALUES ('b0141bed97af11d4224fa642e1fb303ff79918e54b1dddc7f0a2eddeb0cd3a0a', '{"id":"greeter","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"hello"}');
INSERT INTO public.awaken_config_documents VALUES ('8e9352c84b13d8c25e0f88f40b6b33bf146536a31f9a519e23a0872c682e5c7f', '{"id":"greeter","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"overridden"}');
INSERT INTO public.awaken_config_documents VALUES ('267653eb457defdbd7ecf8b84f748bbc3ba76cc24629774642e284902e06e808', '{"description":"looks closely","id":"look","name":"look"}');
INSERT INTO public.awaken_config_documents VALUES ('99317d774e5695ead3f8bfeeda52268d562632e881b169bab29e81055356e462', '{"context":"inline","description":"Writes verse.","id":"poetry","instructions_md":"Rhyme.","model_invocable":true,"name":"Poetry","user_invocable":true}');
INSERT INTO public.awaken_config_documents VALUES ('aec9bc6dbd39161c94a8a5fd341797a94fe3a714f298aa188876f4ad41bc2987', '{"command":"files","env":{"TOKEN":{"$secret":"mcp-servers/files#/env/TOKEN"}},"id":"files","timeout_secs":30,"transport":"stdio"}');
INSERT INTO public.awaken_config_documents VALUES ('fdc3bcd04ad84d6258c5cd6212cfa6563d099b5cb2c69df3c4a9ca37e9455f1c', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"two"}');
INSERT INTO public.awaken_config_documents VALUES ('863cd8ab65aac9901c9e5af9cb9a525d48f035b3cce74e30a6ba17b76cac562e', '{"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"worse"}');
INSERT INTO public.awaken_config_documents VALUES ('6debdbfc099ac6a14b25d6eac96913585a52af7a56a2b363295d684c2366d87a', '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"new trial"}');


--
-- Data for Name: awaken_config_events; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (1, '01a1e2bb-c1d3-7468-93d8-3cd8569ce5b3', 1794805318098146, 'create', 'providers/p', 'key-1/tester', '{"id":"01a1e2bb-c1d3-7468-93d8-3cd8569ce5b3","ts":"2026-11-16T05:01:58.098146Z","actor":"key-1/tester","action":"create","resource":"providers/p","ip":"10.0.0.1","request_id":"request-1","version":1}', '', '{"adapter":"scripted","api_key":{"$secret":"providers/p#/api_key"},"id":"p","timeout_secs":300}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (2, '01a1e2bb-c1df-72dc-8d9b-e50836b76d38', 1794805318110953, 'create', 'models/m', 'key-1/tester', '{"id":"01a1e2bb-c1df-72dc-8d9b-e50836b76d38","ts":"2026-11-16T05:01:58.110953Z","actor":"key-1/tester","action":"create","resource":"models/m","ip":"10.0.0.1","request_id":"request-1","version":2}', '', '{"context_window":100000,"id":"m","input_token_price_per_million_usd":1,"max_output_tokens":1000,"output_token_price_per_million_usd":2,"provider_id":"p","structured_output":true,"upstream_model":"up"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (3, '01a1e2bb-c1e5-7381-9dfa-01083916084c', 1794805318117414, 'create', 'model-pools/all', 'key-1/tester', '{"id":"01a1e2bb-c1e5-7381-9dfa-01083916084c","ts":"2026-11-16T05:01:58.117414Z","actor":"key-1/tester","action":"create","resource":"model-pools/all","ip":"10.0.0.1","request_id":"request-1","version":3}', '', '{"id":"all","members":[{"model_id":"m","role":"member"}],"routing":{"home":"deterministic","sticky_scope":"thread"},"switch":{"on_circuit_open":true,"on_permanent":true,"on_quota":true}}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (4, '01a1e2bb-c1eb-7593-82e7-52c767d7a9ad', 1794805318120659, 'create', 'agents/scout', 'key-1/tester', '{"id":"01a1e2bb-c1eb-7593-82e7-52c767d7a9ad","ts":"2026-11-16T05:01:58.120659Z","actor":"key-1/tester","action":"create","resource":"agents/scout","ip":"10.0.0.1","request_id":"request-1","version":4}', '', '{"id":"scout","max_continuation_retries":2,"max_rounds":16,"model_id":"all","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"scout"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (5, '01a1e2bb-c1f3-7245-9521-7fc459288535', 1794805318130580, 'create', 'agents/clerk', 'key-1/tester', '{"id":"01a1e2bb-c1f3-7245-9521-7fc459288535","ts":"2026-11-16T05:01:58.13058Z","actor":"key-1/tester","action":"create","resource":"agents/clerk","ip":"10.0.0.1","request_id":"request-1","version":5}', '', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"one"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (6, '01a1e2bb-c203-7192-98e6-5f2d205025b1', 1794805318147636, 'create', 'agents/trial', 'key-1/tester', '{"id":"01a1e2bb-c203-7192-98e6-5f2d205025b1","ts":"2026-11-16T05:01:58.147636Z","actor":"key-1/tester","action":"create","resource":"agents/trial","ip":"10.0.0.1","request_id":"request-1","version":6}', '', '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"old trial"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (7, '01a1e2bb-c206-7023-b8e1-2f45cee295a5', 1794805318150351, 'seed_apply', 'seed', 'system:seed', '{"id":"01a1e2bb-c206-7023-b8e1-2f45cee295a5","ts":"2026-11-16T05:01:58.150351Z","actor":"system:seed","action":"seed_apply","resource":"seed","version":7}', '', '{"binary_version":"1.0","counts":{"created":1,"hidden":0,"removed":0,"updated":0},"sample":["created agents/greeter"]}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (8, '01a1e2bb-c209-72b5-bcf3-7da5169622b0', 1794805318152951, 'update', 'agents/greeter', 'key-1/tester', '{"id":"01a1e2bb-c209-72b5-bcf3-7da5169622b0","ts":"2026-11-16T05:01:58.152951Z","actor":"key-1/tester","action":"update","resource":"agents/greeter","ip":"10.0.0.1","request_id":"request-1","version":8}', '{"id":"greeter","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"hello"}', '{"id":"greeter","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"overridden"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (9, '01a1e2bb-c24e-7646-8a04-2823919c0534', 1794805318222528, 'update', 'tools/look', 'key-1/tester', '{"id":"01a1e2bb-c24e-7646-8a04-2823919c0534","ts":"2026-11-16T05:01:58.222528Z","actor":"key-1/tester","action":"update","resource":"tools/look","ip":"10.0.0.1","request_id":"request-1","version":9}', '{"description":"does look","id":"look","name":"look"}', '{"description":"looks closely","id":"look","name":"look"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (10, '01a1e2bb-c298-7257-a138-3cd222d99691', 1794805318296163, 'create', 'skills/poetry', 'key-1/tester', '{"id":"01a1e2bb-c298-7257-a138-3cd222d99691","ts":"2026-11-16T05:01:58.296163Z","actor":"key-1/tester","action":"create","resource":"skills/poetry","ip":"10.0.0.1","request_id":"request-1","version":10}', '', '{"context":"inline","description":"Writes verse.","id":"poetry","instructions_md":"Rhyme.","model_invocable":true,"name":"Poetry","user_invocable":true}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (11, '01a1e2bb-c2c4-7186-8f50-96eec5022439', 1794805318328074, 'create', 'mcp-servers/files', 'key-1/tester', '{"id":"01a1e2bb-c2c4-7186-8f50-96eec5022439","ts":"2026-11-16T05:01:58.328074Z","actor":"key-1/tester","action":"create","resource":"mcp-servers/files","ip":"10.0.0.1","request_id":"request-1","version":11}', '', '{"command":"files","env":{"TOKEN":{"$secret":"mcp-servers/files#/env/TOKEN"}},"id":"files","timeout_secs":30,"transport":"stdio"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (12, '01a1e2bb-c5f0-77d8-8614-fd618c588354', 1794805319076333, 'update', 'agents/clerk', 'key-1/tester', '{"id":"01a1e2bb-c5f0-77d8-8614-fd618c588354","ts":"2026-11-16T05:01:59.076333Z","actor":"key-1/tester","action":"update","resource":"agents/clerk","ip":"10.0.0.1","request_id":"request-1","version":12}', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"one"}', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"two"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (13, '01a1e2bb-c889-7096-8437-64be87a9f319', 1794805319806696, 'update', 'agents/clerk', 'key-1/tester', '{"id":"01a1e2bb-c889-7096-8437-64be87a9f319","ts":"2026-11-16T05:01:59.806696Z","actor":"key-1/tester","action":"update","resource":"agents/clerk","ip":"10.0.0.1","request_id":"request-1","version":13}', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"two"}', '{"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"worse"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (14, '01a1e2bb-cc0d-7192-88cb-8058220112a5', 1794805320706809, 'rollback', 'agents/clerk', 'key-1/tester', '{"id":"01a1e2bb-cc0d-7192-88cb-8058220112a5","ts":"2026-11-16T05:02:00.706809Z","actor":"key-1/tester","action":"rollback","resource":"agents/clerk","ip":"10.0.0.1","request_id":"request-1","version":14}', '{"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"worse"}', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"two"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (15, '01a1e2bb-d220-777d-af20-596fca7b0350', 1794805322272409, 'update', 'agents/trial', 'key-1/tester', '{"id":"01a1e2bb-d220-777d-af20-596fca7b0350","ts":"2026-11-16T05:02:02.272409Z","actor":"key-1/tester","action":"update","resource":"agents/trial","ip":"10.0.0.1","request_id":"request-1"}', '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"old trial"}', '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"new trial"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (16, '01a1e2bb-d225-7324-8ddb-9930089fac87', 1794805322277531, 'publish', 'agents/trial', 'key-1/tester', '{"id":"01a1e2bb-d225-7324-8ddb-9930089fac87","ts":"2026-11-16T05:02:02.277531Z","actor":"key-1/tester","action":"publish","resource":"agents/trial","ip":"10.0.0.1","request_id":"request-1","version":15}', '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"old trial"}', '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"new trial"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (17, '01a1e2bb-d227-7132-8d64-2e21504521f6', 1794805322279067, 'publish', 'canary/15', 'key-1/tester', '{"id":"01a1e2bb-d227-7132-8d64-2e21504521f6","ts":"2026-11-16T05:02:02.279067Z","actor":"key-1/tester","action":"publish","resource":"canary/15","ip":"10.0.0.1","request_id":"request-1","version":15}', '', '{"live":14,"share":0.5}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (18, '01a1e2bb-d22f-744e-9228-a4159b203fa1', 1794805322285512, 'create', 'agents/sketch', 'key-1/tester', '{"id":"01a1e2bb-d22f-744e-9228-a4159b203fa1","ts":"2026-11-16T05:02:02.285512Z","actor":"key-1/tester","action":"create","resource":"agents/sketch","ip":"10.0.0.1","request_id":"request-1"}', '', '{"id":"sketch","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"a sketch"}');
INSERT INTO public.awaken_config_events OVERRIDING SYSTEM VALUE VALUES (19, '01a1e2bb-d242-738f-8fa3-fa2000af0568', 1794805322305536, 'update', 'agents/clerk', 'key-1/tester', '{"id":"01a1e2bb-d242-738f-8fa3-fa2000af0568","ts":"2026-11-16T05:02:02.305536Z","actor":"key-1/tester","action":"update","resource":"agents/clerk","ip":"10.0.0.1","request_id":"request-1"}', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"two"}', '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"three"}');


--
-- Data for Name: awaken_config_head; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_config_head VALUES (1, 15, 15, 14, '{"version":15,"share":0.5,"started_at":1794805322277,"control":14,"rule":{"min_runs":1000,"max_error_rate":0.5}}');


--
-- Data for Name: awaken_config_publications; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_config_publications VALUES (1, 0, 1794805318098, '{"number":1,"entries":[{"namespace":"providers","id":"p","hash":"09548e98cfb4ed9f61fbc90242259e1952fd2a855a6032e6bb8b9bb5de47a45a","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318098}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (2, 1, 1794805318110, '{"number":2,"base":1,"entries":[{"namespace":"models","id":"m","hash":"35be043052059b9aaaaae05cc1ea6a2e7d75ebe7987e62106986d9e21e32171c","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318110}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (3, 2, 1794805318117, '{"number":3,"base":2,"entries":[{"namespace":"model-pools","id":"all","hash":"6fd0c3a1e82660576551365aaa0df809ffc03e59eef80ac1dfb29f07b02213ca","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318117}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (4, 3, 1794805318120, '{"number":4,"base":3,"entries":[{"namespace":"agents","id":"scout","hash":"b23ea761fe1639f1e09f7bacf268db80f8de32f3cdd8ea1939ec77c9f99eb537","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318120}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (5, 4, 1794805318130, '{"number":5,"base":4,"entries":[{"namespace":"agents","id":"clerk","hash":"53d8a6e05e2c15734cf118939012188f16f13c0fe6f65b34b605c96da3c0aa0f","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318130}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (6, 5, 1794805318147, '{"number":6,"base":5,"entries":[{"namespace":"agents","id":"trial","hash":"1f7716487be8ef84ada7662e9758815274c35e74272be5b8f041c06a5b13338d","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318147}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (7, 6, 1794805318149, '{"number":7,"base":6,"entries":[{"namespace":"agents","id":"greeter","hash":"b0141bed97af11d4224fa642e1fb303ff79918e54b1dddc7f0a2eddeb0cd3a0a","revision":1}],"kind":"seed","note":"binary version 1.0","actor":"system:seed","at":1794805318149}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (8, 7, 1794805318152, '{"number":8,"base":7,"entries":[{"namespace":"agents","id":"greeter","hash":"8e9352c84b13d8c25e0f88f40b6b33bf146536a31f9a519e23a0872c682e5c7f","revision":2}],"kind":"publish","actor":"key-1/tester","at":1794805318152}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (9, 8, 1794805318222, '{"number":9,"base":8,"entries":[{"namespace":"tools","id":"look","hash":"267653eb457defdbd7ecf8b84f748bbc3ba76cc24629774642e284902e06e808","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318222}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (10, 9, 1794805318296, '{"number":10,"base":9,"entries":[{"namespace":"skills","id":"poetry","hash":"99317d774e5695ead3f8bfeeda52268d562632e881b169bab29e81055356e462","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318296}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (11, 10, 1794805318328, '{"number":11,"base":10,"entries":[{"namespace":"mcp-servers","id":"files","hash":"aec9bc6dbd39161c94a8a5fd341797a94fe3a714f298aa188876f4ad41bc2987","revision":1}],"kind":"publish","actor":"key-1/tester","at":1794805318328}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (13, 12, 1794805319806, '{"number":13,"base":12,"entries":[{"namespace":"agents","id":"clerk","hash":"863cd8ab65aac9901c9e5af9cb9a525d48f035b3cce74e30a6ba17b76cac562e","revision":3}],"kind":"publish","actor":"key-1/tester","at":1794805319806}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (14, 13, 1794805320706, '{"number":14,"base":13,"entries":[{"namespace":"agents","id":"clerk","hash":"fdc3bcd04ad84d6258c5cd6212cfa6563d099b5cb2c69df3c4a9ca37e9455f1c","revision":4}],"kind":"rollback","note":"rollback to version 12","actor":"key-1/tester","at":1794805320706}', NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.awaken_config_publications VALUES (12, 11, 1794805319076, '{"number":12,"base":11,"entries":[{"namespace":"agents","id":"clerk","hash":"fdc3bcd04ad84d6258c5cd6212cfa6563d099b5cb2c69df3c4a9ca37e9455f1c","revision":2}],"kind":"publish","actor":"key-1/tester","at":1794805319076}', NULL, 3, 1, 250000000, 1200);
INSERT INTO public.awaken_config_publications VALUES (15, 14, 1794805322277, '{"number":15,"base":14,"entries":[{"namespace":"agents","id":"trial","hash":"6debdbfc099ac6a14b25d6eac96913585a52af7a56a2b363295d684c2366d87a","revision":2}],"kind":"canary","note":"try it","actor":"key-1/tester","at":1794805322277}', NULL, NULL, NULL, NULL, NULL);


--
-- Data for Name: awaken_config_records; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_config_records VALUES ('providers', 'p', 1, '{"adapter":"scripted","api_key":{"$secret":"providers/p#/api_key"},"id":"p","timeout_secs":300}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318098,"updated_at":1794805318098,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('models', 'm', 1, '{"context_window":100000,"id":"m","input_token_price_per_million_usd":1,"max_output_tokens":1000,"output_token_price_per_million_usd":2,"provider_id":"p","structured_output":true,"upstream_model":"up"}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318110,"updated_at":1794805318110,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('model-pools', 'all', 1, '{"id":"all","members":[{"model_id":"m","role":"member"}],"routing":{"home":"deterministic","sticky_scope":"thread"},"switch":{"on_circuit_open":true,"on_permanent":true,"on_quota":true}}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318117,"updated_at":1794805318117,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('agents', 'scout', 1, '{"id":"scout","max_continuation_retries":2,"max_rounds":16,"model_id":"all","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"scout"}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318120,"updated_at":1794805318120,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('agents', 'greeter', 2, '{"id":"greeter","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"hello"}', '{"system_prompt":"overridden"}', '{"source":{"kind":"builtin","binary_version":"1.0"},"hidden":false,"created_at":1794805318149,"updated_at":1794805318152,"revision":2}');
INSERT INTO public.awaken_config_records VALUES ('tools', 'look', 1, '{"description":"does look","id":"look","name":"look"}', '{"description":"looks closely"}', '{"source":{"kind":"builtin"},"hidden":false,"created_at":1794805318222,"updated_at":1794805318222,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('skills', 'poetry', 1, '{"context":"inline","description":"Writes verse.","id":"poetry","instructions_md":"Rhyme.","model_invocable":true,"name":"Poetry","user_invocable":true}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318296,"updated_at":1794805318296,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('mcp-servers', 'files', 1, '{"command":"files","env":{"TOKEN":{"$secret":"mcp-servers/files#/env/TOKEN"}},"id":"files","timeout_secs":30,"transport":"stdio"}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318328,"updated_at":1794805318328,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('agents', 'trial', 2, '{"id":"trial","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"new trial"}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318147,"updated_at":1794805322272,"revision":2}');
INSERT INTO public.awaken_config_records VALUES ('agents', 'sketch', 1, '{"id":"sketch","max_continuation_retries":2,"max_rounds":16,"model_id":"m","system_prompt":"a sketch"}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805322285,"updated_at":1794805322285,"revision":1}');
INSERT INTO public.awaken_config_records VALUES ('agents', 'clerk', 5, '{"delegates":["scout"],"id":"clerk","max_continuation_retries":2,"max_rounds":16,"model_id":"m","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"behavior":"ask","tool":"wire"}]}},"system_prompt":"three"}', '', '{"source":{"kind":"user"},"hidden":false,"created_at":1794805318130,"updated_at":1794805322305,"revision":5}');


--
-- Data for Name: awaken_config_secrets; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_config_secrets VALUES ('providers/p#/api_key', '{"key_id":"f272a2797f66f906","data":"csdnuJO/MFTKmERRjwxqQkONyz4DaoMvJpXzmF1XTWQFvPJFFBNgYlQJqj9lPrx2","revision":1794805318099,"server":"://","updated_at":1794805318098}');
INSERT INTO public.awaken_config_secrets VALUES ('mcp-servers/files#/env/TOKEN', '{"key_id":"f272a2797f66f906","data":"IwcSpnXvs+o3/FfM044qZXv4dCZZkEF82ki0DswCIrC7S3b6","revision":1794805318329,"server":"://","updated_at":1794805318328}');


--
-- Data for Name: awaken_config_uses; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_config_uses VALUES ('09548e98cfb4ed9f61fbc90242259e1952fd2a855a6032e6bb8b9bb5de47a45a', 1);
INSERT INTO public.awaken_config_uses VALUES ('35be043052059b9aaaaae05cc1ea6a2e7d75ebe7987e62106986d9e21e32171c', 2);
INSERT INTO public.awaken_config_uses VALUES ('6fd0c3a1e82660576551365aaa0df809ffc03e59eef80ac1dfb29f07b02213ca', 3);
INSERT INTO public.awaken_config_uses VALUES ('b23ea761fe1639f1e09f7bacf268db80f8de32f3cdd8ea1939ec77c9f99eb537', 4);
INSERT INTO public.awaken_config_uses VALUES ('53d8a6e05e2c15734cf118939012188f16f13c0fe6f65b34b605c96da3c0aa0f', 5);
INSERT INTO public.awaken_config_uses VALUES ('1f7716487be8ef84ada7662e9758815274c35e74272be5b8f041c06a5b13338d', 6);
INSERT INTO public.awaken_config_uses VALUES ('b0141bed97af11d4224fa642e1fb303ff79918e54b1dddc7f0a2eddeb0cd3a0a', 7);
INSERT INTO public.awaken_config_uses VALUES ('8e9352c84b13d8c25e0f88f40b6b33bf146536a31f9a519e23a0872c682e5c7f', 8);
INSERT INTO public.awaken_config_uses VALUES ('267653eb457defdbd7ecf8b84f748bbc3ba76cc24629774642e284902e06e808', 9);
INSERT INTO public.awaken_config_uses VALUES ('99317d774e5695ead3f8bfeeda52268d562632e881b169bab29e81055356e462', 10);
INSERT INTO public.awaken_config_uses VALUES ('aec9bc6dbd39161c94a8a5fd341797a94fe3a714f298aa188876f4ad41bc2987', 11);
INSERT INTO public.awaken_config_uses VALUES ('fdc3bcd04ad84d6258c5cd6212cfa6563d099b5cb2c69df3c4a9ca37e9455f1c', 12);
INSERT INTO public.awaken_config_uses VALUES ('863cd8ab65aac9901c9e5af9cb9a525d48f035b3cce74e30a6ba17b76cac562e', 13);
INSERT INTO public.awaken_config_uses VALUES ('fdc3bcd04ad84d6258c5cd6212cfa6563d099b5cb2c69df3c4a9ca37e9455f1c', 14);
INSERT INTO public.awaken_config_uses VALUES ('6debdbfc099ac6a14b25d6eac96913585a52af7a56a2b363295d684c2366d87a', 15);


--
-- Data for Name: awaken_decisions; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_decisions VALUES ('', 'r-allowed', 'perm_call-1', 't-allowed', 'wire', '', '', '', 1794805322094, '795355719ede54dab6e6b980a39d320d', '{"id":"yes","action":"resume","at":1794805322094,"payload":{"remember":"thread"},"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","run_id":"r-allowed","thread_id":"t-allowed"}');
INSERT INTO public.awaken_decisions VALUES ('', 'r-decided', 'perm_call-1', 't-decided', 'wire', '', '', '', 1794805323024, '9b99e6ba0c023b4871b8a2f4f97233e9', '{"id":"yes","action":"resume","at":1794805323024,"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","run_id":"r-decided","thread_id":"t-decided"}');


--
-- Data for Name: awaken_dispatches; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-c373-7380-8466-9834c1b23f67', 't-waiting', 'r-waiting', 'Acked', 1794805318829, 128, 1794805318567, 1794805318567, 1794805318829, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-waiting","messages":[{"id":"01a1e2bb-c373-737f-b6d1-103a0e97d107","role":"user","content":[{"type":"text","text":"use wire"}]}],"run_id":"r-waiting","dispatch_id":"01a1e2bb-c373-7380-8466-9834c1b23f67"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-c4d5-739c-ab8c-a0cf1989b007', 't-decided', 'r-decided', 'Acked', 1794805318914, 128, 1794805318875, 1794805318875, 1794805318914, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-decided","messages":[{"id":"01a1e2bb-c4d5-739b-8bb8-ff5a5c08cf65","role":"user","content":[{"type":"text","text":"use wire"}]}],"run_id":"r-decided","dispatch_id":"01a1e2bb-c4d5-739c-ab8c-a0cf1989b007"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-c50c-7510-ad0d-142d4154d31b', 't-deep', 'r-deep', 'Acked', 1794805318997, 128, 1794805318925, 1794805318925, 1794805318997, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-deep","messages":[{"id":"01a1e2bb-c50c-750f-bb84-8c7b3b65fa22","role":"user","content":[{"type":"text","text":"give scout use wire"}]}],"run_id":"r-deep","dispatch_id":"01a1e2bb-c50c-7510-ad0d-142d4154d31b"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-c55b-7516-9a95-1b7069d54796', 't-broke', 'r-broke', 'Acked', 1794805319046, 128, 1794805319005, 1794805319005, 1794805319046, 0, 0, false, 0, 5, 0, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-broke","messages":[{"id":"01a1e2bb-c55b-7515-8f0b-cf395ecbd15e","role":"user","content":[{"type":"text","text":"say hello"}]}],"run_id":"r-broke","budget":{"run_usd":1e-9},"dispatch_id":"01a1e2bb-c55b-7516-9a95-1b7069d54796"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-cc2a-7500-9aed-bdeebc92404d', 't-done', 'r-done', 'Acked', 1794805321187, 128, 1794805320753, 1794805320753, 1794805321187, 0, 0, false, 0, 5, 2, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-done","messages":[{"id":"01a1e2bb-cc2a-74ff-81f8-d9770eb14fd9","role":"user","content":[{"type":"text","text":"use look"}]}],"run_id":"r-done","dispatch_id":"01a1e2bb-cc2a-7500-9aed-bdeebc92404d","session_id":"session-1","user_id":"alice"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-cdf3-7292-83ad-5ed0431cedb8', 't-done', 'r-again', 'Acked', 1794805321258, 128, 1794805321209, 1794805321209, 1794805321258, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-done","messages":[{"id":"01a1e2bb-cdf3-7291-b494-0cebaed7e3cd","role":"user","content":[{"type":"text","text":"say more"}]}],"run_id":"r-again","dispatch_id":"01a1e2bb-cdf3-7292-83ad-5ed0431cedb8"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-ce37-74c3-b5e6-4320a365b6d3', 't-json', 'r-json', 'Acked', 1794805321296, 128, 1794805321271, 1794805321271, 1794805321296, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-json","messages":[{"id":"01a1e2bb-ce37-74c2-aa01-d47950e8611d","role":"user","content":[{"type":"text","text":"report the weather"}]}],"run_id":"r-json","output_schema":{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"number"}},"required":["city","degrees"]},"dispatch_id":"01a1e2bb-ce37-74c3-b5e6-4320a365b6d3"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-ce63-75f7-a317-903968098fc6', 't-parent', 'r-parent', 'Acked', 1794805322058, 128, 1794805321319, 1794805321319, 1794805322058, 0, 0, false, 0, 5, 2, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-parent","messages":[{"id":"01a1e2bb-ce63-75f6-9c42-e64923dcd1d7","role":"user","content":[{"type":"text","text":"give scout use look"}]}],"run_id":"r-parent","dispatch_id":"01a1e2bb-ce63-75f7-a317-903968098fc6"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d14d-7407-a70d-c8fbb32f2cff', 't-failed', 'r-failed', 'Acked', 1794805322067, 128, 1794805322061, 1794805322061, 1794805322067, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-failed","messages":[{"id":"01a1e2bb-d14d-7406-9d01-37a4f0dd6361","role":"user","content":[{"type":"text","text":"fail"}]}],"run_id":"r-failed","dispatch_id":"01a1e2bb-d14d-7407-a70d-c8fbb32f2cff"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d154-7587-98c6-7214448a4dab', 't-greeted', 'r-greeted', 'Acked', 1794805322074, 128, 1794805322069, 1794805322069, 1794805322074, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"greeter","thread_id":"t-greeted","messages":[{"id":"01a1e2bb-d154-7586-88d9-8979e77f9dfe","role":"user","content":[{"type":"text","text":"say hi"}]}],"run_id":"r-greeted","dispatch_id":"01a1e2bb-d154-7587-98c6-7214448a4dab"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d15c-731a-9e02-0a804ac70dad', 't-allowed', 'r-allowed', 'Acked', 1794805322092, 128, 1794805322076, 1794805322076, 1794805322092, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-allowed","messages":[{"id":"01a1e2bb-d15c-7319-8880-d828f057bcfd","role":"user","content":[{"type":"text","text":"use wire"}]}],"run_id":"r-allowed","dispatch_id":"01a1e2bb-d15c-731a-9e02-0a804ac70dad"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d171-74ac-bdd3-df17d8f3f012', 't-allowed', 'r-allowed', 'Acked', 1794805322126, 128, 1794805322097, 1794805322097, 1794805322126, 0, 0, false, 0, 5, 2, '', '', '', '', NULL, 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d191-744f-b840-3b6bc1e4317c', 't-cancelled', 'r-cancelled', 'Acked', 1794805322145, 128, 1794805322130, 1794805322130, 1794805322145, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-cancelled","messages":[{"id":"01a1e2bb-d191-744e-b665-47d3178c7a3c","role":"user","content":[{"type":"text","text":"use wire"}]}],"run_id":"r-cancelled","dispatch_id":"01a1e2bb-d191-744f-b840-3b6bc1e4317c"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d1a6-73f1-96fd-ff5a5615fc1c', 't-cancelled', 'r-cancelled', 'Cancelled', 1794805322162, 0, 1794805322150, 1794805322150, 1794805322162, 0, 0, true, 0, 5, 1, '', '', '', '', NULL, 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d1b4-7419-ae12-1b5b167fdb12', 't-dead', 'r-dead', 'DeadLetter', 1794805322214, 128, 1794805322164, 1794805322164, 1794805322214, 0, 0, false, 0, 5, 0, 'agent "missing" not found; available: ["clerk" "greeter" "scout" "trial"]', '', '', '', '{"agent_id":"missing","thread_id":"t-dead","messages":[{"id":"01a1e2bb-d1b4-7418-a148-d3e2da485f14","role":"user","content":[{"type":"text","text":"say it again"}]}],"run_id":"r-dead","dispatch_id":"01a1e2bb-d1b4-7419-ae12-1b5b167fdb12"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('acme', '01a1e2bb-d214-7441-9255-1ce44ee0529f', 't-done', 'r-done', 'Acked', 1794805322265, 128, 1794805322260, 1794805322260, 1794805322265, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-done","messages":[{"id":"01a1e2bb-d214-7440-a537-87cfa29fc334","role":"user","content":[{"type":"text","text":"say hello to acme"}]}],"run_id":"r-done","dispatch_id":"01a1e2bb-d214-7441-9255-1ce44ee0529f"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d245-707f-b6e0-94c623b83b04', 't-inbox', 'r-inbox', 'Acked', 1794805322323, 128, 1794805322310, 1794805322310, 1794805322323, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-inbox","messages":[{"id":"01a1e2bb-d245-707e-a44b-00c79540f78d","role":"user","content":[{"type":"text","text":"say something"}]}],"run_id":"r-inbox","dispatch_id":"01a1e2bb-d245-707f-b6e0-94c623b83b04"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d264-72f1-8f43-80eee1f96fc7', 't-doubt', 'r-doubt', 'Queued', 0, 128, 1794805322342, 1794805322342, 1794805322342, 0, 0, false, 0, 5, 0, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-doubt","messages":[{"id":"01a1e2bb-d264-72f0-a647-bb526a5e3369","role":"user","content":[{"type":"text","text":"use ship"}]}],"run_id":"r-doubt","dispatch_id":"01a1e2bb-d264-72f1-8f43-80eee1f96fc7"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d278-74a1-aca0-ab4b2799624b', 't-cut', 'r-cut', 'Queued', 0, 128, 1794805322367, 1794805322367, 1794805322713, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-cut","messages":[{"id":"01a1e2bb-d278-74a0-b113-88f397ff953d","role":"user","content":[{"type":"text","text":"ponder"}]}],"run_id":"r-cut","dispatch_id":"01a1e2bb-d278-74a1-aca0-ab4b2799624b"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d295-70c3-9180-11b7335d9cda', 't-steered', 'r-steered', 'Queued', 0, 128, 1794805322421, 1794805322421, 1794805322713, 0, 0, false, 0, 5, 1, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-steered","messages":[{"id":"01a1e2bb-d295-70c2-8b2c-6385788140c2","role":"user","content":[{"type":"text","text":"ponder"}]}],"run_id":"r-steered","dispatch_id":"01a1e2bb-d295-70c3-9180-11b7335d9cda"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d517-7142-91b5-bcdf152b5c3c', 't-decided', 'r-decided', 'Queued', 0, 128, 1794805323031, 1794805323031, 1794805323031, 0, 0, false, 0, 5, 1, '', '', '', '', NULL, 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d51a-73fb-93af-f29c96ba9649', 't-queue', 'q-last', 'Queued', 0, 200, 1794805323037, 1794805323037, 1794805323037, 0, 0, false, 0, 5, 0, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-queue","messages":[{"id":"01a1e2bb-d51a-73fa-a08a-e5fb22eb9365","role":"user","content":[{"type":"text","text":"say last"}]}],"run_id":"q-last","dispatch_id":"01a1e2bb-d51a-73fb-93af-f29c96ba9649"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d51e-75b7-8650-b8924fbf2565', 't-queue', 'q-second', 'Queued', 0, 128, 1794805323113, 1794805323113, 1794805323113, 0, 0, false, 0, 5, 0, '', 'dedupe', 'once', 'digest', '{"agent_id":"clerk","thread_id":"t-queue","messages":[{"id":"01a1e2bb-d51e-75b6-a323-8df4f6d3c695","role":"user","content":[{"type":"text","text":"say second"}]}],"run_id":"q-second","dispatch_id":"01a1e2bb-d51e-75b7-8650-b8924fbf2565"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d56a-70e3-a5f0-851d1f350165', 't-queue', 'q-first', 'Queued', 0, 100, 1794805323116, 1794805323116, 1794805323120, 0, 1, false, 0, 5, 0, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-queue","messages":[{"id":"01a1e2bb-d56e-708f-b7f5-4359f7d0a563","role":"user","content":[{"type":"text","text":"say first"}]}],"run_id":"q-first","dispatch_id":"01a1e2bb-d56a-70e3-a5f0-851d1f350165"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d570-7531-970d-5c95d7b2803b', 't-queue', 'q-gone', 'Queued', 0, 128, 1794805323121, 1794805323121, 1794805323124, 0, 0, true, 0, 5, 0, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-queue","messages":[{"id":"01a1e2bb-d570-7530-b9ed-41f7002d4979","role":"user","content":[{"type":"text","text":"say nothing"}]}],"run_id":"q-gone","dispatch_id":"01a1e2bb-d570-7531-970d-5c95d7b2803b"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d575-76db-9277-78f5f3424492', 't-future', 'r-future', 'Queued', 0, 128, 8102005323125, 1794805323125, 1794805323125, 0, 0, false, 0, 5, 0, '', '', '', '', '{"agent_id":"clerk","thread_id":"t-future","messages":[{"id":"01a1e2bb-d575-76da-b4c2-581f10a41908","role":"user","content":[{"type":"text","text":"say later"}]}],"run_id":"r-future","dispatch_id":"01a1e2bb-d575-76db-9277-78f5f3424492"}', 0, 0);
INSERT INTO public.awaken_dispatches VALUES ('', '01a1e2bb-d576-751b-af3f-826af50fa722', 't-retry', 'r-retry', 'Queued', 0, 0, 1794805323128, 1794805323126, 1794805323128, 0, 0, false, 1, 5, 0, 'the database was away', '', '', '', '{"agent_id":"clerk","thread_id":"t-retry","messages":[{"id":"01a1e2bb-d576-751a-bc2c-88dd3f75f2f6","role":"user","content":[{"type":"text","text":"say it at last"}]}],"run_id":"r-retry","dispatch_id":"01a1e2bb-d576-751b-af3f-826af50fa722"}', 0, 0);


--
-- Data for Name: awaken_inbox; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_inbox VALUES ('', 't-allowed', 'decision:r-allowed:perm_call-1', 1, NULL);
INSERT INTO public.awaken_inbox VALUES ('', 't-inbox', 'left', 1, '{"id":"left","messages":[{"role":"user","content":[{"type":"text","text":"say what was left"}]}]}');
INSERT INTO public.awaken_inbox VALUES ('', 't-steered', 'input:01a1e2bb-d42d-725c-a48b-9d03c7c4949a', 1, '{"id":"input:01a1e2bb-d42d-725c-a48b-9d03c7c4949a","messages":[{"id":"01a1e2bb-d395-75c4-8f1a-42c96968fafe","role":"user","content":[{"type":"text","text":"say something else"}]}],"supersede":true}');
INSERT INTO public.awaken_inbox VALUES ('', 't-decided', 'decision:r-decided:perm_call-1', 1, '{"id":"decision:r-decided:perm_call-1","run_id":"r-decided","decision":{"target":"perm_call-1","decision_id":"yes","action":"resume","updated_at":1794805323024},"decided":{"id":"yes","action":"resume","at":1794805323024,"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","run_id":"r-decided","thread_id":"t-decided"}}');


--
-- Data for Name: awaken_processes; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_processes VALUES ('desk-01a1e2bb-c320-7086-82a8-dbdc21ed0d73', 1794805326843);
INSERT INTO public.awaken_processes VALUES ('other', 1794805383127);


--
-- Data for Name: awaken_profiles; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_profiles VALUES ('', 'locale', 'user::alice', '"nb-NO"', 1794805318481583427);
INSERT INTO public.awaken_profiles VALUES ('', 'locale', 'global', '"en-GB"', 1794805318485792716);
INSERT INTO public.awaken_profiles VALUES ('acme', 'locale', 'global', '"de-CH"', 1794805318496276509);
INSERT INTO public.awaken_profiles VALUES ('awaken.system', 'server.keys', 'db90d9a3e8c085e059f269b39a6aa72f64faf5da08fc44b96ff8088335efc364', '{"id":"key_01a1e2bb-c364-71ff-a25f-513c9a67604f","kind":"admin","tenant":"","label":"operators","created_at":1794805318500}', 1794805318500592558);
INSERT INTO public.awaken_profiles VALUES ('awaken.system', 'server.keys', '685ff77775f5c561b76a617fc0ed0c3bd3addab1e3d23c7cc5b45f91a31fafe3', '{"id":"key_01a1e2bb-c36b-728b-ae48-e6b52d96e6a5","kind":"run","tenant":"acme","user":"alice","label":"the web site","created_at":1794805318507}', 1794805318507449924);


--
-- Data for Name: awaken_queues; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_queues VALUES ('', 't-waiting', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-deep', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-broke', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-done', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-json', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-parent', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-failed', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-greeted', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-allowed', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-cancelled', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-decided', 0, 128, 1794805323031325, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-dead', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('acme', 't-done', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-inbox', 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-cut', 0, NULL, NULL, NULL, '01a1e2bb-d278-74a1-aca0-ab4b2799624b', '01a1e2bb-d27f-7605-9669-f3e0bd9da186', 'desk-01a1e2bb-c320-7086-82a8-dbdc21ed0d73', 1794805324713, 1794805322367, false);
INSERT INTO public.awaken_queues VALUES ('', 't-doubt', 0, NULL, NULL, NULL, '01a1e2bb-d264-72f1-8f43-80eee1f96fc7', '01a1e2bb-d265-7519-9164-11f06a5af623', 'desk-01a1e2bb-c320-7086-82a8-dbdc21ed0d73', 1794805324713, 1794805322342, false);
INSERT INTO public.awaken_queues VALUES ('', 't-steered', 0, NULL, NULL, NULL, '01a1e2bb-d295-70c3-9180-11b7335d9cda', '01a1e2bb-d296-766d-b9c2-40fb264c5db5', 'desk-01a1e2bb-c320-7086-82a8-dbdc21ed0d73', 1794805324713, 1794805322421, false);
INSERT INTO public.awaken_queues VALUES ('', 't-queue', 0, 100, 1794805323037127, NULL, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-future', 0, NULL, NULL, 8102005323125, NULL, NULL, NULL, NULL, NULL, false);
INSERT INTO public.awaken_queues VALUES ('', 't-retry', 0, 0, 1794805323128901, NULL, NULL, NULL, NULL, NULL, NULL, false);


--
-- Data for Name: awaken_reservations; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_reservations VALUES ('', 'r-cut', '{"id":"01a1e2bb-d294-7363-adf0-04956fde3570","fence":1,"at_ms":1794805322388,"amount":3682000,"accounts":[{"scope":"agent","id":"Y2xlcms="},{"scope":"tenant"},{"scope":"thread","id":"dC1jdXQ="}]}');
INSERT INTO public.awaken_reservations VALUES ('', 'r-steered', '{"id":"01a1e2bb-d2e3-723f-919d-b58e9a2e4df9","fence":1,"at_ms":1794805322467,"amount":3682000,"accounts":[{"scope":"agent","id":"Y2xlcms="},{"scope":"tenant"},{"scope":"thread","id":"dC1zdGVlcmVk"}]}');


--
-- Data for Name: awaken_runs; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_runs VALUES ('', 'r-waiting', 't-waiting', 'waiting', 1, '{"run_id":"r-waiting","thread_id":"t-waiting","agent_id":"clerk","resolution_id":"11","dispatch_id":"01a1e2bb-c373-7380-8466-9834c1b23f67","origin":"user","budgeted":true,"activated":true,"status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318799}]},"finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805318,"started_at":1794805318,"updated_at":1794805318,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 12);
INSERT INTO public.awaken_runs VALUES ('', 'r-decided', 't-decided', 'waiting', 4, '{"run_id":"r-decided","thread_id":"t-decided","agent_id":"clerk","resolution_id":"11","dispatch_id":"01a1e2bb-c4d5-739c-ab8c-a0cf1989b007","origin":"user","budgeted":true,"activated":true,"status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318911}]},"finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805318,"started_at":1794805318,"updated_at":1794805318,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 12);
INSERT INTO public.awaken_runs VALUES ('', 'r-deep', 't-deep', 'waiting', 7, '{"run_id":"r-deep","thread_id":"t-deep","agent_id":"clerk","resolution_id":"11","dispatch_id":"01a1e2bb-c50c-7510-ad0d-142d4154d31b","origin":"user","budgeted":true,"activated":true,"status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1"],"tickets":[{"ticket_id":"b2a77520-2f42-8fdd-9490-31026b649b6b:perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318992,"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","agent_id":"scout"}]},"finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805318,"started_at":1794805318,"updated_at":1794805318,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 13);
INSERT INTO public.awaken_runs VALUES ('', 'r-broke', 't-broke', 'waiting', 13, '{"run_id":"r-broke","thread_id":"t-broke","agent_id":"clerk","resolution_id":"11","dispatch_id":"01a1e2bb-c55b-7516-9a95-1b7069d54796","origin":"user","budget":{"run_usd":1e-9},"budgeted":true,"activated":true,"status":"waiting","status_reason":"budget_exhausted","waiting":{"reason":"budget_exhausted","ticket_ids":[],"tickets":[],"message":"the budget of run r-broke is used up: the next call needs 0.002129 USD, 0 of 1e-09 are spent and 0 reserved","budget":{"scope":"run","id":"r-broke","limit_usd":1e-9,"spent_usd":0,"needed_usd":0.002129}},"input":{"from_seq":1,"to_seq":1},"created_at":1794805319,"started_at":1794805319,"updated_at":1794805319,"steps":0,"input_tokens":0,"output_tokens":0}', 0, 6);
INSERT INTO public.awaken_runs VALUES ('', 'b2a77520-2f42-8fdd-9490-31026b649b6b', 'b2a77520-2f42-8fdd-9490-31026b649b6b', 'waiting', 11, '{"run_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","thread_id":"b2a77520-2f42-8fdd-9490-31026b649b6b","agent_id":"scout","parent_run_id":"r-deep","parent_thread_id":"t-deep","parent_tool_call_id":"call-1","resolution_id":"11","origin":"subagent","depth":1,"budgeted":true,"activated":true,"status":"waiting","status_reason":"suspended","waiting":{"reason":"tool_permission","ticket_ids":["perm_call-1"],"tickets":[{"ticket_id":"perm_call-1","tool_call_id":"call-1","tool_name":"wire","arguments":{"note":"use wire"},"resume_mode":"replay_tool_call","reason":"Tool ''wire'' needs your approval","suspension":{"id":"perm_call-1","action":"tool:PermissionConfirm","message":"Tool ''wire'' needs your approval","parameters":{"tool_name":"wire","tool_args":{"note":"use wire"},"remember":{"scopes":["run","thread","project"],"tools":["wire","wire(note = \"use wire\")"]}},"response_schema":{"properties":{"remember":{"anyOf":[{"enum":["run","thread","project"]},{"additionalProperties":false,"properties":{"scope":{"enum":["run","thread","project"]},"tool":{"enum":["wire","wire(note = \"use wire\")"]}},"required":["scope"],"type":"object"}]}}}},"updated_at":1794805318992}]},"finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805318,"started_at":1794805318,"updated_at":1794805318,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 12);
INSERT INTO public.awaken_runs VALUES ('', 'r-done', 't-done', 'done', 16, '{"run_id":"r-done","thread_id":"t-done","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-cc2a-7500-9aed-bdeebc92404d","session_id":"session-1","user_id":"alice","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"two: look did use look","finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":4},"created_at":1794805320,"started_at":1794805320,"finished_at":1794805321,"updated_at":1794805321,"steps":2,"input_tokens":200,"output_tokens":40,"usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028}', 0, 19);
INSERT INTO public.awaken_runs VALUES ('', 'r-again', 't-done', 'done', 19, '{"run_id":"r-again","thread_id":"t-done","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-cdf3-7292-83ad-5ed0431cedb8","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"two: more","finish_reason":"EndTurn","input":{"from_seq":5,"to_seq":5},"output":{"from_seq":6,"to_seq":6},"created_at":1794805321,"started_at":1794805321,"finished_at":1794805321,"updated_at":1794805321,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 19, 28);
INSERT INTO public.awaken_runs VALUES ('', 'q-second', 't-queue', 'created', 66, '{"run_id":"q-second","thread_id":"t-queue","agent_id":"clerk","dispatch_id":"01a1e2bb-d51e-75b7-8650-b8924fbf2565","origin":"user","status":"created","created_at":1794805323,"updated_at":1794805323,"steps":0,"input_tokens":0,"output_tokens":0}', 9223372036854775807, 0);
INSERT INTO public.awaken_runs VALUES ('', 'r-json', 't-json', 'done', 23, '{"run_id":"r-json","thread_id":"t-json","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-ce37-74c3-b5e6-4320a365b6d3","origin":"user","output_schema":{"type":"object","properties":{"city":{"type":"string"},"degrees":{"type":"number"}},"required":["city","degrees"]},"budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"{\"city\": \"Oslo\", \"degrees\": 7}","structured_output":{"city":"Oslo","degrees":7},"finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805321,"started_at":1794805321,"finished_at":1794805321,"updated_at":1794805321,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 9);
INSERT INTO public.awaken_runs VALUES ('', 'r-parent', 't-parent', 'done', 26, '{"run_id":"r-parent","thread_id":"t-parent","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-ce63-75f7-a317-903968098fc6","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"two: {\"agent_id\":\"scout\",\"status\":\"completed\",\"response\":\"scout: look did use look\",\"steps\":2}","finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":4},"created_at":1794805321,"started_at":1794805321,"finished_at":1794805322,"updated_at":1794805322,"steps":2,"input_tokens":200,"output_tokens":40,"usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028,"child_usage":{"prompt_tokens":200,"completion_tokens":40},"child_cost_usd":0.00028}', 0, 22);
INSERT INTO public.awaken_runs VALUES ('', 'r-failed', 't-failed', 'done', 32, '{"run_id":"r-failed","thread_id":"t-failed","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-d14d-7407-a70d-c8fbb32f2cff","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"error","termination_reason":{"type":"error","value":"inference: invalid request: as asked"},"error_payload":{"message":"inference: invalid request: as asked","code":"invalid_request"},"input":{"from_seq":1,"to_seq":1},"created_at":1794805322,"started_at":1794805322,"finished_at":1794805322,"updated_at":1794805322,"steps":1,"input_tokens":0,"output_tokens":0}', 0, 6);
INSERT INTO public.awaken_runs VALUES ('', 'r-greeted', 't-greeted', 'done', 35, '{"run_id":"r-greeted","thread_id":"t-greeted","agent_id":"greeter","resolution_id":"14","dispatch_id":"01a1e2bb-d154-7587-98c6-7214448a4dab","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"overridden: hi","finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805322,"started_at":1794805322,"finished_at":1794805322,"updated_at":1794805322,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 9);
INSERT INTO public.awaken_runs VALUES ('acme', 'r-done', 't-done', 'done', 47, '{"run_id":"r-done","thread_id":"t-done","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-d214-7441-9255-1ce44ee0529f","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"two: hello to acme","finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805322,"started_at":1794805322,"finished_at":1794805322,"updated_at":1794805322,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 9);
INSERT INTO public.awaken_runs VALUES ('', 'r-allowed', 't-allowed', 'done', 38, '{"run_id":"r-allowed","thread_id":"t-allowed","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-d15c-731a-9e02-0a804ac70dad","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"two: wire did use wire","finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":4},"created_at":1794805322,"started_at":1794805322,"finished_at":1794805322,"updated_at":1794805322,"steps":2,"input_tokens":200,"output_tokens":40,"usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028}', 0, 24);
INSERT INTO public.awaken_runs VALUES ('', 'r-doubt', 't-doubt', 'running', 53, '{"run_id":"r-doubt","thread_id":"t-doubt","agent_id":"clerk","resolution_id":"15","dispatch_id":"01a1e2bb-d264-72f1-8f43-80eee1f96fc7","origin":"user","budgeted":true,"status":"running","input":{"from_seq":1,"to_seq":1},"created_at":1794805322,"started_at":1794805322,"updated_at":1794805322,"steps":0,"input_tokens":0,"output_tokens":0}', 0, 9223372036854775807);
INSERT INTO public.awaken_runs VALUES ('', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 'done', 30, '{"run_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","thread_id":"c9a706c9-37dd-8251-a84a-cf99b0838baa","agent_id":"scout","parent_run_id":"r-parent","parent_thread_id":"t-parent","parent_tool_call_id":"call-1","resolution_id":"14","origin":"subagent","depth":1,"budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"scout: look did use look","finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":4},"created_at":1794805321,"started_at":1794805321,"finished_at":1794805321,"updated_at":1794805321,"steps":2,"input_tokens":200,"output_tokens":40,"usage":{"prompt_tokens":200,"completion_tokens":40},"cost_usd":0.00028}', 0, 19);
INSERT INTO public.awaken_runs VALUES ('', 'r-cancelled', 't-cancelled', 'done', 41, '{"run_id":"r-cancelled","thread_id":"t-cancelled","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-d191-744f-b840-3b6bc1e4317c","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"cancelled","termination_reason":{"type":"cancelled"},"finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":3},"created_at":1794805322,"started_at":1794805322,"finished_at":1794805322,"updated_at":1794805322,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 16);
INSERT INTO public.awaken_runs VALUES ('', 'r-dead', 't-dead', 'done', 44, '{"run_id":"r-dead","thread_id":"t-dead","agent_id":"missing","resolution_id":"14","dispatch_id":"01a1e2bb-d1b4-7419-ae12-1b5b167fdb12","origin":"user","status":"done","status_reason":"error","termination_reason":{"type":"error","value":"agent \"missing\" not found; available: [\"clerk\" \"greeter\" \"scout\" \"trial\"]"},"error_payload":{"message":"agent \"missing\" not found; available: [\"clerk\" \"greeter\" \"scout\" \"trial\"]"},"input":{"from_seq":1,"to_seq":1},"created_at":1794805322,"started_at":1794805322,"finished_at":1794805322,"updated_at":1794805322,"steps":0,"input_tokens":0,"output_tokens":0}', 0, 3);
INSERT INTO public.awaken_runs VALUES ('', 'r-inbox', 't-inbox', 'done', 50, '{"run_id":"r-inbox","thread_id":"t-inbox","agent_id":"clerk","resolution_id":"14","dispatch_id":"01a1e2bb-d245-707f-b6e0-94c623b83b04","origin":"user","budgeted":true,"activated":true,"status":"done","status_reason":"natural","termination_reason":{"type":"natural_end"},"final_output":"two: something","finish_reason":"EndTurn","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805322,"started_at":1794805322,"finished_at":1794805322,"updated_at":1794805322,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', 0, 9);
INSERT INTO public.awaken_runs VALUES ('', 'r-cut', 't-cut', 'running', 56, '{"run_id":"r-cut","thread_id":"t-cut","agent_id":"clerk","resolution_id":"15","dispatch_id":"01a1e2bb-d278-74a1-aca0-ab4b2799624b","origin":"user","budgeted":true,"status":"running","input":{"from_seq":1,"to_seq":1},"created_at":1794805322,"started_at":1794805322,"updated_at":1794805322,"steps":0,"input_tokens":0,"output_tokens":0}', 0, 9223372036854775807);
INSERT INTO public.awaken_runs VALUES ('', 'r-steered', 't-steered', 'running', 59, '{"run_id":"r-steered","thread_id":"t-steered","agent_id":"clerk","resolution_id":"15","dispatch_id":"01a1e2bb-d295-70c3-9180-11b7335d9cda","origin":"user","budgeted":true,"status":"running","input":{"from_seq":1,"to_seq":1},"created_at":1794805322,"started_at":1794805322,"updated_at":1794805322,"steps":0,"input_tokens":0,"output_tokens":0}', 0, 9223372036854775807);
INSERT INTO public.awaken_runs VALUES ('', 'q-last', 't-queue', 'created', 64, '{"run_id":"q-last","thread_id":"t-queue","agent_id":"clerk","dispatch_id":"01a1e2bb-d51a-73fb-93af-f29c96ba9649","origin":"user","status":"created","created_at":1794805323,"updated_at":1794805323,"steps":0,"input_tokens":0,"output_tokens":0}', 9223372036854775807, 0);
INSERT INTO public.awaken_runs VALUES ('', 'q-first', 't-queue', 'created', 67, '{"run_id":"q-first","thread_id":"t-queue","agent_id":"clerk","dispatch_id":"01a1e2bb-d56a-70e3-a5f0-851d1f350165","origin":"user","status":"created","created_at":1794805323,"updated_at":1794805323,"steps":0,"input_tokens":0,"output_tokens":0}', 9223372036854775807, 0);
INSERT INTO public.awaken_runs VALUES ('', 'q-gone', 't-queue', 'done', 68, '{"run_id":"q-gone","thread_id":"t-queue","agent_id":"clerk","dispatch_id":"01a1e2bb-d570-7531-970d-5c95d7b2803b","origin":"user","status":"done","status_reason":"cancelled","termination_reason":{"type":"cancelled"},"created_at":1794805323,"finished_at":1794805323,"updated_at":1794805323,"steps":0,"input_tokens":0,"output_tokens":0}', 9223372036854775807, 0);
INSERT INTO public.awaken_runs VALUES ('', 'r-future', 't-future', 'created', 70, '{"run_id":"r-future","thread_id":"t-future","agent_id":"clerk","dispatch_id":"01a1e2bb-d575-76db-9277-78f5f3424492","origin":"user","status":"created","created_at":1794805323,"updated_at":1794805323,"steps":0,"input_tokens":0,"output_tokens":0}', 9223372036854775807, 0);
INSERT INTO public.awaken_runs VALUES ('', 'r-retry', 't-retry', 'created', 72, '{"run_id":"r-retry","thread_id":"t-retry","agent_id":"clerk","dispatch_id":"01a1e2bb-d576-751b-af3f-826af50fa722","origin":"user","status":"created","created_at":1794805323,"updated_at":1794805323,"steps":0,"input_tokens":0,"output_tokens":0}', 9223372036854775807, 0);


--
-- Data for Name: awaken_schema; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_schema VALUES (1, '0001_init.sql', 1794805318040);
INSERT INTO public.awaken_schema VALUES (2, '0002_mailbox.sql', 1794805318050);
INSERT INTO public.awaken_schema VALUES (3, '0003_budget.sql', 1794805318052);
INSERT INTO public.awaken_schema VALUES (4, '0004_config.sql', 1794805318059);
INSERT INTO public.awaken_schema VALUES (5, '0005_users.sql', 1794805318062);
INSERT INTO public.awaken_schema VALUES (6, '0006_processes.sql', 1794805318067);
INSERT INTO public.awaken_schema VALUES (7, '0007_settle.sql', 1794805318068);
INSERT INTO public.awaken_schema VALUES (8, '0008_decisions.sql', 1794805318070);
INSERT INTO public.awaken_schema VALUES (9, '0009_incarnations.sql', 1794805318071);
INSERT INTO public.awaken_schema VALUES (10, '0010_start.sql', 1794805318073);
INSERT INTO public.awaken_schema VALUES (11, '0011_fair.sql', 1794805318075);
INSERT INTO public.awaken_schema VALUES (12, '0012_living.sql', 1794805318076);
INSERT INTO public.awaken_schema VALUES (13, '0013_once.sql', 1794805318076);
INSERT INTO public.awaken_schema VALUES (14, '0014_segments.sql', 1794805318079);


--
-- Data for Name: awaken_segments; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: awaken_state; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_state VALUES ('', 't-allowed', '', 'permission_policy', '[{"tool":"wire","behavior":"allow","scope":"thread"}]');


--
-- Data for Name: awaken_tenants; Type: TABLE DATA; Schema: public; Owner: -
--



--
-- Data for Name: awaken_threads; Type: TABLE DATA; Schema: public; Owner: -
--

INSERT INTO public.awaken_threads VALUES ('', 't-broke', '', '', NULL, 1794805319005, 1794805319044, 15, 1, 0, 2, 1, 6, 0, 0, 'r-broke', 'r-broke', 2, NULL, NULL, 0, '', '', 5);
INSERT INTO public.awaken_threads VALUES ('', 't-waiting', '', '', NULL, 1794805318567, 1794805318799, 3, 1, 0, 2, 2, 12, 0, 0, 'r-waiting', 'r-waiting', 2, NULL, NULL, 0, '', '', 1);
INSERT INTO public.awaken_threads VALUES ('', 't-json', '', '', NULL, 1794805321271, 1794805321293, 25, 1, 0, 2, 2, 9, 0, 0, '', 'r-json', 2, NULL, NULL, 0, '', '', 8);
INSERT INTO public.awaken_threads VALUES ('', 'b2a77520-2f42-8fdd-9490-31026b649b6b', 't-deep', '', NULL, 1794805318960, 1794805318992, 11, 1, 0, 2, 2, 12, 0, 0, 'b2a77520-2f42-8fdd-9490-31026b649b6b', 'b2a77520-2f42-8fdd-9490-31026b649b6b', 2, NULL, NULL, 0, '', '', 4);
INSERT INTO public.awaken_threads VALUES ('', 't-deep', '', '', NULL, 1794805318925, 1794805318996, 12, 1, 0, 3, 2, 13, 0, 0, 'r-deep', 'r-deep', 3, NULL, NULL, 0, '', '', 3);
INSERT INTO public.awaken_threads VALUES ('', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 't-parent', '', NULL, 1794805321416, 1794805321593, 30, 1, 0, 3, 4, 19, 0, 0, '', 'c9a706c9-37dd-8251-a84a-cf99b0838baa', 3, NULL, NULL, 0, '', '', 10);
INSERT INTO public.awaken_threads VALUES ('', 't-failed', '', '', NULL, 1794805322061, 1794805322066, 34, 1, 0, 2, 1, 6, 0, 0, '', 'r-failed', 2, NULL, NULL, 0, '', '', 11);
INSERT INTO public.awaken_threads VALUES ('', 't-done', '', 'A title', '{"colour":"blue"}', 1794805320753, 1794805321266, 21, 2, 0, 2, 6, 28, 0, 0, '', 'r-again', 5, NULL, NULL, 0, 'resource-1', 'alice', 6);
INSERT INTO public.awaken_threads VALUES ('', 't-fork', 't-done', 'A title', '{"colour":"blue"}', 1794805320753, 1794805321266, 22, 0, 0, 0, 4, 0, 0, 0, '', '', 0, NULL, 't-done', 4, '', 'alice', 7);
INSERT INTO public.awaken_threads VALUES ('', 't-parent', '', '', NULL, 1794805321319, 1794805322053, 31, 1, 0, 4, 4, 22, 0, 0, '', 'r-parent', 4, NULL, NULL, 0, '', '', 9);
INSERT INTO public.awaken_threads VALUES ('acme', 't-done', '', '', NULL, 1794805322260, 1794805322264, 49, 1, 0, 2, 2, 9, 0, 0, '', 'r-done', 2, NULL, NULL, 0, '', '', 16);
INSERT INTO public.awaken_threads VALUES ('', 't-greeted', '', '', NULL, 1794805322069, 1794805322074, 37, 1, 0, 2, 2, 9, 0, 0, '', 'r-greeted', 2, NULL, NULL, 0, '', '', 12);
INSERT INTO public.awaken_threads VALUES ('', 't-allowed', '', '', NULL, 1794805322076, 1794805322125, 40, 2, 0, 4, 4, 24, 1, 0, '', 'r-allowed', 6, NULL, NULL, 0, '', '', 13);
INSERT INTO public.awaken_threads VALUES ('', 't-cancelled', '', '', NULL, 1794805322130, 1794805322161, 43, 2, 0, 2, 3, 16, 0, 0, '', 'r-cancelled', 4, NULL, NULL, 0, '', '', 14);
INSERT INTO public.awaken_threads VALUES ('', 't-doubt', '', '', NULL, 1794805322342, 1794805322358, 55, 1, 0, 2, 2, 7, 0, 0, 'r-doubt', 'r-doubt', 2, '{"run_id":"r-doubt","thread_id":"t-doubt","agent_id":"clerk","resolution_id":"15","dispatch_id":"01a1e2bb-d264-72f1-8f43-80eee1f96fc7","origin":"user","budgeted":true,"activated":true,"status":"running","finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":2},"created_at":1794805322,"started_at":1794805322,"updated_at":1794805322,"steps":0,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', NULL, 0, '', '', 18);
INSERT INTO public.awaken_threads VALUES ('', 't-dead', '', '', NULL, 1794805322164, 1794805322213, 46, 2, 0, 1, 1, 3, 0, 0, '', 'r-dead', 1, NULL, NULL, 0, '', '', 15);
INSERT INTO public.awaken_threads VALUES ('', 't-inbox', '', '', NULL, 1794805322310, 1794805322323, 52, 1, 0, 2, 2, 9, 1, 1, '', 'r-inbox', 2, NULL, NULL, 0, '', '', 17);
INSERT INTO public.awaken_threads VALUES ('', 't-cut', '', '', NULL, 1794805322367, 1794805322388, 62, 1, 0, 2, 3, 11, 0, 0, 'r-cut', 'r-cut', 2, '{"run_id":"r-cut","thread_id":"t-cut","agent_id":"clerk","resolution_id":"15","dispatch_id":"01a1e2bb-d278-74a1-aca0-ab4b2799624b","origin":"user","budgeted":true,"activated":true,"status":"running","finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":3},"created_at":1794805322,"started_at":1794805322,"updated_at":1794805322,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', NULL, 0, '', '', 19);
INSERT INTO public.awaken_threads VALUES ('', 't-steered', '', '', NULL, 1794805322421, 1794805322467, 63, 1, 0, 2, 3, 11, 1, 1, 'r-steered', 'r-steered', 2, '{"run_id":"r-steered","thread_id":"t-steered","agent_id":"clerk","resolution_id":"15","dispatch_id":"01a1e2bb-d295-70c3-9180-11b7335d9cda","origin":"user","budgeted":true,"activated":true,"status":"running","finish_reason":"ToolUse","input":{"from_seq":1,"to_seq":1},"output":{"from_seq":2,"to_seq":3},"created_at":1794805322,"started_at":1794805322,"updated_at":1794805322,"steps":1,"input_tokens":100,"output_tokens":20,"usage":{"prompt_tokens":100,"completion_tokens":20},"cost_usd":0.00014}', NULL, 0, '', '', 20);
INSERT INTO public.awaken_threads VALUES ('', 't-decided', '', '', NULL, 1794805318875, 1794805318911, 6, 1, 0, 2, 2, 12, 1, 1, 'r-decided', 'r-decided', 2, NULL, NULL, 0, '', '', 2);
INSERT INTO public.awaken_threads VALUES ('', 't-queue', '', '', NULL, 1794805323037, 1794805323037, 65, 0, 0, 0, 0, 0, 0, 0, '', '', 0, NULL, NULL, 0, '', '', 21);
INSERT INTO public.awaken_threads VALUES ('', 't-future', '', '', NULL, 1794805323125, 1794805323125, 71, 0, 0, 0, 0, 0, 0, 0, '', '', 0, NULL, NULL, 0, '', '', 22);
INSERT INTO public.awaken_threads VALUES ('', 't-retry', '', '', NULL, 1794805323126, 1794805323126, 73, 0, 0, 0, 0, 0, 0, 0, '', '', 0, NULL, NULL, 0, '', '', 23);


--
-- Name: awaken_clock; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.awaken_clock', 73, true);


--
-- Name: awaken_config_events_seq_seq; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.awaken_config_events_seq_seq', 19, true);


--
-- Name: awaken_incarnations; Type: SEQUENCE SET; Schema: public; Owner: -
--

SELECT pg_catalog.setval('public.awaken_incarnations', 23, true);


--
-- Name: awaken_balances awaken_balances_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_balances
    ADD CONSTRAINT awaken_balances_pkey PRIMARY KEY (tenant, scope, id);


--
-- Name: awaken_commits awaken_commits_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_commits
    ADD CONSTRAINT awaken_commits_pkey PRIMARY KEY (tenant, thread, last, n);


--
-- Name: awaken_config_documents awaken_config_documents_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_documents
    ADD CONSTRAINT awaken_config_documents_pkey PRIMARY KEY (hash);


--
-- Name: awaken_config_events awaken_config_events_id_key; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_events
    ADD CONSTRAINT awaken_config_events_id_key UNIQUE (id);


--
-- Name: awaken_config_events awaken_config_events_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_events
    ADD CONSTRAINT awaken_config_events_pkey PRIMARY KEY (seq);


--
-- Name: awaken_config_head awaken_config_head_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_head
    ADD CONSTRAINT awaken_config_head_pkey PRIMARY KEY (one);


--
-- Name: awaken_config_publications awaken_config_publications_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_publications
    ADD CONSTRAINT awaken_config_publications_pkey PRIMARY KEY (number);


--
-- Name: awaken_config_records awaken_config_records_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_records
    ADD CONSTRAINT awaken_config_records_pkey PRIMARY KEY (namespace, id);


--
-- Name: awaken_config_secrets awaken_config_secrets_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_secrets
    ADD CONSTRAINT awaken_config_secrets_pkey PRIMARY KEY (ref);


--
-- Name: awaken_config_uses awaken_config_uses_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_config_uses
    ADD CONSTRAINT awaken_config_uses_pkey PRIMARY KEY (hash, publication);


--
-- Name: awaken_decisions awaken_decisions_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_decisions
    ADD CONSTRAINT awaken_decisions_pkey PRIMARY KEY (tenant, run, ticket);


--
-- Name: awaken_dispatches awaken_dispatches_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_dispatches
    ADD CONSTRAINT awaken_dispatches_pkey PRIMARY KEY (id, tenant);


--
-- Name: awaken_inbox awaken_inbox_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_inbox
    ADD CONSTRAINT awaken_inbox_pkey PRIMARY KEY (tenant, thread, id);


--
-- Name: awaken_processes awaken_processes_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_processes
    ADD CONSTRAINT awaken_processes_pkey PRIMARY KEY (id);


--
-- Name: awaken_profiles awaken_profiles_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_profiles
    ADD CONSTRAINT awaken_profiles_pkey PRIMARY KEY (tenant, namespace, key);


--
-- Name: awaken_queues awaken_queues_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_queues
    ADD CONSTRAINT awaken_queues_pkey PRIMARY KEY (tenant, id);


--
-- Name: awaken_reservations awaken_reservations_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_reservations
    ADD CONSTRAINT awaken_reservations_pkey PRIMARY KEY (tenant, run);


--
-- Name: awaken_runs awaken_runs_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_runs
    ADD CONSTRAINT awaken_runs_pkey PRIMARY KEY (tenant, id);


--
-- Name: awaken_schema awaken_schema_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_schema
    ADD CONSTRAINT awaken_schema_pkey PRIMARY KEY (version);


--
-- Name: awaken_segments awaken_segments_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_segments
    ADD CONSTRAINT awaken_segments_pkey PRIMARY KEY (tenant, thread, incarnation, upto);


--
-- Name: awaken_state awaken_state_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_state
    ADD CONSTRAINT awaken_state_pkey PRIMARY KEY (tenant, thread, run, key);


--
-- Name: awaken_tenants awaken_tenants_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_tenants
    ADD CONSTRAINT awaken_tenants_pkey PRIMARY KEY (tenant);


--
-- Name: awaken_threads awaken_threads_pkey; Type: CONSTRAINT; Schema: public; Owner: -
--

ALTER TABLE ONLY public.awaken_threads
    ADD CONSTRAINT awaken_threads_pkey PRIMARY KEY (tenant, id);


--
-- Name: awaken_commits_upto; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_commits_upto ON public.awaken_commits USING btree (tenant, thread, upto) WHERE (messages IS NOT NULL);


--
-- Name: awaken_config_events_action; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_config_events_action ON public.awaken_config_events USING btree (action, seq);


--
-- Name: awaken_config_events_actor; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_config_events_actor ON public.awaken_config_events USING btree (actor, seq);


--
-- Name: awaken_config_events_resource; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_config_events_resource ON public.awaken_config_events USING btree (resource, seq);


--
-- Name: awaken_config_events_time; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_config_events_time ON public.awaken_config_events USING btree ("time");


--
-- Name: awaken_config_uses_publication; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_config_uses_publication ON public.awaken_config_uses USING btree (publication);


--
-- Name: awaken_decisions_at; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_decisions_at ON public.awaken_decisions USING btree (tenant, at DESC, run, ticket);


--
-- Name: awaken_decisions_thread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_decisions_thread ON public.awaken_decisions USING btree (tenant, thread);


--
-- Name: awaken_dispatches_completed; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_dispatches_completed ON public.awaken_dispatches USING btree (completed) WHERE (completed > 0);


--
-- Name: awaken_dispatches_key; Type: INDEX; Schema: public; Owner: -
--

CREATE UNIQUE INDEX awaken_dispatches_key ON public.awaken_dispatches USING btree (tenant, key) WHERE (key <> ''::text);


--
-- Name: awaken_dispatches_thread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_dispatches_thread ON public.awaken_dispatches USING btree (thread, tenant, completed);


--
-- Name: awaken_inbox_unread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_inbox_unread ON public.awaken_inbox USING btree (tenant, thread, pos) WHERE (data IS NOT NULL);


--
-- Name: awaken_profiles_key; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_profiles_key ON public.awaken_profiles USING btree (tenant, key);


--
-- Name: awaken_queues_lease; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_queues_lease ON public.awaken_queues USING btree (lease) WHERE (lease IS NOT NULL);


--
-- Name: awaken_queues_ready; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_queues_ready ON public.awaken_queues USING btree (suspect, priority, since) WHERE (since IS NOT NULL);


--
-- Name: awaken_queues_tenant; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_queues_tenant ON public.awaken_queues USING btree (suspect, tenant, priority, since) WHERE (since IS NOT NULL);


--
-- Name: awaken_queues_wake; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_queues_wake ON public.awaken_queues USING btree (wake) WHERE (wake IS NOT NULL);


--
-- Name: awaken_runs_born; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_runs_born ON public.awaken_runs USING btree (tenant, born DESC);


--
-- Name: awaken_runs_status; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_runs_status ON public.awaken_runs USING btree (tenant, status, born DESC);


--
-- Name: awaken_runs_thread; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_runs_thread ON public.awaken_runs USING btree (tenant, thread, born DESC);


--
-- Name: awaken_threads_fork_of; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_threads_fork_of ON public.awaken_threads USING btree (tenant, fork_of, fork_seq) WHERE (fork_of IS NOT NULL);


--
-- Name: awaken_threads_parent; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_threads_parent ON public.awaken_threads USING btree (tenant, parent, touched DESC) WHERE (parent <> ''::text);


--
-- Name: awaken_threads_resource; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_threads_resource ON public.awaken_threads USING btree (tenant, resource, touched DESC) WHERE (resource <> ''::text);


--
-- Name: awaken_threads_touched; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_threads_touched ON public.awaken_threads USING btree (tenant, touched DESC);


--
-- Name: awaken_threads_user; Type: INDEX; Schema: public; Owner: -
--

CREATE INDEX awaken_threads_user ON public.awaken_threads USING btree (tenant, user_id, touched DESC) WHERE (user_id <> ''::text);


--
-- PostgreSQL database dump complete
--


