-- The log of changes: what happens to runs, dispatches and questions of a tenant, in one order.
--
-- Triggers write it, in the transactions that make the changes, so that no way to make one leaves it out. A step of a run writes nothing
-- here. There is one writer, so the order of positions is that of the transactions. The last row is never removed: the
-- next position follows it.

CREATE TABLE {p}_changes (
	pos    INTEGER PRIMARY KEY,
	tenant TEXT    NOT NULL,
	kind   TEXT    NOT NULL,
	time   INTEGER NOT NULL,
	thread TEXT    NOT NULL DEFAULT '',
	run    TEXT    NOT NULL DEFAULT '',
	status TEXT    NOT NULL DEFAULT '',
	ref    TEXT    NOT NULL DEFAULT '', -- the dispatch, the ticket that was decided, or the number of the publication
	n      INTEGER                      -- of kind ticket: the row of the commit
);

CREATE TABLE {p}_changes_floor (
	one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
	pos  INTEGER NOT NULL DEFAULT 0, -- changes up to it may be gone
	time INTEGER NOT NULL DEFAULT 0  -- of the last of them
);
INSERT INTO {p}_changes_floor (one) VALUES (1);

CREATE TRIGGER {p}_runs_made AFTER INSERT ON {p}_runs BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.thread, NEW.id, NEW.status);
END;
CREATE TRIGGER {p}_runs_changed AFTER UPDATE OF status ON {p}_runs WHEN OLD.status <> NEW.status BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status) VALUES (NEW.tenant, 'run', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.thread, NEW.id, NEW.status);
END;

-- A dispatch that is the record of its run is the beginning of both: the run was created, and then the dispatch. It is one row, and the
-- first of the two changes has the position before.
CREATE TRIGGER {p}_dispatches_made AFTER INSERT ON {p}_dispatches BEGIN
	INSERT INTO {p}_changes (pos, tenant, kind, time, thread, run, status, ref)
		VALUES ((SELECT coalesce(max(pos), 0) FROM {p}_changes) + iif(NEW.born IS NULL, 1, 2), NEW.tenant, iif(NEW.born IS NULL, 'dispatch', 'accepted'),
			NEW.created, NEW.thread, NEW.run, NEW.status, NEW.id);
END;
CREATE TRIGGER {p}_dispatches_changed AFTER UPDATE ON {p}_dispatches
	WHEN OLD.status <> NEW.status OR NEW.completed = 0 AND (NEW.available <> OLD.available OR NEW.attempts > OLD.attempts OR NEW.lost > OLD.lost) BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, status, ref)
		VALUES (NEW.tenant, 'dispatch', CAST(unixepoch('subsec') * 1000 AS INTEGER), NEW.thread, NEW.run, NEW.status, NEW.id);
END;

CREATE TRIGGER {p}_decisions_made AFTER INSERT ON {p}_decisions BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, ref) VALUES (NEW.tenant, 'decision', NEW.at, NEW.thread, NEW.run, NEW.ticket);
END;

-- Which tickets they are, the reader sees in the commit. The text may also be in an argument of a call; then there are none.
CREATE TRIGGER {p}_commits_made AFTER INSERT ON {p}_commits WHEN instr(NEW.calls, '"ticket":{') > 0 BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, thread, run, n) VALUES (NEW.tenant, 'ticket', NEW.time, NEW.thread, NEW.run, NEW.rowid);
END;

CREATE TRIGGER {p}_config_changed AFTER UPDATE ON {p}_config_head WHEN OLD.live <> NEW.live BEGIN
	INSERT INTO {p}_changes (tenant, kind, time, status, ref)
		VALUES ('awaken.server', 'publication', CAST(unixepoch('subsec') * 1000 AS INTEGER), 'live', CAST(NEW.live AS TEXT));
END;
