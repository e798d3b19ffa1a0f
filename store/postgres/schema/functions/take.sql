-- Acquires a thread, as the function acquire does, and returns all that its owner needs. With a token, which is of the claim on dispatch p_id of the
-- thread, a void claim acquires and returns nothing. The owner knows p_known messages of the incarnation.
--
-- The first row is the thread (t); its id says whether the dispatch is to be cancelled. Then come the messages (m), as the function log returns
-- them, or as segments if p_segments says so, and what the function load returns.
CREATE OR REPLACE FUNCTION {p}_take(p_tenant text, p_thread text, p_id text, p_token text, p_incarnation bigint, p_known bigint, p_segments boolean)
RETURNS TABLE (thread {p}_threads, kind text, id text, key text, seq bigint, created bigint, data text[], segment bytea) LANGUAGE plpgsql AS $$
DECLARE
	h        {p}_threads;
	v_cancel text := '';
	v_known  bigint := 0;
BEGIN
	IF p_token <> '' THEN -- queues are locked before threads
		PERFORM FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
		IF NOT FOUND THEN RETURN; END IF;
		SELECT CASE WHEN d.cancel THEN 'cancel' ELSE '' END INTO v_cancel FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.id = p_id;
	END IF;
	SELECT * INTO h FROM {p}_acquire(p_tenant, p_thread);
	RETURN QUERY SELECT h, 't', v_cancel, '', 0::bigint, 0::bigint, NULL::text[], NULL::bytea;
	IF h.incarnation = p_incarnation THEN v_known := p_known; END IF;
	IF p_segments AND v_known = 0 AND h.messages >= 256 THEN
		RETURN QUERY SELECT NULL::{p}_threads, 'm', '', '', l.seq, l.created, l.data, l.segment
			FROM {p}_history(p_tenant, p_thread, 0, 9223372036854775807, h.incarnation, true) l;
	ELSIF h.messages > 0 THEN
		RETURN QUERY SELECT NULL::{p}_threads, 'm', '', '', l.seq, l.created, l.data, NULL::bytea
			FROM {p}_log(p_tenant, p_thread, v_known, 9223372036854775807) l;
	END IF;
	IF h.latest_run <> '' OR h.unread > 0 THEN
		RETURN QUERY SELECT NULL::{p}_threads, l.kind, l.id, l.key, 0::bigint, 0::bigint, l.data, NULL::bytea FROM {p}_load(p_tenant, p_thread) l;
	END IF;
END $$;
