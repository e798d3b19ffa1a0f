-- What the runs of a thread cost, as they last began, waited or ended, in billionths of a US dollar; NULL if they cost nothing: such
-- runs write nothing.

ALTER TABLE {p}_threads ADD COLUMN cost bigint;
UPDATE {p}_threads t SET cost = least(s.cost, 9223372036854775807)
	FROM (SELECT r.tenant, r.thread, sum(r.cost) AS cost FROM {p}_runs r WHERE r.cost <> 0 GROUP BY r.tenant, r.thread) s
	WHERE t.tenant = s.tenant AND t.id = s.thread;

CREATE FUNCTION {p}_count_cost() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0)::numeric + NEW.cost - CASE TG_OP WHEN 'UPDATE' THEN OLD.cost ELSE 0 END, 9223372036854775807), 0)
		WHERE t.tenant = NEW.tenant AND t.id = NEW.thread;
	RETURN NULL;
END $$;
CREATE TRIGGER {p}_runs_cost_set AFTER INSERT ON {p}_runs FOR EACH ROW WHEN (NEW.cost <> 0) EXECUTE FUNCTION {p}_count_cost();
CREATE TRIGGER {p}_runs_cost_changed AFTER UPDATE ON {p}_runs FOR EACH ROW WHEN (OLD.cost <> NEW.cost) EXECUTE FUNCTION {p}_count_cost();
