package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/money"
)

// configStore is the configuration of a file.
type configStore struct{ db *database }

var _ config.Store = (*configStore)(nil)

// configConn is a connection on which the configuration is read and changed.
type configConn struct{ *conn }

// read calls f, and says what was read if it fails.
func (s *configStore) read(ctx context.Context, what string, f func(c *conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.db.read(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Record returns a record.
func (s *configStore) Record(ctx context.Context, key config.Key) (*config.Record, error) {
	var out *config.Record
	err := s.read(ctx, "record "+key.String(), func(c *conn) error {
		out = nil
		return c.query(ctx, `SELECT id, spec, overrides, meta FROM {p}_config_records WHERE namespace = ? AND id = ?`, []any{string(key.Namespace), key.ID},
			func(scan func(...any) error) error {
				r, err := scanRecord(scan)
				out = &r.Record
				return err
			})
	})
	if err == nil && out == nil {
		err = fmt.Errorf("record %s: %w", key, awaken.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func scanRecord(scan func(...any) error) (r config.Stored, err error) {
	var spec, overrides, meta string
	if err := scan(&r.ID, &spec, &overrides, &meta); err != nil {
		return r, err
	}
	err = json.Unmarshal([]byte(meta), &r.Meta)
	r.Spec, r.Meta.UserOverrides = raw(spec), raw(overrides)
	return r, err
}

// raw returns text as JSON; nil if there is none.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

// upTo is a limit, or the default.
func upTo(limit int) int {
	if limit <= 0 {
		return 100
	}
	return limit
}

// Records lists a namespace.
func (s *configStore) Records(ctx context.Context, ns config.Namespace, after string, limit int) ([]config.Stored, error) {
	var out []config.Stored
	err := s.read(ctx, "records of "+string(ns), func(c *conn) error {
		return c.query(ctx, `SELECT id, spec, overrides, meta FROM {p}_config_records WHERE namespace = ? AND id > ? ORDER BY id LIMIT ?`,
			[]any{string(ns), after, upTo(limit)}, func(scan func(...any) error) error {
				r, err := scanRecord(scan)
				out = append(out, r)
				return err
			})
	})
	return out, err
}

// Head returns what is live.
func (s *configStore) Head(ctx context.Context) (head config.Head, err error) {
	err = s.read(ctx, "configuration", func(c *conn) error {
		head, err = configConn{c}.head(ctx)
		return err
	})
	return head, err
}

func (c configConn) head(ctx context.Context) (h config.Head, err error) {
	var canary *string
	if _, err := c.row(ctx, `SELECT revision, last, live, canary FROM {p}_config_head`, nil, &h.Revision, &h.Last, &h.Live, &canary); err != nil {
		return h, err
	}
	if canary != nil {
		err = json.Unmarshal([]byte(*canary), &h.Canary)
	}
	return h, err
}

// Publication returns one.
func (s *configStore) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	what := fmt.Sprintf("publication %d", number)
	var out *config.Publication
	err := s.read(ctx, what, func(c *conn) error {
		var data string
		var manifest *string
		found, err := c.row(ctx, `SELECT data, manifest FROM {p}_config_publications WHERE number = ?`, []any{number}, &data, &manifest)
		if err != nil || !found {
			return err
		}
		out = new(config.Publication)
		if err := json.Unmarshal([]byte(data), out); err != nil || manifest == nil {
			return err
		}
		return json.Unmarshal([]byte(*manifest), &out.Manifest)
	})
	if err == nil && out == nil {
		err = fmt.Errorf("%s: %w", what, awaken.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Publications lists them, newest first.
func (s *configStore) Publications(ctx context.Context, before int64, limit int) ([]*config.Publication, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	var out []*config.Publication
	err := s.read(ctx, "publications", func(c *conn) error {
		return c.query(ctx, `SELECT data FROM {p}_config_publications WHERE number < ? ORDER BY number DESC LIMIT ?`, []any{before, upTo(limit)}, func(scan func(...any) error) error {
			var data string
			if err := scan(&data); err != nil {
				return err
			}
			p := new(config.Publication)
			out = append(out, p)
			return json.Unmarshal([]byte(data), p)
		})
	})
	return out, err
}

// Documents returns documents.
func (s *configStore) Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	list, err := json.Marshal(hashes)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "documents", func(c *conn) error {
		return c.query(ctx, `SELECT d.hash, d.data FROM json_each(?) j JOIN {p}_config_documents d ON d.hash = j.value`, []any{string(list)}, func(scan func(...any) error) error {
			var hash, data string
			err := scan(&hash, &data)
			out[hash] = raw(data)
			return err
		})
	})
	return out, err
}

// Secrets returns all secrets.
func (s *configStore) Secrets(ctx context.Context) (map[string]config.SealedSecret, error) {
	out := map[string]config.SealedSecret{}
	err := s.read(ctx, "secrets", func(c *conn) error {
		return c.query(ctx, `SELECT ref, data FROM {p}_config_secrets`, nil, func(scan func(...any) error) error {
			var ref, data string
			if err := scan(&ref, &data); err != nil {
				return err
			}
			var secret config.SealedSecret
			err := json.Unmarshal([]byte(data), &secret)
			out[ref] = secret
			return err
		})
	})
	return out, err
}

// Audit lists events.
func (s *configStore) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	where, args := []string{"true"}, []any{}
	and := func(condition string, values ...any) {
		where, args = append(where, condition), append(args, values...)
	}
	if q.ID != "" {
		and("id = ?", q.ID)
	}
	if q.Before != "" {
		and("seq < (SELECT seq FROM {p}_config_events WHERE id = ?)", q.Before)
	}
	if since, until := q.Window(); !q.Since.IsZero() || !q.Until.IsZero() {
		and("time >= ? AND time < ?", since, until)
	}
	if q.Action != "" {
		and("action = ?", q.Action)
	}
	if q.Resource != "" {
		and("(resource = ? OR resource > ? AND resource < ?)", q.Resource, q.Resource+"/", q.Resource+"0") // 0 comes after /
	}
	if q.Actor != "" {
		and("actor >= ?", q.Actor)
		if end := config.After(q.Actor); end != "" {
			and("actor < ?", end)
		}
	}
	var out []*config.AuditEvent
	err := s.read(ctx, "audit log", func(c *conn) error {
		return c.query(ctx, `SELECT data, before, after FROM {p}_config_events WHERE `+strings.Join(where, " AND ")+` ORDER BY seq DESC LIMIT ?`, append(args, q.Page()),
			func(scan func(...any) error) error {
				var data, before, after string
				if err := scan(&data, &before, &after); err != nil {
					return err
				}
				e := new(config.AuditEvent)
				err := json.Unmarshal([]byte(data), e)
				e.Before, e.After = raw(before), raw(after)
				out = append(out, e)
				return err
			})
	})
	return out, err
}

// Tallies returns tallies.
func (s *configStore) Tallies(ctx context.Context, numbers ...int64) (map[int64]config.Tally, error) {
	out := map[int64]config.Tally{}
	list, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, "tallies", func(c *conn) error {
		return c.query(ctx, `SELECT p.number, p.runs, p.errors, p.cost, p.latency FROM json_each(?) j JOIN {p}_config_publications p ON p.number = j.value WHERE p.runs IS NOT NULL`,
			[]any{string(list)}, func(scan func(...any) error) error {
				var number, cost int64
				var t config.Tally
				err := scan(&number, &t.Runs, &t.Errors, &cost, &t.LatencyMS)
				t.CostUSD = money.Amount(cost).USD()
				out[number] = t
				return err
			})
	})
	return out, err
}
