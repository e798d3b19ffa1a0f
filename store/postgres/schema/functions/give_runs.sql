-- Gives the runs of a thread to the user that the thread is given to.
CREATE OR REPLACE FUNCTION {p}_give_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE {p}_runs r SET user_id = NEW.user_id WHERE r.tenant = NEW.tenant AND r.thread = NEW.id;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_threads_user AFTER UPDATE OF user_id ON {p}_threads FOR EACH ROW WHEN (OLD.user_id <> NEW.user_id) EXECUTE FUNCTION {p}_give_runs();
