-- Tells a thread from one of the same id that was removed before: processes keep the logs that
-- they have read. 0 in the threads of before.

CREATE SEQUENCE {p}_incarnations;
ALTER TABLE {p}_threads ADD COLUMN incarnation bigint NOT NULL DEFAULT 0;
ALTER TABLE {p}_threads ALTER COLUMN incarnation SET DEFAULT nextval('{p}_incarnations');
