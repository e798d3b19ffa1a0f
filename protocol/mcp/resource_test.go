package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/store/memory"
)

// Threads and runs are resources, of the caller's user and of exposed agents only.
func TestResources(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		user := "user-of-" + map[bool]string{true: modern, false: legacy}[g.modern]
		g.headers = []string{protocoltest.UserHeader, user}
		got := g.tell("default", "scenario:text")
		thread, run := fmt.Sprint(at(got, "result", "structuredContent", "thread_id")), fmt.Sprint(at(got, "result", "structuredContent", "run_id"))
		list := g.ask("resources/list", nil)
		if all, _ := at(list, "result", "resources").([]any); len(all) != 1 || at(all[0], "uri") != "awaken://threads/"+thread {
			t.Errorf("%v", list)
		}
		if all, _ := at(g.ask("resources/templates/list", nil), "result", "resourceTemplates").([]any); len(all) != 2 {
			t.Errorf("%v", all)
		}
		read := func(uri string) any { return g.ask("resources/read", object{"uri": uri}) }
		if body := fmt.Sprint(at(read("awaken://threads/"+thread), "result", "contents", 0, "text")); !strings.Contains(body, `"role":"user","text":"scenario:text"`) {
			t.Errorf("%s", body)
		}
		if body := fmt.Sprint(at(read("awaken://runs/"+run), "result", "contents", 0, "text")); !strings.Contains(body, `"status":"completed"`) {
			t.Errorf("%s", body)
		}
		for template, id := range map[string]string{"awaken://threads/{thread_id}": thread, "awaken://runs/{run_id}": run} {
			complete := func(value string) any {
				return at(g.ask("completion/complete", object{"ref": object{"type": "ref/resource", "uri": template}, "argument": object{"name": "x", "value": value}}), "result", "completion", "values")
			}
			if got := complete(id[:len(id)-2]); fmt.Sprint(got) != "["+id+"]" {
				t.Errorf("%s: %v", template, got)
			}
			if got := complete("no such"); fmt.Sprint(got) != "[]" {
				t.Errorf("%s: %v", template, got)
			}
		}
		code := map[bool]float64{true: -32602, false: -32002}[g.modern]
		g.headers = []string{protocoltest.UserHeader, "another"}
		for _, uri := range []string{"awaken://threads/" + thread, "awaken://runs/" + run, "awaken://runs/..", "awaken://else/x", "file:///etc/passwd", "awaken://threads/%zz"} {
			if got := read(uri); at(got, "error", "code") != code || at(got, "error", "data", "uri") != uri {
				t.Errorf("%s: %v", uri, got)
			}
		}
		if all, _ := at(g.ask("resources/list", nil), "result", "resources").([]any); len(all) != 0 {
			t.Errorf("%v", all)
		}
	})
}

// What agents that are not exposed do does not show.
func TestResources_OtherAgents(t *testing.T) {
	g := newRigWith(t, mcp.Config{Agents: []string{"slow"}}, nil)
	status, body := g.Ask("POST", g.URL+"/v1/runs", `{"agent_id":"default","thread_id":"secret","stream":false,"messages":[{"role":"user","content":"hello"}]}`)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	both(t, g, func(t *testing.T, g *rig) {
		if got := g.ask("resources/read", object{"uri": "awaken://threads/secret"}); at(got, "error") == nil {
			t.Errorf("%v", got)
		}
		if got := g.ask("resources/list", nil); strings.Contains(fmt.Sprint(got), "secret") {
			t.Errorf("%v", got)
		}
		if got := g.tell("default", "hello"); at(got, "error", "code") != -32602.0 {
			t.Errorf("%v", got)
		}
	})
}

// A list of more threads than fit on a page has a cursor.
func TestResources_Pages(t *testing.T) {
	g := newRig(t)
	g.connect()
	for i := range 60 {
		if status, body := g.Ask("POST", g.URL+"/v1/threads", fmt.Sprintf(`{"title":"t%d"}`, i)); status != 201 && status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	seen, cursor := map[any]bool{}, ""
	for page := 0; ; page++ {
		params := object{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		got := g.ask("resources/list", params)
		list, _ := at(got, "result", "resources").([]any)
		for _, r := range list {
			seen[at(r, "uri")] = true
		}
		if cursor, _ = at(got, "result", "nextCursor").(string); cursor == "" {
			break
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d threads", len(seen))
	}
	if got := g.ask("resources/list", object{"cursor": "x"}); at(got, "error", "code") != -32602.0 {
		t.Errorf("%v", got)
	}
}

// A session of the older era sets the level of its messages, for all replicas; a request of the newer era names its own.
func TestLogging(t *testing.T) {
	cfg := withTools
	cfg.Levels = memory.NewProfile()
	g := newRigWith(t, cfg, nil)
	_, other := g.Start(false)
	both(t, g, func(t *testing.T, g *rig) {
		count := func(level string) (n int) {
			params := object{"name": "default", "arguments": object{"message": "RUN_TOOL fail"}}
			if level != "" && g.modern {
				params["_meta"] = object{"io.modelcontextprotocol/logLevel": level}
			} else if level != "" {
				if got := g.askAt(other, "logging/setLevel", object{"level": level}); at(got, "result") == nil {
					t.Fatalf("%v", got)
				}
			}
			for _, m := range messages(t, g.open(g.URL, "tools/call", params)) {
				if at(m, "method") == "notifications/message" {
					n++
				}
			}
			return n
		}
		none, debug, info, severe := count(""), count("debug"), count("info"), count("emergency")
		if g.modern && none != 0 || !g.modern && none != info || debug <= info || info == 0 || severe != 0 {
			t.Errorf("none %d, debug %d, info %d, emergency %d", none, debug, info, severe)
		}
		method, params := "logging/setLevel", object{"level": "loud"}
		if g.modern {
			method, params = "tools/call", object{"name": "default", "arguments": object{"message": "x"}, "_meta": object{"io.modelcontextprotocol/logLevel": "loud"}}
		}
		if got := g.ask(method, params); at(got, "error", "code") != -32602.0 {
			t.Errorf("%v", got)
		}
	})
}
