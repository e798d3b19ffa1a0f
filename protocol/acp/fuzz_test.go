package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/protocol/acp"
)

// hostile are lines that are no good, or that ask for what there is not.
var hostile = []string{
	"", "\n", "\x00", "{", "}", "[]", "null", "7", `"x"`, "\xff\xfe", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":null,"method":"session/list"}`,
	`{"jsonrpc":"2.0","id":1e400,"method":"session/list"}`, `{"jsonrpc":"2.0","id":"\u0000","method":"session/list"}`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"session/list"}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/list"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"session/list"}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":99999999999999999999}}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":null,"clientInfo":null}}`,
	`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":7}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"\u0000"},null,7]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/../../..","mcpServers":[]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"known","cwd":"/","mcpServers":[]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/resume","params":{"sessionId":"known","cwd":"/","mcpServers":[]}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"known","prompt":[{"type":"text","text":"hello"}]}}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cursor":"-1"}}`, `{"jsonrpc":"2.0","id":1,"method":"session/list","params":{"cursor":"99999999"}}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/set_mode","params":{"sessionId":"known","modeId":"\u0000"}}`,
	`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"known"}}`, `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}`,
	`{"jsonrpc":"2.0","id":1,"method":"$/cancel_request","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"method":"session/cancel","params":{"sessionId":"known"}}`,
	`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{}}`, `{"jsonrpc":"2.0","id":1,"error":"x"}`,
	`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"known","prompt":[{"type":"resource","resource":{"uri":"x","blob":"` + strings.Repeat("A", 2000) + `"}}]}}`,
	`{"a":` + strings.Repeat("[", 2000), strings.Repeat(`{"a":`, 2000), strings.Repeat("x", 70_000),
}

// Whatever a client sends, every line of the agent is a message of JSON-RPC, every request with an id of its own is answered
// once, and the agent ends when the client does.
func FuzzServe(f *testing.F) {
	for _, s := range hostile {
		f.Add([]byte(s))
		f.Add([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}` + "\n" + s + "\n"))
	}
	g := newRig(f)
	tenant := g.Box.Tenant("")
	first := begin(f, g.Box, `{}`, func(cfg *acp.Config) { cfg.NewID = sequence("known") })
	first.newIn("/src")
	f.Fuzz(func(t *testing.T, input []byte) {
		if bytes.Contains(input, []byte("scenario:slow")) {
			t.Skip("it takes seconds")
		}
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		var out bytes.Buffer
		err := acp.Serve(ctx, acp.Config{Tenant: tenant, Catalogue: func() acp.Catalogue { return tenant.Runtime.(*engine.Runtime).Registry() }, MaxLine: 64 << 10}, bytes.NewReader(input), &out)
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		answers := map[string]int{}
		for line := range strings.Lines(out.String()) {
			var m rpcMessage
			if json.Unmarshal([]byte(line), &m) != nil || m.JSONRPC != "2.0" || m.Method == "" && (m.Error == nil) == (len(m.Result) == 0) {
				t.Errorf("the agent writes %q", line)
			}
			if m.Error != nil && (m.Error.Code == 0 || m.Error.Message == "") {
				t.Errorf("the agent writes %q", line)
			}
			if m.Method == "" {
				answers[m.id()]++
			}
		}
		for id, requests := range requestsOf(input, 64<<10) {
			if requests == 1 && answers[id] != 1 {
				t.Errorf("request %s is answered %d times:\n%s", id, answers[id], out.String())
			}
		}
	})
}

type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *acp.Failure    `json:"error"`
}

// id returns the id of a message in one spelling, or "" if it has none that names a request.
func (m *rpcMessage) id() string {
	var v any
	d := json.NewDecoder(bytes.NewReader(m.ID))
	d.UseNumber()
	if d.Decode(&v) != nil || v == nil {
		return ""
	}
	return fmt.Sprintf("%T %[1]v", v)
}

// requestsOf returns how many messages of the input have each id, if at least one of them is a request. What follows
// the last line break is not a message, nor is a line of more than maxLine bytes.
func requestsOf(input []byte, maxLine int) map[string]int {
	mentioned, requests := map[string]int{}, map[string]int{}
	for line := range bytes.Lines(input) {
		var m rpcMessage
		if !bytes.HasSuffix(line, []byte("\n")) || len(line) > maxLine || !utf8.Valid(line) {
			continue
		}
		err := json.Unmarshal(line, &m)
		id := m.id()
		if id == "" {
			continue
		}
		mentioned[id]++
		_, notNumber := strconv.ParseInt(string(m.ID), 10, 64)
		if err == nil && m.JSONRPC == "2.0" && m.Method != "" && len(m.ID) <= 256 && (m.ID[0] == '"' || notNumber == nil) {
			requests[id] = 0
		}
	}
	for id := range requests {
		requests[id] = mentioned[id]
	}
	return requests
}

// sequence returns a function that returns an id, and then ids that begin with it.
func sequence(id string) func() string {
	n := 0
	return func() string {
		if n++; n == 1 {
			return id
		}
		return id + strings.Repeat("x", n)
	}
}
