-- Logs that a commit asks questions. The reader finds the tickets in the commit. The text may also be in an argument of a call; then it finds none.
--
-- The conditions of this and the other trigger functions are in the functions: PostgreSQL reads the text of a trigger's condition again for each
-- statement, which takes longer than to call the function. No trigger runs before an update, because that locks the row first, which writes to the
-- log of the server; and a table has one trigger for each kind of statement.
CREATE OR REPLACE FUNCTION {p}_asked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF NEW.calls IS NOT NULL AND strpos(array_to_string(NEW.calls, ''), '"ticket":{') > 0 THEN
		INSERT INTO {p}_changes (tenant, kind, time, thread, run, seq, n) VALUES (NEW.tenant, 'ticket', NEW.time, NEW.thread, NEW.run, NEW.last, NEW.n);
	END IF;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_made AFTER INSERT ON {p}_commits FOR EACH ROW EXECUTE FUNCTION {p}_asked();
