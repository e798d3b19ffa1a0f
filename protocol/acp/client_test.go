package acp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
)

// editor is a client with files and a terminal.
type editor struct {
	mu      sync.Mutex
	files   map[string]string
	calls   []string // what was done, in order
	choose  string   // the option of permission requests
	titles  []string // of permission requests
	content []string // of permission requests
	hang    bool     // commands do not end
}

func (e *editor) ask(method string, params json.RawMessage) (any, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var p struct {
		Path, Content, Command, Cwd string
		Line, Limit                 int
		Args                        []string
		ToolCall                    struct {
			Title   string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	e.calls = append(e.calls, strings.TrimSpace(method+" "+p.Path+p.Command))
	switch method {
	case "session/request_permission":
		e.titles, e.content = append(e.titles, p.ToolCall.Title), append(e.content, string(p.ToolCall.Content))
		if e.choose == "" {
			return nil, nil
		}
		return selected(e.choose), nil
	case "fs/read_text_file":
		text, ok := e.files[p.Path]
		if !ok {
			return nil, errors.New("no such file")
		}
		return map[string]string{"content": text}, nil
	case "fs/write_text_file":
		e.files[p.Path] = p.Content
		return map[string]any{}, nil
	case "terminal/create":
		return map[string]string{"terminalId": "term-1"}, nil
	case "terminal/wait_for_exit":
		if e.hang {
			return nil, nil
		}
		return map[string]int{"exitCode": 3}, nil
	case "terminal/output":
		return map[string]any{"output": "it says no", "truncated": false}, nil
	}
	return map[string]any{}, nil
}

const everything = `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true}`

// The client's files and terminal are tools if it offers them. What they do is asked about, unless the user has allowed it,
// the agent has rules, or a file of the session's folder is read.
func TestClientTools(t *testing.T) {
	g := newRig(t)
	write := `RUN_TOOL editor_write_file {"path":"a.txt","content":"new"}`
	run := `RUN_TOOL editor_run_command {"command":"make","args":["test"]}`
	for _, tt := range []struct {
		name, capabilities, agent, choose, say string
		calls, says                            string
	}{
		{"read", everything, "default", "", `RUN_TOOL editor_read_file {"path":"a.txt","line":1}`, "[fs/read_text_file /src/a.txt]", "old"},
		{"read elsewhere", everything, "default", "allow_once", `RUN_TOOL editor_read_file {"path":"/etc/x"}`, "[session/request_permission fs/read_text_file /etc/x]", "secret"},
		{"read above", everything, "default", "reject_once", `RUN_TOOL editor_read_file {"path":"../etc/x"}`, "[session/request_permission]", "rejected"},
		{"missing", everything, "default", "", `RUN_TOOL editor_read_file {"path":"none"}`, "[fs/read_text_file /src/none]", "no such file"},
		{"write", everything, "default", "allow_once", write, "[fs/read_text_file /src/a.txt session/request_permission fs/write_text_file /src/a.txt]", ""},
		{"write refused", everything, "default", "reject_once", write, "[fs/read_text_file /src/a.txt session/request_permission]", "rejected"},
		{"write without reading", `{"fs":{"writeTextFile":true}}`, "default", "allow_once", write, "[session/request_permission fs/write_text_file /src/a.txt]", ""},
		{"write by rules", everything, "careful", "allow_once", write, "[session/request_permission fs/write_text_file /src/a.txt]", ""},
		{"run", everything, "default", "allow_once", run, "[session/request_permission terminal/create make terminal/wait_for_exit terminal/output terminal/release]", "it says no"},
		{"not offered", `{}`, "default", "allow_once", run, "[]", "not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &editor{files: map[string]string{"/src/a.txt": "old", "/etc/x": "secret"}, choose: tt.choose}
			c := begin(t, g.Box, tt.capabilities)
			c.ask = e.ask
			s := c.session(tt.agent)
			if stop := c.prompt(s, tt.say); stop != "end_turn" {
				t.Errorf("it ended with %s", stop)
			}
			if got := fmt.Sprint(e.calls); got != tt.calls {
				t.Errorf("the client is asked for %s, want %s", got, tt.calls)
			}
			got := transcript(c.all(s))
			if !strings.Contains(got, tt.says) {
				t.Errorf("\n%s", got)
			}
			if strings.HasPrefix(tt.name, "write") && tt.choose == "allow_once" && e.files["/src/a.txt"] != "new" {
				t.Error("nothing was written")
			}
			if tt.name == "write" && (e.content[0] != `[{"type":"diff","path":"/src/a.txt","oldText":"old","newText":"new"}]` || !strings.Contains(got, `"type":"diff"`)) {
				t.Errorf("the user does not see the change: %s\n%s", e.content[0], got)
			}
			if tt.name == "run" && (!strings.Contains(strings.Join(c.lines, ""), `"terminalId":"term-1"`) || e.titles[0] != "make test") {
				t.Errorf("the user does not see the command: %q", e.titles)
			}
		})
	}
}

// "Always" holds for the session, on every connection, and for nothing else.
func TestClientTools_Always(t *testing.T) {
	g := newRig(t)
	write := `RUN_TOOL editor_write_file {"path":"a.txt","content":"new"}`
	e := &editor{files: map[string]string{}, choose: "allow_session"}
	c := begin(t, g.Box, everything)
	c.ask = e.ask
	s := c.session("default")
	c.prompt(s, write)
	c.prompt(s, write)
	other := begin(t, g.Box, everything)
	other.ask = e.ask
	other.must("session/resume", of(s))
	other.prompt(s, write)
	if len(e.titles) != 1 {
		t.Errorf("it asks %q", e.titles)
	}
	other.prompt(s, `RUN_TOOL editor_run_command {"command":"make"}`)
	other.prompt(other.session("default"), write)
	if len(e.titles) != 3 {
		t.Errorf("it asks %q", e.titles)
	}
}

// A call of the client's that was pending when its connection ended is made by the next one that begins the session, and
// asked about if it has an effect.
func TestClientTools_NextConnection(t *testing.T) {
	g := newRig(t)
	for tool, asks := range map[string]bool{`editor_read_file {"path":"a.txt"}`: false, `editor_write_file {"path":"a.txt","content":"new"}`: true} {
		c := begin(t, g.Box, everything)
		c.ask = func(string, json.RawMessage) (any, error) { return nil, nil } // it hangs
		s := c.session("default")
		c.send("session/prompt", promptOf(s, "RUN_TOOL "+tool))
		c.until("it asks", func() bool { return len(c.asked) > 0 })
		_ = c.in.Close()
		<-c.served
		if run := g.Open(s); run == nil || run.Status != awaken.RunWaiting {
			t.Fatalf("%+v", run)
		}
		e := &editor{files: map[string]string{"/src/a.txt": "old"}, choose: "allow_once"}
		next := begin(t, g.Box, everything)
		next.ask = e.ask
		next.must("session/load", of(s))
		next.until("it is done", func() bool {
			return slices.ContainsFunc(next.updates, func(u update) bool {
				return u.Kind == "agent_message_chunk" && strings.Contains(string(u.Content), "answered")
			})
		})
		e.mu.Lock()
		if asks != (len(e.titles) == 1 && strings.HasPrefix(e.titles[0], "May have been done already.")) {
			t.Errorf("%s: it asks %q", tool, e.titles)
		}
		e.mu.Unlock()
	}
}

// A command that is cancelled with its prompt is released, and one that takes too long is ended.
func TestClientTools_Commands(t *testing.T) {
	g := newRig(t)
	for say, want := range map[string]string{`{"command":"sleep"}`: "terminal/release", `{"command":"sleep","timeout_seconds":1}`: "terminal/kill"} {
		e := &editor{files: map[string]string{}, choose: "allow_once", hang: true}
		c := begin(t, g.Box, everything)
		c.ask = e.ask
		s := c.session("default")
		answer := c.send("session/prompt", promptOf(s, "RUN_TOOL editor_run_command "+say))
		c.until("the command runs", func() bool { return slices.Contains(c.asked, "terminal/wait_for_exit") })
		if want == "terminal/release" {
			c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s))
		}
		c.until(want, func() bool { return slices.Contains(c.asked, want) })
		if r := c.wait("prompt", answer); r.Error != nil {
			t.Errorf("%+v", r.Error)
		}
	}
}

