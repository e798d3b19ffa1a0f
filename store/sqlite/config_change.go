package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/money"
)

// write calls f in a transaction. If refused is set when f returns nil, f has written
// nothing.
func (s *configStore) write(ctx context.Context, what string, f func(c *conn) (refused, err error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var refused error
	err := s.db.writer.write(func(c *conn) (err error) {
		refused, err = f(c)
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Apply makes a change.
func (s *configStore) Apply(ctx context.Context, change *config.Change) error {
	if err := change.Validate(); err != nil {
		return fmt.Errorf("change the configuration: %w", err)
	}
	return s.write(ctx, "change the configuration", func(conn *conn) (refused, err error) {
		c := configConn{conn}
		if len(change.Audit) > 0 {
			if known, err := c.found(`SELECT 1 FROM {p}_config_events WHERE id = ?`, change.Audit[0].ID); known || err != nil {
				return nil, err
			}
		}
		head, err := c.head(context.Background())
		if err != nil {
			return nil, err
		}
		if head, refused = change.Next(head); refused != nil {
			return refused, nil
		}
		if refused, err = c.fits(change); refused != nil || err != nil {
			return refused, err
		}
		if change.Publish != nil || change.SetHead != nil {
			canary, err := textOf(head.Canary)
			if err != nil {
				return nil, err
			}
			if _, err := c.exec(`UPDATE {p}_config_head SET revision = ?, last = ?, live = ?, canary = nullif(?, 'null')`, head.Revision, head.Last, head.Live, canary); err != nil {
				return nil, err
			}
		}
		return nil, c.change(change)
	})
}

func textOf(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}

// fits returns why a change cannot be made of what is there, if it cannot.
func (c configConn) fits(change *config.Change) (refused, err error) {
	for i := range change.Records {
		r := &change.Records[i]
		var revision int64
		if _, err := c.row(context.Background(), `SELECT revision FROM {p}_config_records WHERE namespace = ? AND id = ?`, []any{string(r.Key.Namespace), r.Key.ID}, &revision); err != nil {
			return nil, err
		}
		if refused := r.Fits(revision); refused != nil {
			return refused, nil
		}
	}
	for _, number := range change.Refers() {
		if there, err := c.found(`SELECT 1 FROM {p}_config_publications WHERE number = ?`, number); err != nil || !there {
			return config.Missing("publication", number), err
		}
	}
	if change.Publish != nil {
		for _, hash := range change.Publish.Hashes() {
			if _, given := change.Documents[hash]; given {
				continue
			}
			if there, err := c.found(`SELECT 1 FROM {p}_config_documents WHERE hash = ?`, hash); err != nil || !there {
				return config.Missing("document", hash), err
			}
		}
	}
	for _, e := range change.Audit {
		if known, err := c.found(`SELECT 1 FROM {p}_config_events WHERE id = ?`, e.ID); err != nil || known {
			return fmt.Errorf("%w: event %s is there already", awaken.ErrInvalid, e.ID), err
		}
	}
	return nil, nil
}

// change makes a change that fits, the head aside.
func (c configConn) change(change *config.Change) error {
	for i := range change.Records {
		if err := c.changeRecord(&change.Records[i]); err != nil {
			return err
		}
	}
	for _, sc := range change.Secrets {
		if sc.Secret == nil {
			if _, err := c.exec(`DELETE FROM {p}_config_secrets WHERE ref = ?`, sc.Ref); err != nil {
				return err
			}
			continue
		}
		data, err := textOf(sc.Secret)
		if err != nil {
			return err
		}
		if _, err := c.exec(`INSERT OR REPLACE INTO {p}_config_secrets (ref, data) VALUES (?, ?)`, sc.Ref, data); err != nil {
			return err
		}
	}
	for hash, doc := range change.Documents {
		if _, err := c.exec(`INSERT INTO {p}_config_documents (hash, data) VALUES (?, ?) ON CONFLICT DO NOTHING`, hash, string(doc)); err != nil {
			return err
		}
	}
	if change.Publish != nil {
		if err := c.publish(*change.Publish); err != nil {
			return err
		}
	}
	for _, e := range change.Audit {
		if err := c.audit(*e); err != nil {
			return err
		}
	}
	return nil
}

func (c configConn) changeRecord(r *config.RecordChange) error {
	if r.Record == nil {
		_, err := c.exec(`DELETE FROM {p}_config_records WHERE namespace = ? AND id = ?`, string(r.Key.Namespace), r.Key.ID)
		return err
	}
	m := r.Record.Meta
	m.UserOverrides = nil
	meta, err := textOf(m)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT OR REPLACE INTO {p}_config_records (namespace, id, revision, spec, overrides, meta) VALUES (?, ?, ?, ?, ?, ?)`,
		string(r.Key.Namespace), r.Key.ID, m.Revision, string(r.Record.Spec), string(r.Record.Meta.UserOverrides), meta)
	return err
}

func (c configConn) publish(p config.Publication) error {
	hashes := p.Hashes()
	var manifest *string
	if len(p.Manifest) > 0 {
		text, err := textOf(p.Manifest)
		if err != nil {
			return err
		}
		manifest = &text
	}
	p.Manifest = nil
	data, err := textOf(p)
	if err != nil {
		return err
	}
	if _, err := c.exec(`INSERT INTO {p}_config_publications (number, base, at, data, manifest) VALUES (?, ?, ?, ?, ?)`, p.Number, p.Base, p.At, data, manifest); err != nil {
		return err
	}
	if len(hashes) == 0 {
		return nil
	}
	list, err := textOf(hashes)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT INTO {p}_config_uses (hash, publication) SELECT value, ? FROM json_each(?)`, p.Number, list)
	return err
}

func (c configConn) audit(e config.AuditEvent) error {
	before, after := string(e.Before), string(e.After)
	e.Before, e.After, e.Time = nil, nil, e.Time.UTC().Truncate(time.Microsecond)
	data, err := textOf(e)
	if err != nil {
		return err
	}
	_, err = c.exec(`INSERT INTO {p}_config_events (id, time, action, resource, actor, data, before, after) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Time.UnixMicro(), e.Action, e.Resource, e.Actor, data, before, after)
	return err
}

// Tally adds to a tally.
func (s *configStore) Tally(ctx context.Context, number int64, add config.Tally) error {
	what := fmt.Sprintf("tally of publication %d", number)
	return s.write(ctx, what, func(c *conn) (refused, err error) {
		n, err := c.exec(`UPDATE {p}_config_publications SET runs = coalesce(runs, 0) + ?, errors = coalesce(errors, 0) + ?, cost = coalesce(cost, 0) + ?, latency = coalesce(latency, 0) + ?
			WHERE number = ?`, add.Runs, add.Errors, int64(money.Dollars(add.CostUSD)), add.LatencyMS, number)
		if err == nil && n == 0 {
			return awaken.ErrNotFound, nil
		}
		return nil, err
	})
}

// Purge removes what is old.
func (s *configStore) Purge(ctx context.Context, audit, versions time.Duration) (config.Purged, error) {
	var purged config.Purged
	err := s.write(ctx, "purge the configuration", func(c *conn) (refused, err error) {
		purged = config.Purged{}
		now := s.db.now()
		if audit > 0 {
			n, err := c.exec(`DELETE FROM {p}_config_events WHERE time < ?`, now.Add(-audit).UnixMicro())
			if err != nil {
				return nil, err
			}
			purged.Events = int(n)
		}
		if versions > 0 {
			purged.Publications, purged.Documents, err = configConn{c}.purgePublications(now.Add(-versions).UnixMilli())
		}
		return nil, err
	})
	return purged, err
}

func (c configConn) purgePublications(before int64) (publications, documents int, err error) {
	ctx := context.Background()
	if old, err := c.found(`SELECT 1 FROM {p}_config_publications WHERE at < ? LIMIT 1`, before); err != nil || !old {
		return 0, 0, err
	}
	head, err := c.head(ctx)
	if err != nil {
		return 0, 0, err
	}
	pinned, err := c.pinned()
	if err != nil {
		return 0, 0, err
	}
	var all []*config.Publication
	err = c.query(ctx, `SELECT number, base, at, manifest IS NOT NULL FROM {p}_config_publications`, nil, func(scan func(...any) error) error {
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
	gone := config.Unneeded(all, head, pinned, before)
	if len(gone) == 0 {
		return 0, 0, nil
	}
	list, err := textOf(gone)
	if err != nil {
		return 0, 0, err
	}
	if _, err := c.exec(`DELETE FROM {p}_config_publications WHERE number IN (SELECT value FROM json_each(?))`, list); err != nil {
		return 0, 0, err
	}
	if _, err := c.exec(`DELETE FROM {p}_config_uses WHERE publication IN (SELECT value FROM json_each(?))`, list); err != nil {
		return 0, 0, err
	}
	n, err := c.exec(`DELETE FROM {p}_config_documents AS d WHERE NOT EXISTS (SELECT 1 FROM {p}_config_uses u WHERE u.hash = d.hash)`)
	return len(gone), int(n), err
}

// pinned returns the publications that runs that are not done are pinned to, of all
// tenants. Tenants are gone through by the index, which leads with them.
func (c configConn) pinned() (out []int64, err error) {
	err = c.query(context.Background(), `WITH RECURSIVE t (tenant) AS (
			SELECT min(tenant) FROM {p}_runs
			UNION ALL SELECT (SELECT min(r.tenant) FROM {p}_runs r WHERE r.tenant > t.tenant) FROM t WHERE t.tenant IS NOT NULL)
		SELECT DISTINCT coalesce(CASE r.status WHEN 'running' THEN coalesce(
			(SELECT h.run FROM {p}_threads h WHERE h.tenant = r.tenant AND h.id = r.thread AND h.open_run = r.id), r.data) ELSE r.data END ->> '$.resolution_id', '')
		FROM t JOIN {p}_runs r ON r.tenant = t.tenant AND r.status IN ('created', 'running', 'waiting')`, nil, func(scan func(...any) error) error {
		var id string
		if err := scan(&id); err != nil {
			return err
		}
		if number, err := strconv.ParseInt(id, 10, 64); err == nil { // others come from code
			out = append(out, number)
		}
		return nil
	})
	return out, err
}
