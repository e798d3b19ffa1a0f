-- Logs that runs were created, and adds their costs to the costs of their threads.
CREATE OR REPLACE FUNCTION {p}_run_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	WITH c AS (
		UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0)::numeric + m.cost, 9223372036854775807), 0)
			FROM (SELECT r.tenant, r.thread, sum(r.cost) AS cost FROM made r WHERE r.cost <> 0 GROUP BY 1, 2) m WHERE t.tenant = m.tenant AND t.id = m.thread
	) INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) SELECT r.tenant, 'run', {p}_now() / 1000, r.thread, r.id, r.status FROM made r;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_made AFTER INSERT ON {p}_runs REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION {p}_run_made();
