package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/money"
)

// configStore is the configuration of a database. Whoever changes it locks the row of the
// head first.
type configStore struct{ db *database }

var (
	_ config.Store    = (*configStore)(nil)
	_ config.Notifier = (*configStore)(nil)
)

// Listen calls fn when the configuration was changed. It has a connection of its own, as
// [DB.Listen] has.
func (s *configStore) Listen(ctx context.Context, fn func()) error {
	return s.db.listenTo(ctx, "config", fn)
}

// read calls each for every row, and says what was read if it fails.
func (s *configStore) read(ctx context.Context, what, query string, args []any, reset func(), each func(rows pgx.Rows) error) error {
	if err := s.db.query(ctx, query, args, reset, each); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// Record returns a record.
func (s *configStore) Record(ctx context.Context, key config.Key) (*config.Record, error) {
	var out *config.Record
	if storable(string(key.Namespace), key.ID) {
		err := s.read(ctx, "record "+key.String(), `SELECT id, spec, overrides, meta FROM {p}_config_records WHERE namespace = $1 AND id = $2`,
			[]any{string(key.Namespace), key.ID}, func() { out = nil }, func(rows pgx.Rows) error {
				r, err := scanRecord(rows)
				out = &r.Record
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	if out == nil {
		return nil, fmt.Errorf("record %s: %w", key, awaken.ErrNotFound)
	}
	return out, nil
}

// storable reports whether a query can name these: nothing that is there has a name that
// PostgreSQL does not take as text.
func storable(names ...string) bool {
	for _, name := range names {
		if !utf8.ValidString(name) || strings.IndexByte(name, 0) >= 0 {
			return false
		}
	}
	return true
}

func scanRecord(rows pgx.Rows) (r config.Stored, err error) {
	var spec, overrides string
	var meta []byte
	if err := rows.Scan(&r.ID, &spec, &overrides, &meta); err != nil {
		return r, err
	}
	err = json.Unmarshal(meta, &r.Meta)
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
	if !storable(string(ns), after) {
		return nil, fmt.Errorf("records of %q after %q: %w: want UTF-8 without NUL", ns, after, awaken.ErrInvalid)
	}
	var out []config.Stored
	err := s.read(ctx, "records of "+string(ns), `SELECT id, spec, overrides, meta FROM {p}_config_records WHERE namespace = $1 AND id > $2 ORDER BY id LIMIT $3`,
		[]any{string(ns), after, upTo(limit)}, func() { out = nil }, func(rows pgx.Rows) error {
			r, err := scanRecord(rows)
			out = append(out, r)
			return err
		})
	return out, err
}

const selectHead = `SELECT revision, last, live, canary FROM {p}_config_head`

func scanHead(row pgx.Row) (h config.Head, err error) {
	var canary []byte
	if err := row.Scan(&h.Revision, &h.Last, &h.Live, &canary); err != nil {
		return h, err
	}
	if canary != nil {
		err = json.Unmarshal(canary, &h.Canary)
	}
	return h, err
}

// Head returns what is live.
func (s *configStore) Head(ctx context.Context) (head config.Head, err error) {
	err = s.read(ctx, "configuration", selectHead, nil, func() {}, func(rows pgx.Rows) (err error) {
		head, err = scanHead(rows)
		return err
	})
	return head, err
}

// Publication returns one.
func (s *configStore) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	what := fmt.Sprintf("publication %d", number)
	var out *config.Publication
	err := s.read(ctx, what, `SELECT data, manifest FROM {p}_config_publications WHERE number = $1`, []any{number}, func() { out = nil }, func(rows pgx.Rows) error {
		var data, manifest []byte
		if err := rows.Scan(&data, &manifest); err != nil {
			return err
		}
		out = new(config.Publication)
		if err := json.Unmarshal(data, out); err != nil || manifest == nil {
			return err
		}
		return json.Unmarshal(manifest, &out.Manifest)
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
	err := s.read(ctx, "publications", `SELECT data FROM {p}_config_publications WHERE number < $1 ORDER BY number DESC LIMIT $2`,
		[]any{before, upTo(limit)}, func() { out = nil }, func(rows pgx.Rows) error {
			var data []byte
			if err := rows.Scan(&data); err != nil {
				return err
			}
			p := new(config.Publication)
			out = append(out, p)
			return json.Unmarshal(data, p)
		})
	return out, err
}

// Documents returns documents.
func (s *configStore) Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	hashes = slices.DeleteFunc(slices.Clone(hashes), func(hash string) bool { return !storable(hash) })
	var out map[string]json.RawMessage
	err := s.read(ctx, "documents", `SELECT hash, data FROM {p}_config_documents WHERE hash = ANY ($1)`, []any{hashes},
		func() { out = map[string]json.RawMessage{} }, func(rows pgx.Rows) error {
			var hash, data string
			err := rows.Scan(&hash, &data)
			out[hash] = raw(data)
			return err
		})
	return out, err
}

// Secrets returns all secrets.
func (s *configStore) Secrets(ctx context.Context) (map[string]config.SealedSecret, error) {
	var out map[string]config.SealedSecret
	err := s.read(ctx, "secrets", `SELECT ref, data FROM {p}_config_secrets`, nil, func() { out = map[string]config.SealedSecret{} }, func(rows pgx.Rows) error {
		var ref string
		var data []byte
		if err := rows.Scan(&ref, &data); err != nil {
			return err
		}
		var secret config.SealedSecret
		err := json.Unmarshal(data, &secret)
		out[ref] = secret
		return err
	})
	return out, err
}

// Audit lists events.
func (s *configStore) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	if !storable(q.ID, q.Before, q.Action, q.Resource, q.Actor) {
		return nil, nil
	}
	where, args := []string{"true"}, []any{}
	and := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", "$"+strconv.Itoa(len(args)), 1)
		}
		where = append(where, condition)
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
	query := `SELECT data, before, after FROM {p}_config_events WHERE ` + strings.Join(where, " AND ") + ` ORDER BY seq DESC LIMIT ` + strconv.Itoa(q.Page())
	var out []*config.AuditEvent
	err := s.read(ctx, "audit log", query, args, func() { out = nil }, func(rows pgx.Rows) error {
		var data []byte
		var before, after string
		if err := rows.Scan(&data, &before, &after); err != nil {
			return err
		}
		e := new(config.AuditEvent)
		err := json.Unmarshal(data, e)
		e.Before, e.After = raw(before), raw(after)
		out = append(out, e)
		return err
	})
	return out, err
}

// Tallies returns tallies.
func (s *configStore) Tallies(ctx context.Context, numbers ...int64) (map[int64]config.Tally, error) {
	var out map[int64]config.Tally
	err := s.read(ctx, "tallies", `SELECT number, runs, errors, cost, latency FROM {p}_config_publications WHERE number = ANY ($1) AND runs IS NOT NULL`, []any{numbers},
		func() { out = map[int64]config.Tally{} }, func(rows pgx.Rows) error {
			var number, cost int64
			var t config.Tally
			err := rows.Scan(&number, &t.Runs, &t.Errors, &cost, &t.LatencyMS)
			t.CostUSD = money.Amount(cost).USD()
			out[number] = t
			return err
		})
	return out, err
}
