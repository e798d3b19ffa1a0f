-- Updates what can be claimed of queues that are locked and not claimed, and returns of how many anything can.
CREATE OR REPLACE FUNCTION {p}_ready(p_tenants text[], p_threads text[], p_now bigint) RETURNS bigint LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	n bigint;
BEGIN
	WITH u AS (
		UPDATE {p}_queues q SET priority = r.priority, wake = r.wake, suspect = r.suspect,
			since = CASE WHEN r.priority IS NOT NULL THEN coalesce(q.since, least(q.wake * 1000, p_now)) END
		FROM unnest(p_tenants, p_threads) AS t (tenant, id) CROSS JOIN LATERAL (
			SELECT min(d.priority) FILTER (WHERE d.available <= p_now / 1000) AS priority,
				min(d.available) FILTER (WHERE d.available > p_now / 1000) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0) r
		WHERE q.tenant = t.tenant AND q.id = t.id AND q.claimed IS NULL
		RETURNING q.since
	) SELECT count(u.since) INTO n FROM u;
	RETURN n;
END $$;
