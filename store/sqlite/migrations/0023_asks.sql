-- Whether a commit has questions to people, a process that makes it says: to look for them in the text of the calls took longer
-- than to log those that there were. Processes of the version before do not say it.

ALTER TABLE {p}_commits ADD COLUMN asks INTEGER; -- whether calls have tickets; NULL without calls, or if it is not known
DROP TRIGGER {p}_commits_made;
CREATE TRIGGER {p}_commits_made AFTER INSERT ON {p}_commits WHEN coalesce(NEW.asks, instr(NEW.calls, '"ticket":{')) > 0 BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, n) VALUES (NEW.tenant, 'ticket', NEW.time, NEW.thread, NEW.run, NEW.rowid);
END;
