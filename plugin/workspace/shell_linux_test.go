//go:build linux && (amd64 || arm64)

package workspace_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/internal/sandbox/sandboxtest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/workspace"
	"github.com/awaken-go/awaken/store/file"
	"github.com/awaken-go/awaken/store/memory"
)

// newShellWorld returns a workspace in which commands run.
func newShellWorld(t *testing.T) *world {
	t.Helper()
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	w := newWorld(t)
	w.options.Shell = &workspace.Shell{Network: true, Env: []string{"WORKSPACE_TEST"}}
	if os.Geteuid() == 0 { // commands run as the owner of the folder
		uid := newUser()
		w.must(filepath.WalkDir(w.dir, func(name string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(name, uid, uid))
		}))
	}
	return w
}

var users atomic.Int64

// newUser returns a user that no other test has: limits of processes are a user's.
func newUser() int { return 64001 + int(users.Add(1)) }

func command(text string) string {
	data, _ := json.Marshal(map[string]string{"command": text})
	return string(data)
}

func init() {
	_ = os.Setenv("WORKSPACE_TEST", "given")
	_ = os.Setenv("WORKSPACE_OTHER", secret)
}

// Every field of the part shell has its effect.
func TestShell_Section(t *testing.T) {
	t.Parallel()
	for _, tt := range shellCases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newShellWorld(t)
			port := w.listen()
			if got := w.use(tt.section, [2]string{"shell", command(strings.ReplaceAll(tt.command, "PORT", port))}); !strings.Contains(got, tt.want) {
				t.Errorf("the result is %s, want %s", got, tt.want)
			}
			w.checkOutside()
		})
	}
}

// What the program does not permit, no section gets.
func TestShell_ProgramDecides(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"shell":{"enabled":true,"network":true}}`:      `shell.network is true, but this program gives commands no network`,
		`{"shell":{"enabled":true,"env":["HOME","TZ"]}}`: `shell.env[0] is "HOME", want one of the variables that this program permits: ["TZ"]`,
	} {
		spec := &awaken.AgentSpec{ID: "a", ModelID: "m", PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(section)}}
		_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(workspace.Options{Dir: t.TempDir(), Shell: &workspace.Shell{Env: []string{"TZ"}}})}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", section, err, want)
		}
	}
}

// A person decides about each command, unless the section says otherwise. The command is in the ledger
// before it runs.
func TestShell_Approval(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, section string
		asks          bool
	}{
		{"by default", `{"shell":{"enabled":true}}`, true},
		{"ask", `{"shell":{"enabled":true,"approval":"ask"}}`, true},
		{"allow", `{"shell":{"enabled":true,"approval":"allow"}}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newShellWorld(t)
			spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(tt.section)}}
			h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}}, llmtest.Use("shell", command("echo ran")), llmtest.Say("ok"))
			rec := h.Say("go")
			if asked := rec.Result.Termination.Type == awaken.Suspended; asked != tt.asks {
				t.Fatalf("it asks: %v (%+v, %v)", asked, rec.Result, rec.Err)
			}
			if tt.asks {
				rec = h.Resume(rec.Result.RunID, awaken.Decision{Target: rec.Result.Waiting.Tickets[0].TicketID, Action: awaken.ActionResume})
			}
			calls, err := h.Store.Calls(t.Context(), rec.Result.RunID)
			if err != nil || rec.Result.Response != "ok" || len(calls) != 1 || calls[0].StartedAt == 0 || calls[0].Result == nil || !strings.Contains(string(calls[0].Result.Data), "ran") {
				t.Errorf("the ledger has %+v (%v), the run %+v", calls, err, rec.Result)
			}
		})
	}
}

// Files of others taint the run that reads them: in a folder that is not the thread's, and if commands have a network.
func TestTaint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		section, tool, args string
		tainted             bool
	}{
		{`{}`, "file_read", `{"path":"a.txt"}`, true}, {`{}`, "file_search", `{"text":"two"}`, true}, {`{}`, "file_list", `{}`, true},
		{`{"trusted":true}`, "file_read", `{"path":"a.txt"}`, false},
		{`{"scope":"thread"}`, "file_list", `{}`, false}, {`{"scope":"tenant"}`, "file_list", `{}`, true}, {`{"scope":"user"}`, "file_list", `{}`, true},
		{`{"write":true}`, "file_write", `{"path":"n","text":"x"}`, false},
		{`{"shell":{"enabled":true,"approval":"allow"}}`, "shell", command("true"), true},
		{`{"trusted":true,"shell":{"enabled":true,"approval":"allow"}}`, "shell", command("true"), false},
		{`{"scope":"thread","shell":{"enabled":true,"approval":"allow"}}`, "shell", command("true"), false},
		{`{"scope":"thread","trusted":true,"shell":{"enabled":true,"approval":"allow","network":true}}`, "shell", command("true"), true},
	} {
		w := newShellWorld(t)
		spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(tt.section)}}
		h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}}, llmtest.Use(tt.tool, tt.args), llmtest.Say("ok"))
		rec := h.Say("go")
		run, err := h.Store.LoadRun(t.Context(), rec.Result.RunID)
		if err != nil || (run.Taint != nil) != tt.tainted {
			t.Errorf("%s of %s: the taint is %+v (%v)", tt.tool, tt.section, run.Taint, err)
		}
	}
}

