//go:build unix

package upgradetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/profile"
	"github.com/awaken-go/awaken/store/file"
)

// folderName is the name of the dumps of store/file.
const folderName = "file"

// folder is the two folders of store/file, for threads and for configuration. It has neither
// a queue nor budgets.
type folder struct {
	threads *file.Store
	config  *file.Config
}

func openFolder(dir string) (*folder, error) {
	threads, err := file.Open(filepath.Join(dir, "threads"), nil)
	if err != nil {
		return nil, err
	}
	config, err := file.OpenConfig(filepath.Join(dir, "config"), nil)
	if err != nil {
		return nil, errors.Join(err, threads.Close())
	}
	return &folder{threads, config}, nil
}

func (f *folder) close() error { return errors.Join(f.threads.Close(), f.config.Close()) }

// desk opens the control plane and returns it with a runtime.
func (f *folder) desk(ctx context.Context, w *world) (*desk, *engine.Runtime, error) {
	m, err := w.openConfig(ctx, f.config)
	if err != nil {
		return nil, nil, err
	}
	rt, err := engine.New(engine.Config{Versions: m, Store: f.threads, Profile: f.threads.Profile()})
	db := &database{config: f.config, profile: func(string) profile.Store { return f.threads.Profile() }}
	return &desk{world: w, db: db, config: m}, rt, err
}

func (f *folder) read(ctx context.Context) (_ *contents, err error) {
	t := &tenantContents{}
	if t.Threads, err = readThreads(ctx, f.threads); err != nil {
		return nil, err
	}
	if t.Runs, err = readRuns(ctx, f.threads); err != nil {
		return nil, err
	}
	c := &contents{Tenants: map[string]*tenantContents{"": t}, Profiles: map[string][]profile.Entry{}}
	if c.Profiles[""], err = f.threads.Profile().List(ctx, locale.Namespace()); err != nil {
		return nil, err
	}
	c.Config, err = readConfig(ctx, f.config)
	return c, err
}

// tellFolder is the story for a store without a queue.
func tellFolder(ctx context.Context, f *folder) {
	d, rt, err := f.desk(ctx, newWorld(true))
	check(err)
	s := &story{d, ctx}
	s.documents()
	check(locale.Write(ctx, f.threads.Profile(), profile.User("alice"), "nb-NO"))
	must(rt.Run(ctx, say("t-waiting", "r-waiting", "use wire"), nil))
	must(rt.Run(ctx, say("t-deep", "r-deep", "give scout use wire"), nil))
	s.versions()
	must(rt.Run(ctx, say("t-done", "r-done", "use look"), nil))
	must(rt.Run(ctx, say("t-done", "r-again", "say more"), nil))
	must(f.threads.Fork(ctx, "t-done", 4, "t-fork", nil))
	must(rt.Run(ctx, say("t-parent", "r-parent", "give scout use look"), nil))
	_, err = rt.Run(ctx, say("t-failed", "r-failed", "fail"), nil)
	if err == nil {
		panic("a run that fails did not")
	}
	s.drafts()
	check(rt.Send(ctx, "t-done", llm.UserText("say what was left")))
	for _, req := range []awaken.RunRequest{say("t-doubt", "r-doubt", "use ship"), say("t-cut", "r-cut", "ponder")} {
		go func() { _, _ = rt.Run(ctx, req, nil) }()
		<-s.hanging
	}
}

// writeFolder dumps what a killed process leaves in a folder.
func writeFolder(t *testing.T, dir string) {
	where := t.TempDir()
	leave(t, folderName, where)
	text := dumpFolder(t, where) // before it is opened, since Open cleans up
	copied := t.TempDir()
	loadFolder(t, copied, text)
	keep(t, filepath.Join(dir, folderName), ".txtar", text, folderContents(t, copied))
}

// dumpFolder puts the files into one, except locks and copies. It quotes lines, since the
// headers of records are binary.
func dumpFolder(t *testing.T, where string) []byte {
	t.Helper()
	a := &txtar.Archive{}
	for _, pattern := range []string{"threads/store.json", "threads/index", "threads/journals/*", "threads/profiles/*/*", "config/store.json", "config/config.log"} {
		names, err := fs.Glob(os.DirFS(where), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(filepath.Join(where, name))
			if err != nil {
				t.Fatal(err)
			}
			var sb bytes.Buffer
			for line := range bytes.Lines(data) {
				sb.WriteString(strconv.Quote(string(line)) + "\n")
			}
			a.Files = append(a.Files, txtar.File{Name: name, Data: sb.Bytes()})
		}
	}
	return txtar.Format(a)
}

