-- Locks the queue of a thread before a commit that settles a claim, for a group of commits: queues are locked before threads. A void claim fails
-- with AW001, unless the commit was made before.
CREATE OR REPLACE FUNCTION {p}_hold(p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_id text, p_token text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread AND q.claimed = p_id AND q.token = p_token FOR UPDATE;
	IF NOT FOUND AND NOT EXISTS (SELECT FROM {p}_threads t
		WHERE t.tenant = p_tenant AND t.id = p_thread AND t.fence = p_fence AND t.committed = p_number AND p_number <> 0) THEN
		RAISE EXCEPTION 'the claim is void' USING ERRCODE = 'AW001';
	END IF;
	RETURN 0;
END $$;
