package agui_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestProtocol(t *testing.T) {
	post := func(format string, args ...any) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/v1/ag-ui/run", Body: fmt.Sprintf(format, args...)}
	}
	protocoltest.Test(t, protocoltest.Protocol{
		Routes: agui.Routes(),
		Golden: func(tb testing.TB) (out []func(protocol.Position) string) {
			for _, r := range protocoltest.GoldenRuns(tb) {
				var all []awaken.Entry
				for _, s := range r.Segments {
					all = append(all, s.Entries...)
				}
				out = append(out, func(has protocol.Position) string {
					return protocoltest.Encode(tb, agui.NewEncoder(agui.Options{Current: true}), all, has)
				})
			}
			return out
		},
		Say: func(agent, thread, text string) protocoltest.Request {
			return post(`{"threadId":%q,"runId":"run-of-%s","agentId":%q,"messages":[{"id":"message-of-%s","role":"user","content":%q}]}`, thread, thread, agent, thread, text)
		},
		Instruct: func(agent, thread, text string) protocoltest.Request {
			return post(`{"threadId":%q,"runId":"run-of-%s","agentId":%q,"state":{"page":%q},"tools":[{"name":"fail","description":"mine"}],
				"messages":[{"id":"s","role":"developer","content":%q},{"id":"m","role":"user","content":"RUN_TOOL fail"}]}`, thread, thread, agent, text, text)
		},
		Again: func(said protocoltest.Request, _ http.Header) protocoltest.Request { return said },
		Approve: func(thread, ticket, scope string) protocoltest.Request {
			return post(`{"threadId":%q,"runId":"approves","resume":[{"interruptId":%q,"status":"resolved","payload":{"approved":true,"remember":%q}}]}`, thread, ticket, scope)
		},
	})
}