func loadFolder(t *testing.T, where string, text []byte) {
	t.Helper()
	for _, f := range txtar.Parse(text).Files {
		name := filepath.Join(where, f.Name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		var data []byte
		for quoted := range strings.Lines(string(f.Data)) {
			line, err := strconv.Unquote(strings.TrimSuffix(quoted, "\n"))
			if err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
			data = append(data, line...)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func folderContents(t *testing.T, where string) *contents {
	t.Helper()
	f, err := openFolder(where)
	if err != nil {
		t.Fatal(err)
	}
	c, err := f.read(t.Context())
	if err := errors.Join(err, f.close()); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOpenFolder opens the folders of every version.
func TestOpenFolder(t *testing.T) {
	for _, name := range dumps(t, folderName+".txtar", writeFolder) {
		t.Run(filepath.Base(filepath.Dir(name)), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(name, ".txtar") + ".json")
			if err != nil {
				t.Fatal(err)
			}
			where := t.TempDir()
			loadFolder(t, where, text)
			compare(t, want, folderContents(t, where))
			compare(t, want, folderContents(t, where))
			workInFolder(t, where)
		})
	}
}

// workInFolder finishes the work that the writer left.
func workInFolder(t *testing.T, where string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f, err := openFolder(where)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	readLogs(t, f.threads)
	d, rt, err := f.desk(ctx, newWorld(false))
	if err != nil {
		t.Fatal(err)
	}
	defer d.config.Close()
	wantRun := func(id, answer string) {
		t.Helper()
		run, err := f.threads.LoadRun(ctx, id)
		if err != nil || run.Status != awaken.RunDone || run.FinalOutput != answer {
			t.Errorf("run %s is %s and says %q, want %q: %v", id, run.Status, run.FinalOutput, answer, err)
		}
	}
	run := func(req awaken.RunRequest) {
		t.Helper()
		if _, err := rt.Run(ctx, req, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"r-waiting", "r-deep"} {
		waiting, err := f.threads.LoadRun(ctx, id)
		if err != nil || waiting.Waiting == nil {
			t.Fatalf("run %s waits for no decision: %v", id, err)
		}
		run(awaken.RunRequest{Continue: id, Decisions: []awaken.Decision{waiting.Waiting.Tickets[0].Approve()}})
	}
	wantRun("r-waiting", "one: wire did use wire")
	wantRun("r-deep", `one: {"agent_id":"scout","status":"completed","response":"scout: wire did use wire","steps":2}`)
	run(awaken.RunRequest{Continue: "r-cut"})
	wantRun("r-cut", "two: half an answer")
	run(awaken.RunRequest{Continue: "r-doubt"})
	if doubt, err := f.threads.LoadRun(ctx, "r-doubt"); err != nil || !strings.Contains(doubt.FinalOutput, "not known") || d.done("ship") != 0 {
		t.Errorf("the run with a call in doubt answered %q, and the call was made %d times: %v", doubt.FinalOutput, d.done("ship"), err)
	}
	run(say("t-done", "r-third", "say even more"))
	if left, err := f.threads.Unread(ctx, "t-done"); err != nil || len(left) > 0 {
		t.Errorf("the inbox holds %d items: %v", len(left), err)
	}
	run(say("t-fork", "r-forked", "use look"))
	wantRun("r-forked", "two: look did use look")
	if lang, err := locale.Read(ctx, f.threads.Profile(), profile.User("alice")); err != nil || lang != "nb-NO" {
		t.Errorf("alice's language is %q: %v", lang, err)
	}
	if !d.hasKey(apiKey) {
		t.Error("the provider was made without the key that was kept for it")
	}
	if _, err := d.config.Drafts().Publish(ctx, nil, nil, "", me); err != nil {
		t.Error(err)
	}
	run(awaken.RunRequest{AgentID: "sketch", ThreadID: "t-sketch", RunID: "r-sketch", Messages: []*llm.Message{llm.UserText("say so")}})
	wantRun("r-sketch", "a sketch: so")
}
