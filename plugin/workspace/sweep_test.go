//go:build unix

package workspace_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/workspace"
	"github.com/awaken-go/awaken/store/memory"
)

// house is a workspace whose threads have folders of their own.
type house struct {
	*world
	store *memory.Store
	now   time.Time
}

func newHouse(t *testing.T, scope workspace.Scope) *house {
	h := &house{newWorld(t), memory.New(), awakentest.Epoch}
	h.options.Scope = scope
	return h
}

// call makes a call in a thread, and returns its result.
func (h *house) call(thread, user, tool, args string) string {
	h.Helper()
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(`{"write":true}`)}}
	k := awakentest.New(h.T, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(h.options)}, Store: h.store,
		NewID: rand.Text, Now: func() time.Time { return h.now }}, llmtest.Use(tool, args), llmtest.Say("ok"))
	k.Run(awaken.RunRequest{ThreadID: thread, UserID: user, Messages: []*llm.Message{llm.UserText("go")}})
	last := ""
	for _, m := range k.Messages(thread) {
		if m.ToolCallID != "" {
			last = m.Text()
		}
	}
	return last
}

func (h *house) delete(thread string) {
	h.Helper()
	h.must(h.store.DeleteThread(h.Context(), thread, awaken.CascadeChildren))
}

// sweeper returns the sweeper of a process.
func (h *house) sweeper() *workspace.Sweeper {
	return &workspace.Sweeper{Dir: h.dir, Thread: func(ctx context.Context, _, id string) (*awaken.Thread, error) { return h.store.Thread(ctx, id) }}
}

// sweep sweeps as another process does, and fails unless it removes a number of folders.
func (h *house) sweep(want int) {
	h.Helper()
	if n, err := h.sweeper().Sweep(h.Context()); n != want || err != nil {
		h.Errorf("the sweep removes %d folders, want %d: %v", n, want, err)
	}
}

// left returns what the folders of tenants hold.
func (h *house) left() []string {
	h.Helper()
	found, err := filepath.Glob(filepath.Join(h.dir, "tenant-*/*"))
	h.must(err)
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	return found
}

const mine = `{"path":"mine","text":"x"}`

