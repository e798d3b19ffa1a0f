-- The failures of a dispatch's attempts, the last 20. A trigger keeps them, so that the statements that settle and
-- reclaim are the same as before, also those of processes of the version before: it does nothing unless an attempt failed.

ALTER TABLE {p}_dispatches ADD COLUMN failures TEXT; -- JSON array, or NULL
CREATE TRIGGER {p}_dispatches_failures AFTER UPDATE OF attempts, lost, status ON {p}_dispatches
WHEN NEW.lost > 0 AND NEW.lost <> OLD.lost
	OR NEW.lost = 0 AND NEW.attempts > 0 AND (NEW.attempts <> OLD.attempts OR NEW.steps <> OLD.steps)
	OR NEW.status = 'DeadLetter' AND OLD.status <> 'DeadLetter' AND NEW.error <> OLD.error
BEGIN
	UPDATE {p}_dispatches SET failures = json_insert(
			CASE WHEN json_array_length(coalesce(failures, '[]')) >= 20 THEN json_remove(failures, '$[0]') ELSE coalesce(failures, '[]') END,
			'$[#]', json_object('at', NEW.updated, 'error', CASE WHEN NEW.lost > 0 THEN '' ELSE NEW.error END,
				'worker', coalesce((SELECT q.consumer FROM {p}_queues q WHERE q.tenant = NEW.tenant AND q.id = NEW.thread AND q.claimed = NEW.id), ''),
				'lost', json(CASE WHEN NEW.lost > 0 THEN 'true' ELSE 'false' END)))
		WHERE tenant = NEW.tenant AND id = NEW.id;
END;

-- For lists of what ended in another way than by being processed: few rows.
CREATE INDEX {p}_dispatches_ended ON {p}_dispatches (tenant, id) WHERE status IN ('DeadLetter', 'Cancelled', 'Superseded');
