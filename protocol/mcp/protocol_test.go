package mcp_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestProtocol(t *testing.T) {
	g := newRig(t)
	g.can = `{}`
	g.connect()
	protocoltest.Test(t, protocoltest.Protocol{
		Routes: routes(t, mcp.Config{}),
		Golden: golden,
		Say: func(agent, thread, text string) protocoltest.Request {
			return protocoltest.Request{Method: http.MethodPost, Path: "/v1/mcp", Headers: []string{"Mcp-Session-Id", g.session, "Accept", "application/json, text/event-stream"},
				Body: fmt.Sprintf(`{"jsonrpc":"2.0","id":"call on %s","method":"tools/call","params":{"name":%q,"arguments":{"message":%q,"thread_id":%q},"_meta":{"progressToken":"p"}}}`, thread, agent, text, thread)}
		},
		Again: func(said protocoltest.Request, _ http.Header) protocoltest.Request { return said },
	})
}

const goldenRuns = "../../testdata/runs"

// golden returns the streams of the golden runs.
func golden(tb testing.TB) (out []func(protocol.Position) string) {
	tb.Helper()
	files, err := filepath.Glob(goldenRuns + "/*.txtar")
	if err != nil || len(files) < 100 {
		tb.Fatalf("%d runs, %v", len(files), err)
	}
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		entries := entriesOf(tb, a)
		out = append(out, func(has protocol.Position) string {
			return encode(tb, entries, mcp.Options{Request: []byte("1"), Progress: []byte(`"p"`), Level: "debug", Elicits: true}, has)
		})
	}
	return out
}

// encode encodes entries for a client at a position, as the server does.
func encode(tb testing.TB, entries []awaken.Entry, opts mcp.Options, has protocol.Position) string {
	tb.Helper()
	enc := mcp.NewEncoder(opts)
	var f protocol.Frames
	for i := range entries {
		e := &entries[i]
		have, n := 0, len(f.Bytes())
		if e.Seq == has.Seq {
			have = has.Frames
		}
		f.Entry(e.Cursor, have)
		if err := enc.Encode(&f, e); err != nil {
			tb.Fatal(err)
		}
		if e.Seq < has.Seq {
			f.Into(f.Bytes()[:n])
		}
	}
	return string(f.Bytes())
}

// What the header Mcp-Name says is what is called, however the parameters spell their fields.
func TestHeaders_NameWhatIsCalled(t *testing.T) {
	g := newRig(t)
	g.modern = true
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"` + modern + `","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, params := range []string{`"name":"talk","NAME":"fail"`, `"NAME":"fail"`, `"name":"fail","uri":7`} {
		resp := g.send(http.MethodPost, g.URL, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+params+`,"arguments":{},`+meta+`}}`,
			"MCP-Protocol-Version", modern, "Mcp-Method", "tools/call", "Mcp-Name", "talk")
		if got := messages(t, resp); at(got[0], "error") == nil {
			t.Errorf("{%s} with the header talk: %v", params, got)
		}
	}
}
