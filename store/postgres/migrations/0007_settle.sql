-- Settling a dispatch in the transaction of the commit that ends or parks its run.

-- Locks the queue of a thread before a commit that settles a claim: queues are locked before
-- threads. A claim that is void fails with AW001, unless the commit was made before.
CREATE FUNCTION {p}_hold(p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_id text, p_token text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
	IF NOT FOUND AND NOT EXISTS (SELECT FROM {p}_threads t
		WHERE t.tenant = p_tenant AND t.id = p_thread AND t.fence = p_fence AND t.committed = p_number AND p_number <> 0) THEN
		RAISE EXCEPTION 'the claim is void' USING ERRCODE = 'AW001';
	END IF;
	RETURN 0;
END $$;

-- Settles the dispatches of a run that a commit of the same transaction has ended or parked, as
-- mailbox.Store describes. It returns
--
--    0  the commit was refused, or another run must read what is in the inbox
--    1  settled, or settled before
--    2  settled, and a dispatch of the thread can be claimed, now or later
CREATE FUNCTION {p}_end(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_id text, p_token text, p_run text, p_done boolean, p_cancelled boolean,
	p_steps bigint, p_status text, p_delay bigint, p_failed boolean, p_error text,
	p_wake text, p_wake_delay bigint, p_wake_priority bigint, p_wake_max bigint, p_wake_steps bigint
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	v_now    bigint := {p}_now();
	v_at     bigint := v_now / 1000;
	v_unread bigint;
	v_epoch  bigint;
	v_due    boolean;
BEGIN
	SELECT t.unread INTO v_unread FROM {p}_threads t WHERE t.tenant = p_tenant AND t.id = p_thread AND t.fence = p_fence AND t.committed = p_number;
	IF NOT FOUND THEN RETURN 0; END IF;
	SELECT q.epoch INTO v_epoch FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token;
	IF NOT FOUND THEN RETURN 1; END IF;
	IF p_done THEN
		-- The operators of json decode every string, and fail on U+0000 and single surrogates.
		IF v_unread > 0 AND EXISTS (SELECT FROM {p}_inbox i CROSS JOIN LATERAL (SELECT CASE WHEN i.data ~ '\\u(0000|[dD][89a-fA-F])'
				THEN regexp_replace(i.data, '(?<!\\)((\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F][0-9a-fA-F])', '\1_', 'g') ELSE i.data END::json AS item OFFSET 0) x
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.data IS NOT NULL
			AND json_array_length(coalesce(x.item -> 'messages', '[]')) > 0 AND coalesce(x.item ->> 'run_id', '') = '') THEN
			RETURN 0;
		END IF;
		UPDATE {p}_dispatches d SET status = CASE WHEN d.cancel AND p_cancelled THEN 'Cancelled' ELSE 'Acked' END, completed = v_at, updated = v_at
			WHERE d.tenant = p_tenant AND d.thread = p_thread AND d.completed = 0 AND d.run = p_run AND d.id <> p_id;
	END IF;
	IF p_wake <> '' THEN
		INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, steps)
			VALUES (p_tenant, p_wake, p_thread, p_run, 'Queued', p_wake_priority, v_at + p_wake_delay, v_at, v_at, v_epoch, p_wake_max, p_wake_steps);
	END IF;
	IF p_status = '' THEN RETURN 1; END IF;
	UPDATE {p}_dispatches d SET
		status = p_status, updated = v_at, completed = CASE p_status WHEN 'Queued' THEN 0 ELSE v_at END,
		available = CASE p_status WHEN 'Queued' THEN v_at + p_delay ELSE d.available END,
		attempts = CASE WHEN p_steps > d.steps THEN 0 ELSE d.attempts END + p_failed::int,
		crashes = CASE WHEN p_steps > d.steps THEN 0 ELSE d.crashes END, lost = 0, steps = greatest(d.steps, p_steps),
		error = CASE p_error WHEN '' THEN d.error ELSE p_error END
		WHERE d.tenant = p_tenant AND d.id = p_id;
	UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
		priority = r.priority, wake = r.wake, suspect = r.suspect, since = CASE WHEN r.priority IS NOT NULL THEN v_now END
		FROM (SELECT min(d.priority) FILTER (WHERE d.available <= v_at) AS priority, min(d.available) FILTER (WHERE d.available > v_at) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.thread = p_thread AND d.completed = 0) r
		WHERE q.tenant = p_tenant AND q.id = p_thread RETURNING coalesce(q.since, q.wake) IS NOT NULL INTO v_due;
	RETURN 1 + v_due::int;
END $$;
