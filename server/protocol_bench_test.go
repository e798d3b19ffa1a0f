package server_test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// BenchmarkProtocols is one run with one turn over HTTP, streamed: when its first event and its end arrive, and what it costs, in
// A2A beside AI SDK. Compare the figures of one invocation only.
func BenchmarkProtocols(b *testing.B) {
	routes, err := a2a.Routes(a2a.Config{})
	if err != nil {
		b.Fatal(err)
	}
	g, n := protocoltest.New(b, slices.Concat(routes, aisdk.Routes())), 0
	for _, p := range []struct{ name, path, body string }{
		{"aisdk", "/v1/ai-sdk/chat", `{"id":"c-%[1]d","trigger":"submit-message","messages":[{"id":"m-%[1]d","role":"user","parts":[{"type":"text","text":"hello"}]}]}`},
		{"a2a-rest", "/v1/a2a/message:stream", `{"message":{"messageId":"a-%d","role":"ROLE_USER","parts":[{"text":"hello"}]}}`},
		{"a2a-rpc", "/v1/a2a", `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"r-%d","role":"ROLE_USER","parts":[{"text":"hello"}]}}}`},
	} {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			var first time.Duration
			before := cpu(b)
			for b.Loop() {
				n++
				start := time.Now()
				resp := g.Send("POST", g.URL+p.path, fmt.Sprintf(p.body, n))
				buf := make([]byte, 64)
				if _, err := resp.Body.Read(buf); err != nil {
					b.Fatal(err)
				}
				first += time.Since(start)
				if all := protocoltest.ReadAll(resp); resp.StatusCode != 200 || len(all) < 100 {
					b.Fatalf("%d %s", resp.StatusCode, all)
				}
				resp.Body.Close()
			}
			b.ReportMetric(float64(first.Microseconds())/float64(b.N), "µs-first/op")
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "µs-cpu/op")
		})
	}
}

// cpu returns the time that this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