// Rules that let a call pass are those of the agent that makes it, not of the one that the user has chosen since.
func TestClientTools_RulesOfTheAgentThatCalls(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, everything)
	c.ask = func(string, json.RawMessage) (any, error) { return nil, nil } // it hangs
	s := c.session("default")
	c.send("session/prompt", promptOf(s, `RUN_TOOL editor_read_file {"path":"/etc/x"}`))
	c.until("it asks", func() bool { return len(c.asked) > 0 })
	c.must("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"careful"}`, s))
	_ = c.in.Close()
	<-c.served
	e := &editor{files: map[string]string{"/etc/x": "secret"}, choose: "allow_once"}
	next := begin(t, g.Box, everything)
	next.ask = e.ask
	next.must("session/load", of(s))
	next.until("the file is read", func() bool { return slices.Contains(next.asked, "fs/read_text_file") })
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.titles) != 1 {
		t.Errorf("%q was done, and the user asked %q", e.calls, e.titles)
	}
}

// A link in the session's folder does not let a file elsewhere be read without asking.
func TestClientTools_LinksOutOfTheFolder(t *testing.T) {
	g := newRig(t)
	folder, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "key")
	for _, err := range []error{os.WriteFile(elsewhere, []byte("secret"), 0o600), os.WriteFile(filepath.Join(folder, "plain"), nil, 0o600),
		os.Symlink(elsewhere, filepath.Join(folder, "out")), os.Symlink("plain", filepath.Join(folder, "in")), os.Symlink(filepath.Dir(elsewhere), filepath.Join(folder, "dir")),
		os.Symlink(elsewhere+"none", filepath.Join(folder, "broken"))} {
		if err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	for path, asks := range map[string]bool{"plain": false, "in": false, "none": false, "out": true, "dir/key": true, "dir/none": true, "broken": true} {
		e := &editor{files: map[string]string{}, choose: "reject_once"}
		c := begin(t, g.Box, everything)
		c.ask = e.ask
		var made struct{ SessionID string }
		if err := json.Unmarshal(c.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, folder)), &made); err != nil {
			t.Fatal(err)
		}
		c.prompt(made.SessionID, fmt.Sprintf(`RUN_TOOL editor_read_file {"path":%q}`, path))
		if (len(e.titles) == 1) != asks {
			t.Errorf("%s: the user is asked %q", path, e.titles)
		}
	}
}
