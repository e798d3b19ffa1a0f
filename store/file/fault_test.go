package file_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/file"
)

var errDisk = errors.New("the disk is on fire")

// After a failed sync the content of the disk is unknown, so the thread is read-only until
// the store is reopened.
func TestCommit_ThatFailsToSyncIsNotVisible(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var fail atomic.Bool
	s, err := file.OpenSyncing(dir, nil, func(f *os.File) error {
		if fail.Load() {
			return errDisk
		}
		return f.Sync()
	})
	if err != nil {
		t.Fatal(err)
	}
	o := acquire(t, s, "t", "r")
	o.commit(nil, "a")
	other := acquire(t, s, "other", "r2")
	fail.Store(true)
	if err := o.try(nil, "b"); !errors.Is(err, errDisk) {
		t.Fatalf("error is %v, want that of the sync", err)
	}
	if _, err := s.Acquire(t.Context(), "new"); !errors.Is(err, errDisk) {
		t.Fatalf("a new thread: error is %v, want that of the sync", err)
	}
	fail.Store(false)
	o.seq--
	if err := o.try(nil, "b"); !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "journals/t.log") {
		t.Errorf("the next commit: error is %v, want one that names the journal and what happened", err)
	}
	equal(t, "texts", []string{"a"}, texts(t, s, "t"))
	other.commit(nil, "continues")
	acquire(t, s, "new", "r3").commit(nil, "works now")
	closing(t, s)
	s = quick(t, dir, nil)
	if got := texts(t, s, "t"); len(got) != 1 && len(got) != 2 {
		t.Errorf("texts are %q", got)
	}
	acquire(t, s, "t", "r").commit(nil, "again")
}

func TestStore_ReturnsErrClosedAfterClose(t *testing.T) {
	t.Parallel()
	s := quick(t, t.TempDir(), nil)
	o := acquire(t, s, "t", "r")
	closing(t, s)
	closing(t, s) // a second Close is allowed
	ctx := t.Context()
	_, e1 := s.Acquire(ctx, "t")
	_, e2 := s.Thread(ctx, "t")
	_, e3 := s.ListThreads(ctx, awaken.ThreadQuery{})
	_, e4 := s.Messages(ctx, "t", awaken.MessageQuery{})
	_, e5 := s.LoadRun(ctx, "r")
	_, e6 := s.ListRuns(ctx, awaken.RunQuery{})
	_, e7 := s.Calls(ctx, "r")
	_, e8 := s.Interrupt(ctx, "t")
	_, e9 := s.Unread(ctx, "t")
	_, e10 := s.Entries(ctx, "t", awaken.EntryQuery{})
	_, e11 := s.Fork(ctx, "t", 0, "f", nil)
	_, e12 := s.Prune(ctx, farFuture)
	_, e13 := s.Profile().Get(ctx, "n", "k")
	_, e14 := s.Profile().List(ctx, "n")
	for i, err := range []error{e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, o.try(nil, "a"), s.Post(ctx, "t"), s.DeleteThread(ctx, "t", ""),
		titled(ctx, s, "t", ""), s.Profile().Set(ctx, "n", "k", json.RawMessage(`1`)), s.Profile().Delete(ctx, "n", "k"), s.Profile().Clear(ctx, "k")} {
		if !errors.Is(err, file.ErrClosed) {
			t.Errorf("method %d: error is %v, want ErrClosed", i+1, err)
		}
	}
}

func TestOpen_RefusesALaterFormat(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`{"format":2}`: "use a newer program", `{"format":0}`: "store.json", `nonsense`: "store.json"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "store.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := file.Open(dir, nil); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: error is %v, want one about %s in %s", text, err, want, dir)
		}
	}
}

