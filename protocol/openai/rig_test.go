package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// rig talks to servers as a client of OpenAI's API does.
type rig struct{ *protocoltest.Rig }

func newRig(tb testing.TB) *rig { return newRigWith(tb, nil) }

// newRigWith returns a rig whose slow agent continues when a channel is closed.
func newRigWith(tb testing.TB, slow <-chan struct{}) *rig {
	tb.Helper()
	g := protocoltest.Idle(tb, openai.Routes())
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	return &rig{g}
}

// ask posts to a path below /openai/v1 and returns the status and the body.
func (g *rig) ask(path, body string, headers ...string) (int, string) {
	g.TB.Helper()
	return g.Ask(http.MethodPost, g.URL+"/openai/v1"+path, body, headers...)
}

// object is a JSON object of a response.
type object map[string]any

// must posts to a path and returns the object of a response with status 200.
func (g *rig) must(path, body string, headers ...string) object {
	g.TB.Helper()
	status, got := g.ask(path, body, headers...)
	if status != 200 {
		g.TB.Fatalf("%s: %d %s", path, status, got)
	}
	return parse(g.TB, got)
}

func parse(tb testing.TB, body string) (o object) {
	tb.Helper()
	if err := json.Unmarshal([]byte(body), &o); err != nil {
		tb.Fatalf("%v: %s", err, body)
	}
	return o
}

// at returns the value at a path of names and indexes, or nil.
func (o object) at(path ...any) any {
	var v any = map[string]any(o)
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func (o object) text(path ...any) string {
	s, _ := o.at(path...).(string)
	return s
}

// frames returns the data of a stream's frames.
func frames(tb testing.TB, body string) (out []object) {
	tb.Helper()
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if ok && data != "[DONE]" {
			out = append(out, parse(tb, data))
		}
	}
	return out
}

// quote returns a text as JSON.
func quote(s string) string {
	data, _ := json.Marshal(s)
	return string(data)
}

// latest returns the run that was made last.
func (g *rig) latest() *awaken.Run {
	g.TB.Helper()
	runs, err := g.Box.Tenant("").Store.ListRuns(g.TB.Context(), awaken.RunQuery{Limit: 1})
	if err != nil || len(runs) != 1 {
		g.TB.Fatalf("%d runs, %v", len(runs), err)
	}
	return runs[0]
}

// jsonOf returns a value as JSON.
func jsonOf(tb testing.TB, v any) string {
	tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}
