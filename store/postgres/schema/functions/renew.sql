-- Extends leases. It returns of each claim whether it is lost (0), valid (1), or its dispatch is to be ended (2).
CREATE OR REPLACE FUNCTION {p}_renew(p_lease bigint, p_tenants text[], p_ids text[], p_tokens text[], p_steps bigint[]) RETURNS bigint[] LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_at      bigint := {p}_now() / 1000;
	v_out     bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_ids)]);
	v_n       bigint[];
	v_tenants text[];
	v_threads text[];
	v_ids     text[];
	v_steps   bigint[];
BEGIN
	SELECT array_agg(h.n), array_agg(h.tenant), array_agg(h.thread), array_agg(h.id), array_agg(h.steps) INTO v_n, v_tenants, v_threads, v_ids, v_steps FROM (
		SELECT o.* FROM (
			SELECT s.*, d.thread FROM unnest(p_tenants, p_ids, p_tokens, p_steps) WITH ORDINALITY AS s (tenant, id, token, steps, n)
			CROSS JOIN LATERAL (SELECT d.thread FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id LIMIT 1) d
			ORDER BY s.tenant COLLATE "C", d.thread) o
		CROSS JOIN LATERAL (SELECT FROM {p}_queues q WHERE q.tenant = o.tenant AND q.id = o.thread AND q.claimed = o.id AND q.token = o.token FOR UPDATE) q) h;
	IF v_n IS NOT NULL THEN
		UPDATE {p}_queues q SET lease = v_at + p_lease FROM unnest(v_tenants, v_threads) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id;
		UPDATE {p}_dispatches d SET attempts = 0, crashes = 0, steps = s.steps, updated = v_at
			FROM unnest(v_tenants, v_ids, v_steps) AS s (tenant, id, steps) WHERE d.tenant = s.tenant AND d.id = s.id AND d.steps < s.steps;
		FOR i IN 1 .. cardinality(v_n) LOOP
			v_out[v_n[i]] := (SELECT CASE WHEN d.cancel THEN 2 ELSE 1 END FROM {p}_dispatches d WHERE d.tenant = v_tenants[i] AND d.id = v_ids[i]);
		END LOOP;
	END IF;
	RETURN v_out;
END $$;
