-- The log of changes: what happens to runs, dispatches and questions of a tenant, in one order.
--
-- Triggers write it, in the transactions that make the changes, so that no way to make one leaves it out, and commits have no statement
-- more. A step of a run writes nothing here. A position is taken while the transaction holds the lock of the thread or its queue, so the
-- changes of a thread are in the order of their commits. Positions become visible in another order; see horizon.go.

-- Only every second position is of a row: one of kind accepted is two changes, and the first of them has the position before.
CREATE SEQUENCE {p}_changes_pos INCREMENT BY 2 START WITH 2;

CREATE TABLE {p}_changes (
	tenant text COLLATE "C" NOT NULL,
	pos    bigint NOT NULL DEFAULT nextval('{p}_changes_pos'),
	kind   text   NOT NULL,
	time   bigint NOT NULL,
	thread text COLLATE "C" NOT NULL DEFAULT '',
	run    text COLLATE "C" NOT NULL DEFAULT '',
	status text   NOT NULL DEFAULT '',
	ref    text COLLATE "C" NOT NULL DEFAULT '', -- the dispatch, the ticket that was decided, or the number of the publication
	seq    bigint,                               -- of kind ticket: the columns last and n of the commit
	n      bigint,
	PRIMARY KEY (pos, tenant)
);

CREATE TABLE {p}_changes_floor (
	one  integer NOT NULL PRIMARY KEY CHECK (one = 1),
	pos  bigint NOT NULL DEFAULT 0, -- changes up to it may be gone
	time bigint NOT NULL DEFAULT 0  -- of the last of them
);
INSERT INTO {p}_changes_floor (one) VALUES (1);

CREATE FUNCTION {p}_run_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', {p}_now() / 1000, NEW.thread, NEW.id, NEW.status);
	RETURN NULL;
END $$;
CREATE TRIGGER {p}_made AFTER INSERT ON {p}_runs FOR EACH ROW EXECUTE FUNCTION {p}_run_changed();
CREATE TRIGGER {p}_changed AFTER UPDATE OF status ON {p}_runs FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION {p}_run_changed();

-- A dispatch that is the record of its run is the beginning of both: the run was created, and then the dispatch.
CREATE FUNCTION {p}_dispatch_made() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
		VALUES (NEW.tenant, CASE WHEN NEW.born IS NULL THEN 'dispatch' ELSE 'accepted' END, NEW.created, NEW.thread, NEW.run, NEW.status, NEW.id);
	RETURN NULL;
END $$;
CREATE FUNCTION {p}_dispatch_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
		VALUES (NEW.tenant, 'dispatch', {p}_now() / 1000, NEW.thread, NEW.run, NEW.status, NEW.id);
	RETURN NULL;
END $$;
CREATE TRIGGER {p}_made AFTER INSERT ON {p}_dispatches FOR EACH ROW EXECUTE FUNCTION {p}_dispatch_made();
CREATE TRIGGER {p}_changed AFTER UPDATE ON {p}_dispatches FOR EACH ROW
	WHEN (OLD.status <> NEW.status OR NEW.completed = 0 AND (NEW.available <> OLD.available OR NEW.attempts > OLD.attempts OR NEW.lost > OLD.lost))
	EXECUTE FUNCTION {p}_dispatch_changed();

CREATE FUNCTION {p}_decided() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, ref) VALUES (NEW.tenant, 'decision', NEW.at, NEW.thread, NEW.run, NEW.ticket);
	RETURN NULL;
END $$;
CREATE TRIGGER {p}_made AFTER INSERT ON {p}_decisions FOR EACH ROW EXECUTE FUNCTION {p}_decided();

-- Which tickets they are, the reader sees in the commit. The text may also be in an argument of a call; then there are none.
CREATE FUNCTION {p}_asked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, seq, n) VALUES (NEW.tenant, 'ticket', NEW.time, NEW.thread, NEW.run, NEW.last, NEW.n);
	RETURN NULL;
END $$;
CREATE TRIGGER {p}_made AFTER INSERT ON {p}_commits FOR EACH ROW
	WHEN (NEW.calls IS NOT NULL AND strpos(array_to_string(NEW.calls, ''), '"ticket":{') > 0) EXECUTE FUNCTION {p}_asked();

CREATE FUNCTION {p}_published() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, status, ref) VALUES ('awaken.server', 'publication', {p}_now() / 1000, 'live', NEW.live::text);
	RETURN NULL;
END $$;
CREATE TRIGGER {p}_changed AFTER UPDATE ON {p}_config_head FOR EACH ROW WHEN (OLD.live <> NEW.live) EXECUTE FUNCTION {p}_published();
