-- Logs that dispatches changed.
CREATE OR REPLACE FUNCTION {p}_dispatch_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
		SELECT d.tenant, 'dispatch', {p}_now() / 1000, d.thread, d.run, d.status, d.id FROM changed d JOIN was w ON w.id = d.id AND w.tenant = d.tenant
		WHERE d.status <> w.status OR d.completed = 0 AND (d.available <> w.available OR d.attempts > w.attempts OR d.lost > w.lost);
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_changed AFTER UPDATE ON {p}_dispatches REFERENCING OLD TABLE AS was NEW TABLE AS changed
	FOR EACH STATEMENT EXECUTE FUNCTION {p}_dispatch_changed();
