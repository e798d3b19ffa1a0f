package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/money"
)

// write calls f in a transaction that has locked the head. Once begun it is not cut off by
// its context, so that its outcome is known.
func (s *configStore) write(ctx context.Context, what string, f func(ctx context.Context, tx pgx.Tx, head config.Head) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.db.timeout)
	defer cancel()
	err := s.db.transact(ctx, func(tx pgx.Tx) error {
		head, err := scanHead(tx.QueryRow(ctx, s.db.sql(selectHead+` FOR UPDATE`)))
		if err != nil {
			return err
		}
		return f(ctx, tx, head)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Turn waits for a lock of the database, which is given in the order in which it is asked
// for, and ends with its transaction.
func (s *configStore) Turn(ctx context.Context) (done func(), err error) {
	tx, err := s.db.pool.Begin(ctx)
	if err != nil {
		return nil, err
	}
	end := func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = tx.Rollback(ctx) // if that fails, the connection is gone, and the lock with it
	}
	if _, err := tx.Exec(ctx, s.db.sql(`SELECT pg_advisory_xact_lock(hashtextextended('{p}_config', 0))`)); err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// Apply makes a change.
func (s *configStore) Apply(ctx context.Context, change *config.Change) error {
	const what = "change the configuration"
	if err := change.Validate(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, func(ctx context.Context, tx pgx.Tx, head config.Head) error {
		known, err := s.known(ctx, tx, change.Audit)
		if err != nil || known {
			return err
		}
		if head, err = change.Next(head); err != nil {
			return err
		}
		if err := s.fits(ctx, tx, change); err != nil {
			return err
		}
		var b pgx.Batch
		if err := s.queue(&b, change, head); err != nil {
			return err
		}
		return tx.SendBatch(ctx, &b).Close()
	})
}

// known reports whether the first of the events is there: then all of the change is. If
// only others are, that is an error.
func (s *configStore) known(ctx context.Context, tx pgx.Tx, events []*config.AuditEvent) (bool, error) {
	if len(events) == 0 {
		return false, nil
	}
	var ids []string
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	rows, err := tx.Query(ctx, s.db.sql(`SELECT id FROM {p}_config_events WHERE id = ANY ($1)`), ids)
	if err != nil {
		return false, err
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	switch {
	case err != nil || len(there) == 0:
		return false, err
	case slices.Contains(there, ids[0]):
		return true, nil
	}
	return false, fmt.Errorf("%w: event %s is there already", awaken.ErrInvalid, there[0])
}

// fits returns why a change cannot be made of what is there, if it cannot.
func (s *configStore) fits(ctx context.Context, tx pgx.Tx, change *config.Change) error {
	var namespaces, ids []string
	for i := range change.Records {
		namespaces, ids = append(namespaces, string(change.Records[i].Key.Namespace)), append(ids, change.Records[i].Key.ID)
	}
	revisions := map[config.Key]int64{}
	rows, err := tx.Query(ctx, s.db.sql(`SELECT r.namespace, r.id, r.revision FROM unnest($1::text[], $2::text[]) AS k (namespace, id)
		JOIN {p}_config_records r ON r.namespace = k.namespace AND r.id = k.id`), namespaces, ids)
	if err != nil {
		return err
	}
	err = forEach(rows, func(rows pgx.Rows) error {
		var k config.Key
		var revision int64
		err := rows.Scan(&k.Namespace, &k.ID, &revision)
		revisions[k] = revision
		return err
	})
	if err != nil {
		return err
	}
	for i := range change.Records {
		if err := change.Records[i].Fits(revisions[change.Records[i].Key]); err != nil {
			return err
		}
	}
	if refers := change.Refers(); len(refers) > 0 {
		var missing []int64
		if err := tx.QueryRow(ctx, s.db.sql(`SELECT array_agg(n) FROM unnest($1::bigint[]) AS n WHERE NOT EXISTS (SELECT FROM {p}_config_publications p WHERE p.number = n)`), refers).Scan(&missing); err != nil {
			return err
		}
		if len(missing) > 0 {
			return config.Missing("publication", missing[0])
		}
	}
	if change.Publish == nil {
		return nil
	}
	hashes := slices.DeleteFunc(change.Publish.Hashes(), func(hash string) bool { _, given := change.Documents[hash]; return given })
	var missing []string
	if err := tx.QueryRow(ctx, s.db.sql(`SELECT array_agg(h) FROM unnest($1::text[]) AS h WHERE NOT EXISTS (SELECT FROM {p}_config_documents d WHERE d.hash = h)`), hashes).Scan(&missing); err != nil {
		return err
	}
	if len(missing) > 0 {
		return config.Missing("document", missing[0])
	}
	return nil
}

// queue adds the statements that make a change.
func (s *configStore) queue(b *pgx.Batch, change *config.Change, head config.Head) error {
	do := func(query string, args ...any) { b.Queue(s.db.sql(query), args...) }
	if change.Publish != nil || change.SetHead != nil {
		canary, err := encode(head.Canary)
		if err != nil {
			return err
		}
		do(`UPDATE {p}_config_head SET revision = $1, last = $2, live = $3, canary = nullif($4, 'null')`, head.Revision, head.Last, head.Live, canary)
	}
	for i := range change.Records {
		r := &change.Records[i]
		if r.Record == nil {
			do(`DELETE FROM {p}_config_records WHERE namespace = $1 AND id = $2`, string(r.Key.Namespace), r.Key.ID)
			continue
		}
		m := r.Record.Meta
		m.UserOverrides = nil
		meta, err := encode(m)
		if err != nil {
			return err
		}
		do(`INSERT INTO {p}_config_records (namespace, id, revision, spec, overrides, meta) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (namespace, id) DO UPDATE SET revision = excluded.revision, spec = excluded.spec, overrides = excluded.overrides, meta = excluded.meta`,
			string(r.Key.Namespace), r.Key.ID, m.Revision, string(r.Record.Spec), string(r.Record.Meta.UserOverrides), meta)
	}
	for _, sc := range change.Secrets {
		if sc.Secret == nil {
			do(`DELETE FROM {p}_config_secrets WHERE ref = $1`, sc.Ref)
			continue
		}
		data, err := encode(sc.Secret)
		if err != nil {
			return err
		}
		do(`INSERT INTO {p}_config_secrets (ref, data) VALUES ($1, $2) ON CONFLICT (ref) DO UPDATE SET data = excluded.data`, sc.Ref, data)
	}
	for _, hash := range slices.Sorted(maps.Keys(change.Documents)) {
		do(`INSERT INTO {p}_config_documents (hash, data) VALUES ($1, $2) ON CONFLICT DO NOTHING`, hash, string(change.Documents[hash]))
	}
	if change.Publish != nil {
		p := *change.Publish
		hashes := p.Hashes()
		var manifest *string
		if len(p.Manifest) > 0 {
			text, err := encode(p.Manifest)
			if err != nil {
				return err
			}
			manifest = &text
		}
		p.Manifest = nil
		data, err := encode(p)
		if err != nil {
			return err
		}
		do(`INSERT INTO {p}_config_publications (number, base, at, data, manifest) VALUES ($1, $2, $3, $4, $5)`, p.Number, p.Base, p.At, data, manifest)
		do(`INSERT INTO {p}_config_uses (hash, publication) SELECT h, $1 FROM unnest($2::text[]) AS h`, p.Number, hashes)
	}
	for _, event := range change.Audit {
		e := *event
		e.Before, e.After, e.Time = nil, nil, e.Time.UTC().Truncate(time.Microsecond)
		data, err := encode(e)
		if err != nil {
			return err
		}
		do(`INSERT INTO {p}_config_events (id, time, action, resource, actor, data, before, after) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			e.ID, e.Time.UnixMicro(), e.Action, e.Resource, e.Actor, data, string(event.Before), string(event.After))
	}
	do(`SELECT pg_notify('{p}_config', '')`)
	return nil
}

// Tally adds to a tally.
func (s *configStore) Tally(ctx context.Context, number int64, add config.Tally) error {
	what := fmt.Sprintf("tally of publication %d", number)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.db.timeout)
	defer cancel()
	// It is not tried again: it might be added twice.
	tag, err := s.db.pool.Exec(ctx, s.db.sql(`UPDATE {p}_config_publications
		SET runs = coalesce(runs, 0) + $2, errors = coalesce(errors, 0) + $3, cost = coalesce(cost, 0) + $4, latency = coalesce(latency, 0) + $5 WHERE number = $1`),
		number, add.Runs, add.Errors, int64(money.Dollars(add.CostUSD)), add.LatencyMS)
	if err == nil && tag.RowsAffected() == 0 {
		err = awaken.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Purge removes what is old.
func (s *configStore) Purge(ctx context.Context, audit, versions time.Duration) (config.Purged, error) {
	var purged config.Purged
	err := s.write(ctx, "purge the configuration", func(ctx context.Context, tx pgx.Tx, head config.Head) (err error) {
		purged = config.Purged{}
		now := s.db.now()
		if audit > 0 {
			tag, err := tx.Exec(ctx, s.db.sql(`DELETE FROM {p}_config_events WHERE time < $1`), now.Add(-audit).UnixMicro())
			if err != nil {
				return err
			}
			purged.Events = int(tag.RowsAffected())
		}
		if versions > 0 {
			purged.Publications, purged.Documents, err = s.purgePublications(ctx, tx, head, now.Add(-versions).UnixMilli())
		}
		return err
	})
	return purged, err
}

func (s *configStore) purgePublications(ctx context.Context, tx pgx.Tx, head config.Head, before int64) (publications, documents int, err error) {
	pinned, err := s.pinned(ctx, tx)
	if err != nil {
		return 0, 0, err
	}
	rows, err := tx.Query(ctx, s.db.sql(`SELECT number, base, at, manifest IS NOT NULL FROM {p}_config_publications`))
	if err != nil {
		return 0, 0, err
	}
	var all []*config.Publication
	err = forEach(rows, func(rows pgx.Rows) error {
		p := new(config.Publication)
		var whole bool
		err := rows.Scan(&p.Number, &p.Base, &p.At, &whole)
		if whole {
			p.Manifest = make([]config.Entry, 1)
		}
		all = append(all, p)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	gone := config.Unneeded(all, head, pinned, before)
	if len(gone) == 0 {
		return 0, 0, nil
	}
	for _, query := range []string{`DELETE FROM {p}_config_publications WHERE number = ANY ($1)`, `DELETE FROM {p}_config_uses WHERE publication = ANY ($1)`} {
		if _, err := tx.Exec(ctx, s.db.sql(query), gone); err != nil {
			return 0, 0, err
		}
	}
	tag, err := tx.Exec(ctx, s.db.sql(`DELETE FROM {p}_config_documents d WHERE NOT EXISTS (SELECT FROM {p}_config_uses u WHERE u.hash = d.hash)`))
	return len(gone), int(tag.RowsAffected()), err
}

// pinned returns the publications that runs that are not done are pinned to, of all
// tenants. Tenants are gone through by the index, which leads with them.
func (s *configStore) pinned(ctx context.Context, tx pgx.Tx) (out []int64, err error) {
	rows, err := tx.Query(ctx, s.db.sql(`WITH RECURSIVE t (tenant) AS (
			SELECT min(tenant) FROM {p}_runs
			UNION ALL SELECT (SELECT min(r.tenant) FROM {p}_runs r WHERE r.tenant > t.tenant) FROM t WHERE t.tenant IS NOT NULL)
		SELECT DISTINCT coalesce(x.record::json ->> 'resolution_id', '') FROM (
			SELECT `+runColumns+` FROM t JOIN {p}_runs r ON r.tenant = t.tenant AND r.status IN ('created', 'running', 'waiting')) x (id, thread, record)`))
	if err != nil {
		return nil, err
	}
	err = forEach(rows, func(rows pgx.Rows) error {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if number, err := strconv.ParseInt(id, 10, 64); err == nil { // others come from code
			out = append(out, number)
		}
		return nil
	})
	return out, err
}
