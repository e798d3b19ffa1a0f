-- What lists of runs select by. The columns repeat what the record of a run says, once it waits or is done. Indexes
-- have only the runs that a list of few would have to look for.

ALTER TABLE {p}_runs ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE {p}_runs ADD COLUMN version TEXT NOT NULL DEFAULT '';
ALTER TABLE {p}_runs ADD COLUMN origin TEXT NOT NULL DEFAULT '';
ALTER TABLE {p}_runs ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE {p}_runs ADD COLUMN user_id TEXT NOT NULL DEFAULT ''; -- of its thread
ALTER TABLE {p}_runs ADD COLUMN detail TEXT NOT NULL DEFAULT '';  -- how it ended or what it waits for
ALTER TABLE {p}_runs ADD COLUMN error TEXT NOT NULL DEFAULT '';   -- its code
ALTER TABLE {p}_runs ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;  -- billionths of a US dollar
ALTER TABLE {p}_runs ADD COLUMN created INTEGER NOT NULL DEFAULT 0;
UPDATE {p}_runs SET agent = coalesce(data ->> 'agent_id', ''), version = coalesce(data ->> 'resolution_id', ''), origin = coalesce(data ->> 'origin', ''),
	parent = coalesce(data ->> 'parent_run_id', ''), detail = coalesce(data -> 'waiting' ->> 'reason', data -> 'termination_reason' ->> 'type', ''),
	error = coalesce(data -> 'error_payload' ->> 'code', ''), cost = CAST(round(coalesce(data ->> 'cost_usd', 0) * 1e9) AS INTEGER),
	created = coalesce(data ->> 'created_at', 0) * 1000,
	user_id = coalesce((SELECT t.user_id FROM {p}_threads t WHERE t.tenant = {p}_runs.tenant AND t.id = {p}_runs.thread), '');

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

-- A thread that is given to another user takes its runs along.
CREATE TRIGGER {p}_threads_user_id AFTER UPDATE OF user_id ON {p}_threads WHEN OLD.user_id <> NEW.user_id BEGIN
	UPDATE {p}_runs SET user_id = NEW.user_id WHERE tenant = NEW.tenant AND thread = NEW.id;
END;

-- What runs did: tool:<name> if it called that tool (the digest of a name longer than 256 bytes; of calls before this migration, none), in_doubt if it has a call of which it was not known whether it took
-- effect.
CREATE TABLE {p}_run_marks (
	tenant TEXT    NOT NULL,
	mark   TEXT    NOT NULL,
	born   INTEGER NOT NULL, -- of the run
	run    TEXT    NOT NULL,
	PRIMARY KEY (tenant, mark, born, run)
) WITHOUT ROWID;
INSERT INTO {p}_run_marks (tenant, run, mark, born)
	SELECT DISTINCT c.tenant, c.run, 'tool:' || (j.value ->> 'tool_name'), r.born
	FROM {p}_commits c JOIN {p}_runs r ON r.tenant = c.tenant AND r.id = c.run, json_each(replace(c.calls, char(1), c.run)) j
	WHERE c.calls IS NOT NULL AND length(CAST(j.value ->> 'tool_name' AS BLOB)) <= 256 AND coalesce(j.value ->> 'index', 0) >= 0;
INSERT INTO {p}_run_marks (tenant, run, mark, born)
	SELECT DISTINCT c.tenant, c.run, 'in_doubt', r.born
	FROM {p}_commits c JOIN {p}_runs r ON r.tenant = c.tenant AND r.id = c.run, json_each(replace(c.calls, char(1), c.run)) j
	WHERE c.calls LIKE '%in_doubt%' AND (j.value -> 'result' -> 'metadata' ->> 'in_doubt' = 1
		OR j.value -> 'ticket' -> 'suspension' ->> 'action' IN ('tool:in_doubt', 'tool:step_in_doubt')
		OR EXISTS (SELECT 1 FROM json_each(j.value, '$.steps') s WHERE s.value ->> 'in_doubt' = 1));
