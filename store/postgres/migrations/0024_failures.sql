-- The failures of a dispatch's attempts, the last 20. A trigger keeps them, so that the functions that settle and
-- reclaim are the same as before, also for processes of the version before: it is not called unless an attempt failed.

ALTER TABLE {p}_dispatches ADD COLUMN failures text; -- JSON array, or NULL

CREATE FUNCTION {p}_failed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	v_list jsonb := coalesce(OLD.failures, '[]')::jsonb;
BEGIN
	IF jsonb_array_length(v_list) >= 20 THEN v_list := v_list - 0; END IF;
	NEW.failures := (v_list || jsonb_build_object('at', NEW.updated, 'error', CASE WHEN NEW.lost > 0 THEN '' ELSE NEW.error END,
		'worker', coalesce((SELECT q.consumer FROM {p}_queues q WHERE q.tenant = NEW.tenant AND q.id = NEW.thread AND q.claimed = NEW.id), ''),
		'lost', NEW.lost > 0))::text;
	RETURN NEW;
END $$;

CREATE TRIGGER {p}_dispatches_failures BEFORE UPDATE ON {p}_dispatches FOR EACH ROW
WHEN (NEW.lost > 0 AND NEW.lost <> OLD.lost
	OR NEW.lost = 0 AND NEW.attempts > 0 AND (NEW.attempts <> OLD.attempts OR NEW.steps <> OLD.steps)
	OR NEW.status = 'DeadLetter' AND OLD.status <> 'DeadLetter' AND NEW.error <> OLD.error)
EXECUTE FUNCTION {p}_failed();

-- For lists of what ended in another way than by being processed: few rows.
CREATE INDEX {p}_dispatches_ended ON {p}_dispatches (tenant, id) WHERE status IN ('DeadLetter', 'Cancelled', 'Superseded');
