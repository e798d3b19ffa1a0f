-- What the runs of a thread cost, as they last began, waited or ended, in billionths of a US dollar; NULL if they cost nothing: such
-- runs write nothing.

ALTER TABLE {p}_threads ADD COLUMN cost INTEGER;
UPDATE {p}_threads SET cost = CAST(min(s.cost, 9223372036854775807) AS INTEGER)
	FROM (SELECT tenant, thread, total(cost) AS cost FROM {p}_runs WHERE cost <> 0 GROUP BY tenant, thread) s
	WHERE {p}_threads.tenant = s.tenant AND {p}_threads.id = s.thread;

CREATE TRIGGER {p}_runs_cost_set AFTER INSERT ON {p}_runs WHEN NEW.cost <> 0 BEGIN
	UPDATE {p}_threads SET cost = CAST(max(min(coalesce(cost, 0) + NEW.cost, 9223372036854775807), 0) AS INTEGER) WHERE tenant = NEW.tenant AND id = NEW.thread;
END;
CREATE TRIGGER {p}_runs_cost_changed AFTER UPDATE OF cost ON {p}_runs WHEN OLD.cost <> NEW.cost BEGIN
	UPDATE {p}_threads SET cost = CAST(max(min(coalesce(cost, 0) + NEW.cost - OLD.cost, 9223372036854775807), 0) AS INTEGER) WHERE tenant = NEW.tenant AND id = NEW.thread;
END;
