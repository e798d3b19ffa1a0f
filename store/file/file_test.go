package file_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/eventlogtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/state/profile/profiletest"
	"github.com/awaken-go/awaken/store/file"
	"github.com/awaken-go/awaken/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) awaken.Store { return open(t, t.TempDir(), nil) })
}

// Nothing is cached, so everything is read from the journals.
func TestStore_WithoutCache(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) awaken.Store {
		opts := &file.Options{Cache: -1, Files: 1, NoCopies: !testenv.Long()} // the copies are those of TestStore
		if large(t) {
			opts.Cache = 1 << 20
		}
		return quick(t, t.TempDir(), opts)
	})
}

// The store is reopened before every call.
func TestStore_ReopenedBeforeEveryCall(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t *testing.T) awaken.Store {
		if strings.HasSuffix(t.Name(), "/HaveWhatAPlainFilterSelects") && !testenv.Long() {
			t.Skip("a thousand pages take a while; scripts/test -long reads them, and the other cases of lists are made")
		}
		return newReopener(t)
	})
}

// large reports whether a case writes or asks too much for everything to be read again for every call.
func large(t *testing.T) bool {
	return strings.Contains(t.Name(), "/Concurrency/") || strings.HasSuffix(t.Name(), "/KeepsLargeValues") || strings.HasSuffix(t.Name(), "/HaveWhatAPlainFilterSelects")
}

// crowded reports whether a case is large or has so many threads that reading them again for every call takes minutes.
func crowded(t *testing.T) bool {
	return large(t) || strings.HasSuffix(t.Name(), "/HaveARunningThreadByItsLastStep")
}

func TestStore_TakeOver(t *testing.T) {
	t.Parallel()
	storetest.TakeOver(t, quick(t, t.TempDir(), nil), testenv.Times(50, 1000))
}

func TestEventLog(t *testing.T) {
	t.Parallel()
	eventlogtest.Test(t, func(t *testing.T) eventlogtest.Store {
		if strings.HasSuffix(t.Name(), "/AReaderResumesAtEveryCut") && !testenv.Long() {
			t.Skip("10,000 cuts take a while; scripts/test -long makes them")
		}
		return quick(t, t.TempDir(), nil)
	})
}

func TestProfile(t *testing.T) {
	t.Parallel()
	profiletest.Test(t, func(t *testing.T) profile.Store { return open(t, t.TempDir(), nil).Profile() })
}

// reopener is a store that is reopened before every call.
type reopener struct {
	t   *testing.T
	dir string
	mu  sync.Mutex
	*file.Store
	n int
}

func newReopener(t *testing.T) *reopener {
	r := &reopener{t: t, dir: t.TempDir()}
	r.reopen()
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func (r *reopener) reopen() {
	if r.Store != nil {
		if err := r.Close(); err != nil {
			r.t.Error(err)
		}
	}
	s, err := file.OpenUnsynced(r.dir, &file.Options{NoCopies: !testenv.Long()}) // Close waits for copies, and the next call ends them
	if err != nil {
		r.t.Fatal(err)
	}
	r.Store = s
}

// fresh calls fn with the reopened store.
func fresh[T any](r *reopener, fn func(s *file.Store) (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.n++; r.n%20 == 0 || !crowded(r.t) {
		r.reopen()
	}
	return fn(r.Store)
}

func none(err error) (struct{}, error) { return struct{}{}, err }

func (r *reopener) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	return fresh(r, func(s *file.Store) (*awaken.Thread, error) { return s.Thread(ctx, id) })
}

func (r *reopener) ListThreads(ctx context.Context, q awaken.ThreadQuery) ([]*awaken.Thread, error) {
	return fresh(r, func(s *file.Store) ([]*awaken.Thread, error) { return s.ListThreads(ctx, q) })
}

func (r *reopener) Messages(ctx context.Context, id string, q awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	return fresh(r, func(s *file.Store) ([]awaken.MessageRecord, error) { return s.Messages(ctx, id, q) })
}

func (r *reopener) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	return fresh(r, func(s *file.Store) (*awaken.Run, error) { return s.LoadRun(ctx, id) })
}

