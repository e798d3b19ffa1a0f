-- Who is to blame for the death of a process. Which processes live is told by the files of
-- process.go, not by a table.

ALTER TABLE {p}_dispatches ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0; -- processes that died while they ran it
ALTER TABLE {p}_dispatches ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;    -- when its last owner was lost, or 0
ALTER TABLE {p}_queues ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;     -- one of its dispatches may have killed its processes

DROP INDEX {p}_queues_ready;
CREATE INDEX {p}_queues_ready ON {p}_queues (suspect, priority, since) WHERE since IS NOT NULL;
