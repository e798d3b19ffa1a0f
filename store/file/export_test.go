package file

import "os"

// OpenUnsynced opens a store that does not sync, for tests that make thousands of changes
// and do not simulate power cuts.
func OpenUnsynced(dir string, opts *Options) (*Store, error) {
	return open(dir, opts, func(*os.File) error { return nil })
}

// OpenSyncing opens a store that syncs with fn.
func OpenSyncing(dir string, opts *Options, fn func(*os.File) error) (*Store, error) {
	return open(dir, opts, fn)
}

// FileName returns the file name for an id.
var FileName = fileName

// Span is the position of a record.
type Span struct{ Off, Len int64 }

// Spans returns the positions of the records of a journal.
func Spans(path string) ([]Span, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var out []Span
	_, err = scan(f, path, 0, info.Size(), func(at span, _ []byte) error {
		out = append(out, Span(at))
		return nil
	})
	return out, err
}

// Loaded returns the number of cached threads and their size in bytes.
func (s *Store) Loaded() (threads int, size int64) {
	s.table.mu.Lock()
	defer s.table.mu.Unlock()
	return s.bodies.order.Len(), s.bodies.size
}

// SaveIndex saves the index now.
func (s *Store) SaveIndex() error { return s.index.save() }

// Abandon leaves the store as a dying process does.
func (s *Store) Abandon() {
	_ = s.gate.close(s.release)
}

// OpenConfigUnsynced opens a configuration that does not sync.
func OpenConfigUnsynced(dir string, opts *ConfigOptions) (*Config, error) {
	return openConfig(dir, opts, func(*os.File) error { return nil })
}

// OpenConfigSyncing opens a configuration that syncs with fn.
func OpenConfigSyncing(dir string, opts *ConfigOptions, fn func(*os.File) error) (*Config, error) {
	return openConfig(dir, opts, fn)
}

// Abandon leaves the configuration as a dying process does.
func (c *Config) Abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	_ = c.release()
}

// Compact rewrites the log.
func (c *Config) Compact() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.log.rewrite(c.state.All())
}

// Sealed returns a record with a payload.
func Sealed(payload []byte) []byte {
	buf := append(make([]byte, headerSize), payload...)
	if err := seal(buf); err != nil {
		panic(err)
	}
	return buf
}
