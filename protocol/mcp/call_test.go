package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A client learns what the server can do.
func TestOpen(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		if !g.modern {
			for given, want := range map[string]string{legacy: legacy, "2025-06-18": "2025-06-18", "1999-01-01": legacy, modern: legacy} {
				got := g.ask("initialize", object{"protocolVersion": given, "capabilities": object{}, "clientInfo": object{"name": "c", "version": "1"}})
				if at(got, "result", "protocolVersion") != want || at(got, "result", "serverInfo", "name") != "awaken-mcp" || at(got, "result", "capabilities", "tools") == nil {
					t.Errorf("%s: %v", given, got)
				}
			}
			if got := g.ask("ping", nil); at(got, "result") == nil {
				t.Errorf("%v", got)
			}
			return
		}
		got := g.ask("server/discover", nil)
		versions, _ := at(got, "result", "supportedVersions").([]any)
		if !slices.Contains(versions, any(modern)) || at(got, "result", "resultType") != "complete" || at(got, "result", "cacheScope") != "private" ||
			at(got, "result", "_meta", "io.modelcontextprotocol/serverInfo", "name") != "awaken-mcp" {
			t.Errorf("%v", got)
		}
	})
}

// Agents and the tools that the configuration chooses are tools, with schemas and annotations. Nothing of a system prompt shows.
func TestTools(t *testing.T) {
	g := newRigWith(t, mcp.Config{Agents: []string{"default", "slow"}, Tools: []string{"tal*"}}, nil)
	both(t, g, func(t *testing.T, g *rig) {
		got := g.ask("tools/list", nil)
		var names []string
		list, _ := at(got, "result", "tools").([]any)
		for _, tool := range list {
			names = append(names, fmt.Sprint(at(tool, "name")))
			if at(tool, "inputSchema", "type") != "object" || at(tool, "annotations", "readOnlyHint") != (at(tool, "name") == "talk") {
				t.Errorf("%v", tool)
			}
		}
		if !slices.Equal(names, []string{"default", "slow", "talk"}) || strings.Contains(fmt.Sprint(got), "scenario") {
			t.Errorf("%v: %v", names, got)
		}
		if required := at(list[0], "outputSchema", "required"); fmt.Sprint(required) != "[thread_id run_id status response]" {
			t.Errorf("%v", list[0])
		}
	})
}

// A call is a run, its result the answer, and the thread an argument.
func TestCall(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		got := g.tell("default", "scenario:tool")
		thread, _ := at(got, "result", "structuredContent", "thread_id").(string)
		run, _ := at(got, "result", "structuredContent", "run_id").(string)
		if text(got) == "" || at(got, "result", "structuredContent", "status") != "completed" || at(got, "result", "isError") != nil || thread == "" || (at(got, "result", "resultType") == "complete") != g.modern {
			t.Fatalf("%v", got)
		}
		rec, err := g.Box.Tenant("").Store.LoadRun(t.Context(), run)
		if err != nil || rec.ThreadID != thread || rec.Adapter != "mcp" {
			t.Fatalf("%+v %v", rec, err)
		}
		again := g.ask("tools/call", object{"name": "default", "arguments": object{"message": "more", "thread_id": thread}})
		if at(again, "result", "structuredContent", "thread_id") != thread || at(again, "result", "structuredContent", "run_id") == run {
			t.Errorf("%v", again)
		}
		if got := g.tell("default", "scenario:error"); at(got, "result", "isError") != true || !strings.Contains(text(got), "boom") {
			t.Errorf("%v", got)
		}
	})
}

// A tool of the registry runs without a model, through the same checks.
func TestCall_PlannedTool(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		call := func(name string, args object) any {
			return g.ask("tools/call", object{"name": name, "arguments": args})
		}
		if got := call("talk", object{"n": 2}); text(got) != "said it all" || at(got, "result", "isError") != nil {
			t.Errorf("%v", got)
		}
		if got := call("fail", object{}); text(got) != "no" || at(got, "result", "isError") != true {
			t.Errorf("%v", got)
		}
		if got := call("talk", object{"n": "many"}); at(got, "result", "isError") != true || !strings.Contains(text(got), "n") {
			t.Errorf("%v", got)
		}
		if got := call("props", object{}); at(got, "result", "structuredContent", "props") == nil && !strings.Contains(text(got), "props") {
			t.Errorf("%v", got)
		}
	})
}

// Wrong arguments are a result for the model that chose them; what is no tool is an error of the protocol.
func TestCall_WrongArguments(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		for _, args := range []any{object{}, object{"message": " "}, object{"message": 7}, object{"message": "x", "thread_id": ".."}, object{"message": "x", "else": 1}, 7} {
			if got := g.ask("tools/call", object{"name": "default", "arguments": args}); at(got, "result", "isError") != true || text(got) == "" {
				t.Errorf("%v: %v", args, got)
			}
		}
		if got := g.ask("tools/call", object{"name": "missing"}); at(got, "error", "code") != -32602.0 {
			t.Errorf("%v", got)
		}
	})
}

