package postgres

import (
	"context"

	"github.com/awaken-go/awaken/store/internal/sqlstore"
)

// engine is the engine of the shared ports. Transactions are concurrent, so it locks what
// they read.
var engine = &sqlstore.Engine{
	Log: log,
	Inherit: `UPDATE {p}_commits SET thread = ?3, last = upto - 9223372036854775807, run = '', epoch = 0, entries = NULL, calls = NULL,
		upto = least(upto, ?4), messages = messages[1 : least(cardinality(messages), ?4 - upto + cardinality(messages))]
		WHERE tenant = ?1 AND thread = ?2 AND messages IS NOT NULL AND upto - cardinality(messages) < ?4`,
	LockQueues: lockQueues,
	LockIdle:   lockIdle,
	// An advisory lock, since not every run has a row to lock.
	LockBudget:  `SELECT pg_advisory_xact_lock(hashtextextended('{p}/' || ?1::text || '/' || ?2::text, 0))`,
	AddBalances: `INSERT INTO {p}_balances (tenant, scope, id) SELECT ?1, a.scope, a.id FROM {accounts} ORDER BY a.n ON CONFLICT DO NOTHING`,
}

func lockQueues(ctx context.Context, c sqlstore.Conn, tenant string, ids []string) error {
	_, err := c.Exec(ctx, sqlstore.Statement{Query: `INSERT INTO {p}_queues AS q (tenant, id) SELECT ?, j.value FROM {texts} ORDER BY j.value COLLATE "C"
		ON CONFLICT (tenant, id) DO UPDATE SET epoch = q.epoch`, Args: []any{tenant, ids}})
	return err
}

func lockIdle(ctx context.Context, c sqlstore.Conn, tenant string, before int64, ids []string) ([]string, error) {
	// Not every thread has a row to lock in queues yet.
	_, err := c.Exec(ctx, sqlstore.Statement{Query: `INSERT INTO {p}_queues (tenant, id) SELECT ?, j.value FROM {texts} ORDER BY j.value COLLATE "C"
		ON CONFLICT DO NOTHING`, Args: []any{tenant, ids}})
	list := func(query string, args ...any) {
		if err != nil {
			return
		}
		ids = nil
		err = c.Query(ctx, query+` FOR UPDATE SKIP LOCKED`, args, func(scan sqlstore.Scan) error {
			ids = append(ids, "")
			return scan(&ids[len(ids)-1])
		})
	}
	list(`SELECT q.id FROM {p}_queues q WHERE q.tenant = ? AND q.id = ANY (?)`, tenant, ids)
	list(`SELECT t.id FROM {p}_threads t WHERE `+sqlstore.Idle+` AND t.id = ANY (?3)`, tenant, before, ids)
	return ids, err
}
