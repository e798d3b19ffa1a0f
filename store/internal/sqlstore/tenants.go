package sqlstore

import "context"

// Tenants returns the tenants that have threads or schedules, sorted. It takes one look into an index
// for each of them, however many threads they have.
func Tenants(ctx context.Context, db DB) ([]string, error) {
	const query = `WITH RECURSIVE
		t (tenant) AS (
			SELECT min(tenant) FROM {p}_threads
			UNION ALL
			SELECT (SELECT min(tenant) FROM {p}_threads WHERE tenant > t.tenant) FROM t WHERE t.tenant IS NOT NULL),
		s (tenant) AS (
			SELECT min(tenant) FROM {p}_schedules
			UNION ALL
			SELECT (SELECT min(tenant) FROM {p}_schedules WHERE tenant > s.tenant) FROM s WHERE s.tenant IS NOT NULL)
		SELECT tenant FROM t WHERE tenant IS NOT NULL UNION SELECT tenant FROM s WHERE tenant IS NOT NULL ORDER BY 1`
	return list(ctx, db, "tenants", query, nil, func(scan Scan) (tenant string, err error) {
		err = scan(&tenant)
		db.Dialect().unescape(&tenant)
		return tenant, err
	})
}
