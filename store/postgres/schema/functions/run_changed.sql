-- Logs that the status of runs changed.
CREATE OR REPLACE FUNCTION {p}_run_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status)
		SELECT r.tenant, 'run', {p}_now() / 1000, r.thread, r.id, r.status FROM changed r JOIN was w ON w.tenant = r.tenant AND w.id = r.id WHERE w.status <> r.status;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_changed AFTER UPDATE ON {p}_runs REFERENCING OLD TABLE AS was NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION {p}_run_changed();
