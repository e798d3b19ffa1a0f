-- Makes a commit that ends or parks a run and settles its dispatches, as mailbox.Store describes. Code is the result of the function commit. Settled is
--
--     0  the commit was refused, or another run must read what is in the inbox
--     1  settled, or settled before
--     2  settled, and a dispatch of the thread can be claimed, now or later
CREATE OR REPLACE FUNCTION {p}_finish(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_user text, p_facets text[], p_marks text[],
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
		p_epoch, p_entries, p_calls, p_rest, p_parent, p_run_thread, p_status, p_state_runs, p_keys, p_values, p_read, p_valid, p_user, p_facets, p_marks);
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
	IF p_as = 'DeadLetter' THEN INSERT INTO {p}_dead_letters (n) VALUES (1); END IF;
	UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
		priority = r.priority, wake = r.wake, suspect = r.suspect, since = CASE WHEN r.priority IS NOT NULL THEN v_now END
		FROM (SELECT min(d.priority) FILTER (WHERE d.available <= v_at) AS priority, min(d.available) FILTER (WHERE d.available > v_at) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.thread = p_thread AND d.completed = 0) r
		WHERE q.tenant = p_tenant AND q.id = p_thread RETURNING coalesce(q.since, q.wake) IS NOT NULL INTO v_due;
	settled := 1 + v_due::int;
END $$;
