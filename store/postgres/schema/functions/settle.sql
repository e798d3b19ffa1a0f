-- Ends claims. It returns the indexes, from 1, of the ones that it ended, and whether any of their threads has something that can be claimed.
CREATE OR REPLACE FUNCTION {p}_settle(
	p_tenants text[], p_ids text[], p_tokens text[], p_steps bigint[], p_statuses text[], p_delays bigint[], p_failed boolean[], p_errors text[],
	OUT settled bigint[], OUT ready boolean
) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now bigint := {p}_now();
	v_at  bigint := v_now / 1000;
	c     record;
BEGIN
	ready := false;
	SELECT array_agg(l.n) AS n, array_agg(l.tenant) AS tenants, array_agg(l.thread) AS threads, array_agg(l.id) AS ids, array_agg(l.steps) AS steps,
		array_agg(l.status) AS statuses, array_agg(l.delay) AS delays, array_agg(l.failed) AS failed, array_agg(l.error) AS errors INTO c FROM (
			SELECT o.* FROM (
				SELECT s.*, d.thread FROM unnest(p_tenants, p_ids, p_tokens, p_steps, p_statuses, p_delays, p_failed, p_errors) WITH ORDINALITY
					AS s (tenant, id, token, steps, status, delay, failed, error, n)
				CROSS JOIN LATERAL (SELECT d.thread FROM {p}_dispatches d WHERE d.tenant = s.tenant AND d.id = s.id LIMIT 1) d
				ORDER BY s.tenant COLLATE "C", d.thread) o
			CROSS JOIN LATERAL (SELECT FROM {p}_queues q WHERE q.tenant = o.tenant AND q.id = o.thread AND q.claimed = o.id AND q.token = o.token FOR UPDATE) q) l;
	settled := c.n;
	IF settled IS NULL THEN RETURN; END IF;
	UPDATE {p}_dispatches d SET
		status = s.status, updated = v_at, completed = CASE s.status WHEN 'Queued' THEN 0 ELSE v_at END,
		available = CASE s.status WHEN 'Queued' THEN v_at + s.delay ELSE d.available END,
		attempts = CASE WHEN s.steps > d.steps THEN 0 ELSE d.attempts END + s.failed::int,
		crashes = CASE WHEN s.steps > d.steps THEN 0 ELSE d.crashes END, lost = 0, steps = greatest(d.steps, s.steps),
		error = CASE s.error WHEN '' THEN d.error ELSE s.error END
		FROM unnest(c.tenants, c.ids, c.steps, c.statuses, c.delays, c.failed, c.errors) AS s (tenant, id, steps, status, delay, failed, error)
		WHERE d.tenant = s.tenant AND d.id = s.id;
	IF 'DeadLetter' = ANY (c.statuses) THEN
		INSERT INTO {p}_dead_letters (n) SELECT count(*) FROM unnest(c.statuses) AS s (status) WHERE s.status = 'DeadLetter';
	END IF;
	WITH u AS (
		UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
			priority = r.priority, wake = r.wake, suspect = r.suspect, since = CASE WHEN r.priority IS NOT NULL THEN v_now + t.n END
		FROM unnest(c.tenants, c.threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT min(d.priority) FILTER (WHERE d.available <= v_at) AS priority, min(d.available) FILTER (WHERE d.available > v_at) AS wake,
				coalesce(max(d.crashes), 0) >= 2 AS suspect
			FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0) r
		WHERE q.tenant = t.tenant AND q.id = t.id
		RETURNING coalesce(q.since, q.wake) AS due
	) SELECT count(u.due) > 0 INTO ready FROM u;
END $$;
