//go:build unix

package workspace_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/internal/sectiontest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/workspace"
)

// world is a workspace with something outside of it that no tool may read or change.
type world struct {
	*testing.T
	outside string // the folder around it
	dir     string
	options workspace.Options
}

const secret = "TOP-SECRET-CONTENT"

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, outside: t.TempDir()}
	w.dir = filepath.Join(w.outside, "desk")
	w.options.Dir = w.dir
	for _, dir := range []string{"desk/sub/deep", "other", "desk-evil"} {
		w.must(os.MkdirAll(filepath.Join(w.outside, dir), 0o755))
	}
	for name, text := range map[string]string{"secret.txt": secret, "other/secret.txt": secret, "desk-evil/secret.txt": secret, "desk/a.txt": "one\ntwo\nthree\n", "desk/sub/b.go": "package b // two\n",
		"desk/.env": "KEY=" + secret, "desk/bin": "x\x00y"} {
		w.must(os.WriteFile(filepath.Join(w.outside, name), []byte(text), 0o644))
	}
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// link makes a symbolic link in the workspace.
func (w *world) link(to, name string) {
	w.Helper()
	w.must(os.Symlink(to, filepath.Join(w.dir, name)))
}

// use makes calls of an agent, one after the other, and returns the last result.
func (w *world) use(section string, calls ...[2]string) string {
	w.Helper()
	var turns []llmtest.Turn
	for _, c := range calls {
		turns = append(turns, llmtest.Use(c[0], c[1]))
	}
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}}
	if section != "" {
		spec.Sections = map[string]json.RawMessage{workspace.Name: json.RawMessage(section)}
	}
	h := awakentest.New(w.T, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}}, append(turns, llmtest.Say("ok"))...)
	rec := h.Say("go")
	last := ""
	for _, m := range h.Messages(rec.Result.ThreadID) {
		if m.ToolCallID != "" {
			last = m.Text()
		}
	}
	return last
}

// allowed returns a section with a shell that needs no approval.
func allowed(fields string) string {
	return `{"write":true,"trusted":true,"shell":{"enabled":true,"approval":"allow"` + fields + `}}`
}

// shellCases are sections with their effect on a command. TestSection checks that they have every field.
var shellCases = []struct{ name, section, command, want string }{
	{"enabled", allowed(``), "cat a.txt; echo e >&2; exit 3", `{"ok":false,"exit_code":3,"stdout":"one\ntwo\nthree\n","stderr":"e\n"}`},
	{"write", allowed(``), "echo four >> a.txt && tail -1 a.txt", `"stdout":"four\n"`},
	{"no write", `{"trusted":true,"shell":{"enabled":true,"approval":"allow"}}`, "(echo x > n || echo refused) 2>/dev/null; echo y > $TMPDIR/t; cat $TMPDIR/t; ls n", `"stdout":"refused\ny\n"`},
	{"timeout_seconds", allowed(`,"timeout_seconds":1`), "sleep 100", `"ended":"timeout"`},
	{"max_output_bytes", allowed(`,"max_output_bytes":3`), "echo 12345", `"stdout":"123","stderr":"","stdout_truncated":true`},
	{"memory_bytes", allowed(`,"memory_bytes":67108864`), `x=$(head -c 100000000 /dev/zero | tr '\0' x); echo ${#x}`, `cannot allocate`},
	{"processes", allowed(`,"processes":4,"timeout_seconds":5`), "for i in $(seq 40); do sleep 10 & done", `fork: `},
	{"max_file_bytes", allowed(`,"max_file_bytes":1000`), "head -c 2000 /dev/zero > f; wc -c < f", `1000\n`},
	{"open_files", allowed(`,"open_files":20`), "ulimit -n", `"stdout":"20\n"`},
	{"no network", allowed(``), "exec 3<>/dev/tcp/127.0.0.1/PORT && echo reached", `"stdout":""`},
	{"network", allowed(`,"network":true`), "exec 3<>/dev/tcp/127.0.0.1/PORT && echo reached", `"stdout":"reached\n"`},
	{"env", allowed(`,"env":["WORKSPACE_TEST"]`), "echo $WORKSPACE_TEST $WORKSPACE_OTHER $PATH", `"stdout":"given ` + sandbox.Path + `\n"`},
	{"no env", allowed(``), "env | cut -d= -f1 | sort | tr '\\n' ' '", `"stdout":"AWAKEN_IDEMPOTENCY_KEY HOME LANG PATH PWD SHLVL TMPDIR _ "`},
	{"delete in a full workspace", strings.Replace(allowed(``), "{", `{"max_bytes":14000,`, 1), "rm a.txt && echo removed", `"stdout":"removed\n"`},
	{"max_bytes", strings.Replace(allowed(``), "{", `{"max_bytes":30000,`, 1), "i=0; while :; do i=$((i+1)); head -c 10000 /dev/zero > f$i; done", `"ended":"disk_limit"`},
}

