-- Commits that say what lists of runs select by, so that no trigger reads it from the record. The functions with fewer arguments stay for
-- processes of the version before.

-- Makes a commit, as the function with fewer arguments does. p_facets are the columns agent, version, origin, parent, detail,
-- error, cost and created of the run. The row of a run that was running and still is stays as it is: its record is in the row of the thread.
CREATE FUNCTION {p}_commit(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_facets text[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	t       record;
	running boolean := p_status = 'running' AND p_run_thread = p_thread;
	stays   boolean;
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

	stays := running AND t.open_run = p_run AND t.run IS NOT NULL;
	UPDATE {p}_threads h SET
		committed = p_number, updated = p_time, commits = t.commits + 1,
		touched = CASE WHEN stays THEN t.touched
			WHEN t.latest_run = p_run AND t.touched = pg_sequence_last_value('{p}_clock') THEN t.touched ELSE nextval('{p}_clock') END,
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
	IF NOT stays THEN
		INSERT INTO {p}_runs AS r (tenant, id, thread, status, born, data, first_seq, last_seq, agent, version, origin, parent, detail, error, cost, created, user_id)
			VALUES (p_tenant, p_run, p_run_thread, p_status,
				coalesce((SELECT d.born FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.run = p_run AND d.born IS NOT NULL), stamp), p_record, t.last_seq,
				CASE WHEN running THEN 9223372036854775807 ELSE greatest(t.last_seq, p_last) END,
				p_facets[1], p_facets[2], p_facets[3], p_facets[4], p_facets[5], p_facets[6], p_facets[7]::bigint, p_facets[8]::bigint,
				CASE p_run_thread WHEN p_thread THEN t.user_id ELSE coalesce((SELECT o.user_id FROM {p}_threads o WHERE o.tenant = p_tenant AND o.id = p_run_thread), '') END)
			ON CONFLICT (tenant, id) DO UPDATE SET thread = excluded.thread, status = excluded.status, data = excluded.data,
				first_seq = least(r.first_seq, excluded.first_seq), last_seq = excluded.last_seq, agent = excluded.agent, version = excluded.version,
				origin = excluded.origin, parent = excluded.parent, detail = excluded.detail, error = excluded.error, cost = excluded.cost, created = excluded.created;
	END IF;
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

-- Makes a commit that ends or parks a run and settles its dispatches: what the functions hold, commit and end do, with fewer statements.
-- Code is the result of commit, and settled that of end.
CREATE FUNCTION {p}_finish(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_facets text[],
	p_id text, p_token text, p_done boolean, p_cancelled boolean, p_steps bigint, p_as text, p_delay bigint, p_failed boolean, p_error text,
	p_wake text, p_wake_delay bigint, p_wake_priority bigint, p_wake_max bigint, p_wake_steps bigint,
	OUT code bigint, OUT settled bigint
) LANGUAGE plpgsql AS $$
DECLARE
	v_now   bigint;
	v_at    bigint;
	v_epoch bigint;
	v_held  boolean;
	v_due   boolean;
BEGIN
	-- Queues are locked before threads.
	SELECT q.epoch INTO v_epoch FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
	v_held := FOUND;
	IF NOT v_held AND NOT EXISTS (SELECT FROM {p}_threads t
		WHERE t.tenant = p_tenant AND t.id = p_thread AND t.fence = p_fence AND t.committed = p_number AND p_number <> 0) THEN
		RAISE EXCEPTION 'the claim is void' USING ERRCODE = 'AW001';
	END IF;
	code := {p}_commit(p_tenant, p_thread, p_fence, p_number, p_generation, p_time, p_expect, p_run, p_record, p_messages, p_first, p_last,
		p_epoch, p_entries, p_calls, p_rest, p_parent, p_run_thread, p_status, p_state_runs, p_keys, p_values, p_read, p_valid, p_facets);
	settled := 0;
	IF code < 0 THEN RETURN; END IF;
	IF NOT v_held THEN -- it was settled before
		settled := 1;
		RETURN;
	END IF;
	v_now := {p}_now();
	v_at := v_now / 1000;
	IF p_done AND code = 1 AND EXISTS (SELECT FROM {p}_inbox i CROSS JOIN LATERAL (SELECT {p}_json(i.data) AS item OFFSET 0) x
		WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.data IS NOT NULL
		AND json_array_length(coalesce(x.item -> 'messages', '[]')) > 0 AND coalesce(x.item ->> 'run_id', '') = '') THEN
		RETURN;
	END IF;
	IF p_done OR p_as <> '' THEN
		-- The dispatch, which is not over since its queue is claimed for it, and those of a run that is done.
		UPDATE {p}_dispatches d SET
			status = CASE WHEN d.id = p_id THEN p_as WHEN d.cancel AND p_cancelled THEN 'Cancelled' ELSE 'Acked' END, updated = v_at,
			completed = CASE WHEN d.id = p_id AND p_as = 'Queued' THEN 0 ELSE v_at END,
			available = CASE WHEN d.id = p_id AND p_as = 'Queued' THEN v_at + p_delay ELSE d.available END,
			attempts = CASE WHEN d.id <> p_id THEN d.attempts WHEN p_steps > d.steps THEN p_failed::int ELSE d.attempts + p_failed::int END,
			crashes = CASE WHEN d.id = p_id AND p_steps > d.steps THEN 0 ELSE d.crashes END, lost = CASE d.id WHEN p_id THEN 0 ELSE d.lost END,
			steps = CASE d.id WHEN p_id THEN greatest(d.steps, p_steps) ELSE d.steps END,
			error = CASE WHEN d.id = p_id AND p_error <> '' THEN p_error ELSE d.error END
			WHERE d.tenant = p_tenant AND d.thread = p_thread AND d.completed = 0
			AND (d.id = p_id AND p_as <> '' OR d.id <> p_id AND p_done AND d.run = p_run);
	END IF;
	IF p_wake <> '' THEN
		INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, steps)
			VALUES (p_tenant, p_wake, p_thread, p_run, 'Queued', p_wake_priority, v_at + p_wake_delay, v_at, v_at, v_epoch, p_wake_max, p_wake_steps);
	END IF;
	settled := 1;
	IF p_as = '' THEN RETURN; END IF;
	UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
		priority = r.priority, wake = r.wake, suspect = r.suspect, since = CASE WHEN r.priority IS NOT NULL THEN v_now END
		FROM (SELECT min(d.priority) FILTER (WHERE d.available <= v_at) AS priority, min(d.available) FILTER (WHERE d.available > v_at) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.thread = p_thread AND d.completed = 0) r
		WHERE q.tenant = p_tenant AND q.id = p_thread RETURNING coalesce(q.since, q.wake) IS NOT NULL INTO v_due;
	settled := 1 + v_due::int;
END $$;
