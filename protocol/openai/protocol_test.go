package openai_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestProtocol(t *testing.T) {
	post := func(body string, args ...any) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/openai/v1/responses", Body: fmt.Sprintf(body, args...)}
	}
	protocoltest.Test(t, protocoltest.Protocol{
		Routes: openai.Routes(),
		Golden: func(tb testing.TB) (out []func(protocol.Position) string) {
			for _, r := range protocoltest.GoldenRuns(tb) {
				for _, s := range r.Segments {
					out = append(out, func(has protocol.Position) string {
						return string(s.Encode(tb, openai.NewResponseEncoder(openai.Options{From: from(&s)}), has))
					})
				}
			}
			return out
		},
		Say: func(agent, thread, text string) protocoltest.Request {
			return post(`{"model":%q,"conversation":%q,"input":%q,"stream":true}`, agent, thread, text)
		},
		Again: func(_ protocoltest.Request, answer http.Header) protocoltest.Request {
			return protocoltest.Request{Method: http.MethodGet, Path: "/openai/v1/responses/resp_" + answer.Get("X-Run-Id") + "?stream=true"}
		},
		Instruct: func(agent, thread, text string) protocoltest.Request {
			return post(`{"model":%q,"conversation":%q,"instructions":%q,"tools":[{"type":"function","name":"fail","description":"mine"}],
				"input":[{"role":"system","content":%q},{"role":"user","content":"RUN_TOOL fail"}]}`, agent, thread, text, text)
		},
		Approve: func(thread, ticket, scope string) protocoltest.Request {
			return post(`{"conversation":%q,"input":[{"type":"function_call_output","call_id":%q,"output":%q}]}`, thread, ticket, fmt.Sprintf(`{"approved":true,"remember":%q}`, scope))
		},
	})
}
