-- What lists of runs select by. The columns repeat what the record of a run says, once it waits or is done. Indexes
-- have only the runs that a list of few would have to look for.

ALTER TABLE {p}_runs
	ADD COLUMN agent   text COLLATE "C", -- NULL only until the trigger has filled the columns
	ADD COLUMN version text COLLATE "C" NOT NULL DEFAULT '',
	ADD COLUMN origin  text COLLATE "C" NOT NULL DEFAULT '',
	ADD COLUMN parent  text COLLATE "C" NOT NULL DEFAULT '',
	ADD COLUMN user_id text COLLATE "C" NOT NULL DEFAULT '', -- of its thread
	ADD COLUMN detail  text COLLATE "C" NOT NULL DEFAULT '', -- how it ended or what it waits for
	ADD COLUMN error   text COLLATE "C" NOT NULL DEFAULT '', -- its code
	ADD COLUMN cost    bigint NOT NULL DEFAULT 0,            -- billionths of a US dollar
	ADD COLUMN created bigint NOT NULL DEFAULT 0;

-- The text of a record, as JSON that can be read whatever text is in it.
CREATE FUNCTION {p}_json(p_text text) RETURNS json LANGUAGE sql IMMUTABLE AS $$
	SELECT (CASE WHEN p_text ~ '\\u(0000|[dD][89a-fA-F])'
		THEN regexp_replace(p_text, '(?<!\\)((\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F][0-9a-fA-F])', '\1_', 'g') ELSE p_text END)::json
$$;

-- Fills the columns from the record, if the statement did not: that of a function, or of a process of the version
-- before.
CREATE FUNCTION {p}_list_run() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	x record;
BEGIN
	SELECT * INTO x FROM json_to_record({p}_json(NEW.data)) AS j (agent_id text, resolution_id text, origin text, parent_run_id text, waiting json,
		termination_reason json, error_payload json, cost_usd numeric, created_at bigint);
	NEW.agent := coalesce(x.agent_id, '');
	NEW.version := coalesce(x.resolution_id, '');
	NEW.origin := coalesce(x.origin, '');
	NEW.parent := coalesce(x.parent_run_id, '');
	NEW.detail := coalesce(x.waiting ->> 'reason', x.termination_reason ->> 'type', '');
	NEW.error := coalesce(x.error_payload ->> 'code', '');
	NEW.cost := least(round(coalesce(x.cost_usd, 0) * 1000000000), 9223372036854775807); -- nonsense does not keep a run from ending
	NEW.created := coalesce(x.created_at, 0) * 1000;
	IF TG_OP = 'INSERT' THEN
		NEW.user_id := coalesce((SELECT t.user_id FROM {p}_threads t WHERE t.tenant = NEW.tenant AND t.id = NEW.thread), '');
	END IF;
	RETURN NEW;
END $$;
UPDATE {p}_runs r SET (agent, version, origin, parent, detail, error, cost, created, user_id) = (
	SELECT coalesce(x.agent_id, ''), coalesce(x.resolution_id, ''), coalesce(x.origin, ''), coalesce(x.parent_run_id, ''),
		coalesce(x.waiting ->> 'reason', x.termination_reason ->> 'type', ''), coalesce(x.error_payload ->> 'code', ''),
		least(round(coalesce(x.cost_usd, 0) * 1000000000), 9223372036854775807), coalesce(x.created_at, 0) * 1000,
		coalesce((SELECT t.user_id FROM {p}_threads t WHERE t.tenant = r.tenant AND t.id = r.thread), '')
	FROM json_to_record({p}_json(r.data)) AS x (agent_id text, resolution_id text, origin text, parent_run_id text, waiting json,
		termination_reason json, error_payload json, cost_usd numeric, created_at bigint));
CREATE TRIGGER {p}_runs_insert BEFORE INSERT ON {p}_runs FOR EACH ROW WHEN (NEW.agent IS NULL) EXECUTE FUNCTION {p}_list_run();
CREATE TRIGGER {p}_runs_update BEFORE UPDATE OF data ON {p}_runs FOR EACH ROW WHEN (NEW.detail = OLD.detail) EXECUTE FUNCTION {p}_list_run();

-- A thread that is given to another user takes its runs along.
CREATE FUNCTION {p}_give_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE {p}_runs r SET user_id = NEW.user_id WHERE r.tenant = NEW.tenant AND r.thread = NEW.id;
	RETURN NULL;
