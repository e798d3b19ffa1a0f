package file

import (
	"cmp"
	"context"
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

// ConfigOptions configures a [Config]. The zero value, or nil, is ready for use.
type ConfigOptions struct {
	// Pinned counts unfinished runs by the publication that they are pinned to, the number in
	// their resolution_id, and their agent. The folder holds no runs, so Purge cannot know; if
	// Pinned is nil, Purge removes no publication.
	Pinned func(ctx context.Context) ([]config.Pin, error)
	// Logger receives warnings: a torn log was truncated, a log could not be compacted.
	// Nil discards them.
	Logger *slog.Logger
	// Now is the clock that Purge uses; nil means time.Now.
	Now func() time.Time
}

// Config implements [config.Store] in a folder of its own:
//
//	store.json   the version of the layout
//	config.log   every change, appended and synced
//
// The whole configuration is in memory; opening the folder reads the log. The log is
// compacted when it has doubled in size and when Purge has removed something, which is
// then off the disk. One process at a time can open a folder.
type Config struct {
	configPort
	home home

	mu     sync.Mutex // guards everything below
	closed bool
	state  *configstate.State
	log    deltaLog
}

// configPort keeps the promoted methods without exporting a field.
type configPort struct{ *configstate.Store }

// OpenConfig opens the configuration in a folder, which it creates if it is missing. It
// fails with [ErrLocked] while another process has the folder open.
func OpenConfig(dir string, opts *ConfigOptions) (*Config, error) {
	return openConfig(dir, opts, (*os.File).Sync)
}

func openConfig(dir string, opts *ConfigOptions, fsync func(*os.File) error) (_ *Config, err error) {
	c := &Config{home: home{folder: folder{fsync: fsync}}, state: configstate.New()}
	var o ConfigOptions
	if opts != nil {
		o = *opts
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	c.log = deltaLog{folder: &c.home.folder, logger: o.Logger}
	c.configPort = configPort{configstate.NewStore(configstate.StoreOptions{Mu: &c.mu, State: c.state, Ready: c.ready, Do: c.do, Removed: c.compact, Pinned: o.Pinned, Now: o.Now})}
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

// Close waits for methods in flight and unlocks the folder.
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

func (c *Config) ready() error {
	if c.closed {
		return ErrClosed
	}
	return nil
}

// do writes a change to the disk and then applies it in memory. Requires c.mu.
func (c *Config) do(d *configstate.Delta) error {
	if err := c.log.append(d); err != nil {
		return err
	}
	c.state.Do(d)
	if c.log.long() {
		c.compact()
	}
	return nil
}

// compact rewrites the log. Requires c.mu.
func (c *Config) compact() { c.log.compact(c.state.All()) }

var _ config.Store = (*Config)(nil)
