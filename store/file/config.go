package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/configstate"
)

// ConfigOptions are choices that all have defaults.
type ConfigOptions struct {
	// Pinned returns the publications to which runs that are not done are pinned: their
	// resolution_id, as a number. The folder holds no runs, so it has to be told what
	// Purge must keep; without it, Purge removes no publication.
	Pinned func(ctx context.Context) ([]int64, error)
	// Logger hears about a torn log that was cut and one that could not be made shorter.
	// Nil discards.
	Logger *slog.Logger
	// Now is the clock of Purge; default time.Now.
	Now func() time.Time
}

// Config implements [config.Store] in a folder of its own:
//
//	store.json   the version of the layout
//	config.log   every change, appended and synced
//
// All of it is kept in memory; the log is read when the folder is opened. It is written
// anew, without what does not count any more, when it has doubled, and when Purge has
// removed something, which is then off the disk. One process at a time can open a folder.
type Config struct {
	opts ConfigOptions
	home home

	mu     sync.Mutex // guards everything below
	closed bool
	state  *configstate.State
	log    deltaLog
}

// OpenConfig opens the configuration in a folder, which is made if it is not there.
func OpenConfig(dir string, opts *ConfigOptions) (*Config, error) {
	return openConfig(dir, opts, (*os.File).Sync)
}

func openConfig(dir string, opts *ConfigOptions, fsync func(*os.File) error) (_ *Config, err error) {
	c := &Config{home: home{folder: folder{fsync: fsync}}, state: configstate.New()}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Logger == nil {
		c.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	c.log = deltaLog{folder: &c.home.folder, logger: c.opts.Logger}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open configuration %s: %w", dir, err), c.release())
		}
	}()
	if _, err := c.home.open(dir); err != nil {
		return nil, err
	}
	return c, c.log.open(func(d *configstate.Delta) error {
		if err := c.state.Check(d); err != nil {
			return err
		}
		c.state.Do(d)
		return nil
	})
}

// Close gives the folder free. It waits for methods that are under way.
func (c *Config) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.release()
}

func (c *Config) release() error { return errors.Join(c.log.close(), c.home.close()) }

// do makes a change: on the disk, and then in memory. Requires c.mu.
func (c *Config) do(d *configstate.Delta) error {
	if err := c.log.append(d); err != nil {
		return err
	}
	c.state.Do(d)
	if c.log.long() {
		c.log.compact(c.state.All())
	}
	return nil
}

// look calls f with the state, unless ctx is done or the folder closed.
func look[T any](ctx context.Context, c *Config, f func(s *configstate.State) (T, error)) (T, error) {
	var zero T
	if ctx.Err() != nil {
		return zero, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return zero, ErrClosed
	}
	return f(c.state)
}

// Record returns a record.
func (c *Config) Record(ctx context.Context, key config.Key) (*config.Record, error) {
	return look(ctx, c, func(s *configstate.State) (*config.Record, error) { return s.Record(key) })
}

// Records lists a namespace.
func (c *Config) Records(ctx context.Context, ns config.Namespace, after string, limit int) ([]config.Stored, error) {
	return look(ctx, c, func(s *configstate.State) ([]config.Stored, error) { return s.Records(ns, after, limit), nil })
}

// Apply makes a change.
func (c *Config) Apply(ctx context.Context, change *config.Change) error {
	_, err := look(ctx, c, func(s *configstate.State) (any, error) {
		d, err := s.Change(change)
		if err != nil || d == nil {
			return nil, err
		}
		return nil, c.do(d)
	})
	return err
}

// Head returns what is live.
func (c *Config) Head(ctx context.Context) (config.Head, error) {
	return look(ctx, c, func(s *configstate.State) (config.Head, error) { return s.Head(), nil })
}

// Publication returns one.
func (c *Config) Publication(ctx context.Context, number int64) (*config.Publication, error) {
	return look(ctx, c, func(s *configstate.State) (*config.Publication, error) { return s.Publication(number) })
}

// Publications lists them, newest first.
func (c *Config) Publications(ctx context.Context, before int64, limit int) ([]*config.Publication, error) {
	return look(ctx, c, func(s *configstate.State) ([]*config.Publication, error) { return s.Publications(before, limit), nil })
}

// Documents returns documents.
func (c *Config) Documents(ctx context.Context, hashes ...string) (map[string]json.RawMessage, error) {
	return look(ctx, c, func(s *configstate.State) (map[string]json.RawMessage, error) { return s.Documents(hashes), nil })
}

// Secrets returns all secrets.
func (c *Config) Secrets(ctx context.Context) (map[string]config.SealedSecret, error) {
	return look(ctx, c, func(s *configstate.State) (map[string]config.SealedSecret, error) { return s.Secrets(), nil })
}

// Audit lists events.
func (c *Config) Audit(ctx context.Context, q config.AuditQuery) ([]*config.AuditEvent, error) {
	return look(ctx, c, func(s *configstate.State) ([]*config.AuditEvent, error) { return s.Audit(q), nil })
}

// Tally adds to a tally.
func (c *Config) Tally(ctx context.Context, number int64, add config.Tally) error {
	_, err := look(ctx, c, func(s *configstate.State) (any, error) {
		d, err := s.Tally(number, add)
		if err != nil {
			return nil, err
		}
		return nil, c.do(d)
	})
	return err
}

// Tallies returns tallies.
func (c *Config) Tallies(ctx context.Context, numbers ...int64) (map[int64]config.Tally, error) {
	return look(ctx, c, func(s *configstate.State) (map[int64]config.Tally, error) { return s.Tallies(numbers), nil })
}

// Purge removes what is old.
func (c *Config) Purge(ctx context.Context, audit, versions time.Duration) (config.Purged, error) {
	if ctx.Err() != nil {
		return config.Purged{}, context.Cause(ctx)
	}
	var pinned []int64
	switch {
	case versions <= 0:
	case c.opts.Pinned == nil:
		versions = 0
	default:
		var err error
		if pinned, err = c.opts.Pinned(ctx); err != nil {
			return config.Purged{}, fmt.Errorf("purge the configuration: %w", err)
		}
	}
	return look(ctx, c, func(s *configstate.State) (config.Purged, error) {
		d, purged := s.Purge(c.opts.Now(), audit, versions, pinned)
		if purged == (config.Purged{}) {
			return purged, nil
		}
		if err := c.do(d); err != nil {
			return config.Purged{}, err
		}
		c.log.compact(c.state.All())
		return purged, nil
	})
}

var _ config.Store = (*Config)(nil)