// Every field of the section has its effect, and every tool does its work.
func TestSection(t *testing.T) {
	t.Parallel()
	var docs []string
	for _, tt := range []struct{ name, section, tool, args, want string }{
		{"read", ``, "file_read", `{"path":"a.txt"}`, `{"path":"a.txt","text":"one\ntwo\nthree\n","lines":3}`},
		{"read some lines", ``, "file_read", `{"path":"./a.txt","offset":1,"limit":1}`, `{"path":"a.txt","text":"two\n","lines":3}`},
		{"list", ``, "file_list", `{}`, `{"entries":[{"path":"a.txt","type":"file","size":14},{"path":"bin","type":"file","size":3},{"path":"sub","type":"folder"}]}`},
		{"list all", ``, "file_list", `{"recursive":true,"path":"sub/"}`, `{"entries":[{"path":"sub/b.go","type":"file","size":17},{"path":"sub/deep","type":"folder"}]}`},
		{"search", ``, "file_search", `{"text":"two"}`, `{"found":[{"path":"a.txt","line":2,"text":"two"},{"path":"sub/b.go","line":1,"text":"package b // two"}]}`},
		{"search some files", ``, "file_search", `{"text":"two","name":"*.go"}`, `{"found":[{"path":"sub/b.go","line":1,"text":"package b // two"}]}`},
		{"folder", `{"folder":"sub"}`, "file_read", `{"path":"b.go"}`, `{"path":"b.go","text":"package b // two\n","lines":1}`},
		{"outside the folder", `{"folder":"sub"}`, "file_read", `{"path":"a.txt"}`, `a.txt does not exist`},
		{"a folder that is not there", `{"folder":"gone"}`, "file_list", `{}`, `the workspace is not available`},
		{"no write by default", ``, "file_write", `{"path":"n.txt","text":"x"}`, `[not_found] tool "file_write" not found`},
		{"write", `{"write":true}`, "file_write", `{"path":"new/n.txt","text":"x"}`, `{"path":"new/n.txt","bytes":1}`},
		{"edit", `{"write":true}`, "file_edit", `{"path":"a.txt","old":"two","new":"two and a half"}`, `{"path":"a.txt","bytes":25}`},
		{"edit what is not there", `{"write":true}`, "file_edit", `{"path":"a.txt","old":"four","new":"five"}`, `old is in a.txt 0 times, want once: add text around it`},
		{"edit what is there twice", `{"write":true}`, "file_edit", `{"path":"a.txt","old":"e","new":"E"}`, `old is in a.txt 3 times, want once: add text around it`},
		{"max_file_bytes of a read", `{"max_file_bytes":5}`, "file_read", `{"path":"a.txt"}`, `a.txt is larger than 5 bytes`},
		{"max_file_bytes of a write", `{"write":true,"max_file_bytes":5}`, "file_write", `{"path":"n","text":"123456"}`, `the content is 6 bytes long, want at most 5`},
		{"max_results", `{"max_results":1}`, "file_list", `{}`, `{"entries":[{"path":"a.txt","type":"file","size":14}],"truncated":true,"note":"there are more than 1 entries (max_results): list a folder below"}`},
		{"max_results of a search", `{"max_results":1}`, "file_search", `{"text":"t"}`, `{"found":[{"path":"a.txt","line":2,"text":"two"}],"truncated":true,"note":"there are more than 1 lines (max_results): search a folder, or for a longer text"}`},
		{"max_file_bytes of a search", `{"max_file_bytes":15}`, "file_search", `{"text":"two"}`, `{"found":[{"path":"a.txt","line":2,"text":"two"}],"truncated":true,"note":"1 files are larger than 15 bytes (max_file_bytes) and were not searched"}`},
		{"delete", `{"write":true}`, "file_delete", `{"path":"a.txt"}`, `{"path":"a.txt","deleted":true}`},
		{"delete what is not there", `{"write":true}`, "file_delete", `{"path":"missing"}`, `{"path":"missing","deleted":false}`},
		{"delete all", `{"write":true,"max_bytes":600}`, "file_delete", `{"path":".","recursive":true}`, `{"path":".","deleted":true}`},
		{"truncate in a full workspace", `{"write":true,"max_bytes":600}`, "file_write", `{"path":"a.txt","text":""}`, `{"path":"a.txt","bytes":0}`},
		{"max_bytes", `{"write":true,"max_bytes":3000}`, "file_write", `{"path":"n","text":"x"}`, `the workspace is full: it has at most 3000 bytes (max_bytes); delete files first`},
		{"scope", `{"scope":"thread"}`, "file_list", `{}`, `{"entries":[]}`},
		{"scope of the tenant", `{"scope":"tenant","folder":"a/b"}`, "file_list", `{}`, `{"entries":[]}`},
		{"hidden by default", ``, "file_read", `{"path":".env"}`, `path is ".env": names that begin with a dot are not available in this workspace`},
		{"hidden", `{"hidden":true}`, "file_read", `{"path":".env"}`, `{"path":".env","text":"KEY=` + secret + `","lines":1}`},
		{"not text", ``, "file_read", `{"path":"bin"}`, `bin is not a text file`},
	} {
		docs = append(docs, tt.section)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			if got := w.use(tt.section, [2]string{tt.tool, tt.args}); got != tt.want {
				t.Errorf("the result is %s, want %s", got, tt.want)
			}
		})
	}
	for _, tt := range shellCases {
		docs = append(docs, tt.section)
	}
	docs = append(docs, `{"trusted":true}`) // TestTaint
	sectiontest.Covers[workspace.Config](t, docs...)
}

