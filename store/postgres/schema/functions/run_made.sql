-- Logs that runs were created.
CREATE OR REPLACE FUNCTION {p}_run_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) SELECT r.tenant, 'run', {p}_now() / 1000, r.thread, r.id, r.status FROM made r;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_made AFTER INSERT ON {p}_runs REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION {p}_run_made();
