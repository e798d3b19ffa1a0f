package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// seeds are messages, right and wrong.
var seeds = []string{
	``, `{`, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `null`, `7`, `"x"`, `{}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", `{"jsonrpc":"2.0","id":1,"method":"tools\u0000call"}`,
	`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"default","arguments":{"message":"hi"},"_meta":{"progressToken":1}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk","arguments":{"n":1}}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"form","arguments":{"schema":{"type":"object"}}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"default","arguments":{"message":"RUN_TOOL ask"}}}`, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"default","requestState":"x.y","inputResponses":{"a":7}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"url":{}}}}}`, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}}`,
	`{"jsonrpc":"2.0","id":"elicit_eAp5","result":{"action":"accept","content":{"approved":true}}}`, `{"jsonrpc":"2.0","id":"elicit_","error":{"code":1,"message":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`,
	`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"awaken://threads/%2e%2e"}}`, `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/resource","uri":"awaken://runs/{run_id}"},"argument":{"name":"run_id","value":""}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":7}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200) + `}}`,
	`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 600) + `","method":"ping"}`,
}

// Whatever the body of a request is, the server answers in the shape of JSON-RPC.
func FuzzMessage(f *testing.F) {
	all := newRig(f)
	all.can = `{}`
	all.connect()
	headers := [][]string{nil, {"Mcp-Session-Id", all.session}, {"MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "default"}, {"Mcp-Session-Id", "x." + all.session}}
	all.Fuzz(f, len(headers), seeds, func(kind int, body string) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/v1/mcp", Body: body, Headers: append([]string{"Accept", "application/json, text/event-stream"}, headers[kind]...)}
	}, func(t *testing.T, resp *http.Response, got string) {
		if resp.StatusCode == 202 && got == "" {
			return
		}
		if resp.StatusCode >= 500 {
			t.Fatalf("%s: %s", resp.Status, got)
		}
		list := parse(t, got)
		if len(list) == 0 {
			t.Fatalf("%s: %q", resp.Status, got)
		}
		last := list[len(list)-1]
		if at(last, "jsonrpc") != "2.0" || (at(last, "result") == nil) == (at(last, "error") == nil) || resp.StatusCode >= 400 && at(last, "error", "message") == nil {
			t.Errorf("%s: %s", resp.Status, got)
		}
	})
}

// Whatever Last-Event-ID is, the server answers with a stream or in the shape of JSON-RPC.
func FuzzLastEventID(f *testing.F) {
	all := newRig(f)
	all.connect()
	fr := read(f, all.open(all.URL, "tools/call", object{"name": "default", "arguments": object{"message": "hi"}}))
	fr.until("")
	for _, seed := range []string{"", "x", "~", "~0", fr.id, strings.Replace(fr.id, "~", "~~", 1), fr.id + "0", "eyJyIjoieCIsImkiOjF9~0", "eyJyIjoiLi4iLCJpIjpbXX0~1-1.1", strings.Repeat("A", 3000) + "~0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if strings.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Skip("no header")
		}
		g := &rig{Rig: &protocoltest.Rig{TB: t, URL: all.URL}}
		resp := g.send(http.MethodGet, g.URL, "", "Last-Event-ID", id)
		defer resp.Body.Close()
		if got := protocoltest.ReadAll(resp); resp.StatusCode != 200 && (resp.StatusCode > 499 || at(parse(t, got)[0], "error", "message") == nil) {
			t.Errorf("%s: %s", resp.Status, got)
		}
	})
}

// Whatever lines a client writes, every line that the bridge writes is a message, and every request with an id of its own has one
// answer, unless it is cancelled or waits for the client.
func FuzzBridge(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Add([]byte(strings.Join(seeds, "\n")))
	f.Add([]byte("\n\n \r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi"))
	all := newRig(f)
	all.can = `{}`
	f.Fuzz(func(t *testing.T, in []byte) {
		if bytes.Contains(in, []byte("scenario:slow")) {
			t.Skip("it takes seconds")
		}
		var out bytes.Buffer
		b := &mcp.Bridge{Client: &http.Client{}, URL: all.URL + "/v1/mcp", MaxLine: 10_000, Drain: time.Minute}
		if err := b.Serve(context.Background(), bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		answers := map[string]int{}
		for line := range bytes.Lines(out.Bytes()) {
			var v any
			if err := json.Unmarshal(line, &v); err != nil || at(v, "jsonrpc") != "2.0" {
				t.Fatalf("%v: %q", err, line)
			}
			if at(v, "method") == nil {
				answers[fmt.Sprint(at(v, "id"))]++
			}
		}
		if bytes.Contains(in, []byte("cancel")) || bytes.Contains(in, []byte("elicit")) {
			return
		}
		for id, n := range requests(in, 10_000) {
			if n == 1 && answers[id] != 1 {
				t.Errorf("request %s is answered %d times:\n%s", id, answers[id], out.Bytes())
			}
		}
	})
}

var validID = regexp.MustCompile(`^("[ -!#-\[\]-~]{1,50}"|[1-9][0-9]{0,8})$`)

// requests returns how many lines name each id that a plain request has: one that cannot be read in another way.
func requests(in []byte, maxLine int) map[string]int {
	named, plain := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(in) {
		var m map[string]json.RawMessage
		line = bytes.TrimSpace(line)
		if len(line) >= maxLine || json.Unmarshal(line, &m) != nil {
			continue
		}
		var id any
		_ = json.Unmarshal(m["id"], &id) // nil if there is none
		named[fmt.Sprint(id)]++
		version, method, known := string(m["jsonrpc"]), string(m["method"]), len(m) == 3 || len(m) == 4 && m["params"] != nil
		text, err := json.Marshal(m)
		var compact bytes.Buffer
		if err == nil && json.Compact(&compact, line) == nil && len(text) == compact.Len() && known && version == `"2.0"` && len(method) > 2 && method[0] == '"' &&
			validID.Match(m["id"]) {
			plain[fmt.Sprint(id)] = 0
		}
	}
	for id := range plain {
		plain[id] = named[id]
	}
	return plain
}

// Limits hold as on other routes: large and deep bodies, and bodies that do not arrive.
func TestLimits(t *testing.T) {
	g := newRig(t)
	g.connect()
	deep := `{"jsonrpc":"2.0","id":1,"method":"ping","params":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5000) + `}`
	huge := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("x", 20<<20) + `"}}`
	for name, body := range map[string]string{"deep": deep, "huge": huge} {
		resp := g.send(http.MethodPost, g.URL, body)
		got := protocoltest.ReadAll(resp)
		if resp.Body.Close(); resp.StatusCode < 400 && at(parse(t, got)[0], "error") == nil || resp.StatusCode > 499 || !strings.Contains(got, `"jsonrpc":"2.0"`) {
			t.Errorf("%s: %s %.300s", name, resp.Status, got)
		}
	}
}
