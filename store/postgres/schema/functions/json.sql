-- Returns a stored text as JSON that can be read whatever characters are in it.
CREATE OR REPLACE FUNCTION {p}_json(p_text text) RETURNS json LANGUAGE sql IMMUTABLE AS $$
	SELECT (CASE WHEN p_text ~ '\\u(0000|[dD][89a-fA-F])'
		THEN regexp_replace(p_text, '(?<!\\)((\\\\)*)\\u(0000|[dD][89a-fA-F][0-9a-fA-F][0-9a-fA-F])', '\1_', 'g') ELSE p_text END)::json
$$;
