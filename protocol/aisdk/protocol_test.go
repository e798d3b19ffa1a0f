package aisdk_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

func TestProtocol(t *testing.T) {
	protocoltest.Test(t, protocoltest.Protocol{
		Routes: aisdk.Routes(),
		Golden: func(tb testing.TB) (out []func(protocol.Position) string) {
			for _, r := range protocoltest.GoldenRuns(tb) {
				for _, s := range r.Segments {
					out = append(out, func(has protocol.Position) string { return string(s.Encode(tb, &aisdk.Encoder{}, has)) })
				}
			}
			return out
		},
		Say: func(agent, thread, text string) protocoltest.Request {
			return protocoltest.Request{Method: http.MethodPost, Path: "/v1/ai-sdk/chat",
				Body: fmt.Sprintf(`{"id":%q,"agentId":%q,"messages":[{"role":"user","parts":[{"type":"text","text":%q}]}]}`, thread, agent, text)}
		},
		Instruct: func(agent, thread, text string) protocoltest.Request {
			return protocoltest.Request{Method: http.MethodPost, Path: "/v1/ai-sdk/chat", Body: fmt.Sprintf(`{"id":%q,"agentId":%q,"state":{"page":%q},
				"frontendTools":[{"name":"fail","description":"mine"}],
				"messages":[{"role":"system","parts":[{"type":"text","text":%q}]},{"role":"user","parts":[{"type":"text","text":"RUN_TOOL fail"}]}]}`, thread, agent, text, text)}
		},
		Again: func(_ protocoltest.Request, answer http.Header) protocoltest.Request {
			return protocoltest.Request{Method: http.MethodGet, Path: "/v1/ai-sdk/runs/" + answer.Get("X-Run-Id") + "/stream"}
		},
	})
}
