-- Puts dispatches whose lease has expired back into the queue, and returns how many. An expired lease makes a dispatch more suspect, and costs it an
-- attempt only if it is a suspect that ran alone.
CREATE OR REPLACE FUNCTION {p}_reclaim(p_limit bigint) RETURNS bigint LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now bigint := {p}_now();
	v_at  bigint := v_now / 1000;
	c     record;
BEGIN
	SELECT array_agg(l.tenant) AS tenants, array_agg(l.id) AS threads, array_agg(l.claimed) AS ids, array_agg(l.alone) AS alone INTO c FROM
		(SELECT q.tenant, q.id, q.claimed, NOT EXISTS (SELECT FROM {p}_queues o WHERE o.lease IS NOT NULL AND o.consumer = q.consumer AND (o.tenant, o.id) <> (q.tenant, q.id)) AS alone
			FROM {p}_queues q WHERE q.lease <= v_at ORDER BY q.lease LIMIT p_limit FOR UPDATE SKIP LOCKED) l;
	IF c.ids IS NULL THEN RETURN 0; END IF;
	UPDATE {p}_dispatches d SET attempts = d.attempts + (s.alone AND d.crashes >= 2 AND d.attempts < d.max_attempts)::int, -- mailbox.SuspectCrashes
		crashes = d.crashes + 1, available = v_at, updated = v_at, lost = v_at
		FROM unnest(c.tenants, c.ids, c.alone) AS s (tenant, id, alone) WHERE d.tenant = s.tenant AND d.id = s.id;
	UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
		FROM unnest(c.tenants, c.threads) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id;
	PERFORM {p}_ready(c.tenants, c.threads, v_now);
	RETURN cardinality(c.ids);
END $$;
