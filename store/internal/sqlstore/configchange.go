package sqlstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/limit/money"
)

// write calls f in a transaction that has locked the head. The context does not cancel a
// transaction that has begun, so that its outcome is known.
func (s *Config) write(ctx context.Context, what string, f func(ctx context.Context, c Conn, h config.Head) (refused, err error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := s.uncut(ctx)
	defer cancel()
	err := s.DB.Write(ctx, func(ctx context.Context, c Conn) (refused, err error) {
		h, err := head(ctx, c, selectHead+`{lock}`)
		if err != nil {
			return nil, err
		}
		return f(ctx, c, h)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// uncut returns a context that ends with the timeout instead of ctx.
func (s *Config) uncut(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = context.WithoutCancel(ctx)
	if s.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.Timeout)
}

// Apply applies a change, all or nothing.
func (s *Config) Apply(ctx context.Context, change *config.Change) error {
	const what = "change the configuration"
	if err := change.Validate(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, func(ctx context.Context, c Conn, h config.Head) (refused, err error) {
		known, refused, err := s.known(ctx, c, change.Audit)
		if known || refused != nil || err != nil {
			return refused, err
		}
		if h, refused = change.Next(h); refused != nil {
			return refused, nil
		}
		if refused, err = s.fits(ctx, c, change); refused != nil || err != nil {
			return refused, err
		}
		statements, err := s.statements(change, h)
		if err != nil {
			return nil, err
		}
		_, err = c.Exec(ctx, statements...)
		return nil, err
	})
}

// known reports whether the first of the events is stored, which means that the change was
// already applied. It refuses a change of which only other events are stored.
func (s *Config) known(ctx context.Context, c Conn, events []*config.AuditEvent) (known bool, refused, err error) {
	if len(events) == 0 {
		return false, nil, nil
	}
	ids := make([]string, len(events))
	for i, e := range events {
		ids[i] = e.ID
	}
	there, err := column[string](ctx, c, `SELECT e.id FROM {texts} JOIN {p}_config_events e ON e.id = j.value`, ids)
	switch {
	case err != nil || len(there) == 0:
		return false, nil, err
	case slices.Contains(there, ids[0]):
		return true, nil, nil
	}
	return false, fmt.Errorf("%w: event %s already exists", awaken.ErrInvalid, there[0]), nil
}

// fits refuses a change that does not match what is stored.
func (s *Config) fits(ctx context.Context, c Conn, change *config.Change) (refused, err error) {
	revisions, err := s.revisions(ctx, c, change.Records)
	if err != nil {
		return nil, err
	}
	for i := range change.Records {
		if refused := change.Records[i].Fits(revisions[change.Records[i].Key]); refused != nil {
			return refused, nil
		}
	}
	if refers := change.Refers(); len(refers) > 0 {
		missing, err := column[int64](ctx, c, `SELECT j.value FROM {numbers} WHERE NOT EXISTS (SELECT 1 FROM {p}_config_publications p WHERE p.number = j.value)`, refers)
		if err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			return config.Missing("publication", missing[0]), nil
		}
	}
	if change.Publish == nil {
		return nil, nil
	}
	hashes := slices.DeleteFunc(change.Publish.Hashes(), func(hash string) bool { _, given := change.Documents[hash]; return given })
	if len(hashes) == 0 {
		return nil, nil
	}
	missing, err := column[string](ctx, c, `SELECT j.value FROM {texts} WHERE NOT EXISTS (SELECT 1 FROM {p}_config_documents d WHERE d.hash = j.value)`, hashes)
	if err == nil && len(missing) > 0 {
		refused = config.Missing("document", missing[0])
	}
	return refused, err
}

// revisions returns the stored revisions of the records of a change.
func (s *Config) revisions(ctx context.Context, c Conn, records []config.RecordChange) (map[config.Key]int64, error) {
	ids := map[config.Namespace][]string{}
	for i := range records {
		ids[records[i].Key.Namespace] = append(ids[records[i].Key.Namespace], records[i].Key.ID)
	}
	out := map[config.Key]int64{}
	for _, ns := range slices.Sorted(maps.Keys(ids)) {
		err := c.Query(ctx, `SELECT id, revision FROM {p}_config_records WHERE namespace = ? AND id IN (SELECT j.value FROM {texts})`, []any{string(ns), ids[ns]},
			func(scan Scan) error {
				k := config.Key{Namespace: ns}
				var revision int64
				err := scan(&k.ID, &revision)
				out[k] = revision
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// statements returns the statements of a change that fits.
func (s *Config) statements(change *config.Change, h config.Head) ([]Statement, error) {
	b := statements{dialect: s.DB.Dialect()}
	if change.Publish != nil || change.SetHead != nil {
		b.add(`UPDATE {p}_config_head SET revision = ?, last = ?, live = ?, canary = nullif(?, 'null')`, h.Revision, h.Last, h.Live, b.json(h.Canary))
	}
	for i := range change.Records {
		b.record(&change.Records[i])
	}
	for _, sc := range change.Secrets {
		if sc.Secret == nil {
			b.add(`DELETE FROM {p}_config_secrets WHERE ref = ?`, sc.Ref)
			continue
		}
		b.add(`INSERT INTO {p}_config_secrets (ref, data) VALUES (?, ?) ON CONFLICT (ref) DO UPDATE SET data = excluded.data`, sc.Ref, b.json(sc.Secret))
	}
	for _, hash := range slices.Sorted(maps.Keys(change.Documents)) {
		b.add(`INSERT INTO {p}_config_documents (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING`, hash, string(change.Documents[hash]))
	}
	if change.Publish != nil {
		b.publication(*change.Publish)
	}
	for _, e := range change.Audit {
		b.event(*e)
	}
	if s.Notify != "" {
		b.add(s.Notify)
	}
	return b.list, b.err
}

// statements builds a list of statements.
type statements struct {
	dialect *Dialect
	list    []Statement
	err     error // the first encoding error
}

func (b *statements) add(query string, args ...any) { b.list = append(b.list, Statement{query, args}) }

// json returns v as JSON text.
func (b *statements) json(v any) string {
	text, err := b.dialect.Encode(v)
	if b.err == nil {
		b.err = err
	}
	return text
}

func (b *statements) record(r *config.RecordChange) {
	if r.Record == nil {
		b.add(`DELETE FROM {p}_config_records WHERE namespace = ? AND id = ?`, string(r.Key.Namespace), r.Key.ID)
		return
	}
	m := r.Record.Meta
	m.UserOverrides = nil
	b.add(`INSERT INTO {p}_config_records (namespace, id, revision, spec, overrides, meta) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (namespace, id) DO UPDATE SET revision = excluded.revision, spec = excluded.spec, overrides = excluded.overrides, meta = excluded.meta`,
		string(r.Key.Namespace), r.Key.ID, m.Revision, string(r.Record.Spec), string(r.Record.Meta.UserOverrides), b.json(m))
}

func (b *statements) publication(p config.Publication) {
	hashes := p.Hashes()
	var manifest *string
	if len(p.Manifest) > 0 {
		text := b.json(p.Manifest)
		manifest = &text
	}
	p.Manifest = nil
	b.add(`INSERT INTO {p}_config_publications (number, base, at, data, manifest) VALUES (?, ?, ?, ?, ?)`, p.Number, p.Base, p.At, b.json(p), manifest)
	if len(hashes) > 0 {
		b.add(`INSERT INTO {p}_config_uses (publication, hash) SELECT ?, j.value FROM {texts}`, p.Number, hashes)
	}
}

func (b *statements) event(e config.AuditEvent) {
	before, after := string(e.Before), string(e.After)
	e.Before, e.After, e.Time = nil, nil, e.Time.UTC().Truncate(time.Microsecond)
	b.add(`INSERT INTO {p}_config_events (id, time, action, resource, actor, data, before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Time.UnixMicro(), e.Action, e.Resource, e.Actor, b.json(e), before, after)
}

// Tally adds to the tally of a publication. It is not repeated if the connection is lost.
func (s *Config) Tally(ctx context.Context, number int64, add config.Tally) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	ctx, cancel := s.uncut(ctx)
	defer cancel()
	n, err := s.DB.ExecOnce(ctx, `UPDATE {p}_config_publications SET runs = coalesce(runs, 0) + ?, errors = coalesce(errors, 0) + ?, cost = coalesce(cost, 0) + ?, latency = coalesce(latency, 0) + ?
		WHERE number = ?`, add.Runs, add.Errors, int64(money.Dollars(add.CostUSD)), add.LatencyMS, number)
	if err == nil && n == 0 {
		err = awaken.ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("tally of publication %d: %w", number, err)
	}
	return nil
}

// Purge removes audit events and unneeded publications that are older than the durations;
// 0 keeps all.
func (s *Config) Purge(ctx context.Context, audit, versions time.Duration) (config.Purged, error) {
	var purged config.Purged
	err := s.write(ctx, "purge the configuration", func(ctx context.Context, c Conn, h config.Head) (refused, err error) {
		purged = config.Purged{}
		now := s.DB.Now()
		if audit > 0 {
			n, err := c.Exec(ctx, statement(`DELETE FROM {p}_config_events WHERE time < ?`, now.Add(-audit).UnixMicro()))
			if err != nil {
				return nil, err
			}
			purged.Events = int(n)
		}
		if versions > 0 {
			purged.Publications, purged.Documents, err = s.purgePublications(ctx, c, h, now.Add(-versions).UnixMilli())
		}
		return nil, err
	})
	return purged, err
}

func (s *Config) purgePublications(ctx context.Context, c Conn, h config.Head, before int64) (publications, documents int, err error) {
	var one int
	if old, err := row(ctx, c, `SELECT 1 FROM {p}_config_publications WHERE at < ? LIMIT 1`, []any{before}, &one); err != nil || !old {
		return 0, 0, err
	}
	pins, err := s.pins(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	var pinned []int64
	for _, p := range pins {
		pinned = append(pinned, p.Version)
	}
	var all []*config.Publication
	err = c.Query(ctx, `SELECT number, base, at, manifest IS NOT NULL FROM {p}_config_publications`, nil, func(scan Scan) error {
		p := new(config.Publication)
		var whole bool
		err := scan(&p.Number, &p.Base, &p.At, &whole)
		if whole {
			p.Manifest = make([]config.Entry, 1)
		}
		all = append(all, p)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	gone := config.Unneeded(all, h, pinned, before)
	if len(gone) == 0 {
		return 0, 0, nil
	}
	n, err := c.Exec(ctx,
		statement(`DELETE FROM {p}_config_publications WHERE number IN (SELECT j.value FROM {numbers})`, gone),
		statement(`DELETE FROM {p}_config_uses WHERE publication IN (SELECT j.value FROM {numbers})`, gone),
		statement(`DELETE FROM {p}_config_documents AS d WHERE NOT EXISTS (SELECT 1 FROM {p}_config_uses u WHERE u.hash = d.hash)`))
	return len(gone), int(n), err
}

// pins counts unfinished runs of all tenants. It skips from tenant to tenant, because the index
// begins with the tenant.
func (s *Config) pins(ctx context.Context, c Conn) (out []config.Pin, err error) {
	err = c.Query(ctx, `WITH RECURSIVE t (tenant) AS (
			SELECT min(tenant) FROM {p}_runs
			UNION ALL SELECT (SELECT min(r.tenant) FROM {p}_runs r WHERE r.tenant > t.tenant) FROM t WHERE t.tenant IS NOT NULL)
		SELECT coalesce({record} ->> 'resolution_id', ''), coalesce({record} ->> 'agent_id', ''), count(*) FROM (
			SELECT `+runRecord+` AS record FROM t JOIN {p}_runs r ON r.tenant = t.tenant AND r.status IN ('created', 'running', 'waiting')
			UNION ALL SELECT d.request FROM `+CreatedRuns+`) x
		GROUP BY 1, 2`, nil, func(scan Scan) error {
		var id string
		var p config.Pin
		if err := scan(&id, &p.AgentID, &p.Runs); err != nil {
			return err
		}
		if n, err := strconv.ParseInt(id, 10, 64); err == nil { // other ids name registries made in code
			p.Version = n
			out = append(out, p)
		}
		return nil
	})
	return out, err
}
