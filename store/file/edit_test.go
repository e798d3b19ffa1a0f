package file_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/store/file"
)

func fork(t testing.TB, s *file.Store, from string, seq int, id string) {
	t.Helper()
	if _, err := s.Fork(t.Context(), from, seq, id, nil); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, s *file.Store, id string, children awaken.ChildStrategy) {
	t.Helper()
	if err := s.DeleteThread(t.Context(), id, children); err != nil {
		t.Fatal(err)
	}
}

func TestFork_CopiesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprint(i, strings.Repeat(" word", 20)))
	}
	acquire(t, s, "t", "r").commit(done, all...)
	fork(t, s, "t", 400, "f")
	fork(t, s, "f", 300, "ff")
	acquire(t, s, "ff", "r2").commit(done, "mine")
	for _, id := range []string{"f", "ff"} {
		if n := size(t, journal(dir, id)); n > 2000 {
			t.Errorf("the journal of %s has %d bytes, that of t %d", id, n, size(t, journal(dir, "t")))
		}
	}
	for range 2 {
		equal(t, "fork", all[:400], texts(t, s, "f"))
		equal(t, "fork of the fork", append(all[:300:300], "mine"), texts(t, s, "ff"))
		closing(t, s)
		s = quick(t, dir, nil)
	}
}

// The messages that a fork shares outlive the thread, however it is deleted.
func TestFork_KeepsItsMessagesWhenTheOtherIsDeleted(t *testing.T) {
	t.Parallel()
	for name, del := range map[string]func(t *testing.T, s *file.Store){
		"detach": func(t *testing.T, s *file.Store) { remove(t, s, "t", awaken.DetachChildren) },
		"prune": func(t *testing.T, s *file.Store) {
			if n, err := s.Prune(t.Context(), farFuture); err != nil || n != 1 {
				t.Fatalf("pruned %d, %v", n, err)
			}
		},
		"reject, when it is no child any more": func(t *testing.T, s *file.Store) {
			remove(t, s, "t", awaken.DetachChildren)
			acquire(t, s, "t", "r9").commit(nil, "another thread of that id")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := quick(t, dir, nil)
			acquire(t, s, "t", "r").commit(done, "a", "b", "c")
			fork(t, s, "t", 2, "f")
			acquire(t, s, "f", "r2").commit(nil, "d")
			fork(t, s, "f", 3, "ff")
			acquire(t, s, "ff", "r3").commit(nil, "e")
			del(t, s)
			o := acquire(t, s, "f", "r2")
			o.commit(nil, "g")
			for range 3 {
				equal(t, "fork", []string{"a", "b", "d", "g"}, texts(t, s, "f"))
				equal(t, "fork of the fork", []string{"a", "b", "d", "e"}, texts(t, s, "ff"))
				recs, err := s.Messages(t.Context(), "f", awaken.MessageQuery{Limit: 1})
				if err != nil || recs[0].Created != 1000 {
					t.Errorf("the first record is %+v, %v", recs, err)
				}
				closing(t, s)
				s = quick(t, dir, &file.Options{Cache: -1})
			}
			remove(t, s, "f", awaken.DetachChildren)
			equal(t, "fork of the fork", []string{"a", "b", "d", "e"}, texts(t, s, "ff"))
		})
	}
}

// The next Open finishes a deletion that changes several journals.
func TestDelete_IsFinishedAfterACrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	acquire(t, s, "t", "r").commit(done, "a", "b")
	fork(t, s, "t", 1, "f")
	fork(t, s, "t", 2, "g")
	before, err := os.ReadFile(journal(dir, "t"))
	if err != nil {
		t.Fatal(err)
	}
	state := cloned(t, dir)
	// Find the record of the decision in the journal.
	decided := ""
	hooked, err := file.OpenSyncing(cloned(t, dir), nil, func(f *os.File) error {
		if !strings.HasSuffix(f.Name(), "t.log") || decided != "" {
			return nil
		}
		data, err := os.ReadFile(f.Name())
		if len(data) > len(before) {
			decided = string(data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	remove(t, hooked, "t", awaken.DetachChildren)
	closing(t, hooked)
	if len(decided) <= len(before) {
		t.Fatalf("the journal has no decision")
	}
	if err := os.WriteFile(journal(state, "t"), []byte(decided), 0o600); err != nil {
		t.Fatal(err)
	}
	s = quick(t, state, nil)
	if _, err := s.Thread(t.Context(), "t"); !errors.Is(err, awaken.ErrNotFound) {
		t.Errorf("the thread: error is %v, want ErrNotFound", err)
	}
	if _, err := os.Stat(journal(state, "t")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its journal: %v", err)
	}
	for id, want := range map[string][]string{"f": {"a"}, "g": {"a", "b"}} {
		th, err := s.Thread(t.Context(), id)
		if err != nil || th.ParentThreadID != "" {
			t.Errorf("%s is %+v, %v", id, th, err)
		}
		equal(t, id, want, texts(t, s, id))
	}
}

// A thread with a reused id is another thread, also for an index that was saved in between
// and for the owner of the first.
func TestDelete_MakesRoomForANewThread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	old := acquire(t, s, "t", "r")
	old.commit(done, "old", "older", "oldest")
	if err := s.SaveIndex(); err != nil {
		t.Fatal(err)
	}
	remove(t, s, "t", awaken.DetachChildren)
	for i := range 10 {
		o := acquire(t, s, "t", "r")
		if i == 0 {
			for range 2 {
				if err := old.try(func(c *awaken.Commit) { c.Expect = 0 }, "ghost"); !errors.Is(err, awaken.ErrFenced) {
					t.Errorf("the owner of the deleted thread: error is %v, want ErrFenced", err)
				}
			}
		}
		o.commit(nil, fmt.Sprint("new ", i))
	}
	dir = cloned(t, dir) // killed; the index has the old one
	s = quick(t, dir, nil)
	if got := texts(t, s, "t"); len(got) != 10 || got[0] != "new 0" {
		t.Errorf("texts are %q", got)
	}
	remove(t, s, "t", awaken.DetachChildren)
	dir = cloned(t, dir)
	s = quick(t, dir, nil)
	if o := acquire(t, s, "t", "r"); o.cp.Fence <= 10 {
		t.Errorf("after another process died the fence is %d again", o.cp.Fence)
	}
}

func TestIndex_IsRebuilt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	for _, st := range crashSteps()[:16] {
		st.do(t, s)
	}
	closing(t, s)
	want := dumpDir(t, cloned(t, dir))
	index := dir + "/index"
	saved, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"as it is": saved, "missing": nil, "empty": {}, "cut": saved[:len(saved)/2], "damaged": append([]byte("x"), saved...), "nonsense": []byte("nonsense nonsense nonsense nonsense"),
	} {
		dir := cloned(t, dir)
		if err := os.Remove(dir + "/index"); err != nil {
			t.Fatal(err)
		}
		if data != nil {
			if err := os.WriteFile(dir+"/index", data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := quick(t, dir, nil)
		closing(t, s)
		if again, err := os.ReadFile(dir + "/index"); err != nil || len(again) < len(saved)/2 {
			t.Errorf("%s: there is no index afterwards: %d bytes, %v", name, len(again), err)
		}
		if got := dumpDir(t, dir); got != want {
			t.Errorf("%s: the store is\n%s\nwant\n%s", name, got, want)
		}
	}
}