// The folder of a thread that was deleted is removed, whatever it holds, and no other.
func TestSweeper_RemovesTheFoldersOfDeletedThreads(t *testing.T) {
	t.Parallel()
	h := newHouse(t, workspace.ScopeThread)
	for _, thread := range []string{"gone", "Ünusual/../thread", "stays"} {
		h.call(thread, "", "file_write", `{"path":"deep/deeper/mine","text":"x"}`)
	}
	found, err := filepath.Glob(filepath.Join(h.dir, "tenant-*/thread-gone.*/deep"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	for name, to := range map[string]string{"link": filepath.Join(h.outside, "other"), "up": "../../..", "file": filepath.Join(h.outside, "secret.txt")} {
		h.must(os.Symlink(to, filepath.Join(found[0], name)))
	}
	h.must(os.Chmod(found[0], 0o500))
	h.sweep(0)
	before := h.left()
	h.delete("gone")
	h.delete("Ünusual/../thread")
	h.sweep(2)
	if left := h.left(); len(before) != 6 || len(left) != 2 || !strings.HasPrefix(left[0], "thread-stays.") || left[1] != left[0]+".json" {
		t.Errorf("of %q, %q are left", before, left)
	}
	h.checkOutside()
	h.sweep(0)
	if got := h.call("stays", "", "file_read", `{"path":"deep/deeper/mine"}`); !strings.Contains(got, "x") {
		t.Error(got)
	}
}

// Folders of users and tenants outlive threads.
func TestSweeper_LeavesFoldersOfUsersAndTenants(t *testing.T) {
	t.Parallel()
	for _, scope := range []workspace.Scope{workspace.ScopeUser, workspace.ScopeTenant} {
		h := newHouse(t, scope)
		h.call("t", "u", "file_write", mine)
		h.delete("t")
		h.sweep(0)
		if got := h.call("t2", "u", "file_list", `{}`); !strings.Contains(got, `"mine"`) {
			t.Errorf("%s: %s", scope, got)
		}
	}
}

// A thread of the same name that is created before the sweep sees no files of the one that was deleted, and keeps its own.
func TestSweeper_ThreadsThatAreCreatedAnew(t *testing.T) {
	t.Parallel()
	h := newHouse(t, workspace.ScopeThread)
	h.call("t", "u", "file_write", mine)
	h.delete("t")
	h.now = h.now.Add(time.Millisecond)
	h.call("t", "v", "file_write", `{"path":"other","text":"y"}`)
	if got := h.call("t", "v", "file_list", `{}`); strings.Contains(got, "mine") || !strings.Contains(got, "other") {
		t.Errorf("the new thread sees %s", got)
	}
	h.sweep(1)
	if got := h.call("t", "v", "file_list", `{}`); !strings.Contains(got, "other") {
		t.Errorf("after the sweep, the new thread sees %s", got)
	}
}

// A process that is lost between any two steps leaves nothing for ever.
func TestSweeper_ContinuesAfterACrash(t *testing.T) {
	t.Parallel()
	h := newHouse(t, workspace.ScopeThread)
	h.call("t", "", "file_write", mine)
	h.delete("t")
	folder, err := filepath.Glob(filepath.Join(h.dir, "tenant-*/thread-t.*[^n]"))
	if err != nil || len(folder) != 1 {
		t.Fatalf("%q, %v", folder, err)
	}
	h.must(os.RemoveAll(folder[0])) // a sweep was cut off before it removed the note, or a call before it made the folder
	h.sweep(1)
	if left := h.left(); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

// A store that does not answer loses no folder.
func TestSweeper_KeepsWhatItCannotJudge(t *testing.T) {
	t.Parallel()
	h := newHouse(t, workspace.ScopeThread)
	h.call("t", "", "file_write", mine)
	s := h.sweeper()
	s.Thread = func(context.Context, string, string) (*awaken.Thread, error) {
		return nil, errors.New("the store is away")
	}
	if n, err := s.Sweep(t.Context()); n != 0 || err == nil || !strings.Contains(err.Error(), "away") {
		t.Errorf("%d, %v", n, err)
	}
	if got := h.call("t", "", "file_list", `{}`); !strings.Contains(got, `"mine"`) {
		t.Error(got)
	}
}

// Nothing is removed but folders of threads, at their own places.
func TestSweeper_RemovesNothingElse(t *testing.T) {
	t.Parallel()
	h := newHouse(t, workspace.ScopeThread)
	h.must(os.MkdirAll(filepath.Join(h.dir, "tenant-acme/thread-victim"), 0o755))
	h.must(os.MkdirAll(filepath.Join(h.dir, "tenant-acme/user-u"), 0o755))
	for name, note := range map[string]string{
		"thread-a.json": `{"tenant":"acme","thread":"victim"}`,
		"thread-b.json": `{"tenant":"acme","thread":"../../other"}`,
		"thread-c.json": `{"tenant":"acme","user":"u"}`,
		"thread-d.json": `{"tenant":"acme"}`,
		"thread-e.json": `nonsense`,
		"thread-f.json": `{"tenant":"acme","thread":"f"}`, // its folder is a link
		"user-u.json":   `{"tenant":"acme","user":"u"}`,
	} {
		h.must(os.WriteFile(filepath.Join(h.dir, "tenant-acme", name), []byte(note), 0o600))
	}
	h.link(filepath.Join(h.outside, "other"), "tenant-acme/thread-f")
	h.link(filepath.Join(h.outside, "other"), "tenant-link")
	h.link("tenant-acme/thread-a.json", "tenant-acme/thread-g.json")
	before := h.left()
	n, err := h.sweeper().Sweep(t.Context())
	if n != 0 || err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("%d, %v", n, err)
	}
	if left := h.left(); !slices.Equal(before, left) {
		t.Errorf("of %q, %q are left", before, left)
	}
	h.checkOutside()
}

// A sweep asks for at most 1,000 threads; the next one continues.
func TestSweeper_LooksAtManyFoldersInTurn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, workspace.ScopeThread)
	for i := range 2100 {
		dir := filepath.Join(h.dir, fmt.Sprintf("tenant-%d", i%3))
		h.must(os.MkdirAll(dir, 0o755))
		h.must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("thread-t%d.json", i)), fmt.Appendf(nil, `{"tenant":"%d","thread":"t%d"}`, i%3, i), 0o600))
	}
	asked := 0
	s := h.sweeper()
	s.Thread = func(_ context.Context, _, id string) (*awaken.Thread, error) {
		if asked++; id == "t0" || id == "t1500" {
			return nil, awaken.ErrNotFound
		}
		return &awaken.Thread{}, nil
	}
	total := 0
	for i, want := range []int{1000, 1000, 100, 1000} {
		asked = 0
		n, err := s.Sweep(t.Context())
		if total += n; asked != want || err != nil {
			t.Errorf("sweep %d: %d threads were asked for, want %d: %v", i, asked, want, err)
		}
	}
	if total != 2 {
		t.Errorf("%d folders were removed, want 2", total)
	}
}
