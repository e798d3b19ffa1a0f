// Package file keeps threads, runs and profiles in a folder: no server, no database,
// and everything in it can be read with a pager.
//
//	store, err := file.Open("/var/lib/myapp/awaken", nil)
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//
// # What is in the folder
//
//	store.json                            the version of the layout
//	journals/<thread>.log                 everything about a thread, appended and synced with each change
//	profiles/<namespace>/<key>.json       profile entries
//	index                                 where to find what in the journals; made again when it is missing
//	threads/<thread>.json                 copies for people to read, written when a run ends or waits,
//	message_records/<thread>/<seq>.json     and when the store is closed
//	thread_states/<thread>.json
//	runs/<run>.json
//
// The journals and the profiles are the truth. The copies are never read back and are
// not synced: after a power cut they may be older than the journal until the thread is
// next used or the store is closed, and some may be missing. Whoever deletes the index
// gets all of them again when the store is next opened and closed.
//
// When a method that changes something returns nil, the change is on disk. If the
// process or the machine dies in the middle of a change, the next Open finds the
// journal as it was before or after that change, never in between.
//
// # What it is not
//
// One process at a time can open a folder; Open fails with [ErrLocked] otherwise.
// Folders on network file systems are not supported: their locks and their syncs
// promise less than they say. A [Store] is scoped to one tenant, as every store is:
// give each tenant a folder of its own.
package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/failpoint"
)

// ErrLocked means that another process, or another Store of this one, has the folder.
var ErrLocked = errors.New("folder is in use")

// ErrClosed is returned by every method of a Store that was closed.
var ErrClosed = errors.New("file store is closed")

// The places where a crash test stops the process.
var (
	atWrite     = failpoint.New("file.before_write")
	atWritten   = failpoint.New("file.after_write") // before it is synced
	atSynced    = failpoint.New("file.after_sync")
	atProject   = failpoint.New("file.before_projection")
	atProjected = failpoint.New("file.after_projection")
	atRemove    = failpoint.New("file.before_removal")  // of a journal
	atRename    = failpoint.New("config.before_rename") // of a log that was written anew
	atRenamed   = failpoint.New("config.after_rename")
)

// format is the version of the layout. A folder with a higher one is refused.
const format = 1

// Permissions: conversations are private.
const (
	dirMode  = 0o700
	fileMode = 0o600
)

// Options are choices that all have defaults.
type Options struct {
	// Cache is how many bytes of threads are kept in memory, about; default 256 MiB.
	// A negative number keeps none. What a commit costs does not depend on it.
	Cache int64
	// Files is how many journals are kept open; default 256.
	Files int
	// NoCopies leaves out the copies for people to read.
	NoCopies bool
	// Logger hears about torn journals that were cut and copies that could not be
	// written. Nil discards.
	Logger *slog.Logger
	// Now is the clock of profile entries and of what people attach to threads; default
	// time.Now.
	Now func() time.Time
}

// Store implements [awaken.Store], [awaken.EventLog], [awaken.ThreadEditor] and
// [awaken.Pipelined].
type Store struct {
	opts     Options
	root     *os.Root
	journals *os.Root
	unlock   func() error
	files    handles
	fsync    func(*os.File) error

	life   sync.RWMutex // held for reading by every method, for writing by Close
	closed bool

	// edit is held while threads are forked and deleted. Locks are taken in this
	// order: edit, a thread's copying, a thread's writing, that of the thread it was
	// forked from, mu.
	edit sync.Mutex

	saving sync.Mutex // while the index is written

	making     sync.Mutex
	namespaces map[string]bool // whose folders are durable; guarded by making

	mu      sync.Mutex // guards everything below, and what thread and body say
	threads map[string]*thread
	runs    map[string]*runRef
	floor   uint64 // the highest fence of a thread that was deleted: no new one gets it again
	clock   int64  // grows with every commit, to order threads and runs
	grown   int64  // bytes written to journals since the index was saved
	indexed int64  // size of the saved index
	cache   cache
}

// Open opens the store in a folder, which is made if it is not there.
func Open(dir string, opts *Options) (*Store, error) { return open(dir, opts, (*os.File).Sync) }

func open(dir string, opts *Options, fsync func(*os.File) error) (_ *Store, err error) {
	s := &Store{fsync: fsync, threads: map[string]*thread{}, runs: map[string]*runRef{}, namespaces: map[string]bool{}}
	if opts != nil {
		s.opts = *opts
	}
	switch {
	case s.opts.Cache == 0:
		s.opts.Cache = 256 << 20
	case s.opts.Cache < 0:
		s.opts.Cache = 0
	}
	if s.opts.Files <= 0 {
		s.opts.Files = 256
	}
	if s.opts.Logger == nil {
		s.opts.Logger = slog.New(slog.DiscardHandler)
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	if dir, err = filepath.Abs(dir); err != nil { // so that errors say which folder it was
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open file store %s: %w", dir, err), s.release())
		}
	}()
	if err := s.makeFolder(dir); err != nil {
		return nil, err
	}
	if s.root, err = os.OpenRoot(dir); err != nil {
		return nil, err
	}
	if s.unlock, err = lock(s.root, ".lock"); err != nil {
		return nil, err
	}
	if err := s.readHead(); err != nil {
		return nil, err
	}
	if err := s.root.MkdirAll("journals", dirMode); err != nil {
		return nil, err
	}
	if s.journals, err = s.root.OpenRoot("journals"); err != nil {
		return nil, err
	}
	if err := s.syncDir(s.root, "."); err != nil {
		return nil, err
	}
	s.files = handles{root: s.journals, max: s.opts.Files}
	if err := s.recover(); err != nil {
		return nil, err
	}
	return s, nil
}

