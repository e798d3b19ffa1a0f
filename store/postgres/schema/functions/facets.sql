-- Returns what the record of a run says of what lists select by: the columns of the run that are not its place and status.
CREATE OR REPLACE FUNCTION {p}_facets(p_record text, OUT agent text, OUT version text, OUT origin text, OUT parent text, OUT detail text,
	OUT error text, OUT cost bigint, OUT created bigint) LANGUAGE sql IMMUTABLE AS $$
	SELECT coalesce(x.agent_id, ''), coalesce(x.resolution_id, ''), coalesce(x.origin, ''), coalesce(x.parent_run_id, ''),
		coalesce(x.waiting ->> 'reason', x.termination_reason ->> 'type', ''), coalesce(x.error_payload ->> 'code', ''),
		least(round(coalesce(x.cost_usd, 0) * 1000000000), 9223372036854775807)::bigint, -- nonsense does not keep a run from ending
		coalesce(x.created_at_ms, 0)
	FROM json_to_record({p}_json(p_record)) AS x (agent_id text, resolution_id text, origin text, parent_run_id text, waiting json,
		termination_reason json, error_payload json, cost_usd numeric, created_at_ms bigint)
$$;
