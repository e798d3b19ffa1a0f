package file_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/file"
)

// open opens a store and closes it when the test ends.
func open(t testing.TB, dir string, opts *file.Options) *file.Store {
	t.Helper()
	return opened(t, opts, dir, file.Open)
}

// quick is open without syncs.
func quick(t testing.TB, dir string, opts *file.Options) *file.Store {
	t.Helper()
	return opened(t, opts, dir, file.OpenUnsynced)
}

func opened(t testing.TB, opts *file.Options, dir string, open func(string, *file.Options) (*file.Store, error)) *file.Store {
	t.Helper()
	s, err := open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func closing(t testing.TB, s *file.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// owner owns a thread and numbers its commits.
type owner struct {
	testing.TB
	store  awaken.Store
	cp     *awaken.Checkpoint
	run    awaken.Run
	number uint64
	count  int
	seq    uint64
}

func acquire(t testing.TB, s awaken.Store, thread, run string) *owner {
	t.Helper()
	cp, err := s.Acquire(t.Context(), thread)
	if err != nil {
		t.Fatalf("acquire %.40q: %v", thread, err)
	}
	return &owner{TB: t, store: s, cp: cp, count: cp.Thread.MessageCount, seq: cp.Thread.End.Seq,
		run: awaken.Run{RunID: run, ThreadID: thread, AgentID: "agent", Status: awaken.RunRunning, CreatedAt: 1}}
}

// next returns the next commit of the owner: a message, an event and a changed key for each
// text.
func (o *owner) next(change func(c *awaken.Commit), texts ...string) *awaken.Commit {
	c := &awaken.Commit{ThreadID: o.cp.Thread.ID, Fence: o.cp.Fence, Number: o.number + 1, Generation: o.cp.Generation,
		Time: 1000 + int64(o.number), Expect: o.count, Run: o.run}
	for _, text := range texts {
		o.seq++
		value, err := json.Marshal(text)
		if err != nil {
			o.Fatal(err)
		}
		c.Messages = append(c.Messages, llm.UserText(text))
		c.Entries = append(c.Entries, awaken.Entry{Cursor: awaken.Cursor{Epoch: c.Fence, Seq: o.seq}, RunID: c.Run.RunID, Time: c.Time, Event: &awaken.TextDelta{Delta: text}})
		c.State = append(c.State, state.Change{Key: "last", Scope: state.Thread, Value: value}, state.Change{Key: "mine", Value: value})
		c.Calls = append(c.Calls, &awaken.CallState{CallID: text, RunID: c.Run.RunID, Step: o.count, Index: len(c.Calls), Status: awaken.CallRunning, Arguments: json.RawMessage(`{}`)})
	}
	if change != nil {
		change(c)
	}
	return c
}

func (o *owner) try(change func(c *awaken.Commit), texts ...string) error {
	c := o.next(change, texts...)
	n := len(c.Messages)
	err := o.store.Commit(o.Context(), c)
	if err == nil {
		o.number, o.count, o.run = o.number+1, o.count+n, c.Run
	}
	return err
}

func (o *owner) commit(change func(c *awaken.Commit), texts ...string) {
	o.Helper()
	if err := o.try(change, texts...); err != nil {
		o.Fatalf("commit on %.40q: %v", o.cp.Thread.ID, err)
	}
}

func done(c *awaken.Commit) {
	c.Run.Status, c.Run.Termination, c.Run.FinishedAt = awaken.RunDone, awaken.Termination{Type: awaken.NaturalEnd}, 9
}

func waits(c *awaken.Commit) {
	c.Run.Status = awaken.RunWaiting
	c.Run.Waiting = &awaken.Waiting{Reason: awaken.WaitUserInput, TicketIDs: []string{}, Tickets: []awaken.WaitingTicket{}}
}

// texts returns the texts of a thread's messages.
func texts(t testing.TB, s awaken.Store, thread string) []string {
	t.Helper()
	recs, err := s.Messages(t.Context(), thread, awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, r := range recs {
		out = append(out, r.Message.Text())
	}
	return out
}

func equal(t testing.TB, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// dump returns everything that a store returns. It acquires each thread to read its state,
// so the store must not be used afterwards.
func dump(t testing.TB, s *file.Store) string {
	t.Helper()
	var sb strings.Builder
	say := func(v any, err error) {
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&sb, "%s\n", data)
	}
	ctx := t.Context()
	threads, err := s.ListThreads(ctx, awaken.ThreadQuery{Limit: 1 << 30})
	say(threads, err)
	runs, err := s.ListRuns(ctx, awaken.RunQuery{Limit: 1 << 30})
	say(runs, err)
	for _, r := range runs {
		say(s.Calls(ctx, r.RunID))
	}
	slices.SortFunc(threads, func(a, b *awaken.Thread) int { return cmp.Compare(a.ID, b.ID) })
	for _, th := range threads {
		say(s.Messages(ctx, th.ID, awaken.MessageQuery{}))
		say(s.Entries(ctx, th.ID, awaken.EntryQuery{}))
		say(s.Unread(ctx, th.ID))
		say(s.Acquire(ctx, th.ID))
	}
	return sb.String()
}

// dumpDir dumps the store in a folder, which must not be used afterwards.
func dumpDir(t testing.TB, dir string) string {
	t.Helper()
	s, err := file.OpenUnsynced(dir, &file.Options{NoCopies: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return dump(t, s)
}

// cloned copies a folder as it would be if the process were killed now.
func cloned(t testing.TB, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}

// tree returns the files below a folder by relative path, with their content.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path == dir {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// restore makes a folder hold exactly these files.
func restore(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name := range tree(t, dir) {
		if _, ok := files[name]; !ok {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func journal(dir, thread string) string {
	return filepath.Join(dir, "journals", file.FileName(thread)+".log")
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// titled sets the title and the custom metadata of a thread.
func titled(ctx context.Context, s *file.Store, id, title string) error {
	_, err := s.UpdateThread(ctx, id, func(t *awaken.Thread) error {
		t.Metadata.Title, t.Metadata.Custom = title, map[string]json.RawMessage{"a": json.RawMessage(`[1]`)}
		return nil
	})
	return err
}
