-- Logs that the status of a run changed, and adds what its cost grew by to the thread's.
CREATE OR REPLACE FUNCTION {p}_run_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.status <> OLD.status THEN
		INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', {p}_now() / 1000, NEW.thread, NEW.id, NEW.status);
	END IF;
	IF NEW.cost <> OLD.cost THEN
		UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0)::numeric + NEW.cost - OLD.cost, 9223372036854775807), 0)
			WHERE t.tenant = NEW.tenant AND t.id = NEW.thread;
	END IF;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_changed AFTER UPDATE OF status, cost ON {p}_runs FOR EACH ROW EXECUTE FUNCTION {p}_run_changed();