// makeFolder makes a folder, and makes sure that it is found again: its name and those
// of the folders it is in are as durable as what is going to be in it.
func (s *Store) makeFolder(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "store.json")); err == nil {
		return nil
	}
	var made []string
	for path := dir; ; path = filepath.Dir(path) {
		if _, err := os.Stat(path); !missing(err) {
			break
		}
		made = append(made, path)
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	if made == nil {
		// Whoever made it may have died before it was synced. Usually it is somebody's
		// who has prepared it for us, and no business of ours.
		_ = s.syncPath(filepath.Dir(dir))
	}
	for _, path := range made {
		if err := s.syncPath(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

// syncPath makes the names in a folder outside of the store durable.
func (s *Store) syncPath(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(syncFolder(d, s.fsync), d.Close())
}

// head is what store.json says.
type head struct {
	Format int    `json:"format"`
	Floor  uint64 `json:"floor,omitempty"`
}

// readHead refuses a folder that a later version has written.
func (s *Store) readHead() error {
	var h head
	data, err := s.root.ReadFile("store.json")
	if missing(err) {
		return s.writeHead(0)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &h); err != nil || h.Format < 1 {
		return fmt.Errorf("store.json says %q, want {\"format\":%d}", bytes.TrimSpace(data), format)
	}
	if h.Format > format {
		return fmt.Errorf("the folder has format %d, and this program knows only up to %d: it was written by a later version", h.Format, format)
	}
	s.floor = h.Floor
	return nil
}

func (s *Store) writeHead(floor uint64) error {
	data, err := json.Marshal(head{format, floor})
	if err != nil {
		return err
	}
	return s.replace(s.root, "store.json", append(data, '\n'))
}

// raiseFloor makes sure that no new thread gets the fence of one of these, so that
// whoever owned them never owns another by chance. Requires s.edit.
func (s *Store) raiseFloor(threads ...*thread) error {
	s.mu.Lock()
	floor := s.floor
	for _, t := range threads {
		floor = max(floor, t.fence)
	}
	raise := floor > s.floor
	s.mu.Unlock()
	if !raise {
		return nil
	}
	if err := s.writeHead(floor); err != nil {
		return err
	}
	s.mu.Lock()
	s.floor = floor
	s.mu.Unlock()
	return nil
}

// recover finds the threads, cuts what was half written when the last process died,
// and finishes what it had begun.
func (s *Store) recover() error {
	index := s.loadIndex()
	names, err := listDir(s.journals, ".")
	if err != nil {
		return err
	}
	// A journal may be there that nobody has synced the name of.
	if err := s.syncDir(s.journals, "."); err != nil {
		return err
	}
	scanned := false // a whole journal, because the index did not know it
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			whole, err := s.recoverThread(name, index)
			if err != nil {
				return err
			}
			scanned = scanned || whole
		}
	}
	var doomed []*thread
	for _, t := range s.threads {
		if t.doomed != nil {
			doomed = append(doomed, t)
		}
	}
	for _, t := range doomed {
		if err := s.bury(t, *t.doomed); err != nil {
			return fmt.Errorf("finish deleting thread %q: %w", t.ID, err)
		}
	}
	if scanned {
		// It may be the old index that was wrong: it must not meet what is appended now.
		if err := s.saveIndex(); err != nil {
			return err
		}
	}
	return s.cleanProfiles()
}

// Close writes the copies and the index, and gives the folder free. It waits for
// methods that are under way.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	// The index comes first because it saves time and the copies take some. It is saved
	// again to remember which copies there are.
	err := s.saveIndex()
	stale := false
	for _, t := range s.stale() {
		stale = true
		s.project(t)
	}
	if stale {
		err = errors.Join(err, s.saveIndex())
	}
	return errors.Join(err, s.release())
}

// release closes what is open.
func (s *Store) release() error {
	err := s.files.closeAll()
	if s.journals != nil {
		err = errors.Join(err, s.journals.Close())
	}
	if s.unlock != nil {
		err = errors.Join(err, s.unlock())
	}
	if s.root != nil {
		err = errors.Join(err, s.root.Close())
	}
	return err
}

// enter begins a method, unless the store is closed. The method ends with
// s.life.RUnlock.
func (s *Store) enter() error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return ErrClosed
	}
	return nil
}

// syncDir makes the names in a folder durable.
func (s *Store) syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	err = syncFolder(d, s.fsync)
	return errors.Join(err, d.Close())
}

// replace writes a file as a whole, all or nothing, and makes it durable.
func (s *Store) replace(root *os.Root, name string, data []byte) error {
	return s.replaceVia(root, name, name+".tmp", data)
}

func (s *Store) replaceVia(root *os.Root, name, tmp string, data []byte) error {
	err := func() error {
		f, err := root.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, fileMode)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		if err == nil {
			err = s.fsync(f)
		}
		return errors.Join(err, f.Close())
	}()
	if err == nil {
		err = root.Rename(tmp, name)
	}
	if err != nil {
		_ = root.Remove(tmp)
		return err
	}
	return s.syncDir(root, filepath.Dir(name))
}

// listDir returns the names in a folder, sorted. What is not there is empty.
func listDir(root *os.Root, name string) ([]string, error) {
	d, err := root.Open(name)
	if missing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	slices.Sort(names)
	return names, errors.Join(err, d.Close())
}

// Pipelined says that commits take time: each waits for the disk.
func (s *Store) Pipelined() bool { return true }

func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

var (
	_ awaken.Store        = (*Store)(nil)
	_ awaken.EventLog     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
)
