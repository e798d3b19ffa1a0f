-- Returns the ledger of a run, commit by commit.
CREATE OR REPLACE FUNCTION {p}_calls(p_tenant text, p_run text) RETURNS TABLE (calls text[]) LANGUAGE plpgsql STABLE AS $$
DECLARE
	r record;
BEGIN
	SELECT * INTO r FROM {p}_runs o WHERE o.tenant = p_tenant AND o.id = p_run;
	RETURN QUERY SELECT c.calls FROM {p}_commits c WHERE c.tenant = p_tenant AND c.thread = r.thread AND c.last >= r.first_seq AND c.last <= r.last_seq
		AND c.run = p_run AND c.calls IS NOT NULL ORDER BY c.last, c.n;
END $$;
