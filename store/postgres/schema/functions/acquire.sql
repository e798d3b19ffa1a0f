-- Raises the fence of a thread, and creates the thread if it does not exist. A new thread begins with a fence that no removed thread had, so that
-- the owner of a removed thread with the same id stays fenced off. There are two statements because one that waited for a removal would not see it.
CREATE OR REPLACE FUNCTION {p}_acquire(p_tenant text, p_thread text) RETURNS SETOF {p}_threads LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		RETURN QUERY UPDATE {p}_threads h SET fence = h.fence + 1, committed = 0 WHERE h.tenant = p_tenant AND h.id = p_thread RETURNING h.*;
		IF FOUND THEN RETURN; END IF;
		RETURN QUERY INSERT INTO {p}_threads (tenant, id, fence)
			VALUES (p_tenant, p_thread, 1 + coalesce((SELECT f.floor FROM {p}_tenants f WHERE f.tenant = p_tenant), 0))
			ON CONFLICT DO NOTHING RETURNING *;
		IF FOUND THEN RETURN; END IF;
	END LOOP;
END $$;