// A commit that could not be decoded is refused and leaves the thread intact.
func TestCommit_RefusesWhatItCouldNotDecode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	o := acquire(t, s, "t", "r")
	o.commit(nil, "fine")
	image := []llm.Block{{Type: llm.ImageBlock}} // without a source
	entry := func(ev awaken.Event, chunks ...awaken.Chunk) func(*awaken.Commit) {
		return func(c *awaken.Commit) {
			c.Entries = []awaken.Entry{{Cursor: awaken.Cursor{Epoch: 1, Seq: 9}, Event: ev, Chunks: chunks}}
		}
	}
	for what, spoil := range map[string]func(*awaken.Commit){
		"no message":      func(c *awaken.Commit) { c.Messages = []*llm.Message{nil} },
		"an unknown role": func(c *awaken.Commit) { c.Messages = []*llm.Message{llm.NewText("pope", "x")} },
		"half an image":   func(c *awaken.Commit) { c.Messages = []*llm.Message{{Role: llm.User, Content: image}} },
		"an unknown block": func(c *awaken.Commit) {
			c.Messages = []*llm.Message{{Role: llm.User, Content: []llm.Block{{Type: "smell"}}}}
		},
		"broken arguments": func(c *awaken.Commit) {
			c.Messages = []*llm.Message{{Role: llm.Assistant, ToolCalls: []llm.ToolCall{{Arguments: json.RawMessage(`{`)}}}}
		},
		"no call": func(c *awaken.Commit) { c.Calls = []*awaken.CallState{nil} },
		"half a result": func(c *awaken.Commit) {
			c.Calls = []*awaken.CallState{{Arguments: json.RawMessage(`{}`), Result: &awaken.ToolResult{Content: image}}}
		},
		"an unknown end":       func(c *awaken.Commit) { done(c); c.Run.Termination.Type = "boom" },
		"no event":             entry(nil),
		"a run without end":    entry(&awaken.RunFinish{}),
		"cuts of nothing":      entry(&awaken.StepEnd{}, awaken.Chunk{}, awaken.Chunk{Offset: 1}),
		"cuts that do not fit": entry(&awaken.TextDelta{Delta: "abc"}, awaken.Chunk{Len: 1}, awaken.Chunk{Offset: 1, Len: 1}),
		"cuts out of order":    entry(&awaken.TextDelta{Delta: "ab"}, awaken.Chunk{Len: 1}, awaken.Chunk{Offset: 0, Len: 1}),
	} {
		wantInvalid(t, what, o.try(spoil))
	}
	wantInvalid(t, "an inbox item", s.Post(t.Context(), "t", awaken.InboxItem{ID: "i", Messages: []*llm.Message{{Role: llm.User, Content: image}}}))
	closing(t, s)
	s = quick(t, dir, nil)
	equal(t, "texts", []string{"fine"}, texts(t, s, "t"))
	acquire(t, s, "t", "r").commit(nil, "continues")
}

// Providers split streams anywhere, even inside a character, and send invalid UTF-8.
func TestCommit_KeepsTheChunksOfInvalidText(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	o := acquire(t, s, "t", "r")
	text := "a\xffb" + "é" + "\xe2\x82" + "end"
	cuts := []awaken.Chunk{{Offset: 0, Len: 2}, {Offset: 1, Len: 2}, {Offset: 2, Len: 1}, {Offset: 4, Len: uint32(len(text) - 5)}}
	for i, ev := range []awaken.Event{&awaken.TextDelta{Delta: text}, &awaken.ReasoningDelta{Delta: text}, &awaken.ToolCallDelta{ID: "c", ArgsDelta: text}, &awaken.ToolCallStreamDelta{ID: "c", Name: "n", Delta: text}} {
		o.commit(func(c *awaken.Commit) {
			c.Entries = []awaken.Entry{{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(1 + 5*i)}, RunID: "r", Event: ev, Chunks: cuts}}
		})
	}
	read := func() []string {
		entries, err := s.Entries(t.Context(), "t", awaken.EntryQuery{})
		if err != nil || len(entries) != 4 {
			t.Fatalf("%d entries, %v", len(entries), err)
		}
		var out []string
		for i := range entries {
			for _, part := range entries[i].Split() {
				data, err := awaken.AppendEvent(nil, part.Event)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, part.Cursor.String()+string(data))
			}
		}
		return out
	}
	before := read()
	if want := "1-1" + `{"event_type":"text_delta","delta":"a` + "\ufffd" + `"}`; before[0] != want || len(before) != 16 || !strings.Contains(before[3], "end") {
		t.Errorf("it became %q, want %s first", before, want)
	}
	closing(t, s)
	s = quick(t, dir, nil)
	equal(t, "read again", before, read())
}

func TestCommit_ARunBelongsToOneThread(t *testing.T) {
	t.Parallel()
	s := quick(t, t.TempDir(), nil)
	acquire(t, s, "a", "r").commit(nil, "x")
	if err := acquire(t, s, "b", "r").try(nil, "y"); !errors.Is(err, awaken.ErrConflict) {
		t.Errorf("error is %v, want ErrConflict", err)
	}
	run, err := s.LoadRun(t.Context(), "r")
	if err != nil || run.ThreadID != "a" {
		t.Errorf("the run is %+v, %v", run, err)
	}
	// A refused commit does not reserve its run.
	b := acquire(t, s, "b", "r2")
	wantInvalid(t, "no message", b.try(func(c *awaken.Commit) { c.Messages = []*llm.Message{nil} }))
	acquire(t, s, "c", "r2").commit(nil, "z")
}

// A thread that is not writable can be deleted.
func TestDelete_WorksOnAFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var fail atomic.Bool
	s, err := file.OpenSyncing(dir, nil, func(f *os.File) error {
		if fail.Load() && strings.HasSuffix(f.Name(), ".log") {
			return errDisk
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	acquire(t, s, "t", "r").commit(done, "a")
	fail.Store(true)
	if err := s.DeleteThread(t.Context(), "t", awaken.RejectChildren); err != nil {
		t.Fatal(err)
	}
	fail.Store(false)
	acquire(t, s, "t", "r").commit(nil, "b")
	closing(t, s)
	equal(t, "texts", []string{"b"}, texts(t, quick(t, dir, nil), "t"))
}
