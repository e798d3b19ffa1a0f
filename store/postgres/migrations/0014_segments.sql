-- Copies of messages, 256 in each, in a form that is read fast. A thread may have some, or none: they
-- are written later than the messages, and what no segment holds is read from the commits.

CREATE TABLE {p}_segments (
	tenant      text COLLATE "C" NOT NULL,
	thread      text COLLATE "C" NOT NULL,
	incarnation bigint NOT NULL, -- of the thread; a process of the version before does not remove segments
	upto        bigint NOT NULL, -- number of the last message
	data        bytea  NOT NULL,
	PRIMARY KEY (tenant, thread, incarnation, upto)
);
DO $$ BEGIN -- the quick way, or not at all
	ALTER TABLE {p}_segments ALTER COLUMN data SET COMPRESSION lz4;
EXCEPTION WHEN feature_not_supported THEN
	ALTER TABLE {p}_segments ALTER COLUMN data SET STORAGE EXTERNAL;
END $$;

-- The segments of a thread's log up to p_upto, with those of the threads that it is a fork of.
CREATE FUNCTION {p}_segments_of(p_tenant text, p_thread text, p_upto bigint)
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

-- The records of a thread's log behind p_after, or from the first one on if the thread's incarnation
-- is not p_incarnation, up to and including p_upto, in order. The rows at the beginning may be segments, if
-- p_segments says so and the log is read from the first record on; the others are those of {p}_log.
CREATE FUNCTION {p}_history(p_tenant text, p_thread text, p_after bigint, p_upto bigint, p_incarnation bigint, p_segments boolean)
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

-- Acquires a thread, as the function with fewer arguments, which stays for processes of the version before.
-- Rows of messages may be segments, if p_segments says so.
CREATE FUNCTION {p}_take(p_tenant text, p_thread text, p_id text, p_token text, p_incarnation bigint, p_known bigint, p_segments boolean)
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
