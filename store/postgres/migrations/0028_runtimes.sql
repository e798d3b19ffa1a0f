-- Records of runs have the time of their creation in milliseconds too. Those of earlier versions have seconds, and so have
-- the rows that were filled from them.

CREATE OR REPLACE FUNCTION {p}_list_run() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	x record;
BEGIN
	SELECT * INTO x FROM json_to_record({p}_json(NEW.data)) AS j (agent_id text, resolution_id text, origin text, parent_run_id text, waiting json,
		termination_reason json, error_payload json, cost_usd numeric, created_at bigint, created_at_ms bigint);
	NEW.agent := coalesce(x.agent_id, '');
	NEW.version := coalesce(x.resolution_id, '');
	NEW.origin := coalesce(x.origin, '');
	NEW.parent := coalesce(x.parent_run_id, '');
	NEW.detail := coalesce(x.waiting ->> 'reason', x.termination_reason ->> 'type', '');
	NEW.error := coalesce(x.error_payload ->> 'code', '');
	NEW.cost := least(round(coalesce(x.cost_usd, 0) * 1000000000), 9223372036854775807); -- nonsense does not keep a run from ending
	NEW.created := coalesce(x.created_at_ms, x.created_at * 1000, 0);
	IF TG_OP = 'INSERT' THEN
		NEW.user_id := coalesce((SELECT t.user_id FROM {p}_threads t WHERE t.tenant = NEW.tenant AND t.id = NEW.thread), '');
	END IF;
	RETURN NEW;
END $$;
