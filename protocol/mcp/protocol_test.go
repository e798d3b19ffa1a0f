package mcp_test

import (
	"fmt"
	"net/http"
	"testing"

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

// golden returns the streams of the golden runs.
func golden(tb testing.TB) (out []func(protocol.Position) string) {
	tb.Helper()
	opts := mcp.Options{Request: []byte("1"), Progress: []byte(`"p"`), Level: "debug", Elicits: true}
	for _, r := range protocoltest.GoldenRuns(tb) {
		entries := r.First()
		out = append(out, func(has protocol.Position) string { return protocoltest.Encode(tb, mcp.NewEncoder(opts), entries, has) })
	}
	return out
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