// Mistakes in the section are reported with the field, the value and what is accepted.
func TestSection_Mistakes(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]string{
		`{"folder":"../other"}`:          `folder is "../other", want a relative path with slashes, without the element .. in it`,
		`{"folder":"/etc"}`:              `folder is "/etc"`,
		`{"max_file_bytes":0}`:           `max_file_bytes is 0, want 1 to 16777216`,
		`{"max_results":-1}`:             `max_results is -1, want 1 to 10000`,
		`{"max_bytes":-1}`:               `max_bytes is -1, want 0 or more`,
		`{"scope":"planet"}`:             `/scope: value must be one of`,
		`{"shell":{"approval":"never"}}`: `shell/approval: value must be one of`, `{"shell":{"timeout_seconds":0}}`: `shell.timeout_seconds is 0, want 1 to 3600`,
		`{"shell":{"max_output_bytes":0}}`: `shell.max_output_bytes is 0, want 1 to 1048576`, `{"shell":{"memory_bytes":1}}`: `shell.memory_bytes is 1, want 16777216 to`,
		`{"shell":{"processes":0}}`: `shell.processes is 0, want 1 to 1000`, `{"shell":{"max_file_bytes":0}}`: `shell.max_file_bytes is 0, want 1 to`, `{"shell":{"open_files":1}}`: `shell.open_files is 1, want 16 to 10000`,
		`{"shell":{"enabled":true}}`: `shell.enabled is true, but this program does not run commands`,
	} {
		spec := &awaken.AgentSpec{ID: "a", ModelID: "m", PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(section)}}
		_, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(workspace.Options{Dir: t.TempDir()})}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %s", section, err, want)
		}
	}
}

