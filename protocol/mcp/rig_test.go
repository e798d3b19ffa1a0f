package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

const (
	modern = "2026-07-28"
	legacy = "2025-11-25"
)

var key = awaken.NewSecret(strings.Repeat("k", 32))

func routes(tb testing.TB, cfg mcp.Config) []protocol.Route {
	tb.Helper()
	cfg.Key, cfg.Version = key, "1"
	out, err := mcp.Routes(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// rig talks to servers as a client does, in both eras.
type rig struct {
	*protocoltest.Rig
	modern  bool
	session string   // in the older era
	can     string   // capabilities of the client
	headers []string // of every request
	next    int      // id of the next request
}

var withTools = mcp.Config{Tools: []string{"talk", "fail", "ask", "form", "delete_*", "props"}}

func newRig(tb testing.TB) *rig { return newRigWith(tb, withTools, nil) }

func newRigWith(tb testing.TB, cfg mcp.Config, slow <-chan struct{}) *rig {
	tb.Helper()
	g := protocoltest.Idle(tb, routes(tb, cfg))
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	return &rig{Rig: g, can: `{"elicitation":{}}`}
}

// both runs a test in both eras.
func both(t *testing.T, g *rig, test func(t *testing.T, g *rig)) {
	for _, name := range []string{legacy, modern} {
		t.Run(name, func(t *testing.T) {
			sub := *g.Rig
			sub.TB = t
			h := &rig{Rig: &sub, modern: name == modern, can: g.can}
			h.connect()
			test(t, h)
		})
	}
}

// connect begins a session, in the older era.
func (g *rig) connect() {
	g.TB.Helper()
	if g.modern {
		return
	}
	resp := g.send(http.MethodPost, g.URL, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`, legacy, g.can))
	defer resp.Body.Close()
	if g.session = resp.Header.Get("Mcp-Session-Id"); g.session == "" || resp.StatusCode != 200 {
		g.TB.Fatalf("initialize: %s %s", resp.Status, protocoltest.ReadAll(resp))
	}
}

func (g *rig) send(method, url, body string, headers ...string) *http.Response {
	g.TB.Helper()
	h := append([]string{"Accept", "application/json, text/event-stream"}, g.headers...)
	if g.session != "" {
		h = append(h, "Mcp-Session-Id", g.session, "MCP-Protocol-Version", legacy)
	}
	return g.Send(method, url+"/v1/mcp", body, append(h, headers...)...)
}

// object is a JSON object.
type object map[string]any

// at returns a value inside, or nil.
func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			o, _ := v.(map[string]any)
			v = o[p]
		case int:
			list, _ := v.([]any)
			if p >= len(list) {
				return nil
			}
			v = list[p]
		}
	}
	return v
}

// open sends a request and returns the response.
func (g *rig) open(url, method string, params object, headers ...string) *http.Response {
	g.TB.Helper()
	g.next++
	return g.openAs(url, g.next, method, params, headers...)
}

func (g *rig) openAs(url string, id any, method string, params object, headers ...string) *http.Response {
	g.TB.Helper()
	if params == nil {
		params = object{}
	}
	if g.modern {
		meta := object{"io.modelcontextprotocol/protocolVersion": modern, "io.modelcontextprotocol/clientCapabilities": json.RawMessage(g.can)}
		if m, ok := params["_meta"].(object); ok {
			for k, v := range m {
				meta[k] = v
			}
		}
		params["_meta"] = meta
		headers = append([]string{"MCP-Protocol-Version", modern, "Mcp-Method", method}, headers...)
		for _, field := range []string{"name", "uri"} {
			if name, ok := params[field].(string); ok {
				headers = append(headers, "Mcp-Name", name)
			}
		}
	}
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		g.TB.Fatal(err)
	}
	return g.send(http.MethodPost, url, string(body), headers...)
}

// messages returns the messages of a response, whatever its type.
func messages(tb testing.TB, resp *http.Response) (out []any) {
	tb.Helper()
	defer resp.Body.Close()
	return parse(tb, protocoltest.ReadAll(resp))
}

func parse(tb testing.TB, text string) (out []any) {
	tb.Helper()
	add := func(data string) {
		var v any
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			tb.Fatalf("%v: %q", err, data)
		}
		out = append(out, v)
	}
	if strings.HasPrefix(text, "{") {
		add(text)
		return out
	}
	for line := range strings.SplitSeq(text, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" {
			add(data)
		}
	}
	return out
}

// ask sends a request and returns the last message of the response.
func (g *rig) ask(method string, params object) any {
	g.TB.Helper()
	return g.askAt(g.URL, method, params)
}

func (g *rig) askAt(url, method string, params object) any {
	g.TB.Helper()
	list := messages(g.TB, g.open(url, method, params))
	if len(list) == 0 {
		g.TB.Fatalf("%s has no answer", method)
	}
	return list[len(list)-1]
}

// tell sends a message to an agent and returns the response.
func (g *rig) tell(agent, text string) any {
	g.TB.Helper()
	return g.ask("tools/call", object{"name": agent, "arguments": object{"message": text}})
}

// text returns the text of a result.
func text(v any) string {
	s, _ := at(v, "result", "content", 0, "text").(string)
	return s
}

// frames reads a stream message by message.
type frames struct {
	tb   testing.TB
	resp *http.Response
	in   *bufio.Scanner
	id   string
}

func read(tb testing.TB, resp *http.Response) *frames {
	tb.Helper()
	tb.Cleanup(func() { resp.Body.Close() })
	f := &frames{tb: tb, resp: resp, in: bufio.NewScanner(resp.Body)}
	f.in.Buffer(nil, 1<<20)
	return f
}

// next returns the next message, or nil at the end.
func (f *frames) next() any {
	f.tb.Helper()
	for f.in.Scan() {
		line := f.in.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			f.id = id
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && data != "" {
			return parse(f.tb, data)[0]
		}
	}
	return nil
}

// until returns the next message that has a method, or the response.
func (f *frames) until(method string) any {
	f.tb.Helper()
	for {
		m := f.next()
		if m == nil {
			f.tb.Fatalf("the stream ended before %s", method)
		}
		if at(m, "method") == method || method == "" && at(m, "method") == nil {
			return m
		}
	}
}
