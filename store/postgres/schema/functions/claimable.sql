-- Locks and returns the first queues that can be claimed, without the tenants in p_except. It goes from tenant to tenant, so it does not read what
-- the excepted ones have queued.
CREATE OR REPLACE FUNCTION {p}_claimable(p_suspect boolean, p_limit bigint, p_except text[]) RETURNS TABLE (tenant text, id text) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
BEGIN
	RETURN QUERY WITH RECURSIVE t (tenant) AS (
		(SELECT q.tenant FROM {p}_queues q WHERE q.suspect = p_suspect AND q.since IS NOT NULL ORDER BY q.tenant LIMIT 1)
		UNION ALL
		SELECT (SELECT q.tenant FROM {p}_queues q WHERE q.suspect = p_suspect AND q.since IS NOT NULL AND q.tenant > t.tenant ORDER BY q.tenant LIMIT 1)
			FROM t WHERE t.tenant IS NOT NULL
	) SELECT r.tenant, r.id FROM t CROSS JOIN LATERAL (
		SELECT q.tenant, q.id, q.priority, q.since FROM {p}_queues q WHERE q.suspect = p_suspect AND q.since IS NOT NULL AND q.tenant = t.tenant
			ORDER BY q.priority, q.since LIMIT p_limit FOR UPDATE SKIP LOCKED) r
	WHERE t.tenant <> ALL (p_except) ORDER BY r.priority, r.since LIMIT p_limit;
END $$;
