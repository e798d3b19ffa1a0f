package memory

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configstate"
)

// configStore is the configuration of a DB.
type configStore struct {
	db *DB

	mu    sync.Mutex
	state *configstate.State
}

// Config returns the configuration of the whole DB, which belongs to no tenant.
func (db *DB) Config() config.Store { return db.config }

// get calls f with the state, unless ctx is done.
func get[T any](ctx context.Context, c *configStore, f func(s *configstate.State) (T, error)) (T, error) {
	if ctx.Err() != nil {
		var zero T
		return zero, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return f(c.state)
}

func (c *configStore) Record(ctx context.Context, key config.Key) (*config.Record, error) {
	return get(ctx, c, func(s *configstate.State) (*config.Record, error) { return s.Record(key) })
}

func (c *configStore) Records(ctx context.Context, ns config.Namespace, after string, limit int) ([]config.Stored, error) {
	return get(ctx, c, func(s *configstate.State) ([]config.Stored, error) { return s.Records(ns, after, limit), nil })
}

func (c *configStore) Apply(ctx context.Context, change *config.Change) error {
	_, err := get(ctx, c, func(s *configstate.State) (any, error) {
		d, err := s.Change(change)
		if err == nil && d != nil {
			s.Do(d)
		}
		return nil, err
	})
	return err
}

func (c *configStore) Head(ctx context.Context) (config.Head, error) {
	return get(ctx, c, func(s *configstate.State) (config.Head, error) { return s.Head(), nil })
}

func (c *configStore) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	return get(ctx, c, func(s *configstate.State) (*config.Publication, error) { return s.Publication(number) })
}

func (c *configStore) Publications(ctx context.Context, before int64, limit int) ([]*config.Publication, error) {
	return get(ctx, c, func(s *configstate.State) ([]*config.Publication, error) { return s.Publications(before, limit), nil })
}

func (c *configStore) Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	return get(ctx, c, func(s *configstate.State) (map[string]json.RawMessage, error) { return s.Documents(hashes), nil })
}

func (c *configStore) Secrets(ctx context.Context) (map[string]config.SealedSecret, error) {
	return get(ctx, c, func(s *configstate.State) (map[string]config.SealedSecret, error) { return s.Secrets(), nil })
}

func (c *configStore) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	return get(ctx, c, func(s *configstate.State) ([]*config.AuditEvent, error) { return s.Audit(q), nil })
}

func (c *configStore) Tally(ctx context.Context, number int64, add config.Tally) error {
	_, err := get(ctx, c, func(s *configstate.State) (any, error) {
		d, err := s.Tally(number, add)
		if err == nil {
			s.Do(d)
		}
		return nil, err
	})
	return err
}

func (c *configStore) Tallies(ctx context.Context, numbers ...int64) (map[int64]config.Tally, error) {
	return get(ctx, c, func(s *configstate.State) (map[int64]config.Tally, error) { return s.Tallies(numbers), nil })
}

func (c *configStore) Purge(ctx context.Context, audit, versions time.Duration) (config.Purged, error) {
	pinned := c.db.pinned()
	return get(ctx, c, func(s *configstate.State) (config.Purged, error) {
		d, purged := s.Purge(c.db.Now(), audit, versions, pinned)
		s.Do(d)
		return purged, nil
	})
}

// pinned returns the publications that runs that are not done are pinned to.
func (db *DB) pinned() (out []int64) {
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, s := range db.tenants {
		for _, r := range s.reader.runs {
			if r.Status == awaken.RunDone {
				continue
			}
			if number, err := strconv.ParseInt(r.ResolutionID, 10, 64); err == nil { // others come from code
				out = append(out, number)
			}
		}
	}
	return out
}

var _ config.Store = (*configStore)(nil)
