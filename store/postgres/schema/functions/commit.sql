-- Makes a commit, all or nothing, or returns why it cannot. An array is NULL if it is empty. The generation is that of a commit that begins
-- something, otherwise -1. p_facets are the columns agent, version, origin, parent, detail, error, cost and created of the run, p_user is the user
-- that a new thread belongs to, or '', and p_marks are marks that are added to the run.
--
--     0  made, or made before; the inbox is empty
--     1  made, or made before; the inbox is not empty
--    -1  there is no such thread
--    -2  another owner has it, or has ended the run
--    -3  it was interrupted
--    -4  the inbox has unread items
--    -6  the log of events holds the first event already
--    -5  the run's record is invalid, and nothing else is wrong
--   -10 - n  the log has n messages
--
-- The thread's row is locked from the first statement on, so commits, posts and acquisitions of a thread come one after the other. The row of a run
-- that was running and still is stays as it is: its record is in the row of the thread, which keeps its place in the order of threads.
CREATE OR REPLACE FUNCTION {p}_commit(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_user text, p_facets text[], p_marks text[]
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
	IF t.created = 0 AND p_user <> '' THEN
		t.user_id := p_user;
		UPDATE {p}_threads h SET user_id = p_user WHERE h.tenant = p_tenant AND h.id = p_thread;
	END IF;
	INSERT INTO {p}_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries, calls)
		VALUES (p_tenant, p_thread, greatest(t.last_seq, p_last), t.commits + 1, p_expect + coalesce(cardinality(p_messages), 0), p_time,
			p_run, p_epoch, p_messages, p_entries, p_calls);
	IF t.run IS NOT NULL AND t.open_run <> p_run THEN -- that run was given up
		UPDATE {p}_runs r SET data = t.run, last_seq = t.last_seq, agent = x.agent, version = x.version, origin = x.origin, parent = x.parent,
				detail = x.detail, error = x.error, cost = x.cost, created = x.created
			FROM {p}_facets(t.run) x WHERE r.tenant = p_tenant AND r.id = t.open_run;
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
	IF p_marks IS NOT NULL THEN
		INSERT INTO {p}_run_marks (tenant, run, mark, born)
			SELECT r.tenant, r.id, m.mark, r.born FROM {p}_runs r, unnest(p_marks) AS m (mark) WHERE r.tenant = p_tenant AND r.id = p_run
			ON CONFLICT DO NOTHING;
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
