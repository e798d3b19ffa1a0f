package a2a_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestProtocol(t *testing.T) {
	for name, path := range map[string]string{"REST": "/v1/a2a/message:stream", "JSONRPC": "/v1/a2a"} {
		t.Run(name, func(t *testing.T) {
			protocoltest.Test(t, protocoltest.Protocol{
				Routes: routes(t, a2a.Config{}),
				Golden: golden,
				Say: func(agent, thread, text string) protocoltest.Request {
					body := fmt.Sprintf(`{"tenant":%q,"message":{"messageId":"message-of-%s","contextId":%q,"role":"ROLE_USER","parts":[{"text":%q}]}}`, agent, thread, thread, text)
					if name == "JSONRPC" {
						body = `{"jsonrpc":"2.0","id":"a","method":"SendStreamingMessage","params":` + body + `}`
					}
					return protocoltest.Request{Method: http.MethodPost, Path: path, Body: body}
				},
				Again: func(said protocoltest.Request, _ http.Header) protocoltest.Request { return said },
			})
		})
	}
}

// golden returns the streams of the golden runs.
func golden(tb testing.TB) (out []func(protocol.Position) string) {
	tb.Helper()
	for _, r := range protocoltest.GoldenRuns(tb) {
		entries := r.First()
		out = append(out, func(has protocol.Position) string { return encode(tb, entries, a2a.Options{}, has) })
	}
	return out
}

// encode encodes entries for a client at a position, as the server does.
func encode(tb testing.TB, entries []awaken.Entry, opts a2a.Options, has protocol.Position) string {
	tb.Helper()
	return protocoltest.Encode(tb, a2a.NewEncoder(opts), entries, has)
}
