-- One statement for what a worker does with a thread: to acquire it, and to end or park its run.

-- Acquires a thread, as the function acquire does, and returns all that its owner needs. If there is
-- a token, it is of the claim on dispatch p_id of the thread: if that is void, nothing is acquired
-- and returned. The owner knows p_known messages of the incarnation.
--
-- The first row is the thread (t); its id says whether the dispatch is to be cancelled. Then come
-- the messages (m), as the function log returns them, and what the function load returns.
CREATE FUNCTION {p}_take(p_tenant text, p_thread text, p_id text, p_token text, p_incarnation bigint, p_known bigint)
RETURNS TABLE (thread {p}_threads, kind text, id text, key text, seq bigint, created bigint, data text[]) LANGUAGE plpgsql AS $$
DECLARE
	h        {p}_threads;
	v_cancel text := '';
BEGIN
	IF p_token <> '' THEN -- queues are locked before threads
		PERFORM FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
		IF NOT FOUND THEN RETURN; END IF;
		SELECT CASE WHEN d.cancel THEN 'cancel' ELSE '' END INTO v_cancel FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.id = p_id;
	END IF;
	SELECT * INTO h FROM {p}_acquire(p_tenant, p_thread);
	RETURN QUERY SELECT h, 't', v_cancel, '', 0::bigint, 0::bigint, NULL::text[];
	IF h.messages > 0 THEN
		RETURN QUERY SELECT NULL::{p}_threads, 'm', '', '', l.seq, l.created, l.data
			FROM {p}_log(p_tenant, p_thread, CASE WHEN h.incarnation = p_incarnation THEN p_known ELSE 0 END, 9223372036854775807) l;
	END IF;
	IF h.latest_run <> '' OR h.unread > 0 THEN
		RETURN QUERY SELECT NULL::{p}_threads, l.kind, l.id, l.key, 0::bigint, 0::bigint, l.data FROM {p}_load(p_tenant, p_thread) l;
	END IF;
END $$;

-- Makes a commit that ends or parks a run and settles its dispatches: the functions hold, commit and
-- end in one. Code is the result of commit, and settled that of end.
CREATE FUNCTION {p}_finish(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean,
	p_id text, p_token text, p_done boolean, p_cancelled boolean, p_steps bigint, p_as text, p_delay bigint, p_failed boolean, p_error text,
	p_wake text, p_wake_delay bigint, p_wake_priority bigint, p_wake_max bigint, p_wake_steps bigint,
	OUT code bigint, OUT settled bigint
) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM {p}_hold(p_tenant, p_thread, p_fence, p_number, p_id, p_token);
	code := {p}_commit(p_tenant, p_thread, p_fence, p_number, p_generation, p_time, p_expect, p_run, p_record, p_messages, p_first, p_last,
		p_epoch, p_entries, p_calls, p_rest, p_parent, p_run_thread, p_status, p_state_runs, p_keys, p_values, p_read, p_valid);
	settled := 0;
	IF code >= 0 THEN
		settled := {p}_end(p_tenant, p_thread, p_fence, p_number, p_id, p_token, p_run, p_done, p_cancelled, p_steps, p_as, p_delay, p_failed, p_error,
			p_wake, p_wake_delay, p_wake_priority, p_wake_max, p_wake_steps);
	END IF;
END $$;