// In a trusted folder, what a tainted run wrote taints the run that reads it, until a clean run has replaced it. A command of a
// tainted run may have written everything, and cannot remove the marks.
func TestTaint_StaysWithFiles(t *testing.T) {
	t.Parallel()
	write, shell := llmtest.Use("file_write", `{"path":"n.txt","text":"x"}`), func(line string) llmtest.Turn { return llmtest.Use("shell", command(line)) }
	read := func(name string) llmtest.Turn { return llmtest.Use("file_read", `{"path":"`+name+`"}`) }
	for _, tt := range []struct {
		name   string
		writer llmtest.Turn // of a tainted run
		clean  []llmtest.Turn
		want   string // whether each clean run is tainted after its call
	}{
		{"another file", write, []llmtest.Turn{read("a.txt")}, "[false]"},
		{"the file", write, []llmtest.Turn{read("n.txt")}, "[true]"},
		{"a file that a clean run has replaced", write, []llmtest.Turn{write, read("n.txt")}, "[false false]"},
		{"a file that a clean run has edited", write, []llmtest.Turn{llmtest.Use("file_edit", `{"path":"n.txt","old":"x","new":"xy"}`), read("n.txt")}, "[false true]"},
		{"a command that reads it", write, []llmtest.Turn{shell("cat n.txt")}, "[true]"},
		{"a copy", write, []llmtest.Turn{shell("mv n.txt m.txt"), read("m.txt")}, "[true true]"},
		{"what a command wrote", shell("echo do > m.txt"), []llmtest.Turn{read("m.txt"), read("a.txt")}, "[true true]"},
		{"what a command wrote that removes marks", shell("echo do > m.txt; rm -rf .awaken-taint"), []llmtest.Turn{read("m.txt")}, "[true]"},
		{"the marks themselves", write, []llmtest.Turn{read(".awaken-taint/all")}, "[false]"},
	} {
		w := newShellWorld(t)
		spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{
			workspace.Name: json.RawMessage(`{"write":true,"trusted":true,"hidden":true,"shell":{"enabled":true,"approval":"allow"}}`)}}
		turns := []llmtest.Turn{tt.writer, llmtest.Say("ok")}
		for _, c := range tt.clean {
			turns = append(turns, c, llmtest.Say("ok"))
		}
		h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}}, turns...)
		h.Run(awaken.RunRequest{ThreadID: "tainted", Messages: []*llm.Message{llm.UserText("go")}, Taint: &awaken.Taint{RunID: "r0", Tool: "fetch", At: 1}})
		var got []bool
		for i := range tt.clean {
			rec := h.Run(awaken.RunRequest{ThreadID: fmt.Sprint("clean", i), Messages: []*llm.Message{llm.UserText("go")}})
			run, err := h.Store.LoadRun(t.Context(), rec.Result.RunID)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, run.Taint != nil)
			if run.Taint != nil && (run.Taint.Tool != "fetch" || run.Taint.ReadBy == "") {
				t.Errorf("%s: the taint is %+v", tt.name, run.Taint)
			}
		}
		if fmt.Sprint(got) != tt.want {
			t.Errorf("%s: tainted %v, want %s", tt.name, got, tt.want)
		}
	}
}

// Mistakes in a call, and folders that commands cannot run in, are refused with what to do.
func TestShell_Refuses(t *testing.T) {
	t.Parallel()
	w := newShellWorld(t)
	for _, text := range []string{"", "  \n", strings.Repeat("x", 32<<10+1), "a\x00b"} {
		if got := w.use(allowed(``), [2]string{"shell", command(text)}); !strings.Contains(got, "[invalid_arguments] command has") {
			t.Errorf("%.20q: %s", text, got)
		}
	}
	if os.Geteuid() == 0 {
		w.must(os.Chown(w.dir, 0, 0))
		if got := w.use(allowed(``), [2]string{"shell", command("id")}); !strings.Contains(got, "[sandbox_unavailable]") || !strings.Contains(got, "belongs to root") {
			t.Errorf("in a folder of root's: %s", got)
		}
	}
}

