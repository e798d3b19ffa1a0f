-- Returns the segments of a thread's log up to p_upto, with the segments of the threads that it is a fork of.
CREATE OR REPLACE FUNCTION {p}_segments_of(p_tenant text, p_thread text, p_upto bigint)
RETURNS TABLE (thread text, incarnation bigint, upto bigint) LANGUAGE plpgsql STABLE AS $$
DECLARE
	t record;
BEGIN
	SELECT h.fork_of, h.fork_seq, h.incarnation INTO t FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF t.fork_of IS NOT NULL AND t.fork_seq >= 256 THEN
		RETURN QUERY SELECT s.thread, s.incarnation, s.upto FROM {p}_segments_of(p_tenant, t.fork_of, least(p_upto, t.fork_seq)) s;
	END IF;
	RETURN QUERY SELECT s.thread, s.incarnation, s.upto FROM {p}_segments s
		WHERE s.tenant = p_tenant AND s.thread = p_thread AND s.incarnation = t.incarnation AND s.upto <= p_upto;
END $$;
