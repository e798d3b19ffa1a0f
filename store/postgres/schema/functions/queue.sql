-- Locks a thread's queue, and creates it if it does not exist.
CREATE OR REPLACE FUNCTION {p}_queue(p_tenant text, p_thread text) RETURNS SETOF {p}_queues LANGUAGE plpgsql AS $$
BEGIN
	LOOP
		RETURN QUERY SELECT * FROM {p}_queues q WHERE q.tenant = p_tenant AND q.id = p_thread FOR UPDATE;
		IF FOUND THEN RETURN; END IF;
		RETURN QUERY INSERT INTO {p}_queues (tenant, id) VALUES (p_tenant, p_thread) ON CONFLICT DO NOTHING RETURNING *;
		IF FOUND THEN RETURN; END IF;
	END LOOP;
END $$;
