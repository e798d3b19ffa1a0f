-- Accepts runs and begins them: queues and claims their dispatches, acquires their threads, and makes their first commits, each in one statement for all.
-- The arguments are arrays with an element for each run, except p_texts, which has the messages of all: p_counts[i] of them behind p_froms[i]. A
-- thread is known if its last owner was this process; it must be as that owner left it. Other threads must be new.
--
-- Started has the places of the runs that were started, from 1, and epochs the epochs of their queues. The others change nothing; if there are any,
-- floors has for each run the fence behind which the new threads of its tenant begin. A key, a message or
-- a run that is in use fails with a unique violation, and a thread that changes meanwhile with AW002: the caller then tries them one by one.
CREATE OR REPLACE FUNCTION {p}_start(
	p_tenants text[], p_threads text[], p_runs text[], p_ids text[], p_tokens text[], p_consumers text[], p_leases bigint[], p_priorities bigint[], p_limits bigint[],
	p_dedupes text[], p_keys text[], p_digests text[], p_requests text[], p_messages text[], p_saids text[], p_users text[], p_confined boolean[],
	p_known boolean[], p_fences bigint[], p_numbers bigint[], p_generations bigint[], p_edits bigint[], p_expects bigint[], p_times bigint[],
	p_firsts bigint[], p_lasts bigint[], p_epochs bigint[], p_records text[], p_parents text[], p_agents text[], p_versions text[], p_origins text[], p_created bigint[],
	p_entries text[], p_froms bigint[], p_counts bigint[], p_texts text[],
	OUT at bigint, OUT started bigint[], OUT epochs bigint[], OUT floors bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
	v_begun bigint;
BEGIN
	at := {p}_now() / 1000;
	WITH r AS MATERIALIZED (
		SELECT * FROM unnest(p_tenants, p_threads, p_runs, p_ids, p_tokens, p_consumers, p_leases, p_priorities, p_limits, p_dedupes, p_keys, p_digests, p_requests,
			p_messages, p_saids, p_users, p_confined, p_known, p_fences, p_numbers, p_generations, p_edits, p_expects, p_times, p_firsts, p_lasts, p_epochs, p_records,
			p_parents, p_agents, p_versions, p_origins, p_created, p_entries, p_froms, p_counts) WITH ORDINALITY
			AS r (tenant, thread, run, id, token, consumer, lease, priority, most, dedupe, key, digest, request,
			message, said, user_id, confined, known, fence, number, generation, edits, expect, time, first, last, epoch, record,
			parent, agent, version, origin, created, entries, begin, count, n)
	), alive AS MATERIALIZED (
		-- A process that is leaving or being buried claims nothing; one that does so later waits for this lock, and then finds what is
		-- claimed here. The lock does not hold up heartbeats, nor wait for any.
		SELECT p.id FROM {p}_processes p WHERE p.id = ANY (p_consumers) AND p.until > at FOR KEY SHARE SKIP LOCKED
	), turn AS MATERIALIZED ( -- no dispatch is overtaken
		SELECT CASE WHEN (SELECT o.wake FROM {p}_queues o WHERE o.wake IS NOT NULL ORDER BY o.wake LIMIT 1) <= at THEN -1
			ELSE coalesce((SELECT o.priority FROM {p}_queues o WHERE NOT o.suspect AND o.since IS NOT NULL ORDER BY o.priority LIMIT 1), 256) END AS below
	), ok AS MATERIALIZED (
		SELECT r.* FROM turn JOIN r ON r.priority < turn.below LEFT JOIN {p}_threads h ON h.tenant = r.tenant AND h.id = r.thread
			WHERE r.consumer IN (SELECT alive.id FROM alive) AND CASE WHEN r.known
				THEN h.fence = r.fence - 1 AND h.generation = r.generation AND h.edits = r.edits AND h.messages = r.expect AND h.open_run = '' AND h.unread = 0
					AND (h.user_id = r.user_id OR NOT r.confined)
				ELSE h.id IS NULL AND coalesce((SELECT f.floor FROM {p}_tenants f WHERE f.tenant = r.tenant), 0) = r.fence - 1 END
			ORDER BY r.tenant COLLATE "C", r.thread COLLATE "C"
	), q AS (
		-- A queue that is neither claimed nor ready, and does not wait for a time, is empty.
		INSERT INTO {p}_queues AS o (tenant, id, claimed, token, consumer, lease, stamp)
			SELECT ok.tenant, ok.thread, ok.id, ok.token, ok.consumer, at + ok.lease, at FROM ok
			ON CONFLICT (tenant, id) DO UPDATE SET claimed = excluded.claimed, token = excluded.token, consumer = excluded.consumer, lease = excluded.lease, stamp = excluded.stamp
			WHERE o.claimed IS NULL AND o.since IS NULL AND o.wake IS NULL
			RETURNING o.tenant, o.id, o.epoch
	), b AS MATERIALIZED (
		SELECT ok.*, q.epoch AS turn, nextval('{p}_clock') AS born FROM ok JOIN q ON q.tenant = ok.tenant AND q.id = ok.thread
	), made AS (
		INSERT INTO {p}_threads (tenant, id, parent, created, updated, touched, fence, committed, messages, last_seq, open_run, latest_run, commits, run, user_id)
			SELECT b.tenant, b.thread, b.parent, at, b.time, b.born, b.fence, b.number, b.count, b.last, b.run, b.run, 1, b.record, b.user_id FROM b WHERE NOT b.known
			ON CONFLICT DO NOTHING RETURNING tenant, id, last_seq, commits, messages, user_id
	), kept AS (
		UPDATE {p}_threads h SET updated = b.time, touched = b.born, fence = b.fence, committed = b.number, messages = h.messages + b.count,
				last_seq = greatest(h.last_seq, b.last), open_run = b.run, latest_run = b.run, commits = h.commits + 1, run = b.record
			FROM b WHERE b.known AND h.tenant = b.tenant AND h.id = b.thread AND h.fence = b.fence - 1 AND h.generation = b.generation AND h.edits = b.edits
				AND h.messages = b.expect AND h.last_seq < b.first AND h.open_run = '' AND h.unread = 0
			RETURNING h.tenant, h.id, h.last_seq, h.commits, h.messages, h.user_id
	), t AS MATERIALIZED (
		SELECT * FROM made UNION ALL SELECT * FROM kept
	), x AS (
		INSERT INTO {p}_runs (tenant, id, thread, status, born, data, first_seq, last_seq, agent, version, origin, created, user_id)
			SELECT b.tenant, b.run, b.thread, 'running', b.born, b.record, least(t.last_seq, b.first - 1), 9223372036854775807, b.agent, b.version, b.origin, b.created, t.user_id
			FROM b JOIN t ON t.tenant = b.tenant AND t.id = b.thread
	), d AS (
		INSERT INTO {p}_dispatches (tenant, id, thread, run, status, priority, available, created, updated, epoch, max_attempts, dedupe, key, digest, request, born, message, said)
			SELECT b.tenant, b.id, b.thread, b.run, 'Queued', b.priority, at, at, at, b.turn, b.most, b.dedupe, b.key, b.digest, b.request, b.born, b.message, b.said
			FROM b JOIN t ON t.tenant = b.tenant AND t.id = b.thread
	), c AS (
		INSERT INTO {p}_commits (tenant, thread, last, n, upto, time, run, epoch, messages, entries)
			SELECT b.tenant, b.thread, t.last_seq, t.commits, t.messages, b.time, b.run, b.epoch,
				CASE WHEN b.count > 0 THEN p_texts[b.begin + 1:b.begin + b.count] END, b.entries
			FROM b JOIN t ON t.tenant = b.tenant AND t.id = b.thread
	)
	SELECT array_agg(b.n), array_agg(b.turn), count(t.id) INTO started, epochs, v_begun FROM b LEFT JOIN t ON t.tenant = b.tenant AND t.id = b.thread;
	IF v_begun < coalesce(cardinality(started), 0) THEN
		RAISE EXCEPTION 'a thread has changed' USING ERRCODE = 'AW002';
	END IF;
	IF v_begun < cardinality(p_runs) THEN
		floors := ARRAY(SELECT coalesce((SELECT f.floor FROM {p}_tenants f WHERE f.tenant = u.tenant), 0) FROM unnest(p_tenants) WITH ORDINALITY AS u (tenant, n) ORDER BY u.n);
	END IF;
END $$;
