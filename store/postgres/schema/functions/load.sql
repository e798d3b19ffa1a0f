-- Returns what else a new owner needs: the latest run (r), its ledger (c), the state of the thread and of the run (s), and the unread items (i).
CREATE OR REPLACE FUNCTION {p}_load(p_tenant text, p_thread text) RETURNS TABLE (kind text, id text, key text, data text[]) LANGUAGE plpgsql STABLE AS $$
DECLARE
	t record;
BEGIN
	SELECT h.open_run, h.latest_run, h.run, h.unread INTO t FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread;
	IF t.latest_run <> '' THEN
		RETURN QUERY SELECT 'r', r.id, r.thread, ARRAY[CASE WHEN t.open_run = r.id AND t.run IS NOT NULL THEN t.run ELSE r.data END]
			FROM {p}_runs r WHERE r.tenant = p_tenant AND r.id = t.latest_run;
		RETURN QUERY SELECT 'c', '', '', c.calls FROM {p}_calls(p_tenant, t.latest_run) c;
		RETURN QUERY SELECT 's', s.run, s.key, ARRAY[s.value] FROM {p}_state s
			WHERE s.tenant = p_tenant AND s.thread = p_thread AND s.run IN ('', t.latest_run);
	END IF;
	IF t.unread > 0 THEN
		RETURN QUERY SELECT 'i', i.id, '', ARRAY[i.data] FROM {p}_inbox i
			WHERE i.tenant = p_tenant AND i.thread = p_thread AND i.data IS NOT NULL ORDER BY i.pos;
	END IF;
END $$;