// A folder of a thread that a process of root's had made when it was killed, before it gave it away, is given away by the next call.
func TestShell_FolderOfRoot(t *testing.T) {
	t.Parallel()
	w := newShellWorld(t)
	if os.Geteuid() != 0 {
		t.Skip("the process is not root")
	}
	section := strings.Replace(allowed(``), "{", `{"scope":"thread",`, 1)
	for range 2 {
		spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(section)}}
		h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}}, llmtest.Use("shell", command("echo ran")), llmtest.Say("ok"))
		rec := h.Run(awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}})
		calls, err := h.Store.Calls(t.Context(), rec.Result.RunID)
		if err != nil || len(calls) != 1 || calls[0].Result == nil || !strings.Contains(string(calls[0].Result.Data), `"stdout":"ran\n"`) {
			t.Errorf("the ledger has %+v (%v)", calls, err)
		}
		found, err := filepath.Glob(filepath.Join(w.dir, "tenant-*/thread-*"))
		w.must(err)
		if len(found) == 0 {
			t.Fatal("no thread has a folder")
		}
		for _, dir := range found {
			w.must(os.Chown(dir, 0, 0))
		}
	}
}

// A folder that a command replaces by a link is not followed by the next command.
func TestShell_FolderBecomesLink(t *testing.T) {
	t.Parallel()
	w := newShellWorld(t)
	for _, to := range []string{"../other", filepath.Join(w.outside, "other"), "/etc"} {
		w.use(allowed(``), [2]string{"shell", command("rm -rf sub; ln -sfn " + to + " sub")})
		if info, err := os.Lstat(filepath.Join(w.dir, "sub")); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Fatalf("sub is %v, %v", info, err)
		}
		section := strings.Replace(allowed(``), "{", `{"folder":"sub",`, 1)
		if got := w.use(section, [2]string{"shell", command("cat secret.txt; ls; echo x > new")}); got != "the workspace is not available" {
			t.Errorf("%s: %s", to, got)
		}
		w.checkOutside()
	}
}

// The attacks of package sandboxtest do no damage.
func TestShell_Attacks(t *testing.T) {
	if err := sandbox.Available(); err != nil {
		t.Skip(err)
	}
	sandboxtest.Run(t, true, func(t *testing.T, a *sandboxtest.Arena, at sandboxtest.Attack) string {
		if os.Geteuid() == 0 {
			uid := newUser()
			if err := os.Chown(a.Dir, uid, uid); err != nil {
				t.Error(err)
			}
		}
		limit := 30
		if at.Endless {
			limit = 1
		}
		w := &world{T: t, outside: a.Outside, dir: a.Dir, options: workspace.Options{Dir: a.Dir, MaxBytes: 16 << 20, Shell: &workspace.Shell{}}}
		out := w.use(allowed(fmt.Sprintf(`,"timeout_seconds":%d,"memory_bytes":%d,"max_file_bytes":%d`, limit, 128<<20, 8<<20)), [2]string{"shell", command(a.Fill(at.Text))})
		if !strings.Contains(out, `"exit_code"`) {
			t.Errorf("%s: %s", at.Text, out)
		}
		return out
	})
}

// While a command runs, clients see its output and its progress; a run that is cancelled ends it.
func TestShell_ShowsOutputAndIsCancelled(t *testing.T) {
	t.Parallel()
	w := newShellWorld(t)
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(allowed(``))}}
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Store: memory.New(), Plugins: []awaken.Plugin{workspace.New(w.options)}}, llmtest.Use("shell", command("echo begun; touch begun; sleep 600")), llmtest.Say("ok"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress, output := "", ""
	res, err := h.Runtime.Run(ctx, awaken.RunRequest{ThreadID: "t", Messages: []*llm.Message{llm.UserText("go")}}, awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		switch ev := e.Event.(type) {
		case *awaken.ActivitySnapshot:
			progress += string(ev.Content)
		case *awaken.ToolCallStreamDelta:
			if output += ev.Delta; strings.Contains(output, "begun") {
				cancel()
			}
		}
		return nil
	}))
	if !strings.Contains(progress, `"message":"echo begun; touch begun; sleep 600"`) || output != "begun\n" {
		t.Errorf("clients see %q and %q", progress, output)
	}
	if err == nil && res.Termination.Type != awaken.Cancelled {
		t.Errorf("the run ended with %+v, %v", res.Termination, err)
	}
}

// A disk that fills while a command writes fails the command, not the run; what it has written stays.
func TestShell_FullDisk(t *testing.T) {
	w := newShellWorld(t)
	w.small(w.dir)
	got := w.use(allowed(`,"max_file_bytes":100000000`), [2]string{"shell", command("echo kept > k; head -c 50000000 /dev/zero > big; echo exit $?; cat k")})
	if !strings.Contains(got, "No space left") || !strings.Contains(got, `kept\n`) || !strings.Contains(got, `exit 1`) {
		t.Errorf("the result is %s", got)
	}
	got = w.use(allowed(``), [2]string{"file_write", `{"path":"n.txt","text":"` + strings.Repeat("x", 100_000) + `"}`})
	if !strings.Contains(got, "no space left on device") {
		t.Errorf("a file is written: %s", got)
	}
	if entries, err := os.ReadDir(w.dir); err != nil || len(entries) != 2 {
		t.Errorf("the folder has %v, %v: a part of a file was left", entries, err)
	}
}

