package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/openai"
)

// dialect is how a client of a protocol starts a run and recognises its pieces. In the body, THREAD is the ID of a thread or
// empty, and UNIQUE is one of the request.
type dialect struct{ path, headers, body, piece string }

var dialects = map[string]dialect{
	"":      {"/v1/runs", "", `{"agent_id":"default","thread_id":"THREAD","messages":[{"role":"user","content":"hello"}]}`, `"event_type":"text_delta"`},
	"aisdk": {"/v1/ai-sdk/chat", "", `{"threadId":"THREAD","messages":[{"role":"user","parts":[{"type":"text","text":"hello"}]}]}`, `"text-delta"`},
	"agui": {"/v1/ag-ui/run", "", `{"threadId":"THREAD","messages":[{"role":"user","content":"hello"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`,
		`"TEXT_MESSAGE_CONTENT"`},
	"a2a-rest": {"/v1/a2a/message:stream", "A2A-Version: 1.0\r\n", `{"message":{"messageId":"UNIQUE","role":"ROLE_USER","parts":[{"text":"hello"}]}}`, `|x"}]}`},
	"a2a-rpc": {"/v1/a2a", "A2A-Version: 1.0\r\n",
		`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"UNIQUE","role":"ROLE_USER","parts":[{"text":"hello"}]}}}`, `|x"}]}`},
	"mcp-2025": {"/v1/mcp", "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n",
		`{"jsonrpc":"2.0","id":"UNIQUE","method":"tools/call","params":{"name":"default","arguments":{"message":"hello"},"_meta":{"progressToken":"UNIQUE"}}}`, `"notifications/progress"`},
	"mcp-2026": {"/v1/mcp", "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: default\r\n",
		`{"jsonrpc":"2.0","id":"UNIQUE","method":"tools/call","params":{"name":"default","arguments":{"message":"hello"},"_meta":{"progressToken":"UNIQUE",` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, `"notifications/progress"`},
	"openai": {"/openai/v1/responses", "", `{"model":"default","input":"hello","stream":true}`, `"type":"response.output_text.delta"`},
}

// protocolRoutes returns the routes of all protocols.
func protocolRoutes() ([]protocol.Route, error) {
	tasks, err := a2a.Routes(a2a.Config{})
	if err != nil {
		return nil, err
	}
	tools, err := mcp.Routes(mcp.Config{Key: awaken.NewSecret("0123456789abcdef0123456789abcdef")})
	return slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes(), tasks, tools), err
}

// BenchmarkProtocols compares the other protocols with AI SDK: the server's CPU time for a streamed run of W6, and when its first
// event arrives. It prints medians of rounds in which each had its turn. Every turn has a server of its own, because one that serves
// all of them keeps all their runs in memory, and what collecting that costs depends on who came before. Use -benchtime=1x.
func BenchmarkProtocols(b *testing.B) {
	const rounds, warm, turn = 11, 300, 1500
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			ratios := map[string][]float64{}
			for range rounds {
				var base [2]float64
				for _, name := range []string{"aisdk", "a2a-rest", "a2a-rpc", "mcp-2025", "mcp-2026", "openai"} {
					srv := spawn(b, "server", fmt.Sprint("PIECES=", w6Pieces), fmt.Sprint("SIZE=", w6Size))
					addr := srv.line()
					load := func(ms int) (r w6Result) {
						p := spawn(b, "runners", "PROTOCOL="+name, "ADDR="+addr, fmt.Sprint("CLIENTS=", clients), fmt.Sprint("MS=", ms))
						if err := json.Unmarshal([]byte(p.line()), &r); err != nil {
							b.Fatal(err)
						}
						return r
					}
					load(warm)
					before := srv.cpu()
					r := load(turn)
					cpu, first := (srv.cpu()-before).Seconds()/float64(r.Runs), r.First.Seconds()
					srv.end()
					b.Logf("%s: %d runs, %.0f µs of CPU each, first event %s", name, r.Runs, cpu*1e6, r.First)
					if name == "aisdk" {
						base = [2]float64{cpu, first}
						continue
					}
					ratios[name+"-CPU/aisdk"] = append(ratios[name+"-CPU/aisdk"], cpu/base[0])
					ratios[name+"-first/aisdk"] = append(ratios[name+"-first/aisdk"], first/base[1])
				}
			}
			for unit, list := range ratios {
				testenv.Report(b, unit, list)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
