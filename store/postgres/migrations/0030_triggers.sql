-- What the triggers of 0023, 0024, 0026 and 0027 did, for less. PostgreSQL reads the text of a trigger's condition again for each
-- statement, which for these took longer than to call the function; a trigger before an update locks the row first, which writes to
-- the log. So the conditions are in the functions, no trigger is before an update, and a table has one trigger for each kind of statement.

-- Which tickets they are, the reader sees in the commit. The text may also be in an argument of a call; then there are none.
CREATE OR REPLACE FUNCTION {p}_asked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.calls IS NOT NULL AND strpos(array_to_string(NEW.calls, ''), '"ticket":{') > 0 THEN
		INSERT INTO {p}_changes (tenant, kind, time, thread, run, seq, n) VALUES (NEW.tenant, 'ticket', NEW.time, NEW.thread, NEW.run, NEW.last, NEW.n);
	END IF;
	RETURN NULL;
END $$;
DROP TRIGGER {p}_made ON {p}_commits;
CREATE TRIGGER {p}_made AFTER INSERT ON {p}_commits FOR EACH ROW EXECUTE FUNCTION {p}_asked();

-- A run was made. {p}_list_run has filled the columns before, if the statement did not.
CREATE FUNCTION {p}_run_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', {p}_now() / 1000, NEW.thread, NEW.id, NEW.status);
	IF NEW.cost <> 0 THEN
		UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0)::numeric + NEW.cost, 9223372036854775807), 0) WHERE t.tenant = NEW.tenant AND t.id = NEW.thread;
	END IF;
	RETURN NULL;
END $$;
DROP TRIGGER {p}_runs_cost_set ON {p}_runs;
DROP TRIGGER {p}_made ON {p}_runs;
CREATE TRIGGER {p}_made AFTER INSERT ON {p}_runs FOR EACH ROW EXECUTE FUNCTION {p}_run_made();

-- What a record says of what lists of runs select by.
CREATE FUNCTION {p}_listed(p_data text, OUT agent text, OUT version text, OUT origin text, OUT parent text, OUT detail text, OUT error text, OUT cost bigint, OUT created bigint)
LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(x.agent_id, ''), coalesce(x.resolution_id, ''), coalesce(x.origin, ''), coalesce(x.parent_run_id, ''),
		coalesce(x.waiting ->> 'reason', x.termination_reason ->> 'type', ''), coalesce(x.error_payload ->> 'code', ''),
		least(round(coalesce(x.cost_usd, 0) * 1000000000), 9223372036854775807)::bigint, -- nonsense does not keep a run from ending
		coalesce(x.created_at_ms, x.created_at * 1000, 0)
	FROM json_to_record({p}_json(p_data)) AS x (agent_id text, resolution_id text, origin text, parent_run_id text, waiting json,
		termination_reason json, error_payload json, cost_usd numeric, created_at bigint, created_at_ms bigint)
$$;

-- A run changed. A statement that changes the record and not how the run ended or what it waits for, may have left the columns to this
-- trigger, as those of the version before do: it then changes the row again.
CREATE OR REPLACE FUNCTION {p}_run_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.status <> OLD.status THEN
		INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', {p}_now() / 1000, NEW.thread, NEW.id, NEW.status);
	END IF;
	IF NEW.cost <> OLD.cost THEN
		UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0)::numeric + NEW.cost - OLD.cost, 9223372036854775807), 0)
			WHERE t.tenant = NEW.tenant AND t.id = NEW.thread;
	END IF;
	IF NEW.detail = OLD.detail AND NEW.data <> OLD.data THEN
		UPDATE {p}_runs r SET (agent, version, origin, parent, detail, error, cost, created) = (x.agent, x.version, x.origin, x.parent, x.detail, x.error, x.cost, x.created)
			FROM {p}_listed(NEW.data) x WHERE r.tenant = NEW.tenant AND r.id = NEW.id
			AND (r.agent, r.version, r.origin, r.parent, r.detail, r.error, r.cost, r.created) IS DISTINCT FROM (x.agent, x.version, x.origin, x.parent, x.detail, x.error, x.cost, x.created);
	END IF;
	RETURN NULL;
END $$;

DROP TRIGGER {p}_runs_update ON {p}_runs;
DROP TRIGGER {p}_runs_cost_changed ON {p}_runs;
DROP TRIGGER {p}_changed ON {p}_runs;
CREATE TRIGGER {p}_changed AFTER UPDATE OF status, data, cost ON {p}_runs FOR EACH ROW EXECUTE FUNCTION {p}_run_changed();
DROP FUNCTION {p}_count_cost();

-- A dispatch that is the record of its run is the beginning of both: the run was created, and then the dispatch.
CREATE OR REPLACE FUNCTION {p}_dispatch_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
		SELECT d.tenant, CASE WHEN d.born IS NULL THEN 'dispatch' ELSE 'accepted' END, d.created, d.thread, d.run, d.status, d.id FROM made d;
	RETURN NULL;
END $$;
DROP TRIGGER {p}_made ON {p}_dispatches;
CREATE TRIGGER {p}_made AFTER INSERT ON {p}_dispatches REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION {p}_dispatch_made();

-- A dispatch changed. The failures of its attempts are kept, the last 20.
CREATE OR REPLACE FUNCTION {p}_dispatch_changed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	v_list jsonb;
BEGIN
	IF NEW.status <> OLD.status OR NEW.completed = 0 AND (NEW.available <> OLD.available OR NEW.attempts > OLD.attempts OR NEW.lost > OLD.lost) THEN
		INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
			VALUES (NEW.tenant, 'dispatch', {p}_now() / 1000, NEW.thread, NEW.run, NEW.status, NEW.id);
	END IF;
	IF NEW.lost > 0 AND NEW.lost <> OLD.lost
		OR NEW.lost = 0 AND NEW.attempts > 0 AND (NEW.attempts <> OLD.attempts OR NEW.steps <> OLD.steps)
		OR NEW.status = 'DeadLetter' AND OLD.status <> 'DeadLetter' AND NEW.error <> OLD.error THEN
		v_list := coalesce(NEW.failures, '[]')::jsonb;
		IF jsonb_array_length(v_list) >= 20 THEN v_list := v_list - 0; END IF;
		UPDATE {p}_dispatches d SET failures = (v_list || jsonb_build_object('at', NEW.updated, 'error', CASE WHEN NEW.lost > 0 THEN '' ELSE NEW.error END,
				'worker', coalesce((SELECT q.consumer FROM {p}_queues q WHERE q.tenant = NEW.tenant AND q.id = NEW.thread AND q.claimed = NEW.id), ''),
				'lost', NEW.lost > 0))::text
			WHERE d.tenant = NEW.tenant AND d.id = NEW.id;
	END IF;
	RETURN NULL;
END $$;
DROP TRIGGER {p}_dispatches_failures ON {p}_dispatches;
DROP FUNCTION {p}_failed();
DROP TRIGGER {p}_changed ON {p}_dispatches;
CREATE TRIGGER {p}_changed AFTER UPDATE ON {p}_dispatches FOR EACH ROW EXECUTE FUNCTION {p}_dispatch_changed();
