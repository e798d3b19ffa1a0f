-- Keeps the last 20 failures of a dispatch's attempts. A statement under which no attempt fails does not set the number of attempts.
CREATE OR REPLACE FUNCTION {p}_dispatch_failed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	v_list jsonb;
BEGIN
	IF NEW.lost > 0 AND NEW.lost <> OLD.lost
		OR NEW.lost = 0 AND NEW.attempts > 0 AND (NEW.attempts <> OLD.attempts OR NEW.steps <> OLD.steps)
		OR NEW.status = 'DeadLetter' AND OLD.status <> 'DeadLetter' AND NEW.error <> OLD.error THEN
		v_list := coalesce(NEW.failures, '[]')::jsonb;
		IF jsonb_array_length(v_list) >= 20 THEN v_list := v_list - 0; END IF;
		UPDATE {p}_dispatches d SET failures = (v_list || jsonb_build_object('at', NEW.updated, 'error', CASE WHEN NEW.lost > 0 THEN '' ELSE NEW.error END,
				'worker', coalesce((SELECT q.consumer FROM {p}_queues q WHERE q.tenant = NEW.tenant AND q.id = NEW.thread AND q.claimed = NEW.id), ''),
				'lost', NEW.lost > 0))::text
			WHERE d.tenant = NEW.tenant AND d.id = NEW.id;
	END IF;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_failed AFTER UPDATE OF attempts ON {p}_dispatches FOR EACH ROW EXECUTE FUNCTION {p}_dispatch_failed();
