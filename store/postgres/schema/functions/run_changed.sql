-- Logs that the status of runs changed, and adds what their costs grew by to the costs of their threads.
CREATE OR REPLACE FUNCTION {p}_run_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	WITH c AS (
		UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0)::numeric + m.cost, 9223372036854775807), 0)
			FROM (SELECT r.tenant, r.thread, sum(r.cost - w.cost) AS cost FROM changed r JOIN was w ON w.tenant = r.tenant AND w.id = r.id WHERE r.cost <> w.cost GROUP BY 1, 2) m
			WHERE t.tenant = m.tenant AND t.id = m.thread
	) INSERT INTO {p}_changes (tenant, kind, time, thread, run, status)
		SELECT r.tenant, 'run', {p}_now() / 1000, r.thread, r.id, r.status FROM changed r JOIN was w ON w.tenant = r.tenant AND w.id = r.id WHERE w.status <> r.status;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_changed AFTER UPDATE ON {p}_runs REFERENCING OLD TABLE AS was NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION {p}_run_changed();
