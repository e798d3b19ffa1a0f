-- Logs that a decision was accepted.
CREATE OR REPLACE FUNCTION {p}_decided() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, ref) VALUES (NEW.tenant, 'decision', NEW.at, NEW.thread, NEW.run, NEW.ticket);
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_made AFTER INSERT ON {p}_decisions FOR EACH ROW EXECUTE FUNCTION {p}_decided();
