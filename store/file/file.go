// Package file stores threads, runs and profiles in a folder: no server, no database,
// and every file can be read with a pager.
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
//	journals/<thread>.log                 the journal of a thread, appended and synced with each change
//	profiles/<namespace>/<key>.json       profile entries
//	blobs/<id>                            the bytes of a file, and beside it <id>.json: what it is and what
//	                                        holds it; in subfolders by the start of the ID
//	inferences/<thread>.log               what models were asked and answered, of the runs that a policy selects
//	index                                 positions in the journals; rebuilt if it is missing
//	threads/<thread>.json                 copies for people to read, written when a run ends or waits,
//	message_records/<thread>/<seq>.json     and when the store is closed
//	thread_states/<thread>.json
//	runs/<run>.json
//
// The journals, the profiles and the blobs are authoritative. The store never reads the copies and
// does not sync them: after a power cut they may be outdated or missing until the thread is
// next used or the store is closed. To rewrite all of them, delete the index, then open
// and close the store.
//
// When a method that writes returns nil, the change is on disk. If the process or the
// machine dies in the middle of a change, the next Open finds the journal as it was
// before or after that change, never in between.
//
// # Limits
//
// One process at a time can open a folder; Open fails with [ErrLocked] otherwise.
// Network file systems are not supported, because their locks and syncs are unreliable.
// A [Store] is scoped to one tenant, as every store is: give each tenant its own folder.
package file

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/trace/timeline"
)

// ErrLocked is returned by Open when another process, or another Store of this process,
// has the folder open.
var ErrLocked = errors.New("folder is in use")

// ErrClosed is returned by every method of a closed Store.
var ErrClosed = errors.New("file store is closed")

// The points where crash tests stop the process.
var (
	atWrite     = failpoint.New("file.before_write")
	atWritten   = failpoint.New("file.after_write") // before it is synced
	atSynced    = failpoint.New("file.after_sync")
	atProject   = failpoint.New("file.before_projection")
	atProjected = failpoint.New("file.after_projection")
	atRemove    = failpoint.New("file.before_removal")  // of a journal
	atRename    = failpoint.New("config.before_rename") // of a compacted log
	atRenamed   = failpoint.New("config.after_rename")
)

// Options configures a Store. The zero value, or nil, is ready for use.
type Options struct {
	// Cache is the approximate number of bytes of threads to keep in memory; 0 means
	// 256 MiB, a negative number keeps none. The cost of a commit does not depend on it.
	Cache int64
	// Files is the number of journals to keep open; 0 means 256.
	Files int
	// NoCopies turns off the readable copies.
	NoCopies bool
	// Logger receives warnings: a torn journal was truncated, a copy could not be written.
	// Nil discards them.
	Logger *slog.Logger
	// Now is the clock of profile entries and of edited threads; nil means time.Now.
	Now func() time.Time
}

// setDefaults sets the fields that are zero.
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
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Store implements [awaken.Store], [awaken.EventLog], [awaken.ThreadEditor], [timeline.Log] and
// [awaken.Pipelined]. Each of its parts implements one of the ports.
type Store struct {
	reader
	eventLog
	committer
	inbox
	editor
	profile *Profile
	files   *blobs

	inferences *inferences

	// Shared by the parts.
	gate     gate
	home     home
	journals journals
	table    *table
	bodies   *bodies
	copier   *copier
	index    *indexFile
	changes  changelog.Memory
}

// Open opens the store in a folder, which it creates if it is missing. It fails with
// [ErrLocked] while another process has the folder open, and with a [DamagedError] for a
// journal that cannot be read.
func Open(dir string, opts *Options) (*Store, error) { return open(dir, opts, (*os.File).Sync) }

func open(dir string, opts *Options, fsync func(*os.File) error) (_ *Store, err error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	o.setDefaults()
	if dir, err = filepath.Abs(dir); err != nil { // so that errors name the folder
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

// newStore connects the parts of a store. The caller opens it.
func newStore(o Options, fsync func(*os.File) error) *Store {
	s := &Store{changes: changelog.Memory{Now: o.Now}, home: home{folder: folder{fsync: fsync}}, journals: journals{folder: folder{fsync: fsync}, max: o.Files}, table: newTable()}
	dir := &s.home.folder
	s.bodies = &bodies{table: s.table, journals: &s.journals, max: o.Cache}
	s.copier = &copier{folder: dir, table: s.table, bodies: s.bodies, off: o.NoCopies, logger: o.Logger}
	s.index = &indexFile{folder: dir, table: s.table, logger: o.Logger}
	w := &writer{table: s.table, journals: &s.journals, bodies: s.bodies}
	s.files = &blobs{gate: &s.gate, folder: dir, table: s.table, now: o.Now}
	s.inferences = &inferences{gate: &s.gate, folder: dir, table: s.table}
	rm := &remover{home: &s.home, table: s.table, journals: &s.journals, bodies: s.bodies, writer: w, copier: s.copier, files: s.files, inferences: s.inferences}

	s.reader = reader{gate: &s.gate, table: s.table, bodies: s.bodies}
	s.eventLog = eventLog{gate: &s.gate, bodies: s.bodies}
	s.committer = committer{gate: &s.gate, table: s.table, bodies: s.bodies, writer: w, remover: rm, copier: s.copier, index: s.index, changes: &s.changes}
	s.inbox = inbox{gate: &s.gate, table: s.table, bodies: s.bodies, writer: w, changes: &s.changes}
	s.editor = editor{gate: &s.gate, table: s.table, writer: w, remover: rm, now: o.Now}
	s.profile = &Profile{profileFolder: &profileFolder{gate: &s.gate, folder: dir, now: o.Now, namespaces: map[string]bool{}}}
	return s
}

// recover reads the threads, truncates records that a dying process left half written,
// and finishes the deletions that it had begun.
func (s *Store) recover(logger *slog.Logger) error {
	rc := recovery{table: s.table, journals: &s.journals, index: s.index.load(), logger: logger}
	names, err := s.journals.list(".")
	if err != nil {
		return err
	}
	// A process may have died before it synced the name of a journal.
	if err := s.journals.syncDir("."); err != nil {
		return err
	}
	scanned := false // a whole journal was read, because the index did not know it
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
		// The old index may be wrong, and must not be used for what is appended from now on.
		if err := s.index.save(); err != nil {
			return err
		}
	}
	return s.profile.clean()
}

// Changes returns the log of changes of tenant "". It is not stored: it begins when it is first read.
func (s *Store) Changes() changelog.Store { return &s.changes }

// Close waits for methods in flight, writes the copies and the index, and unlocks the
// folder.
func (s *Store) Close() error {
	return s.gate.close(func() error {
		// The index comes first: it makes the next Open fast, and the copies take time. It is
		// saved again to record which copies are current.
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

// Profile returns the profile store of the folder.
func (s *Store) Profile() *Profile { return s.profile }

// Pipelined returns true: each commit waits for the disk.
func (s *Store) Pipelined() bool { return true }

var (
	_ awaken.Store        = (*Store)(nil)
	_ awaken.EventLog     = (*Store)(nil)
	_ awaken.ThreadEditor = (*Store)(nil)
	_ awaken.Pipelined    = (*Store)(nil)
	_ timeline.Log        = (*Store)(nil)
)
