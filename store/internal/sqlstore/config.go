package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/money"
)

// Config is the configuration of a database. Every change locks the row of the head
// first.
type Config struct {
	DB DB
	// Timeout ends a change whose outcome cannot be learned; 0 means never.
	Timeout time.Duration
	// Notify is the statement that tells other processes of a change, if there is one.
	Notify string
}

var _ config.Store = (*Config)(nil)

// read calls f, and says what was read if it fails.
func (s *Config) read(ctx context.Context, what string, f func(c Conn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := s.DB.Read(ctx, f); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// storable reports whether a query can name these: nothing that is there has a name that
// is not UTF-8 without NUL, and not every engine takes others.
func storable(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 })
}

// upTo is a limit, or the default.
func upTo(limit int) int {
	if limit <= 0 {
		return 100
	}
	return limit
}

// Record returns a record.
func (s *Config) Record(ctx context.Context, key config.Key) (*config.Record, error) {
	what := "record " + key.String()
	var list []config.Stored
	if storable(string(key.Namespace), key.ID) {
		var err error
		if list, err = s.records(ctx, what, `id = ?`, string(key.Namespace), key.ID); err != nil {
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: %w", what, awaken.ErrNotFound)
	}
	return &list[0].Record, nil
}

// Records lists a namespace.
func (s *Config) Records(ctx context.Context, ns config.Namespace, after string, limit int) ([]config.Stored, error) {
	if s.DB.Dialect().Escape != nil && !storable(string(ns), after) {
		return nil, fmt.Errorf("records of %q after %q: %w: want UTF-8 without NUL", ns, after, awaken.ErrInvalid)
	}
	return s.records(ctx, "records of "+string(ns), `id > ? ORDER BY id LIMIT ?`, string(ns), after, upTo(limit))
}

func (s *Config) records(ctx context.Context, what, where string, args ...any) ([]config.Stored, error) {
	var out []config.Stored
	err := s.read(ctx, what, func(c Conn) error {
		out = nil
		return c.Query(ctx, `SELECT id, spec, overrides, meta FROM {p}_config_records WHERE namespace = ? AND `+where, args, func(scan func(...any) error) error {
			var r config.Stored
			var spec, overrides string
			var meta []byte
			if err := scan(&r.ID, &spec, &overrides, &meta); err != nil {
				return err
			}
			err := json.Unmarshal(meta, &r.Meta)
			r.Spec, r.Meta.UserOverrides = config.JSON(spec), config.JSON(overrides)
			out = append(out, r)
			return err
		})
	})
	return out, err
}

const selectHead = `SELECT revision, last, live, canary FROM {p}_config_head`

func head(ctx context.Context, c Conn, query string) (h config.Head, err error) {
	var canary []byte
	if _, err := row(ctx, c, query, nil, &h.Revision, &h.Last, &h.Live, &canary); err != nil {
		return h, err
	}
	if canary != nil {
		err = json.Unmarshal(canary, &h.Canary)
	}
	return h, err
}

// Head returns what is live.
func (s *Config) Head(ctx context.Context) (h config.Head, err error) {
	err = s.read(ctx, "configuration", func(c Conn) (err error) {
		h, err = head(ctx, c, selectHead)
		return err
	})
	return h, err
}

// Publication returns one.
func (s *Config) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	what := fmt.Sprintf("publication %d", number)
	var out *config.Publication
	err := s.read(ctx, what, func(c Conn) error {
		out = nil
		return c.Query(ctx, `SELECT data, manifest FROM {p}_config_publications WHERE number = ?`, []any{number}, func(scan func(...any) error) error {
			var data, manifest []byte
			if err := scan(&data, &manifest); err != nil {
				return err
			}
			out = new(config.Publication)
			if err := json.Unmarshal(data, out); err != nil || manifest == nil {
				return err
			}
			return json.Unmarshal(manifest, &out.Manifest)
		})
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
func (s *Config) Publications(ctx context.Context, before int64, limit int) ([]*config.Publication, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	var out []*config.Publication
	err := s.read(ctx, "publications", func(c Conn) error {
		out = nil
		return c.Query(ctx, `SELECT data FROM {p}_config_publications WHERE number < ? ORDER BY number DESC LIMIT ?`, []any{before, upTo(limit)},
			func(scan func(...any) error) error {
				var data []byte
				if err := scan(&data); err != nil {
					return err
				}
				p := new(config.Publication)
				out = append(out, p)
				return json.Unmarshal(data, p)
			})
	})
	return out, err
}

// Documents returns documents.
func (s *Config) Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	hashes = slices.DeleteFunc(slices.Clone(hashes), func(hash string) bool { return !storable(hash) })
	var out map[string]json.RawMessage
	err := s.read(ctx, "documents", func(c Conn) error {
		out = map[string]json.RawMessage{}
		return c.Query(ctx, `SELECT d.hash, d.data FROM {texts} JOIN {p}_config_documents d ON d.hash = j.value`, []any{hashes}, func(scan func(...any) error) error {
			var hash, data string
			err := scan(&hash, &data)
			out[hash] = config.JSON(data)
			return err
		})
	})
	return out, err
}

// Secrets returns all secrets.
func (s *Config) Secrets(ctx context.Context) (map[string]config.SealedSecret, error) {
	var out map[string]config.SealedSecret
	err := s.read(ctx, "secrets", func(c Conn) error {
		out = map[string]config.SealedSecret{}
		return c.Query(ctx, `SELECT ref, data FROM {p}_config_secrets`, nil, func(scan func(...any) error) error {
			var ref string
			var data []byte
			if err := scan(&ref, &data); err != nil {
				return err
			}
			var secret config.SealedSecret
			err := json.Unmarshal(data, &secret)
			out[ref] = secret
			return err
		})
	})
	return out, err
}

// Audit lists events.
func (s *Config) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	if !storable(q.ID, q.Before, q.Action, q.Resource, q.Actor) {
		return nil, nil
	}
	where, args := selected(q)
	var out []*config.AuditEvent
	err := s.read(ctx, "audit log", func(c Conn) error {
		out = nil
		return c.Query(ctx, `SELECT data, before, after FROM {p}_config_events WHERE `+where+` ORDER BY seq DESC LIMIT ?`, append(args, q.Page()),
			func(scan func(...any) error) error {
				var data []byte
				var before, after string
				if err := scan(&data, &before, &after); err != nil {
					return err
				}
				e := new(config.AuditEvent)
				err := json.Unmarshal(data, e)
				e.Before, e.After = config.JSON(before), config.JSON(after)
				out = append(out, e)
				return err
			})
	})
	return out, err
}

// selected returns the conditions of a query of the audit log, with their arguments.
func selected(q config.AuditQuery) (where string, args []any) {
	where = "true"
	and := func(condition string, values ...any) {
		where, args = where+" AND "+condition, append(args, values...)
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
	return where, args
}

// Tallies returns tallies.
func (s *Config) Tallies(ctx context.Context, numbers ...int64) (map[int64]config.Tally, error) {
	var out map[int64]config.Tally
	err := s.read(ctx, "tallies", func(c Conn) error {
		out = map[int64]config.Tally{}
		return c.Query(ctx, `SELECT p.number, p.runs, p.errors, p.cost, p.latency FROM {numbers} JOIN {p}_config_publications p ON p.number = j.value WHERE p.runs IS NOT NULL`,
			[]any{numbers}, func(scan func(...any) error) error {
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