// paths are names of what is outside of the workspace, and links to it.
var attackPaths = []string{
	"../secret.txt", "../../secret.txt", "sub/../../secret.txt", "./../secret.txt", "sub/deep/../../../secret.txt", "../desk-evil/secret.txt", "../other/secret.txt",
	"/etc/passwd", "//etc/passwd", "/", "..", "../", "sub/..", "sub//../../secret.txt", "./.././secret.txt", "../desk/../secret.txt",
	`..\secret.txt`, `..\..\secret.txt`, `sub\..\..\secret.txt`, `C:\secret.txt`, "C:/secret.txt", "file:///etc/passwd", "~/secret.txt/../../../secret.txt", "$HOME/../../secret.txt",
	"..%2fsecret.txt/../../secret.txt", "a.txt/../../secret.txt", "a.txt\x00../secret.txt", "a.txt\n../secret.txt", "..\u2215secret.txt/../../secret.txt", "....//secret.txt/../../../secret.txt",
	"out/secret.txt", "abs/secret.txt", "direct", "absolute", "chain", "up/secret.txt", "loop", "self/self/loop", "proc/environ", "fd/0", "dev/null", "pipe", "sub/direct", ".env", "sub/../.env", strings.Repeat("a/", 600) + "x",
}

// 230 attacks on the tools by path and link: nothing outside is read, written or created.
func TestAttacks_Paths(t *testing.T) {
	t.Parallel()
	tools := map[string]string{
		"file_read": `{"path":%s}`, "file_list": `{"path":%s,"recursive":true}`, "file_search": `{"path":%s,"text":"SECRET"}`,
		"file_write": `{"path":%s,"text":"owned"}`, "file_edit": `{"path":%s,"old":"TOP","new":"owned"}`,
	}
	attacks, escapes := 0, 0
	for tool, form := range tools {
		w := newWorld(t)
		w.link("..", "out")
		w.link(filepath.Join(w.outside, "other"), "abs")
		w.link("../secret.txt", "direct")
		w.link(filepath.Join(w.outside, "secret.txt"), "absolute")
		w.link("direct", "chain")
		w.link("sub/../..", "up")
		w.link("loop", "loop")
		w.link(".", "self")
		w.link("/proc/self", "proc")
		w.link("/proc/self/fd", "fd")
		w.link("/dev", "dev")
		w.link("../../secret.txt", "sub/direct")
		w.must(syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o600))
		for _, name := range attackPaths {
			attacks++
			quoted, err := json.Marshal(name)
			w.must(err)
			got := w.use(`{"write":true}`, [2]string{tool, fmt.Sprintf(form, quoted)})
			if strings.Contains(got, secret) || strings.Contains(got, w.outside) || strings.Contains(got, "root:") || strings.Contains(got, "PATH=") {
				escapes++
				t.Errorf("%s %.60q: the result is %s", tool, name, got)
			}
		}
		escapes += w.checkOutside()
	}
	t.Logf("%d attacks, %d escapes", attacks, escapes)
	if attacks < 100 {
		t.Errorf("%d attacks, want at least 100", attacks)
	}
}

// checkOutside checks that what is outside of the workspace is as it was, and counts what is not.
func (w *world) checkOutside() (changed int) {
	w.Helper()
	for _, name := range []string{"secret.txt", "other/secret.txt", "desk-evil/secret.txt"} {
		if data, err := os.ReadFile(filepath.Join(w.outside, name)); err != nil || string(data) != secret {
			changed++
			w.Errorf("%s is now %q, %v", name, data, err)
		}
	}
	for dir, want := range map[string]int{".": 4, "other": 1, "desk-evil": 1} {
		if entries, err := os.ReadDir(filepath.Join(w.outside, dir)); err != nil || len(entries) != want {
			changed++
			w.Errorf("folder %s has %v, %v", dir, entries, err)
		}
	}
	return changed
}

