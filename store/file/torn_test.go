package file_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/store/file"
)

func wantInvalid(t testing.TB, what string, err error) {
	t.Helper()
	if !errors.Is(err, awaken.ErrInvalid) {
		t.Errorf("%s: error is %v, want ErrInvalid", what, err)
	}
}

// step is a change that writes one record to one journal.
type step struct {
	name, thread string
	do           func(t testing.TB, s *file.Store)
}

// steps make one change of every kind. Each continues from the one before, perhaps in
// another process.
func steps() []step {
	commit := func(thread, run string, change func(*awaken.Commit), texts ...string) func(t testing.TB, s *file.Store) {
		return func(t testing.TB, s *file.Store) {
			th, err := s.Thread(t.Context(), thread)
			if err != nil {
				t.Fatal(err)
			}
			entries, err := s.Entries(t.Context(), thread, awaken.EntryQuery{})
			if err != nil {
				t.Fatal(err)
			}
			// The owner is known: fences begin at 1.
			o := &owner{TB: t, store: s, cp: &awaken.Checkpoint{Fence: 1, Thread: *th}, count: th.MessageCount, seq: uint64(len(entries)), number: uint64(th.MessageCount) + 1,
				run: awaken.Run{RunID: run, ThreadID: thread, AgentID: "agent", Status: awaken.RunRunning}}
			for o.number++; errors.Is(o.try(change, texts...), awaken.ErrFenced); o.cp.Fence++ {
				o.seq -= uint64(len(texts))
				if o.cp.Fence > 100 {
					t.Fatalf("no owner of %s can commit", thread)
				}
			}
		}
	}
	return []step{
		{"create", "t", func(t testing.TB, s *file.Store) { acquire(t, s, "t", "") }},
		{"commit", "t", commit("t", "r1", nil, "one", "zwei", "三")},
		{"post", "t", func(t testing.TB, s *file.Store) {
			if err := s.Post(t.Context(), "t", awaken.InboxItem{ID: "i", Decision: &awaken.Decision{Target: "c", Action: awaken.ActionResume}}, awaken.InboxItem{ID: "j"}); err != nil {
				t.Fatal(err)
			}
		}},
		{"interrupt", "t", func(t testing.TB, s *file.Store) {
			if _, err := s.Interrupt(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}},
		{"park", "t", commit("t", "r1", waits, "wait")},
		{"read", "t", commit("t", "r1", func(c *awaken.Commit) { c.Read = []string{"i", "j"}; done(c) }, "end")},
		{"metadata", "t", func(t testing.TB, s *file.Store) {
			if err := titled(t.Context(), s, "t", "Title"); err != nil {
				t.Fatal(err)
			}
		}},
		{"acquire", "t", func(t testing.TB, s *file.Store) { acquire(t, s, "t", "") }},
		{"second run", "t", commit("t", "r2", done, "again")},
		{"fork", "f", func(t testing.TB, s *file.Store) {
			if _, err := s.Fork(t.Context(), "t", 3, "f", nil); err != nil {
				t.Fatal(err)
			}
		}},
		{"acquire fork", "f", func(t testing.TB, s *file.Store) { acquire(t, s, "f", "") }},
		{"commit to fork", "f", commit("f", "r3", done, "mine")},
	}
}

// At whichever byte the last write was torn, the store opens as it was before that write.
func TestOpen_TruncatesATornEndWhereverItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, &file.Options{NoCopies: true})
	cuts := 0
	for i, st := range steps() {
		if i%3 == 1 { // so that the index covers a part
			if err := s.SaveIndex(); err != nil {
				t.Fatal(err)
			}
		}
		before := cloned(t, dir)
		st.do(t, s)
		path := journal(dir, st.thread)
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(journal(before, st.thread))
		if err != nil && i != 0 && st.name != "fork" {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(whole, old) || len(whole) <= len(old)+16 {
			t.Fatalf("%s: the journal went from %d to %d bytes", st.name, len(old), len(whole))
		}
		want := dumpDir(t, cloned(t, before))
		trial := cloned(t, before)
		files := tree(t, before)
		check := func(what string, damaged []byte) {
			t.Helper()
			files["journals/"+file.FileName(st.thread)+".log"] = string(damaged)
			restore(t, trial, files)
			if got := dumpDir(t, trial); got != want {
				t.Fatalf("%s, %s: the store is\n%s\nand was before\n%s", st.name, what, got, want)
			}
			cuts++
		}
		for n := len(old); n < len(whole); n++ {
			if !testenv.Long() && n > len(old)+17 && n < len(whole)-2 && n%11 != 0 {
				continue
			}
			check(fmt.Sprintf("cut at %d of %d", n, len(whole)), whole[:n])
		}
		// The file may have its length but not all of its bytes.
		for n := len(old); n < len(whole); n += 97 {
			zeros := slices.Clone(whole)
			clear(zeros[n:])
			check(fmt.Sprintf("zeros from %d of %d", n, len(whole)), zeros)
			flipped := slices.Clone(whole)
			flipped[n] ^= 0x10
			check(fmt.Sprintf("a flipped bit at %d of %d", n, len(whole)), flipped)
			if n+16 < len(whole) {
				hole := slices.Clone(whole)
				clear(hole[len(old):n])
				if n > len(old) {
					check(fmt.Sprintf("zeros up to %d of %d", n, len(whole)), hole)
				}
			}
		}
		// What was not torn is stored.
		if got := dumpDir(t, cloned(t, dir)); got == want {
			t.Fatalf("%s changed nothing", st.name)
		}
	}
	t.Logf("%d torn journals", cuts)
}

