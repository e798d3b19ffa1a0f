-- Makes commits that end runs and settles their dispatches, each in one statement for all. The arguments are arrays with an element for each run,
-- except p_texts and p_records, which have the messages and the calls of all: p_counts[i] messages behind p_froms[i], p_calls[i] calls behind p_ats[i].
--
-- Done has the places of the runs that were ended, from 1, and ready whether their threads have a dispatch that can be claimed, now or later. The
-- others change nothing: the function finish says why, or does what they need. A dispatch that has lost attempts is among them.
--
-- Changes are logged in the order in which a statement's parts are executed, the last of them first: runs end before their dispatches.
CREATE OR REPLACE FUNCTION {p}_finish_all(
	p_tenants text[], p_threads text[], p_runs text[], p_fences bigint[], p_numbers bigint[], p_generations bigint[], p_times bigint[], p_expects bigint[],
	p_firsts bigint[], p_lasts bigint[], p_epochs bigint[], p_records text[], p_entries text[], p_froms bigint[], p_counts bigint[], p_ats bigint[], p_calls bigint[],
	p_agents text[], p_versions text[], p_origins text[], p_parents text[], p_details text[], p_errors text[], p_costs bigint[], p_created bigint[],
	p_ids text[], p_tokens text[], p_statuses text[], p_steps bigint[], p_cancelled boolean[],
	p_texts text[], p_ledger text[], OUT done bigint[], OUT ready boolean[]
) LANGUAGE plpgsql AS $$
DECLARE
	v_now bigint;
	v_at  bigint;
BEGIN
	-- Queues are locked before threads, in the order of their keys. What is written below sees what others wrote before they let go of them.
	PERFORM FROM (SELECT * FROM unnest(p_tenants, p_threads, p_ids, p_tokens) AS u (tenant, thread, id, token) ORDER BY u.tenant COLLATE "C", u.thread COLLATE "C") r
		CROSS JOIN LATERAL (SELECT FROM {p}_queues q WHERE q.tenant = r.tenant AND q.id = r.thread AND q.claimed = r.id AND q.token = r.token FOR UPDATE) q;
	v_now := {p}_now();
	v_at := v_now / 1000;
	WITH r AS MATERIALIZED (
		SELECT * FROM unnest(p_tenants, p_threads, p_runs, p_fences, p_numbers, p_generations, p_times, p_expects, p_firsts, p_lasts, p_epochs, p_records, p_entries,
			p_froms, p_counts, p_ats, p_calls, p_agents, p_versions, p_origins, p_parents, p_details, p_errors, p_costs, p_created,
			p_ids, p_tokens, p_statuses, p_steps, p_cancelled) WITH ORDINALITY
			AS r (tenant, thread, run, fence, number, generation, time, expect, first, last, epoch, record, entries, begin, count, at, calls,
			agent, version, origin, parent, detail, error, cost, created, id, token, status, steps, cancelled, n)
	), t AS MATERIALIZED (
		UPDATE {p}_threads h SET committed = r.number, updated = r.time, commits = h.commits + 1, messages = h.messages + r.count, last_seq = greatest(h.last_seq, r.last),
				run = NULL, open_run = '', touched = CASE WHEN h.touched = pg_sequence_last_value('{p}_clock') THEN h.touched ELSE nextval('{p}_clock') END
			FROM r WHERE h.tenant = r.tenant AND h.id = r.thread AND h.fence = r.fence AND h.committed <> r.number AND (h.generation = r.generation OR r.generation < 0)
				AND h.messages = r.expect AND h.last_seq < r.first AND h.open_run = r.run AND h.run IS NOT NULL AND h.unread = 0
				AND EXISTS (SELECT FROM {p}_queues q WHERE q.tenant = r.tenant AND q.id = r.thread AND q.claimed = r.id AND q.token = r.token)
				AND EXISTS (SELECT FROM {p}_dispatches o WHERE o.tenant = r.tenant AND o.id = r.id AND o.attempts = 0 AND o.crashes = 0 AND o.lost = 0)
			RETURNING r.n, h.last_seq, h.commits, h.messages
	), b AS MATERIALIZED (
		SELECT r.*, t.last_seq, t.commits, t.messages FROM r JOIN t ON t.n = r.n
	), d AS (
		-- The dispatch, which is not over since its queue is claimed for it, and the other ones of the run.
		UPDATE {p}_dispatches d SET status = CASE WHEN d.id = b.id THEN b.status WHEN d.cancel AND b.cancelled THEN 'Cancelled' ELSE 'Acked' END,
				updated = v_at, completed = v_at, steps = CASE d.id WHEN b.id THEN greatest(d.steps, b.steps) ELSE d.steps END
			FROM b WHERE d.tenant = b.tenant AND d.thread = b.thread AND d.run = b.run AND d.completed = 0
	), x AS (
		UPDATE {p}_runs x SET status = 'done', data = b.record, last_seq = b.last_seq, agent = b.agent, version = b.version, origin = b.origin, parent = b.parent,
				detail = b.detail, error = b.error, cost = b.cost, created = b.created
			FROM b WHERE x.tenant = b.tenant AND x.id = b.run
	), c AS (
		INSERT INTO {p}_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries, calls)
			SELECT b.tenant, b.thread, b.last_seq, b.commits, b.messages, b.time, b.run, b.epoch,
				CASE WHEN b.count > 0 THEN p_texts[b.begin + 1:b.begin + b.count] END, b.entries, CASE WHEN b.calls > 0 THEN p_ledger[b.at + 1:b.at + b.calls] END
			FROM b
	), q AS (
		UPDATE {p}_queues q SET claimed = NULL, token = NULL, consumer = NULL, lease = NULL, stamp = NULL,
				priority = l.priority, wake = l.wake, suspect = l.suspect, since = CASE WHEN l.priority IS NOT NULL THEN v_now + b.n END
			FROM b CROSS JOIN LATERAL (
				SELECT min(o.priority) FILTER (WHERE o.available <= v_at) AS priority, min(o.available) FILTER (WHERE o.available > v_at) AS wake,
					coalesce(max(o.crashes), 0) >= 2 AS suspect
				FROM {p}_dispatches o WHERE o.tenant = b.tenant AND o.thread = b.thread AND o.completed = 0 AND o.run <> b.run) l
			WHERE q.tenant = b.tenant AND q.id = b.thread
			RETURNING b.n, coalesce(q.since, q.wake) IS NOT NULL AS due
	)
	SELECT array_agg(q.n), array_agg(q.due) INTO done, ready FROM q;
END $$;