// A folder that is replaced by a link and back, again and again, while tools use it, lets nothing out.
func TestAttacks_Races(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.Mkdir(filepath.Join(w.dir, "flip"), 0o755))
	w.must(os.WriteFile(filepath.Join(w.dir, "flip/secret.txt"), []byte("harmless"), 0o644))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		from, aside := filepath.Join(w.dir, "flip"), filepath.Join(w.dir, "aside")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(from, aside)
			_ = os.Symlink(filepath.Join(w.outside, "other"), from)
			_ = os.Remove(from)
			_ = os.Rename(aside, from)
		}
	})
	attacks := 0
	for range 30 {
		for tool, args := range map[string]string{"file_read": `{"path":"flip/secret.txt"}`, "file_search": `{"path":"flip","text":"SECRET"}`,
			"file_write": `{"path":"flip/new.txt","text":"owned"}`, "file_edit": `{"path":"flip/secret.txt","old":"TOP","new":"owned"}`} {
			attacks++
			if got := w.use(`{"write":true}`, [2]string{tool, args}); strings.Contains(got, secret) {
				t.Errorf("%s: the result is %s", tool, got)
			}
		}
	}
	close(stop)
	wg.Wait()
	t.Logf("%d attacks, %d escapes", attacks, w.checkOutside())
}

// A link is replaced, not followed, and leaves no temporary file; the mode of a file is kept.
func TestWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.link("../secret.txt", "link")
	w.must(os.Chmod(filepath.Join(w.dir, "a.txt"), 0o700))
	for _, name := range []string{"link", "a.txt"} {
		w.use(`{"write":true}`, [2]string{"file_write", fmt.Sprintf(`{"path":%q,"text":"new"}`, name)})
		info, err := os.Lstat(filepath.Join(w.dir, name))
		if err != nil || !info.Mode().IsRegular() || name == "a.txt" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s is %v, %v", name, info, err)
		}
	}
	w.checkOutside()
	entries, err := os.ReadDir(w.dir)
	w.must(err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".awaken-") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// A limit of lines may be as large as a number can be.
func TestRead_LargeLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.use("", [2]string{"file_read", `{"path":"a.txt","offset":1,"limit":9223372036854775807}`}); !strings.Contains(got, `two\nthree`) {
		t.Errorf("the result is %s", got)
	}
}

// Edits of one file by calls of the same step, which run at the same time, are all made, or refused with what has changed: none is lost.
func TestEdit_OneAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var text strings.Builder
	var uses []llmtest.Call
	for i := range 20 {
		fmt.Fprintf(&text, "<%d>\n", i)
		uses = append(uses, llmtest.Call{Name: "file_edit", Arguments: fmt.Appendf(nil, `{"path":"many.txt","old":"<%d>","new":"[%d]"}`, i, i)})
	}
	w.must(os.WriteFile(filepath.Join(w.dir, "many.txt"), []byte(text.String()), 0o644))
	spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(`{"write":true}`)}, ToolExecutionMode: awaken.ParallelStreaming}
	h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}}, llmtest.Turn{ToolCalls: uses}, llmtest.Say("ok"))
	rec := h.Say("go")
	done, refused := 0, 0
	for _, m := range h.Messages(rec.Result.ThreadID) {
		switch {
		case m.ToolCallID == "":
		case strings.Contains(m.Text(), `"bytes"`):
			done++
		case strings.Contains(m.Text(), "has changed in the meantime"):
			refused++
		default:
			t.Errorf("a call says %s", m.Text())
		}
	}
	data, err := os.ReadFile(filepath.Join(w.dir, "many.txt"))
	if made := strings.Count(string(data), "["); err != nil || done == 0 || done+refused != 20 || made != done {
		t.Errorf("%d edits are reported, %d refused, and %d made (%v)", done, refused, made, err)
	}
}

// Folders that are too deep, and results that are left out for another reason, are mentioned.
func TestWalk_SaysWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(os.MkdirAll(filepath.Join(w.dir, strings.Repeat("d/", 70)), 0o755))
	for tool, args := range map[string]string{"file_list": `{"recursive":true}`, "file_search": `{"text":"two"}`} {
		if got := w.use("", [2]string{tool, args}); !strings.Contains(got, `"truncated":true,"note":"folders below 64 levels were left out: name one of them"`) {
			t.Errorf("%s: %.300s", tool, got)
		}
	}
}

