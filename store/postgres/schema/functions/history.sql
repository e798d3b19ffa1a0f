-- Returns the records of a thread's log behind p_after, or from the first one on if the thread's incarnation is not p_incarnation, up to and
-- including p_upto, in order. The first rows may be segments, if p_segments says so and the log is read from its first record on; the others are as
-- the function log returns them.
CREATE OR REPLACE FUNCTION {p}_history(p_tenant text, p_thread text, p_after bigint, p_upto bigint, p_incarnation bigint, p_segments boolean)
RETURNS TABLE (seq bigint, created bigint, data text[], segment bytea) LANGUAGE plpgsql STABLE AS $$
DECLARE
	t  record;
	s  record;
	at bigint := 0;
BEGIN
	SELECT h.incarnation, h.messages INTO t FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF NOT FOUND THEN RETURN; END IF;
	IF t.incarnation = p_incarnation THEN at := p_after; END IF;
	IF p_segments AND at = 0 AND least(p_upto, t.messages) >= 256 THEN
		FOR s IN SELECT o.thread, o.incarnation, o.upto FROM {p}_segments_of(p_tenant, p_thread, p_upto) o ORDER BY o.upto LOOP
			IF s.upto = at + 256 THEN -- otherwise there is a gap, or it is there twice
				RETURN QUERY SELECT g.upto, 0::bigint, NULL::text[], g.data FROM {p}_segments g
					WHERE g.tenant = p_tenant AND g.thread = s.thread AND g.incarnation = s.incarnation AND g.upto = s.upto;
				at := s.upto;
			END IF;
		END LOOP;
	END IF;
	RETURN QUERY SELECT l.seq, l.created, l.data, NULL::bytea FROM {p}_log(p_tenant, p_thread, at, p_upto) l;
END $$;
