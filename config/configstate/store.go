package configstate

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/awaken-go/awaken/config"
)

// StoreOptions configures a Store, which calls the functions, except Pinned, with Mu held.
type StoreOptions struct {
	Mu    *sync.Mutex // guards State
	State *State
	// Ready returns an error if the store is closed. Nil means that it never is.
	Ready func() error
	// Do makes a change durable and applies it to State. Nil only applies it.
	Do func(d *Delta) error
	// Removed is called after Purge has removed something. Nil does nothing.
	Removed func()
	// Pinned returns the publications that unfinished runs are pinned to. If it is nil,
	// Purge removes no publication.
	Pinned func(ctx context.Context) ([]config.Pin, error)
	// Now is the clock that Purge uses.
	Now func() time.Time
}

// Store implements [config.Store] with a State.
type Store struct{ opts StoreOptions }

var _ config.Store = (*Store)(nil)

// NewStore returns a Store.
func NewStore(opts StoreOptions) *Store { return &Store{opts} }

// look calls f with the state, unless ctx is done or the store is closed.
func look[T any](ctx context.Context, s *Store, f func(st *State) (T, error)) (out T, err error) {
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	s.opts.Mu.Lock()
	defer s.opts.Mu.Unlock()
	if s.opts.Ready != nil {
		if err := s.opts.Ready(); err != nil {
			return out, err
		}
	}
	return f(s.opts.State)
}

// change applies the change that f returns, if any.
func (s *Store) change(ctx context.Context, f func(st *State) (*Delta, error)) error {
	_, err := look(ctx, s, func(st *State) (any, error) {
		d, err := f(st)
		if err != nil || d == nil {
			return nil, err
		}
		return nil, s.do(d)
	})
	return err
}

func (s *Store) do(d *Delta) error {
	if s.opts.Do != nil {
		return s.opts.Do(d)
	}
	s.opts.State.Do(d)
	return nil
}

// Record returns a record, or an ErrNotFound.
func (s *Store) Record(ctx context.Context, key config.Key) (*config.Record, error) {
	return look(ctx, s, func(st *State) (*config.Record, error) { return st.Record(key) })
}

// Records lists the records of a namespace with ids after after, by id.
func (s *Store) Records(ctx context.Context, ns config.Namespace, after string, limit int) ([]config.Stored, error) {
	return look(ctx, s, func(st *State) ([]config.Stored, error) { return st.Records(ns, after, limit), nil })
}

// Apply applies a change, all or nothing.
func (s *Store) Apply(ctx context.Context, change *config.Change) error {
	return s.change(ctx, func(st *State) (*Delta, error) { return st.Change(change) })
}

// Head returns the head: the revision, and the live and canary publications.
func (s *Store) Head(ctx context.Context) (config.Head, error) {
	return look(ctx, s, func(st *State) (config.Head, error) { return st.Head(), nil })
}

// Publication returns a publication, or an ErrNotFound.
func (s *Store) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	return look(ctx, s, func(st *State) (*config.Publication, error) { return st.Publication(number) })
}

// Publications lists publications before a number, newest first; 0 means from the newest.
func (s *Store) Publications(ctx context.Context, before int64, limit int) ([]*config.Publication, error) {
	return look(ctx, s, func(st *State) ([]*config.Publication, error) { return st.Publications(before, limit), nil })
}

// Documents returns the documents with these hashes that exist.
func (s *Store) Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	return look(ctx, s, func(st *State) (map[string]json.RawMessage, error) { return st.Documents(hashes), nil })
}

// Secrets returns all secrets.
func (s *Store) Secrets(ctx context.Context) (map[string]config.SealedSecret, error) {
	return look(ctx, s, func(st *State) (map[string]config.SealedSecret, error) { return st.Secrets(), nil })
}

// Audit lists audit events, newest first.
func (s *Store) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	return look(ctx, s, func(st *State) ([]*config.AuditEvent, error) { return st.Audit(q), nil })
}

// Tally adds to the tally of a publication.
func (s *Store) Tally(ctx context.Context, number int64, add config.Tally) error {
	return s.change(ctx, func(st *State) (*Delta, error) { return st.Tally(number, add) })
}

// Tallies returns the tallies of publications that have one.
func (s *Store) Tallies(ctx context.Context, numbers ...int64) (map[int64]config.Tally, error) {
	return look(ctx, s, func(st *State) (map[int64]config.Tally, error) { return st.Tallies(numbers), nil })
}

// Pins counts unfinished runs by publication and agent.
func (s *Store) Pins(ctx context.Context) ([]config.Pin, error) {
	if ctx.Err() != nil || s.opts.Pinned == nil {
		return nil, context.Cause(ctx)
	}
	return s.opts.Pinned(ctx)
}

// Purge removes audit events and unneeded publications that are older than the durations;
// 0 keeps all.
func (s *Store) Purge(ctx context.Context, audit, versions time.Duration) (purged config.Purged, err error) {
	if ctx.Err() != nil {
		return purged, context.Cause(ctx)
	}
	var pinned []int64
	switch {
	case versions <= 0:
	case s.opts.Pinned == nil:
		versions = 0
	default:
		pins, err := s.opts.Pinned(ctx)
		if err != nil {
			return purged, fmt.Errorf("purge the configuration: %w", err)
		}
		for _, p := range pins {
			pinned = append(pinned, p.Version)
		}
	}
	return look(ctx, s, func(st *State) (config.Purged, error) {
		d, purged := st.Purge(s.opts.Now(), audit, versions, pinned)
		if purged == (config.Purged{}) {
			return purged, nil
		}
		if err := s.do(d); err != nil {
			return config.Purged{}, err
		}
		if s.opts.Removed != nil {
			s.opts.Removed()
		}
		return purged, nil
	})
}
