package agui_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// rig talks to servers as a page does.
type rig struct{ *protocoltest.Rig }

func newRig(tb testing.TB) *rig { return newRigWith(tb, nil) }

// newRigWith returns a rig whose slow agent continues when a channel is closed.
func newRigWith(tb testing.TB, slow <-chan struct{}) *rig {
	tb.Helper()
	g := protocoltest.Idle(tb, agui.Routes())
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	return &rig{g}
}

// send sends a request, with the id of the last frame received, if any.
func (g *rig) send(method, url, body, lastEventID string) *http.Response {
	g.TB.Helper()
	return g.Send(method, url, body, "Last-Event-ID", lastEventID)
}

// post posts to a path below /v1/ag-ui, and returns the response.
func (g *rig) post(url, path, body string) (int, string) {
	g.TB.Helper()
	return g.Ask(http.MethodPost, url+"/v1/ag-ui"+path, body)
}

// ask posts a run, which must be accepted, and returns its events.
func (g *rig) ask(body string) []event {
	g.TB.Helper()
	status, got := g.post(g.URL, "/run", body)
	if status != 200 {
		g.TB.Fatalf("%d: %s", status, got)
	}
	return eventsIn(g.TB, got)
}

// say sends a user message to a thread.
func (g *rig) say(thread, text string) []event {
	g.TB.Helper()
	return g.ask(fmt.Sprintf(`{"threadId":%q,"protocolVersion":"1.0","messages":[{"role":"user","content":%q}]}`, thread, text))
}

type event map[string]any

func (e event) kind() string { return e["type"].(string) }

func eventsIn(tb testing.TB, body string) (out []event) {
	tb.Helper()
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			tb.Fatalf("%v: %s", err, data)
		}
		out = append(out, e)
	}
	return out
}

func kinds(list []event) (out []string) {
	for _, e := range list {
		out = append(out, e.kind())
	}
	return out
}

// find returns the only event of a type.
func find(tb testing.TB, list []event, kind string) event {
	tb.Helper()
	var found []event
	for _, e := range list {
		if e.kind() == kind {
			found = append(found, e)
		}
	}
	if len(found) != 1 {
		tb.Fatalf("%d %s in %v", len(found), kind, kinds(list))
	}
	return found[0]
}

// twoAsks asks two questions at once.
var twoAsks = llmtest.NewRules(llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn {
	return llmtest.Turn{ToolCalls: []llmtest.Call{{Name: "ask"}, {Name: "ask"}}}
}})
