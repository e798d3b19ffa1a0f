package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/store/file"
)

// The bytes that a commit and its copies write do not grow with the thread.
func TestCommit_CostsTheSameOnALongThread(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	syncs := 0
	s, err := file.OpenSyncing(dir, nil, func(*os.File) error { syncs++; return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	o := acquire(t, s, "t", "r0000")
	text := func(n int) string { return fmt.Sprintf("message %06d", n) }
	type cost struct{ Bytes, Syncs, Files int }
	measure := func(change func(*awaken.Commit)) cost {
		before := size(t, journal(dir, "t"))
		start := time.Now()
		syncs = 0
		// File times have a coarse resolution.
		files := times(t, dir)
		for time.Since(start) < 15*time.Millisecond {
			time.Sleep(time.Millisecond)
		}
		o.commit(change, text(o.count))
		changed := 0
		for name, at := range times(t, dir) {
			if !at.Equal(files[name]) {
				changed++
			}
		}
		return cost{int(size(t, journal(dir, "t")) - before), syncs, changed}
	}
	var plain, last []cost
	for _, n := range []int{10, 1000, testenv.Times(3000, 10_000)} {
		for o.count < n {
			o.commit(nil, text(o.count))
		}
		plain = append(plain, measure(nil))
		o.commit(waits, text(o.count)) // brings the copies up to date
		o.run.Waiting = nil
		last = append(last, measure(done))
		o = acquire(t, s, "t", fmt.Sprintf("r%04d", n))
		o.commit(nil, text(o.count))
	}
	t.Logf("a commit: %+v; the last of a run: %+v", plain, last)
	for i := range plain {
		if plain[i].Syncs != 1 || plain[i].Files != 1 {
			t.Errorf("a commit costs %+v, want one sync of one file", plain[i])
		}
		if last[i].Syncs != 1 || last[i].Files != last[0].Files {
			t.Errorf("the last commit of a run costs %+v, want one sync and as many files as on a short thread, %d", last[i], last[0].Files)
		}
		for _, d := range []int{plain[i].Bytes - plain[0].Bytes, last[i].Bytes - last[0].Bytes} {
			if d < 0 || d > 40 { // larger numbers have more digits
				t.Errorf("a commit writes %d bytes more on a long thread than on a short one", d)
			}
		}
	}
}

// times returns the modification time of each file below a folder.
func times(t testing.TB, dir string) map[string]time.Time {
	t.Helper()
	out := map[string]time.Time{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			out[path] = info.ModTime()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestStore_KeepsLargeValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := quick(t, dir, nil)
	part := "0123456789 日本語 👩‍👩‍👧 \"\\\n"
	size := 1 << 20
	if testenv.Long() {
		size = 10 << 20
	}
	big := strings.Repeat(part, size/len(part)+1)
	value, err := json.Marshal(strings.Repeat(part, 1<<20/len(part)+1))
	if err != nil {
		t.Fatal(err)
	}
	o := acquire(t, s, "t", "r")
	o.commit(nil, "small")
	o.commit(func(c *awaken.Commit) {
		c.State = []state.Change{{Key: "big", Value: value}}
		c.Messages = []*llm.Message{llm.UserText(big), {Role: llm.User, Content: []llm.Block{llm.Image(llm.Base64("image/png", strings.Repeat("AAAA", size/4)))}}}
		c.Entries = []awaken.Entry{{Cursor: awaken.Cursor{Epoch: 1, Seq: 2}, RunID: "r", Event: &awaken.TextDelta{Delta: big[:1<<20]}}}
	})
	o.seq++
	o.commit(done, "after")
	if err := s.Profile().Set(t.Context(), "n", "k", value); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	s = quick(t, dir, nil)
	recs, err := s.Messages(t.Context(), "t", awaken.MessageQuery{})
	if err != nil || len(recs) != 4 || recs[1].Message.Text() != big || len(recs[2].Message.Content[0].Source.Data) != size {
		t.Errorf("%d records, %v", len(recs), err)
	}
	entries, err := s.Entries(t.Context(), "t", awaken.EntryQuery{After: 1, Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Event.(*awaken.TextDelta).Delta != big[:1<<20] {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	cp, err := s.Acquire(t.Context(), "t")
	if err != nil || string(cp.RunState["big"]) != string(value) {
		t.Errorf("the state has %d bytes, %v", len(cp.RunState["big"]), err)
	}
	e, err := s.Profile().Get(t.Context(), "n", "k")
	if err != nil || string(e.Value) != string(value) {
		t.Errorf("the profile entry: %v", err)
	}
}

func TestStore_IsPrivate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir() + "/data"
	s := quick(t, dir, nil)
	acquire(t, s, "t", "r").commit(done, "secret")
	if err := s.Profile().Set(t.Context(), "n", "k", json.RawMessage(`1`)); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	for name := range tree(t, dir) {
		info, err := os.Stat(dir + "/" + name)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
}

// ask suspends every call of delete_file until a user decides.
type ask struct{}

func (ask) Name() string { return "ask" }

func (ask) Register(r *awaken.Registrar) error {
	r.Gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) {
		return awaken.SuspendCall(awaken.Ticket{Suspension: awaken.Suspension{Action: "confirm", Message: "May I?", Parameters: h.Tool.Args}}), nil
	})
	return nil
}

// Another process resumes a suspended run after its first process was closed or killed.
func TestStore_ASuspendedRunIsResumedInAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, killed := range []bool{false, true} {
		dir := t.TempDir()
		runtime := func(s *file.Store, turns ...llmtest.Turn) *engine.Runtime {
			rt, err := engine.New(engine.Config{
				Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m", PluginIDs: []string{"ask"}}},
				Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "scripted"}},
				Providers: map[string]llm.Model{"p": llmtest.NewScript(turns...)},
				Tools: []awaken.Tool{awaken.NewTool(awaken.ToolSpec{ID: "delete_file"}, func(_ context.Context, _ *awaken.ToolCall, in struct {
					Path string `json:"path"`
				}) (string, error) {
					return "deleted " + in.Path, nil
				})},
				Plugins: []awaken.Plugin{ask{}},
				Store:   s,
			})
			if err != nil {
				t.Fatal(err)
			}
			return rt
		}
		s := open(t, dir, nil)
		res, err := runtime(s, llmtest.Use("delete_file", `{"path":"/"}`)).Run(t.Context(), awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("clean up")}}, nil)
		if err != nil || res.Status != awaken.RunWaiting {
			t.Fatalf("the run is %+v, %v", res, err)
		}
		if killed {
			dir = cloned(t, dir)
		} else {
			closing(t, s)
		}
		s = open(t, dir, nil)
		waiting, err := s.ListRuns(t.Context(), awaken.RunQuery{Status: awaken.RunWaiting})
		if err != nil || len(waiting) != 1 {
			t.Fatalf("%d runs wait, %v", len(waiting), err)
		}
		res, err = runtime(s, llmtest.Say("Done.")).Resume(t.Context(), waiting[0].RunID, nil, awaken.Decision{
			Target: waiting[0].Waiting.Tickets[0].TicketID, ID: "click", Action: awaken.ActionResume, Arguments: json.RawMessage(`{"path":"/tmp/x"}`)})
		if err != nil || res.Status != awaken.RunDone || res.Response != "Done." {
			t.Fatalf("the run is %+v, %v", res, err)
		}
		calls, err := s.Calls(t.Context(), res.RunID)
		if err != nil || len(calls) != 1 || string(calls[0].Result.Data) != `"deleted /tmp/x"` {
			t.Errorf("the calls are %+v, %v", calls, err)
		}
		if got := texts(t, s, "t"); len(got) != 4 {
			t.Errorf("texts are %q", got)
		}
		closing(t, s)
		checkCopies(t, dir)
	}
}
