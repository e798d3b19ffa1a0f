package file

import (
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
	configPort
	home home

	mu     sync.Mutex // guards everything below
	closed bool
	state  *configstate.State
	log    deltaLog
}

// configPort is what every configuration in memory answers.
type configPort struct{ *configstate.Store }

// OpenConfig opens the configuration in a folder, which is made if it is not there.
func OpenConfig(dir string, opts *ConfigOptions) (*Config, error) {
	return openConfig(dir, opts, (*os.File).Sync)
}

func openConfig(dir string, opts *ConfigOptions, fsync func(*os.File) error) (_ *Config, err error) {
	c := &Config{home: home{folder: folder{fsync: fsync}}, state: configstate.New()}
	var o ConfigOptions
	if opts != nil {
		o = *opts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
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

func (c *Config) ready() error {
	if c.closed {
		return ErrClosed
	}
	return nil
}

// do makes a change: on the disk, and then in memory. Requires c.mu.
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

// compact writes the log anew. Requires c.mu.
func (c *Config) compact() { c.log.compact(c.state.All()) }

var _ config.Store = (*Config)(nil)
