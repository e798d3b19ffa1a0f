-- Logs that a run was created, and adds its cost to the thread's.
CREATE OR REPLACE FUNCTION {p}_run_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', {p}_now() / 1000, NEW.thread, NEW.id, NEW.status);
	IF NEW.cost <> 0 THEN
		UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0)::numeric + NEW.cost, 9223372036854775807), 0) WHERE t.tenant = NEW.tenant AND t.id = NEW.thread;
	END IF;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_made AFTER INSERT ON {p}_runs FOR EACH ROW EXECUTE FUNCTION {p}_run_made();
