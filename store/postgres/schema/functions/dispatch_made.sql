-- Logs new dispatches. One that is the record of its run is the beginning of both: the run was created, and then the dispatch.
CREATE OR REPLACE FUNCTION {p}_dispatch_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
		SELECT d.tenant, CASE WHEN d.born IS NULL THEN 'dispatch' ELSE 'accepted' END, d.created, d.thread, d.run, d.status, d.id FROM made d;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_made AFTER INSERT ON {p}_dispatches REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION {p}_dispatch_made();
