-- Returns the records of a thread's log behind p_after, up to and including p_upto, in order: a row holds the records of one commit and the number of
-- the first. What a fork shares with its origin is read from there.
CREATE OR REPLACE FUNCTION {p}_log(p_tenant text, p_thread text, p_after bigint, p_upto bigint)
RETURNS TABLE (seq bigint, created bigint, data text[]) LANGUAGE plpgsql STABLE AS $$
DECLARE
	f       record;
	v_start bigint;
BEGIN
	SELECT h.fork_of, h.fork_seq INTO f FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF f.fork_of IS NOT NULL AND p_after < f.fork_seq THEN
		RETURN QUERY SELECT l.seq, l.created, l.data FROM {p}_log(p_tenant, f.fork_of, p_after, least(p_upto, f.fork_seq)) l;
	END IF;
	IF p_after > 0 THEN
		SELECT s.last INTO v_start FROM {p}_commits s WHERE s.tenant = p_tenant AND s.thread = p_thread AND s.upto <= p_after AND s.n % 16 = 0
			ORDER BY s.upto DESC LIMIT 1;
	END IF;
	RETURN QUERY SELECT c.before + c.skip + 1, c.time, CASE WHEN c.skip = 0 AND c.upto <= p_upto THEN c.messages
			ELSE c.messages[c.skip + 1 : least(p_upto - c.before, cardinality(c.messages))] END
		FROM (SELECT r.time, r.messages, r.upto, r.upto - cardinality(r.messages) AS before, greatest(p_after - r.upto + cardinality(r.messages), 0) AS skip
			FROM {p}_commits r WHERE r.tenant = p_tenant AND r.thread = p_thread AND r.last >= coalesce(v_start, -9223372036854775808)
				AND r.upto > p_after AND r.messages IS NOT NULL
			ORDER BY r.last, r.n LIMIT p_upto - p_after) c
		WHERE c.before < p_upto ORDER BY c.upto;
END $$;