func (r *reopener) ListRuns(ctx context.Context, q awaken.RunQuery) ([]*awaken.Run, error) {
	return fresh(r, func(s *file.Store) ([]*awaken.Run, error) { return s.ListRuns(ctx, q) })
}

func (r *reopener) Calls(ctx context.Context, id string) ([]*awaken.CallState, error) {
	return fresh(r, func(s *file.Store) ([]*awaken.CallState, error) { return s.Calls(ctx, id) })
}

func (r *reopener) Acquire(ctx context.Context, id string) (*awaken.Checkpoint, error) {
	return fresh(r, func(s *file.Store) (*awaken.Checkpoint, error) { return s.Acquire(ctx, id) })
}

func (r *reopener) Commit(ctx context.Context, c *awaken.Commit) error {
	_, err := fresh(r, func(s *file.Store) (struct{}, error) { return none(s.Commit(ctx, c)) })
	return err
}

func (r *reopener) Interrupt(ctx context.Context, id string) ([]*awaken.CallState, error) {
	return fresh(r, func(s *file.Store) ([]*awaken.CallState, error) { return s.Interrupt(ctx, id) })
}

func (r *reopener) Post(ctx context.Context, id string, items ...awaken.InboxItem) error {
	_, err := fresh(r, func(s *file.Store) (struct{}, error) { return none(s.Post(ctx, id, items...)) })
	return err
}

func (r *reopener) ThreadState(ctx context.Context, id string) (map[string]json.RawMessage, error) {
	return fresh(r, func(s *file.Store) (map[string]json.RawMessage, error) { return s.ThreadState(ctx, id) })
}

func (r *reopener) View(ctx context.Context, id string) (*awaken.View, error) {
	return fresh(r, func(s *file.Store) (*awaken.View, error) { return s.View(ctx, id) })
}

func (r *reopener) Unread(ctx context.Context, id string) ([]awaken.InboxItem, error) {
	return fresh(r, func(s *file.Store) ([]awaken.InboxItem, error) { return s.Unread(ctx, id) })
}

func (r *reopener) Entries(ctx context.Context, id string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	return fresh(r, func(s *file.Store) ([]awaken.Entry, error) { return s.Entries(ctx, id, q) })
}

func (r *reopener) Fork(ctx context.Context, id string, seq int, newID string, notes map[string]json.RawMessage) (*awaken.Thread, error) {
	return fresh(r, func(s *file.Store) (*awaken.Thread, error) { return s.Fork(ctx, id, seq, newID, notes) })
}

func (r *reopener) DeleteThread(ctx context.Context, id string, c awaken.ChildStrategy) error {
	_, err := fresh(r, func(s *file.Store) (struct{}, error) { return none(s.DeleteThread(ctx, id, c)) })
	return err
}

func (r *reopener) CountThreads(ctx context.Context, q awaken.ThreadQuery) (int, error) {
	return fresh(r, func(s *file.Store) (int, error) { return s.CountThreads(ctx, q) })
}

func (r *reopener) CountRuns(ctx context.Context, q awaken.RunQuery) (int, error) {
	return fresh(r, func(s *file.Store) (int, error) { return s.CountRuns(ctx, q) })
}

func (r *reopener) CreateThread(ctx context.Context, t *awaken.Thread) error {
	_, err := fresh(r, func(s *file.Store) (struct{}, error) { return none(s.CreateThread(ctx, t)) })
	return err
}

func (r *reopener) UpdateThread(ctx context.Context, id string, fn func(*awaken.Thread) error) (*awaken.Thread, error) {
	return fresh(r, func(s *file.Store) (*awaken.Thread, error) { return s.UpdateThread(ctx, id, fn) })
}

func (r *reopener) Prune(ctx context.Context, before time.Time) (int, error) {
	return fresh(r, func(s *file.Store) (int, error) { return s.Prune(ctx, before) })
}
