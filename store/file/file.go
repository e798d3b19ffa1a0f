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
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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

// setDefaults fills in what was left out.
func (o *Options) setDefaults() {
	switch {
	case o.Cache == 0:
		o.Cache = 256 << 20
	case o.Cache < 0:
		o.Cache = 0
	}
	if o.Files <= 0 {
		o.Files = 256
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Store implements [awaken.Store], [awaken.EventLog], [awaken.ThreadEditor] and
// [awaken.Pipelined]. Each of its parts implements one of the ports.
type Store struct {
	reader
	eventLog
	committer
	inbox
	editor
	profile *Profile

	// What the parts share.
	gate     gate
	home     home
	journals journals
	table    *table
	bodies   *bodies
	copier   *copier
	index    *indexFile
}

// Open opens the store in a folder, which is made if it is not there.
func Open(dir string, opts *Options) (*Store, error) { return open(dir, opts, (*os.File).Sync) }

func open(dir string, opts *Options, fsync func(*os.File) error) (_ *Store, err error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.setDefaults()
	if dir, err = filepath.Abs(dir); err != nil { // so that errors say which folder it was
		return nil, err
	}
	s := newStore(o, fsync)
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("open file store %s: %w", dir, err), s.release())
		}
	}()
	head, err := s.home.open(dir)
	if err != nil {
		return nil, err
	}
	s.table.floor = head.Floor
	if err := s.home.root.MkdirAll(journalsDir, dirMode); err != nil {
		return nil, err
	}
	if s.journals.root, err = s.home.root.OpenRoot(journalsDir); err != nil {
		return nil, err
	}
	if err := s.home.syncDir("."); err != nil {
		return nil, err
	}
	if err := s.recover(o.Logger); err != nil {
		return nil, err
	}
	return s, nil
}

// newStore returns a store that has yet to be opened.
func newStore(o Options, fsync func(*os.File) error) *Store {
	s := &Store{home: home{folder: folder{fsync: fsync}}, journals: journals{folder: folder{fsync: fsync}, max: o.Files}, table: newTable()}
	dir := &s.home.folder
	s.bodies = &bodies{table: s.table, journals: &s.journals, max: o.Cache}
	s.copier = &copier{folder: dir, table: s.table, bodies: s.bodies, off: o.NoCopies, logger: o.Logger}
	s.index = &indexFile{folder: dir, table: s.table, logger: o.Logger}
	w := &writer{table: s.table, journals: &s.journals, bodies: s.bodies}
	rm := &remover{home: &s.home, table: s.table, journals: &s.journals, bodies: s.bodies, writer: w, copier: s.copier}

	s.reader = reader{gate: &s.gate, table: s.table, bodies: s.bodies}
	s.eventLog = eventLog{gate: &s.gate, bodies: s.bodies}
	s.committer = committer{gate: &s.gate, table: s.table, bodies: s.bodies, writer: w, remover: rm, copier: s.copier, index: s.index}
	s.inbox = inbox{gate: &s.gate, table: s.table, bodies: s.bodies, writer: w}
	s.editor = editor{gate: &s.gate, table: s.table, writer: w, remover: rm, now: o.Now}
	s.profile = &Profile{gate: &s.gate, folder: dir, now: o.Now, namespaces: map[string]bool{}}
	return s
}

// recover finds the threads, cuts what was half written when the last process died,
// and finishes what it had begun.
func (s *Store) recover(logger *slog.Logger) error {
	rc := recovery{table: s.table, journals: &s.journals, index: s.index.load(), logger: logger}
	names, err := s.journals.list(".")
	if err != nil {
		return err
	}
	// A journal may be there that nobody has synced the name of.
	if err := s.journals.syncDir("."); err != nil {
		return err
	}
	scanned := false // a whole journal, because the index did not know it
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			whole, err := rc.thread(name)
			if err != nil {
				return err
			}
			scanned = scanned || whole
		}
	}
	if err := s.editor.remover.finish(); err != nil {
		return err
	}
	if scanned {
		// It may be the old index that was wrong: it must not meet what is appended now.
		if err := s.index.save(); err != nil {
			return err
		}
	}
	return s.profile.clean()
}

// Close writes the copies and the index, and gives the folder free. It waits for
// methods that are under way.
func (s *Store) Close() error {
	return s.gate.close(func() error {
		// The index comes first because it saves time and the copies take some. It is saved
		// again to remember which copies there are.
		err := s.index.save()
		stale := false
		for _, t := range s.copier.stale() {
			stale = true
			s.copier.update(t)
		}
		if stale {
			err = errors.Join(err, s.index.save())
		}
		return errors.Join(err, s.release())
	})
}

// release closes what is open.
func (s *Store) release() error {
	return errors.Join(s.journals.closeAll(), s.home.close())
}

// Profile returns the store's profile entries.
func (s *Store) Profile() *Profile { return s.profile }

// Pipelined says that commits take time: each waits for the disk.
func (s *Store) Pipelined() bool { return true }

var (
	_ awaken.Store        = (*Store)(nil)
	_ awaken.EventLog     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
)
