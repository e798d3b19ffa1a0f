-- Returns the clock of the queue, in unix µs.
CREATE OR REPLACE FUNCTION {p}_now() RETURNS bigint LANGUAGE sql VOLATILE AS
	$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;