END $$;
CREATE TRIGGER {p}_threads_user AFTER UPDATE OF user_id ON {p}_threads FOR EACH ROW WHEN (OLD.user_id <> NEW.user_id) EXECUTE FUNCTION {p}_give_runs();

DROP INDEX {p}_runs_status;
CREATE INDEX {p}_runs_status ON {p}_runs (tenant, status, born) WHERE status <> 'done';
CREATE INDEX {p}_runs_agent ON {p}_runs (tenant, agent, born);
CREATE INDEX {p}_runs_version ON {p}_runs (tenant, version, born) WHERE version <> '';
CREATE INDEX {p}_runs_origin ON {p}_runs (tenant, origin, born) WHERE origin <> 'user';
CREATE INDEX {p}_runs_parent ON {p}_runs (tenant, parent, born) WHERE parent <> '';
CREATE INDEX {p}_runs_user ON {p}_runs (tenant, user_id, born) WHERE user_id <> '';
CREATE INDEX {p}_runs_detail ON {p}_runs (tenant, detail, born) WHERE detail <> '' AND detail <> 'natural_end';
CREATE INDEX {p}_runs_error ON {p}_runs (tenant, error, born) WHERE error <> '';
CREATE INDEX {p}_runs_cost ON {p}_runs (tenant, born) WHERE cost >= 100000000;
ALTER TABLE {p}_runs DROP CONSTRAINT {p}_runs_pkey;
ALTER TABLE {p}_runs ADD PRIMARY KEY (tenant, id); -- the newest index, see 0001_init.sql

-- What runs did: tool:<name> if it called that tool (the digest of a name that is too long for an index), in_doubt if it has a call of which it was not known whether it took
-- effect.
CREATE TABLE {p}_run_marks (
	tenant text COLLATE "C" NOT NULL,
	mark   text COLLATE "C" NOT NULL,
	born   bigint NOT NULL, -- of the run
	run    text COLLATE "C" NOT NULL
);
INSERT INTO {p}_run_marks (tenant, run, mark, born)
	SELECT DISTINCT r.tenant, r.id, m.mark, r.born
	FROM {p}_commits c JOIN {p}_runs r ON r.tenant = c.tenant AND r.id = c.run, unnest(c.calls) AS x (record),
		LATERAL (SELECT {p}_json(x.record) AS call) j,
		LATERAL (SELECT 'tool:' || CASE WHEN octet_length(j.call ->> 'tool_name') > 256 THEN 'sha256:' || encode(sha256(convert_to(j.call ->> 'tool_name', 'UTF8')), 'hex')
			ELSE j.call ->> 'tool_name' END AS mark UNION ALL SELECT 'in_doubt' WHERE x.record LIKE '%in_doubt%'
			AND (j.call -> 'result' -> 'metadata' ->> 'in_doubt' = 'true' OR j.call -> 'ticket' -> 'suspension' ->> 'action' IN ('tool:in_doubt', 'tool:step_in_doubt')
			OR j.call ->> 'steps' LIKE '%"in_doubt":true%')) m
	WHERE c.calls IS NOT NULL AND m.mark IS NOT NULL AND coalesce((j.call ->> 'index')::bigint, 0) >= 0;
ALTER TABLE {p}_run_marks ADD PRIMARY KEY (tenant, mark, born, run);

-- Makes a commit as {p}_user_commit does, and adds marks to its run.
CREATE FUNCTION {p}_marked_commit(
	p_tenant text, p_thread text, p_fence bigint, p_number bigint, p_generation bigint, p_time bigint, p_expect bigint,
	p_run text, p_record text, p_messages text[], p_first bigint, p_last bigint, p_epoch bigint, p_entries text, p_calls text[],
	p_rest boolean, p_parent text, p_run_thread text, p_status text,
	p_state_runs text[], p_keys text[], p_values text[], p_read text[], p_valid boolean, p_user text, p_marks text[]
) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	code bigint := {p}_user_commit(p_tenant, p_thread, p_fence, p_number, p_generation, p_time, p_expect, p_run, p_record, p_messages, p_first, p_last,
		p_epoch, p_entries, p_calls, p_rest, p_parent, p_run_thread, p_status, p_state_runs, p_keys, p_values, p_read, p_valid, p_user);
BEGIN
	IF code >= 0 THEN
		INSERT INTO {p}_run_marks (tenant, run, mark, born)
			SELECT r.tenant, r.id, m.mark, r.born FROM {p}_runs r, unnest(p_marks) AS m (mark) WHERE r.tenant = p_tenant AND r.id = p_run
			ON CONFLICT DO NOTHING;
	END IF;
	RETURN code;
END $$;
