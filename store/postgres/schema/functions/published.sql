-- Logs that another publication of the configuration is live.
CREATE OR REPLACE FUNCTION {p}_published() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, status, ref) VALUES ('awaken.server', 'publication', {p}_now() / 1000, 'live', NEW.live::text);
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_changed AFTER UPDATE ON {p}_config_head FOR EACH ROW WHEN (OLD.live <> NEW.live) EXECUTE FUNCTION {p}_published();