// After a torn end was truncated, the thread is writable, even if the index covered more.
func TestOpen_IsWritableAfterATornEnd(t *testing.T) {
	t.Parallel()
	for _, indexed := range []bool{false, true} {
		dir := t.TempDir()
		s := quick(t, dir, nil)
		o := acquire(t, s, "t", "r")
		o.commit(nil, "a")
		o.commit(done, "lost")
		if indexed {
			closing(t, s) // saves the index
		}
		dir = cloned(t, dir)
		if err := os.Truncate(journal(dir, "t"), size(t, journal(dir, "t"))-1); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			s = quick(t, dir, nil)
			o = acquire(t, s, "t", "r")
			o.commit(nil, fmt.Sprint("b", i), "a longer one, so that the journal is longer than it ever was")
			if i < 2 {
				dir = cloned(t, dir) // killed
			}
		}
		want := []string{"a"}
		for i := range 3 {
			want = append(want, fmt.Sprint("b", i), "a longer one, so that the journal is longer than it ever was")
		}
		equal(t, "texts", want, texts(t, s, "t"))
		closing(t, s)
		equal(t, "texts after another Open", want, texts(t, quick(t, dir, nil), "t"))
	}
}

// A damaged record that is not the last one is never skipped and never truncated.
func TestOpen_ReportsDamageInTheMiddle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, &file.Options{NoCopies: true})
	for _, st := range steps() {
		st.do(t, s)
	}
	acquire(t, s, "other", "r9").commit(done, "fine")
	closing(t, s)
	path := journal(dir, "t")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	spans, err := file.Spans(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error, at file.Span) {
		t.Helper()
		var damaged *file.DamagedError
		if !errors.As(err, &damaged) || damaged.File != "journals/t.log" || damaged.Offset != at.Off {
			t.Fatalf("error is %v, want one that names journals/t.log and byte %d", err, at.Off)
		}
		if after, err := os.ReadFile(path); err != nil || len(after) != len(whole) {
			t.Fatalf("the journal has %d bytes now, %v", len(after), err)
		}
	}
	index := filepath.Join(dir, "index")
	saved, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	flips := 0
	for _, at := range spans[:len(spans)-1] {
		for i := at.Off; i < at.Off+at.Len; i++ {
			if !testenv.Long() && i > at.Off+17 && i%23 != 0 {
				continue
			}
			flips++
			damaged := slices.Clone(whole)
			damaged[i] ^= 1 << (i % 8)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			// Without the index, Open reads everything.
			if err := os.Remove(index); err != nil {
				t.Fatal(err)
			}
			s, err := file.OpenUnsynced(dir, nil)
			if err == nil {
				_ = s.Close()
			}
			check(err, at)
			// With it, Open skips what the index covers. The thread cannot be used, the
			// others can.
			if err := os.WriteFile(index, saved, 0o600); err != nil {
				t.Fatal(err)
			}
			if at.Off == 0 {
				continue // the index is not used
			}
			s, err = file.OpenUnsynced(dir, &file.Options{NoCopies: true})
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Acquire(t.Context(), "t")
			check(err, at)
			_, err = s.Messages(t.Context(), "t", awaken.MessageQuery{})
			check(err, at)
			_, err = s.Messages(t.Context(), "f", awaken.MessageQuery{}) // shares it
			check(err, at)
			equal(t, "another thread", []string{"fine"}, texts(t, s, "other"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d flipped bits", flips)
}

func TestOpen_RefusesAJournalOfAnotherName(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	acquire(t, s, "t", "r").commit(nil, "a")
	closing(t, s)
	data, err := os.ReadFile(journal(dir, "t"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(journal(dir, "copy"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *file.DamagedError
	if _, err := file.Open(dir, nil); !errors.As(err, &damaged) || damaged.File != "journals/copy.log" {
		t.Errorf("error is %v, want one that names journals/copy.log", err)
	}
}

func TestOpen_IgnoresUnknownFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	acquire(t, s, "t", "r").commit(nil, "a")
	if err := s.Profile().Set(t.Context(), "n", "k", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	for _, name := range []string{"journals/.DS_Store", "journals/notes.txt", "profiles/.DS_Store", "profiles/n/.DS_Store", "profiles/n/readme.txt", "x"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = quick(t, dir, nil)
	equal(t, "texts", []string{"a"}, texts(t, s, "t"))
	entries, err := s.Profile().List(t.Context(), "n")
	if err != nil || len(entries) != 1 {
		t.Errorf("the profile has %v, %v", entries, err)
	}
	if err := s.Profile().Clear(t.Context(), "k"); err != nil {
		t.Error(err)
	}
	if got := tree(t, dir)["journals/notes.txt"]; got != "mine" {
		t.Errorf("a strange file says %q", got)
	}
}

// FuzzOpen opens a folder with arbitrary bytes as a journal. Open may refuse it; otherwise
// the store works, and is the same after it is reopened.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	s, err := file.OpenUnsynced(dir, &file.Options{NoCopies: true})
	if err != nil {
		f.Fatal(err)
	}
	for _, st := range steps() {
		st.do(f, s)
		data, err := os.ReadFile(journal(dir, "t"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)-3])
		f.Add(append(slices.Clone(data), data...))
		f.Add(append(slices.Clone(data), "awj1garbage and more of it"...))
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "journals"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(journal(dir, "t"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := file.OpenUnsynced(dir, &file.Options{NoCopies: true})
		if err != nil {
			return
		}
		o, err := s.Acquire(t.Context(), "t")
		if cerr := s.Close(); cerr != nil {
			t.Fatal(cerr)
		}
		if err != nil {
			return
		}
		again := quick(t, dir, &file.Options{NoCopies: true})
		cp, err := again.Acquire(t.Context(), "t")
		if err != nil || cp.Fence != o.Fence+1 || len(cp.View) != len(o.View) {
			t.Errorf("opened again it is %+v, %v, was %+v", cp, err, o)
		}
	})
}
