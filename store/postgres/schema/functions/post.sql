-- Posts items to the inbox of a thread. It returns false if the thread does not exist.
CREATE OR REPLACE FUNCTION {p}_post(p_tenant text, p_thread text, p_ids text[], p_items text[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	start bigint;
	added bigint;
BEGIN
	SELECT h.posted INTO start FROM {p}_threads h WHERE h.tenant = p_tenant AND h.id = p_thread FOR UPDATE;
	IF NOT FOUND THEN RETURN false; END IF;
	INSERT INTO {p}_inbox (tenant, thread, id, pos, data)
		SELECT p_tenant, p_thread, i.id, start + i.n, i.data FROM unnest(p_ids, p_items) WITH ORDINALITY AS i (id, data, n) ORDER BY i.n
		ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS added = ROW_COUNT;
	IF added > 0 THEN
		UPDATE {p}_threads h SET posted = start + cardinality(p_ids), unread = h.unread + added WHERE h.tenant = p_tenant AND h.id = p_thread;
	END IF;
	RETURN true;
END $$;