// Runs on different threads, of different users and of different tenants do not see each other's files.
func TestScope_KeepsApart(t *testing.T) {
	t.Parallel()
	type who struct{ thread, user string }
	for _, tt := range []struct {
		scope workspace.Scope
		a, b  who
		same  bool
	}{
		{workspace.ScopeThread, who{"t1", "u"}, who{"t2", "u"}, false}, {workspace.ScopeThread, who{"t1", "u"}, who{"t1", "u"}, true}, {workspace.ScopeThread, who{"../t1", "u"}, who{"t1", "u"}, false}, {workspace.ScopeThread, who{"T1", "u"}, who{"t1", "u"}, false},
		{workspace.ScopeUser, who{"t1", "u"}, who{"t2", "u"}, true}, {workspace.ScopeUser, who{"t1", "u"}, who{"t2", "v"}, false}, {workspace.ScopeUser, who{"t1", ""}, who{"t2", ""}, false},
		{workspace.ScopeTenant, who{"t1", "u"}, who{"t2", "v"}, true}, {workspace.ScopeAll, who{"t1", "u"}, who{"t2", "v"}, true},
	} {
		w := newWorld(t)
		w.options.Scope = tt.scope
		spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(`{"write":true}`)}}
		h := awakentest.New(t, engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}},
			llmtest.Use("file_write", `{"path":"mine","text":"x"}`), llmtest.Say("ok"), llmtest.Use("file_list", `{}`), llmtest.Say("ok"))
		last := ""
		for _, p := range []who{tt.a, tt.b} {
			rec := h.Run(awaken.RunRequest{ThreadID: p.thread, UserID: p.user, Messages: []*llm.Message{llm.UserText("go")}})
			for _, m := range h.Messages(rec.Result.ThreadID) {
				if m.ToolCallID != "" {
					last = m.Text()
				}
			}
		}
		if strings.Contains(last, `"mine"`) != tt.same {
			t.Errorf("%s, %v and %v: the second sees %s", tt.scope, tt.a, tt.b, last)
		}
		w.checkOutside()
	}
}

// tenant is an owner of runs of a tenant.
type tenant string

func (tenant) Check() error          { return nil }
func (n tenant) For() (string, bool) { return string(n), false }

// Runs of different tenants do not see each other's files, whatever the names of their threads.
func TestScope_KeepsTenantsApart(t *testing.T) {
	t.Parallel()
	for _, scope := range []workspace.Scope{workspace.ScopeThread, workspace.ScopeUser, workspace.ScopeTenant} {
		for _, pair := range [][2]tenant{{"", "acme"}, {"acme", "Acme"}, {"acme", "../tenant-acme"}, {"acme", "acme"}} {
			w := newWorld(t)
			w.options.Scope = scope
			spec := &awaken.AgentSpec{ID: engine.DefaultAgentID, PluginIDs: []string{workspace.Name}, Sections: map[string]json.RawMessage{workspace.Name: json.RawMessage(`{"write":true}`)}}
			cfg := engine.Config{Agents: []*awaken.AgentSpec{spec}, Plugins: []awaken.Plugin{workspace.New(w.options)}}
			last := ""
			for i, turn := range []llmtest.Turn{llmtest.Use("file_write", `{"path":"mine","text":"x"}`), llmtest.Use("file_list", `{}`)} {
				h := awakentest.New(t, cfg, turn, llmtest.Say("ok")) // a tenant has a store of its own
				if _, err := h.Runtime.Run(ownership.With(t.Context(), pair[i]), awaken.RunRequest{ThreadID: "t", UserID: "u", Messages: []*llm.Message{llm.UserText("go")}}, nil); err != nil {
					t.Fatal(err)
				}
				for _, m := range h.Messages("t") {
					if m.ToolCallID != "" {
						last = m.Text()
					}
				}
			}
			if strings.Contains(last, `"mine"`) != (pair[0] == pair[1]) {
				t.Errorf("%s, %q: the second sees %s", scope, pair, last)
			}
			w.checkOutside()
		}
	}
}
