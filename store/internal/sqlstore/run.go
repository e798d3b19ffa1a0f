package sqlstore

// runRecord is the record of a run of runs, as r. While a run is running its thread has
// it.
const runRecord = `CASE r.status WHEN 'running' THEN coalesce(
	(SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END`
