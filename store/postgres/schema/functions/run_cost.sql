-- Adds what the cost of a run grew by to the cost of its thread.
CREATE OR REPLACE FUNCTION {p}_run_cost() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	v_more numeric := NEW.cost;
BEGIN
	IF TG_OP = 'UPDATE' THEN v_more := v_more - OLD.cost; END IF;
	UPDATE {p}_threads t SET cost = greatest(least(coalesce(t.cost, 0) + v_more, 9223372036854775807), 0) WHERE t.tenant = NEW.tenant AND t.id = NEW.thread;
	RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER {p}_cost_set AFTER INSERT ON {p}_runs FOR EACH ROW WHEN (NEW.cost <> 0) EXECUTE FUNCTION {p}_run_cost();
CREATE OR REPLACE TRIGGER {p}_cost_changed AFTER UPDATE OF cost ON {p}_runs FOR EACH ROW WHEN (NEW.cost <> OLD.cost) EXECUTE FUNCTION {p}_run_cost();
