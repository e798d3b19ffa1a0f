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
	"github.com/awaken-go/awaken/limit/money"
)

// Config implements [config.Store]. Every change first locks the row of the head, so
// changes are serialized.
type Config struct {
	DB DB
	// Timeout limits a change, which the context of its caller does not cancel; 0 means no
	// limit.
	Timeout time.Duration
	// Notify is the statement that notifies other processes of a change; "" for none.
	Notify string
}

var _ config.Store = (*Config)(nil)

// storable reports whether names are valid UTF-8 without NUL. No stored name is anything
// else, and not every engine accepts others as arguments.
func storable(names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 })
}

// upTo returns the limit, or 100 if it is not positive.
func upTo(limit int) int {
	if limit <= 0 {
		return 100
	}
	return limit
}

// Record returns a record, or an ErrNotFound.
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

// Records lists the records of a namespace with ids after after, by id.
func (s *Config) Records(ctx context.Context, ns config.Namespace, after string, limit int) ([]config.Stored, error) {
	if s.DB.Dialect().Escape != nil && !storable(string(ns), after) {
		return nil, fmt.Errorf("records of %q after %q: %w: want UTF-8 without NUL", ns, after, awaken.ErrInvalid)
	}
	return s.records(ctx, "records of "+string(ns), `id > ? ORDER BY id LIMIT ?`, string(ns), after, upTo(limit))
}

func (s *Config) records(ctx context.Context, what, where string, args ...any) ([]config.Stored, error) {
	return list(ctx, s.DB, what, `SELECT id, spec, overrides, meta FROM {p}_config_records WHERE namespace = ? AND `+where, args, func(scan Scan) (r config.Stored, err error) {
		var spec, overrides string
		var meta []byte
		if err := scan(&r.ID, &spec, &overrides, &meta); err != nil {
			return r, err
		}
		err = json.Unmarshal(meta, &r.Meta)
		r.Spec, r.Meta.UserOverrides = config.JSON(spec), config.JSON(overrides)
		return r, err
	})
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

// Head returns the head: the revision, and the live and canary publications.
func (s *Config) Head(ctx context.Context) (h config.Head, err error) {
	err = read(ctx, s.DB, "configuration", func(c Conn) (err error) {
		h, err = head(ctx, c, selectHead)
		return err
	})
	return h, err
}

// Publication returns a publication, or an ErrNotFound.
func (s *Config) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	what := fmt.Sprintf("publication %d", number)
	found, err := s.publications(ctx, what, `SELECT data, manifest FROM {p}_config_publications WHERE number = ?`, number)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: %w", what, awaken.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// Publications lists publications before a number, newest first; 0 means from the newest.
func (s *Config) Publications(ctx context.Context, before int64, limit int) ([]*config.Publication, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	return s.publications(ctx, "publications", `SELECT data, NULL FROM {p}_config_publications WHERE number < ? ORDER BY number DESC LIMIT ?`, before, upTo(limit))
}

func (s *Config) publications(ctx context.Context, what, query string, args ...any) ([]*config.Publication, error) {
	return list(ctx, s.DB, what, query, args, func(scan Scan) (*config.Publication, error) {
		var data, manifest []byte
		if err := scan(&data, &manifest); err != nil {
			return nil, err
		}
		p := new(config.Publication)
		err := json.Unmarshal(data, p)
		if err == nil && manifest != nil {
			err = json.Unmarshal(manifest, &p.Manifest)
		}
		return p, err
	})
}

// Documents returns the documents with these hashes that exist.
func (s *Config) Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	hashes = slices.DeleteFunc(slices.Clone(hashes), func(hash string) bool { return !storable(hash) })
	return collect(ctx, s.DB, "documents", `SELECT d.hash, d.data FROM {texts} JOIN {p}_config_documents d ON d.hash = j.value`, []any{hashes},
		func(scan Scan) (hash string, _ json.RawMessage, err error) {
			var data string
			err = scan(&hash, &data)
			return hash, config.JSON(data), err
		})
}

// Secrets returns all secrets.
func (s *Config) Secrets(ctx context.Context) (map[string]config.SealedSecret, error) {
	return collect(ctx, s.DB, "secrets", `SELECT ref, data FROM {p}_config_secrets`, nil, func(scan Scan) (ref string, secret config.SealedSecret, err error) {
		var data []byte
		if err = scan(&ref, &data); err == nil {
			err = json.Unmarshal(data, &secret)
		}
		return ref, secret, err
	})
}

// Audit lists audit events, newest first.
func (s *Config) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	if !storable(q.ID, q.Before, q.Action, q.Resource, q.Actor) {
		return nil, nil
	}
	where, args := selected(q)
	return list(ctx, s.DB, "audit log", `SELECT data, before, after FROM {p}_config_events WHERE `+where+` ORDER BY seq DESC LIMIT ?`, append(args, q.Page()),
		func(scan Scan) (*config.AuditEvent, error) {
			var data []byte
			var before, after string
			if err := scan(&data, &before, &after); err != nil {
				return nil, err
			}
			e := new(config.AuditEvent)
			err := json.Unmarshal(data, e)
			e.Before, e.After = config.JSON(before), config.JSON(after)
			return e, err
		})
}

// selected returns the WHERE clause of an audit query, with its arguments.
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
		and("(resource = ? OR resource > ? AND resource < ?)", q.Resource, q.Resource+"/", q.Resource+"0") // "0" follows "/"
	}
	if q.Actor != "" {
		and("actor >= ?", q.Actor)
		if end := config.After(q.Actor); end != "" {
			and("actor < ?", end)
		}
	}
	return where, args
}

// Pins counts unfinished runs by publication and agent.
func (s *Config) Pins(ctx context.Context) (out []config.Pin, err error) {
	err = read(ctx, s.DB, "pins", func(c Conn) (err error) {
		out, err = s.pins(ctx, c)
		return err
	})
	return out, err
}

// Tallies returns the tallies of publications that have one.
func (s *Config) Tallies(ctx context.Context, numbers ...int64) (map[int64]config.Tally, error) {
	return collect(ctx, s.DB, "tallies", `SELECT p.number, p.runs, p.errors, p.cost, p.latency FROM {numbers} JOIN {p}_config_publications p ON p.number = j.value WHERE p.runs IS NOT NULL`,
		[]any{numbers}, func(scan Scan) (number int64, t config.Tally, err error) {
			var cost int64
			err = scan(&number, &t.Runs, &t.Errors, &cost, &t.LatencyMS)
			t.CostUSD = money.Amount(cost).USD()
			return number, t, err
		})
}
