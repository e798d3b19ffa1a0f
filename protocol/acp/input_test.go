package acp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/acp"
)

// reply waits for the response after the lines that the client has.
func (c *client) reply(line string) (id string, f *acp.Failure) {
	c.t.Helper()
	c.mu.Lock()
	before := len(c.lines)
	c.mu.Unlock()
	c.line(line)
	var got string
	c.until("an answer to "+line[:min(len(line), 80)], func() bool {
		for _, l := range c.lines[before:] {
			if !strings.Contains(l, `"method"`) {
				got = l
			}
		}
		return got != ""
	})
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error *acp.Failure    `json:"error"`
	}
	if err := json.Unmarshal([]byte(got), &m); err != nil {
		c.t.Fatal(err)
	}
	return string(m.ID), m.Error
}

// What is not a valid request is answered with an error of JSON-RPC that says what is wrong, and the connection lives on.
func TestInput_Refused(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`, func(cfg *acp.Config) { cfg.MaxLine = 100_000 })
	s := c.session("default")
	request := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"x","method":%q,"params":%s}`, method, params)
	}
	prompt := func(blocks string) string {
		return request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":%s}`, s, blocks))
	}
	for _, tt := range []struct {
		line, id string
		code     int
		says     string
	}{
		{`{`, "null", -32700, "not JSON"},
		{`hello`, "null", -32700, "not JSON"},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "null", -32700, "not UTF-8"},
		{`[]`, "null", -32600, "batches"},
		{`[` + request("session/list", `{}`) + `]`, "null", -32600, "batches"},
		{`7`, "null", -32600, "not a message"},
		{`null`, "null", -32600, "jsonrpc is"},
		{`{"id":"x","method":"session/list"}`, `"x"`, -32600, `jsonrpc is ""`},
		{`{"jsonrpc":"1.0","id":"x","method":"session/list"}`, `"x"`, -32600, `jsonrpc is "1.0"`},
		{`{"jsonrpc":"2.0","id":"x"}`, `"x"`, -32600, "neither a method"},
		{`{"jsonrpc":"2.0","id":"x","method":7}`, `"x"`, -32600, "not a message"},
		{`{"jsonrpc":"2.0","id":{},"method":"session/list"}`, "null", -32600, "id is {}"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"session/list"}`, "null", -32600, "id is 1.5"},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"session/list"}`, "null", -32600, "id is"},
		{`{"jsonrpc":"2.0","id":"x","method":"session/list","params":[]}`, `"x"`, -32602, "params is not an object"},
		{strings.Repeat("[", 50_000), "null", -32600, "batches"},
		{`{"a":` + strings.Repeat("[", 20_000), "null", -32700, "not JSON"},
		{strings.Repeat("x", 200_000), "null", -32600, "longer than 100000 bytes"},
		{request("session/fork", `{}`), `"x"`, -32601, "session/fork"},
		{request("", `{}`), `"x"`, -32600, "neither a method"},
		{request("authenticate", `{"methodId":"x"}`), `"x"`, -32601, "needs no authentication"},
		{request("initialize", `{}`), `"x"`, -32602, "protocolVersion is missing"},
		{request("initialize", `{"protocolVersion":"1"}`), `"x"`, -32602, "protocolVersion is a JSON string, want a whole number"},
		{request("initialize", `{"protocolVersion":-1}`), `"x"`, -32602, "protocolVersion is -1"},
		{request("session/new", `{}`), `"x"`, -32602, "cwd is missing"},
		{request("session/new", `{"cwd":"here","mcpServers":[]}`), `"x"`, -32602, `cwd is "here", want an absolute path`},
		{request("session/new", `{"cwd":"/a\u0000b","mcpServers":[]}`), `"x"`, -32602, "U+0000"},
		{request("session/new", `{"cwd":"/a","mcpServers":{}}`), `"x"`, -32602, "mcpServers is a JSON object, want a list"},
		{request("session/load", `{"sessionId":"none","cwd":"/a","mcpServers":[]}`), `"x"`, -32002, `session not found: "none"`},
		{request("session/load", `{"sessionId":"..","cwd":"/a","mcpServers":[]}`), `"x"`, -32002, "session not found"},
		{request("session/load", `{"sessionId":"a\u0000b","cwd":"/a","mcpServers":[]}`), `"x"`, -32002, "session not found"},
		{request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"a"}`, s)), `"x"`, -32602, "cwd is"},
		{request("session/resume", `{"cwd":"/a","mcpServers":[]}`), `"x"`, -32002, "session not found"},
		{request("session/list", `{"cursor":"x"}`), `"x"`, -32602, "cursor is"},
		{request("session/list", `{"cwd":"x"}`), `"x"`, -32602, "cwd is"},
		{request("session/close", `{"sessionId":"none"}`), `"x"`, -32002, "session not found"},
		{request("session/delete", `{"sessionId":""}`), `"x"`, -32602, "sessionId is"},
		{request("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"none"}`, s)), `"x"`, -32602, `modeId is "none", want one of ["again"`},
		{request("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"none","value":"x"}`, s)), `"x"`, -32602, `configId is "none", want mode, model or effort`},
		{request("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"effort","value":true}`, s)), `"x"`, -32602, "value is true"},
		{request("session/prompt", `{"sessionId":"none","prompt":[]}`), `"x"`, -32002, "session not found"},
		{prompt(`[]`), `"x"`, -32602, "prompt is empty"},
		{prompt(`[{"type":"text","text":""}]`), `"x"`, -32602, "prompt is empty"},
		{prompt(`"hello"`), `"x"`, -32602, "prompt is a JSON string, want a list"},
		{prompt(`[{"type":"film"}]`), `"x"`, -32602, `prompt[0].type is "film"`},
		{prompt(`[{"type":"text","text":"a\u0000b"}]`), `"x"`, -32602, "U+0000"},
		{prompt(`[{"type":"text","text":7}]`), `"x"`, -32602, "prompt.text is a JSON number, want a string"},
		{prompt(`[{"type":"image","mimeType":"image/png","data":"!!"}]`), `"x"`, -32602, "prompt[0].data"},
		{prompt(`[{"type":"image","data":"aGk="}]`), `"x"`, -32602, "mimeType"},
		{prompt(`[{"type":"image","mimeType":"image/png","uri":"file:///etc/passwd"}]`), `"x"`, -32602, "url"},
		{prompt(`[{"type":"resource"}]`), `"x"`, -32602, "resource.uri is missing"},
		{prompt(`[{"type":"resource","resource":{"uri":"file:///a"}}]`), `"x"`, -32602, "neither text nor blob"},
		{prompt(`[{"type":"resource","resource":{"uri":"file:///a","blob":"aGk=","mimeType":"application/x-sharedlib"}}]`), `"x"`, -32602, "application/x-sharedlib"},
		{prompt(`[{"type":"resource_link","name":"a"}]`), `"x"`, -32602, "uri is missing"},
	} {
		id, f := c.reply(tt.line)
		if f == nil || f.Code != tt.code || id != tt.id || !strings.Contains(f.Message, tt.says) {
			t.Errorf("%.120s\n%s %+v, want %s %d %q", tt.line, id, f, tt.id, tt.code, tt.says)
		}
	}
	th, err := g.Box.Tenant("").Store.Thread(t.Context(), s)
	if err != nil || th.MessageCount != 0 || th.LatestRunID != "" {
		t.Errorf("the thread has changed: %+v, %v", th, err)
	}
	if stop := c.prompt(s, "hello"); stop != "end_turn" {
		t.Errorf("the connection is not as it was: %s", stop)
	}
}

// Requests come after initialize, in which any version is answered with 1.
func TestInput_Initialize(t *testing.T) {
	g := newRig(t)
	c := connect(t, g.Box)
	if r := c.call("session/new", `{"cwd":"/a","mcpServers":[]}`); r.Error == nil || r.Error.Code != -32600 {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	for _, version := range []int{0, 1, 2, 65535} {
		var out struct {
			ProtocolVersion int `json:"protocolVersion"`
		}
		if err := json.Unmarshal(c.must("initialize", fmt.Sprintf(`{"protocolVersion":%d,"new":{"field":[]}}`, version)), &out); err != nil || out.ProtocolVersion != 1 {
			t.Errorf("version %d: %d, %v", version, out.ProtocolVersion, err)
		}
	}
}

// A request whose id another open one has is refused without an id, and does not take the other's place. Neither does a
// second prompt.
func TestInput_Twice(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	c.ask = func(string, json.RawMessage) (any, error) { return nil, nil }
	s := c.session("again")
	answer := c.send("session/prompt", promptOf(s, "go"))
	c.until("it asks", func() bool { return len(c.asked) == 1 })
	if id, f := c.reply(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/list","params":{}}`, c.next)); id != "null" || f == nil || f.Code != -32600 || !strings.Contains(f.Message, "the id of a pending request") {
		t.Errorf("%s %+v", id, f)
	}
	if r := c.call("session/prompt", promptOf(s, "more")); r.Error == nil || r.Error.Code != -32600 || !strings.Contains(r.Error.Message, "unanswered prompt") {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	c.line(`{"jsonrpc":"2.0","id":77,"result":{}}`) // answers nothing that was asked
	c.line(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`)
	c.line(`{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}}`)
	if r := c.wait("prompt", answer); r.Error != nil || stopped(t, r.Result) != "end_turn" {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	if got := transcript(c.all(s)); !strings.Contains(got, "call ask: completed") {
		t.Errorf("the second answer counts:\n%s", got)
	}
}

// An answer that was not offered decides nothing.
func TestInput_Outcome(t *testing.T) {
	g := newRig(t)
	for _, outcome := range []string{`{}`, `{"outcome":{"outcome":"selected","optionId":"everything"}}`, `{"outcome":{"outcome":"accepted"}}`, `"yes"`, `{"outcome":{"outcome":7}}`} {
		c := begin(t, g.Box, `{}`)
		c.ask = func(string, json.RawMessage) (any, error) { return json.RawMessage(outcome), nil }
		s := c.session("again")
		r := c.call("session/prompt", promptOf(s, "go"))
		if run := g.Open(s); r.Error == nil || run == nil || run.Status != awaken.RunWaiting {
			t.Errorf("%s: %s %+v, %+v", outcome, r.Result, r.Error, run)
		}
	}
}

// Half a message is no message. A client that is silent after it costs nothing, and one that ends leaves nothing.
func TestInput_Half(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	s := c.session("default")
	half := `{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":` + promptOf(s, "hello") + `}`
	if _, err := io.WriteString(c.in, half); err != nil { // without its line break
		t.Fatal(err)
	}
	_ = c.in.Close()
	select {
	case err := <-c.served:
		if err != nil {
			t.Errorf("Serve returns %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Serve does not return")
	}
	th, err := g.Box.Tenant("").Store.Thread(t.Context(), s)
	if err != nil || th.LatestRunID != "" {
		t.Errorf("%+v, %v", th, err)
	}
}

// Text, images, sounds, links and resources of a prompt reach the model, and are shown when the session is loaded.
func TestPrompt_Content(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	s := c.session("default")
	c.must("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"aGk="},{"type":"audio","mimeType":"audio/wav","data":"aGk="},`+
		`{"type":"resource_link","name":"main.go","uri":"file:///src/main.go"},{"type":"resource","resource":{"uri":"file:///src/a.txt","text":"content"}},`+
		`{"type":"resource","resource":{"uri":"file:///b.pdf","mimeType":"application/pdf","blob":"aGk="}}]}`, s))
	again := begin(t, g.Box, `{}`)
	again.must("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":[]}`, s))
	var got []string
	for _, u := range again.all(s) {
		if u.Kind == "user_message_chunk" {
			got = append(got, string(u.Content))
		}
	}
	want := []string{`{"type":"text","text":"look"}`, `{"type":"image","data":"aGk=","mimeType":"image/png"}`, `{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`,
		`{"type":"text","text":"[main.go](file:///src/main.go)"}`, `{"type":"text","text":"\u003cresource uri=\"file:///src/a.txt\"\u003e\ncontent\n\u003c/resource\u003e"}`,
		`{"type":"resource","resource":{"uri":"file:///b.pdf","mimeType":"application/pdf","blob":"aGk="}}`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// A client that does not read is not waited for when the connection ends.
func TestServe_Stops(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	_ = c.in.CloseWithError(errors.New("gone"))
	if err := <-c.served; err == nil || err.Error() != "gone" {
		t.Errorf("Serve returns %v", err)
	}
}