// A client that asks for progress gets it, in growing numbers.
func TestProgress(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		list := messages(t, g.open(g.URL, "tools/call", object{"name": "slow", "arguments": object{"message": "go"}, "_meta": object{"progressToken": "p"}}))
		said, last := "", 0.0
		for _, m := range list {
			if at(m, "method") != "notifications/progress" {
				continue
			}
			n, _ := at(m, "params", "progress").(float64)
			if n <= last || at(m, "params", "progressToken") != "p" {
				t.Fatalf("%v after %v", m, last)
			}
			last = n
			said += at(m, "params", "message").(string)
		}
		if said != protocoltest.SlowText || text(list[len(list)-1]) != protocoltest.SlowText {
			t.Errorf("%q, then %v", said, list[len(list)-1])
		}
	})
}

// A client that takes no streams waits for the result.
func TestCall_WithoutStream(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		for word, status := range map[string]string{"scenario:text": "completed", "RUN_TOOL ask": "waiting"} {
			g.can = `{}`
			g.connect()
			resp := g.open(g.URL, "tools/call", object{"name": "default", "arguments": object{"message": word}}, "Accept", "application/json")
			if resp.Header.Get("Content-Type") == "text/event-stream" {
				t.Fatal(resp.Header)
			}
			if got := messages(t, resp); len(got) != 1 || at(got[0], "result", "structuredContent", "status") != status {
				t.Errorf("%s: %v", word, got)
			}
		}
	})
}

// A request that is sent again in its session, at any replica, gets the run of the first; another request with its id is refused.
func TestCall_SentAgain(t *testing.T) {
	g := newRig(t)
	_, other := g.Start(false)
	g.connect()
	for _, thread := range []string{"", "a-thread"} {
		args := object{"message": "hello"}
		if thread != "" {
			args["thread_id"] = thread
		}
		params := object{"name": "default", "arguments": args}
		g.next++
		id := fmt.Sprint("again-", g.next)
		first := messages(t, g.openAs(g.URL, id, "tools/call", params))
		second := messages(t, g.openAs(other, id, "tools/call", params))
		if fmt.Sprint(first) != fmt.Sprint(second) || text(first[len(first)-1]) == "" {
			t.Fatalf("%v\n%v", first, second)
		}
		if got := messages(t, g.openAs(other, id, "tools/call", object{"name": "default", "arguments": object{"message": "another"}})); at(got[0], "error", "code") != -32600.0 {
			t.Errorf("%v", got)
		}
	}
	runs, err := g.Box.Tenant("").Store.ListRuns(t.Context(), awaken.RunQuery{})
	if err != nil || len(runs) != 2 {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

// A client cancels a call: by a notification that any replica takes, or in the newer era by closing the stream.
func TestCancel(t *testing.T) {
	slow := make(chan struct{})
	defer close(slow)
	g := newRigWith(t, withTools, slow)
	_, other := g.Start(false)
	both(t, g, func(t *testing.T, g *rig) {
		f := read(t, g.openAs(g.URL, "slow one", "tools/call", object{"name": "slow", "arguments": object{"message": "go"}, "_meta": object{"progressToken": 1}}))
		f.until("notifications/progress")
		run := f.resp.Header.Get("X-Run-Id")
		if g.modern {
			f.resp.Body.Close()
		} else {
			resp := g.send(http.MethodPost, other, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow one","reason":"enough"}}`)
			resp.Body.Close()
			if resp.StatusCode != 202 {
				t.Fatal(resp.Status)
			}
			if got := f.until(""); at(got, "result", "isError") != true || text(got) != "agent run cancelled" {
				t.Errorf("%v", got)
			}
		}
		for {
			rec, err := g.Box.Tenant("").Store.LoadRun(t.Context(), run)
			if err != nil {
				t.Fatal(err)
			}
			if rec.Status == awaken.RunDone {
				if rec.Termination.Type != awaken.Cancelled {
					t.Errorf("%+v", rec.Termination)
				}
				return
			}
		}
	})
}

// A client of the older era that only disconnects does not stop its run, and resumes at any replica.
func TestResume(t *testing.T) {
	slow := make(chan struct{})
	g := newRigWith(t, withTools, slow)
	_, other := g.Start(false)
	g.connect()
	f := read(t, g.open(g.URL, "tools/call", object{"name": "slow", "arguments": object{"message": "go"}, "_meta": object{"progressToken": 1}}))
	f.until("notifications/progress")
	f.resp.Body.Close()

	// A resumed stream that has nothing yet says where it is: clients forget the position of the stream before.
	cut := g.send(http.MethodGet, other, "", "Last-Event-ID", f.id, "MCP-Protocol-Version", legacy)
	frame := make([]byte, len("id: "+f.id+"\ndata: \n\n"))
	if _, err := io.ReadFull(cut.Body, frame); err != nil || string(frame) != "id: "+f.id+"\ndata: \n\n" {
		t.Errorf("the stream begins with %q, %v", frame, err)
	}
	cut.Body.Close()

	close(slow)
	again := g.send(http.MethodGet, other, "", "Last-Event-ID", f.id)
	if again.StatusCode != 200 {
		t.Fatal(again.Status)
	}
	if got := read(t, again).until(""); text(got) != protocoltest.SlowText || at(got, "id") != 1.0 {
		t.Errorf("%v", got)
	}
	for id, status := range map[string]int{"": 405, "x": 400, "x~1-2.0": 400, strings.Replace(f.id, "~", "~9", 1): 410, "eyJyIjoieCIsImkiOjF9~1-1.0": 404} {
		resp := g.send(http.MethodGet, other, "", "Last-Event-ID", id)
		if resp.Body.Close(); resp.StatusCode != status {
			t.Errorf("%q: %s, want %d", id, resp.Status, status)
		}
	}
}
