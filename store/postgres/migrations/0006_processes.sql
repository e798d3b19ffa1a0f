-- Which processes live, and who is to blame for the death of one.

CREATE TABLE {p}_processes (
	id    text COLLATE "C" NOT NULL PRIMARY KEY, -- the consumer of its claims
	until bigint NOT NULL                        -- it is dead if it was silent until then
) WITH (fillfactor = 50);

ALTER TABLE {p}_dispatches ADD COLUMN crashes bigint NOT NULL DEFAULT 0; -- processes that died while they ran it
ALTER TABLE {p}_dispatches ADD COLUMN lost bigint NOT NULL DEFAULT 0;    -- when its last owner was lost, or 0
ALTER TABLE {p}_queues ADD COLUMN suspect boolean NOT NULL DEFAULT false; -- one of its dispatches has at least 2 crashes (mailbox.SuspectCrashes)

DROP INDEX {p}_queues_ready;
CREATE INDEX {p}_queues_ready ON {p}_queues (suspect, priority, since) WHERE since IS NOT NULL;

-- Says of queues that are locked and not claimed what can be claimed of them, and
-- returns of how many anything can.
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

-- Claims what can be claimed, as mailbox.Queue describes. The function of the same name with
-- fewer arguments is for processes of the previous version.
CREATE FUNCTION {p}_claim(p_consumer text, p_token text, p_lease bigint, p_limit bigint, p_suspects bigint)
RETURNS TABLE (tenant text, id text, thread text, run text, request text, priority integer, dedupe text, epoch bigint, status text, cancel boolean, revision bigint,
	available bigint, attempts bigint, max_attempts bigint, steps bigint, error text, key text, digest text, created bigint, updated bigint, completed bigint,
	token text, consumer text, lease bigint, crashes bigint, lost bigint) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now     bigint := {p}_now();
	v_at      bigint := v_now / 1000;
	v_tenants text[];
	v_threads text[];
BEGIN
	IF EXISTS (SELECT FROM {p}_queues q WHERE q.wake <= v_at) THEN
		SELECT array_agg(w.tenant), array_agg(w.id) INTO v_tenants, v_threads FROM
			(SELECT q.tenant, q.id FROM {p}_queues q WHERE q.wake <= v_at ORDER BY q.wake LIMIT greatest(p_limit, 1000) FOR UPDATE SKIP LOCKED) w;
		PERFORM {p}_ready(v_tenants, v_threads, v_now);
	END IF;
	-- What is in a queue is looked up after its row is locked, by a statement of its own:
	-- one statement would see what was there before it had the lock.
	SELECT array_agg(r.tenant), array_agg(r.id) INTO v_tenants, v_threads FROM
		(SELECT q.tenant, q.id FROM {p}_queues q WHERE q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
			LIMIT least(p_suspects, p_limit) FOR UPDATE SKIP LOCKED) r;
	SELECT v_tenants || array_agg(r.tenant), v_threads || array_agg(r.id) INTO v_tenants, v_threads FROM
		(SELECT q.tenant, q.id FROM {p}_queues q WHERE NOT q.suspect AND q.since IS NOT NULL ORDER BY q.priority, q.since
			LIMIT p_limit - coalesce(cardinality(v_threads), 0) FOR UPDATE SKIP LOCKED) r;
	IF v_threads IS NULL THEN RETURN; END IF;
	v_at := {p}_now() / 1000; -- what was queued before the locks is available
	RETURN QUERY WITH h AS MATERIALIZED (
		SELECT d.*, t.n FROM unnest(v_tenants, v_threads) WITH ORDINALITY AS t (tenant, id, n) CROSS JOIN LATERAL (
			SELECT * FROM {p}_dispatches d WHERE d.tenant = t.tenant AND d.thread = t.id AND d.completed = 0 AND d.available <= v_at
			ORDER BY d.priority, d.created, d.id LIMIT 1) d
	), u AS (
		UPDATE {p}_queues q SET claimed = h.id, token = p_token || h.n, consumer = p_consumer, lease = v_at + p_lease, stamp = v_at,
			priority = NULL, since = NULL, wake = NULL
		FROM h WHERE q.tenant = h.tenant AND q.id = h.thread
	) SELECT h.tenant, h.id, h.thread, h.run, h.request, h.priority, h.dedupe, h.epoch, h.status, h.cancel, h.revision,
		h.available, h.attempts, h.max_attempts, h.steps, h.error, h.key, h.digest, h.created, v_at, h.completed,
		p_token || h.n, p_consumer, v_at + p_lease, h.crashes, h.lost
	FROM h ORDER BY h.n;
END $$;

-- Extends leases. It returns of each claim whether it is lost (0), as it should be (1),
-- or the dispatch is to be ended (2).
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

-- Ends claims. It returns the indexes, from 1, of those that could be ended, and whether
-- any of their threads has something that can be claimed.
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

-- Puts dispatches whose lease is over back into the queue, and returns how many.
CREATE OR REPLACE FUNCTION {p}_reclaim(p_limit bigint) RETURNS bigint LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
DECLARE
	v_now bigint := {p}_now();
	v_at  bigint := v_now / 1000;
	c     record;
BEGIN
	SELECT array_agg(l.tenant) AS tenants, array_agg(l.id) AS threads, array_agg(l.claimed) AS ids INTO c FROM
		(SELECT q.tenant, q.id, q.claimed FROM {p}_queues q WHERE q.lease <= v_at ORDER BY q.lease LIMIT p_limit FOR UPDATE SKIP LOCKED) l;
	IF c.ids IS NULL THEN RETURN 0; END IF;
	UPDATE {p}_dispatches d SET attempts = d.attempts + 1, available = v_at, updated = v_at, lost = v_at
		FROM unnest(c.tenants, c.ids) AS s (tenant, id) WHERE d.tenant = s.tenant AND d.id = s.id;
	UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL
		FROM unnest(c.tenants, c.threads) AS t (tenant, id) WHERE q.tenant = t.tenant AND q.id = t.id;
	PERFORM {p}_ready(c.tenants, c.threads, v_now);
	RETURN cardinality(c.ids);
END $$;
