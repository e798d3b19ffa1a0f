-- Until a run starts, its dispatch is its record: no row is written for it before.

ALTER TABLE {p}_dispatches ADD COLUMN born INTEGER; -- orders runs, if it is the record of its run until that has one; NULL otherwise
DROP INDEX {p}_dispatches_run;
CREATE INDEX {p}_dispatches_run ON {p}_dispatches (tenant, run) WHERE born IS NOT NULL;
CREATE INDEX {p}_dispatches_born ON {p}_dispatches (tenant, born DESC) WHERE completed = 0 AND born IS NOT NULL;
