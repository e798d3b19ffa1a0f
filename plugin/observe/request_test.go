package observe_test

import (
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/plugin/observe"
)

// A message of MCP is below the position that it names, with a link to the request that has brought it, or else below the request.
func TestServe_MessagesWithinARequest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ header, meta string }{"by the message": {"", parent}, "by both": {"00-00000000000000000000000000000001-0000000000000002-01", parent}, "by the request": {parent, ""}, "by none": {"", ""}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exporter := tracetest.NewInMemoryExporter()
			p := observe.New(observe.Options{Tracer: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))})
			ctx, done := p.Serve(tracecontext.With(t.Context(), tracecontext.Parse(tt.header, "")), "POST /v1/mcp")
			at, end := tracecontext.Serve(ctx, tracecontext.Parse(tt.meta, "a=b"), "tools/call")
			end(tracecontext.Message{ID: strings.Repeat("7", 100), Version: "2025-11-25", Tool: "talk", Failed: "invalid_params"})
			_, end = tracecontext.Serve(ctx, tracecontext.Context{}, "tools/list")
			end(tracecontext.Message{ID: "8"})
			done(&observe.Request{Method: "POST", Route: "/v1/mcp"}, 200)
			call, list, request := exporter.GetSpans()[0], exporter.GetSpans()[1], exporter.GetSpans()[2]
			if call.Name != "tools/call talk" || call.SpanKind != oteltrace.SpanKindServer || attr(call, "mcp.method.name") != "tools/call" || attr(call, "gen_ai.tool.name") != "talk" || attr(call, "error.type") != "invalid_params" ||
				attr(call, "jsonrpc.request.id") != strings.Repeat("7", 64) || attr(call, "mcp.protocol.version") != "2025-11-25" {
				t.Errorf("the message is %+v", call)
			}
			if list.Parent.SpanID() != request.SpanContext.SpanID() || len(list.Links) != 0 {
				t.Errorf("a message without a position is %+v, want it below its request", list)
			}
			above, links := request.SpanContext.SpanID().String(), 0
			if tt.meta != "" {
				above, links = "b7ad6b7169203331", 1
			}
			if call.Parent.SpanID().String() != above || len(call.Links) != links || links > 0 && call.Links[0].SpanContext.SpanID() != request.SpanContext.SpanID() {
				t.Errorf("the message is below %s with the links %v, want it below %s with %d", call.Parent.SpanID(), call.Links, above, links)
			}
			if _, fresh := at.Begun(); fresh != (tt.header+tt.meta == "") || !strings.Contains(at.Parent, call.SpanContext.SpanID().String()) {
				t.Errorf("what the message starts is at %v", at)
			}
		})
	}
	if at, end := tracecontext.Serve(tracecontext.With(t.Context(), tracecontext.Parse(parent, "")), tracecontext.Context{}, "tools/call"); at.Parent != parent {
		t.Errorf("without spans a message is at %v", at)
	} else {
		end(tracecontext.Message{})
	}
}