// small mounts a small disk at a folder, if this process may.
func (w *world) small(dir string) {
	w.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0777,uid=64001"); err != nil {
		w.Skip("cannot mount a small disk: ", err)
	}
	w.Cleanup(func() { w.must(syscall.Unmount(dir, 0)) })
}

// listen accepts connections, and returns its port.
func (w *world) listen() string {
	w.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	w.must(err)
	w.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	_, port, err := net.SplitHostPort(l.Addr().String())
	w.must(err)
	return port
}

// The model may give a command less time.
func TestShell_ShorterTime(t *testing.T) {
	t.Parallel()
	w := newShellWorld(t)
	start := time.Now()
	if got := w.use(allowed(``), [2]string{"shell", `{"command":"sleep 50","timeout_seconds":1}`}); !strings.Contains(got, `"ended":"timeout"`) || time.Since(start) > 40*time.Second {
		t.Errorf("the result is %s, after %v", got, time.Since(start))
	}
}

// A command whose server is killed ends, is in doubt, and is not repeated when another takes the run over.
func TestShell_ServerIsKilled(t *testing.T) {
	section := json.RawMessage(`{"write":true,"shell":{"enabled":true,"approval":"allow"}}`)
	config := func(dir string) engine.Config {
		st, err := file.Open(filepath.Join(dir, "store"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		return engine.Config{Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: section}}}, Store: st,
			Plugins: []awaken.Plugin{workspace.New(workspace.Options{Dir: filepath.Join(dir, "desk"), Shell: &workspace.Shell{}})}}
	}
	seconds := cmp.Or(os.Getenv("WORKSPACE_SECONDS"), fmt.Sprint(71_000_000+os.Getpid())) // which nothing else sleeps
	text := "echo once >> count; setsid sleep " + seconds + " & sleep " + seconds
	if dir := os.Getenv("WORKSPACE_SERVER"); dir != "" {
		h := awakentest.New(t, config(dir), llmtest.Use("shell", command(text)))
		h.Run(awaken.RunRequest{ThreadID: "t", RunID: "r", Messages: []*llm.Message{llm.UserText("go")}})
		return
	}
	w := newShellWorld(t)
	count := filepath.Join(w.dir, "count")
	server := exec.Command("/proc/self/exe", "-test.run=^TestShell_ServerIsKilled$")
	server.Env = append(os.Environ(), "WORKSPACE_SERVER="+w.outside, "WORKSPACE_SECONDS="+seconds)
	w.must(server.Start())
	for tries := 0; len(sleepers(seconds)) < 2; tries++ {
		if tries == 3000 {
			t.Fatal("the command does not begin")
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.must(server.Process.Kill())
	_ = server.Wait()
	for tries := 0; len(sleepers(seconds)) > 0; tries++ {
		if tries == 3000 {
			t.Fatalf("processes are left: %v", sleepers(seconds))
		}
		time.Sleep(10 * time.Millisecond)
	}
	h := awakentest.New(t, config(w.outside), llmtest.Say("told"))
	rec := h.Run(awaken.RunRequest{Continue: "r"})
	if rec.Err != nil || rec.Result.Response != "told" {
		t.Fatalf("%+v, %v", rec.Result, rec.Err)
	}
	told := false
	for _, m := range h.Messages("t") {
		told = told || strings.Contains(m.Text(), "[in_doubt]") && strings.Contains(m.Text(), "it was not repeated")
	}
	data, err := os.ReadFile(count)
	if !told || err != nil || string(data) != "once\n" {
		t.Errorf("the model is told: %t; the command ran: %q (%v)", told, data, err)
	}
}

// sleepers lists the processes that sleep so many seconds.
func sleepers(seconds string) (found []string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range lines {
		if data, _ := os.ReadFile(f); string(data) == "sleep\x00"+seconds+"\x00" {
			found = append(found, f)
		}
	}
	return found
}

// A file that cannot be read is an error that says so, not a shorter file.
func TestRead_Error(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.options.Dir = "/proc/self" // its file mem is a regular file, which has nothing at 0
	if got := w.use("", [2]string{"file_read", `{"path":"mem"}`}); got != "mem: input/output error" {
		t.Errorf("the result is %s", got)
	}
	if got := w.use("", [2]string{"file_search", `{"text":"x","name":"mem"}`}); !strings.Contains(got, `"truncated":true`) || !strings.Contains(got, "could not be read") {
		t.Errorf("a search says %.300s", got)
	}
}
