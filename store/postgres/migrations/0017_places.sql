-- Makes a commit, as before. A run that was running and still is does not move its thread in the order of
-- threads, so that the thread's row changes in place.
CREATE OR REPLACE FUNCTION {p}_commit(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	t       record;
	running boolean := p_status = 'running' AND p_run_thread = p_thread;
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

	UPDATE {p}_threads h SET
		committed = p_number, updated = p_time, commits = t.commits + 1,
		touched = CASE WHEN running AND t.open_run = p_run AND t.run IS NOT NULL THEN t.touched
			WHEN t.latest_run = p_run AND t.touched = pg_sequence_last_value('{p}_clock') THEN t.touched ELSE nextval('{p}_clock') END,
		parent = CASE WHEN t.latest_run = '' AND t.parent = '' THEN p_parent ELSE t.parent END,
		created = CASE t.created WHEN 0 THEN p_time ELSE t.created END,
		messages = p_expect + coalesce(cardinality(p_messages), 0), last_seq = greatest(t.last_seq, p_last), unread = t.unread - n_read,
		latest_run = p_run, open_run = CASE p_status WHEN 'done' THEN '' ELSE p_run END, run = CASE WHEN running THEN p_record END
	WHERE h.tenant = p_tenant AND h.id = p_thread RETURNING h.touched INTO stamp;
	INSERT INTO {p}_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries, calls)
		VALUES (p_tenant, p_thread, greatest(t.last_seq, p_last), t.commits + 1, p_expect + coalesce(cardinality(p_messages), 0), p_time,
			p_run, p_epoch, p_messages, p_entries, p_calls);
	IF t.run IS NOT NULL AND t.open_run <> p_run THEN -- that run was given up
		UPDATE {p}_runs r SET data = t.run, last_seq = t.last_seq WHERE r.tenant = p_tenant AND r.id = t.open_run;
	END IF;
	INSERT INTO {p}_runs AS r (tenant, id, thread, status, born, data, first_seq, last_seq)
		VALUES (p_tenant, p_run, p_run_thread, p_status,
			coalesce((SELECT d.born FROM {p}_dispatches d WHERE d.tenant = p_tenant AND d.run = p_run AND d.born IS NOT NULL), stamp), p_record, t.last_seq,
			CASE WHEN running THEN 9223372036854775807 ELSE greatest(t.last_seq, p_last) END)
		ON CONFLICT (tenant, id) DO UPDATE SET thread = excluded.thread, status = excluded.status, data = excluded.data,
			first_seq = least(r.first_seq, excluded.first_seq), last_seq = excluded.last_seq;
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
