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
	opts   ConfigOptions
	root   *os.Root
	unlock func() error
	fsync  func(*os.File) error

	mu     sync.Mutex // guards everything below
	closed bool
	state  *configstate.State
	log    *os.File
	size   int64 // of the log
	least  int64 // its size when it was last written anew
	broken error // why it cannot be written any more
}

const (
	configLog = "config.log"
	// minCompact is how long a log may get in any case.
	minCompact = 1 << 20
)

// OpenConfig opens the configuration in a folder, which is made if it is not there.
func OpenConfig(dir string, opts *ConfigOptions) (*Config, error) {
	return openConfig(dir, opts, (*os.File).Sync)
}

func openConfig(dir string, opts *ConfigOptions, fsync func(*os.File) error) (_ *Config, err error) {
	c := &Config{fsync: fsync, state: configstate.New()}
	if opts != nil {
		c.opts = *opts
	}
	if c.opts.Logger == nil {
		c.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if c.opts.Now == nil {
		c.opts.Now = time.Now
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open configuration %s: %w", dir, err), c.release())
		}
	}()
	folder := &Store{fsync: fsync}
	if err := folder.makeFolder(dir); err != nil {
		return nil, err
	}
	if c.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	if c.unlock, err = lock(c.root, ".lock"); err != nil {
		return nil, err
	}
	folder.root = c.root
	if err := folder.readHead(); err != nil {
		return nil, err
	}
	return c, c.load()
}

// load reads the log and cuts what was half written when the last process died.
func (c *Config) load() (err error) {
	_ = c.root.Remove(configLog + ".tmp")
	if c.log, err = c.root.OpenFile(configLog, os.O_RDWR|os.O_CREATE, fileMode); err != nil {
		return err
	}
	// Somebody may have died before its name was synced.
	if err := c.syncFolder(); err != nil {
		return err
	}
	info, err := c.log.Stat()
	if err != nil {
		return err
	}
	end, err := scan(c.log, configLog, 0, info.Size(), func(_ span, payload []byte) error {
		d := new(configstate.Delta)
		if err := json.Unmarshal(payload, d); err != nil {
			return err
		}
		if err := c.state.Check(d); err != nil {
			return err
		}
		c.state.Do(d)
		return nil
	})
	if err != nil {
		return err
	}
	if end < info.Size() {
		c.opts.Logger.Warn("cut the torn end of a log", "file", configLog, "at", end, "bytes", info.Size()-end)
		if err := c.log.Truncate(end); err != nil {
			return err
		}
		if err := c.fsync(c.log); err != nil {
			return err
		}
	}
	c.size, c.least = end, end
	return nil
}

func (c *Config) syncFolder() error {
	d, err := c.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(d, c.fsync), d.Close())
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

func (c *Config) release() (err error) {
	if c.log != nil {
		err = c.log.Close()
	}
	if c.unlock != nil {
		err = errors.Join(err, c.unlock())
	}
	if c.root != nil {
		err = errors.Join(err, c.root.Close())
	}
	return err
}

// encodeDelta returns a record of the log.
func encodeDelta(d *configstate.Delta) ([]byte, error) {
	payload, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	buf := append(make([]byte, headerSize, headerSize+len(payload)), payload...)
	return buf, seal(buf)
}

// do makes a change: on the disk, and then in memory. Requires c.mu.
func (c *Config) do(d *configstate.Delta) error {
	if c.broken != nil {
		return fmt.Errorf("%s cannot be written until it is opened again: %w", configLog, c.broken)
	}
	buf, err := encodeDelta(d)
	if err != nil {
		return err
	}
	atWrite.Hit()
	if _, err := c.log.WriteAt(buf, c.size); err != nil {
		// Nothing was promised yet. Take it back; if that fails too, what is in the file is
		// anybody's guess.
		back := c.log.Truncate(c.size)
		if back == nil {
			back = c.fsync(c.log)
		}
		if back != nil {
			c.broken = errors.Join(err, back)
		}
		return fmt.Errorf("write %s: %w", configLog, err)
	}
	atWritten.Hit()
	if err := c.fsync(c.log); err != nil {
		c.broken = err // only reading the file again tells what is there
		return fmt.Errorf("sync %s: %w", configLog, err)
	}
	atSynced.Hit()
	c.size += int64(len(buf))
	c.state.Do(d)
	if c.size > max(minCompact, 2*c.least) {
		c.compact()
	}
	return nil
}

// compact writes the log anew. If that fails, the old one stays. Requires c.mu.
func (c *Config) compact() {
	if err := c.rewrite(); err != nil {
		c.least = c.size // not again at once
		c.opts.Logger.Warn("a log was not made shorter", "file", configLog, "error", err)
	}
}

func (c *Config) rewrite() (err error) {
	const tmp = configLog + ".tmp"
	f, err := c.root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return err
	}
	kept := false
	defer func() {
		if !kept {
			err = errors.Join(err, f.Close(), c.root.Remove(tmp))
		}
	}()
	size := int64(0)
	for d := range c.state.All() {
		buf, err := encodeDelta(d)
		if err != nil {
			return err
		}
		if _, err := f.WriteAt(buf, size); err != nil {
			return err
		}
		size += int64(len(buf))
	}
	if err := c.fsync(f); err != nil {
		return err
	}
	atRename.Hit()
	if err := c.root.Rename(tmp, configLog); err != nil {
		return err
	}
	atRenamed.Hit()
	kept = true
	old := c.log
	c.log, c.size, c.least = f, size, size
	_ = old.Close() // it has no name any more
	if err := c.syncFolder(); err != nil {
		c.broken = err // which of the two is there after a power cut, nobody knows
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
		c.compact()
		return purged, nil
	})
}

var _ config.Store = (*Config)(nil)
