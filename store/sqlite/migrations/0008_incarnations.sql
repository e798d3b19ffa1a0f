-- Tells a thread from one of the same id that was removed before: processes keep the logs that
-- they have read. 0 in the threads of before.

ALTER TABLE {p}_threads ADD COLUMN incarnation INTEGER NOT NULL DEFAULT 0;
CREATE TRIGGER {p}_threads_incarnation AFTER INSERT ON {p}_threads BEGIN
	UPDATE {p}_threads SET incarnation = random() WHERE tenant = NEW.tenant AND id = NEW.id;
END;
