package observe

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken/internal/tracecontext"
)

// Request is a request over HTTP to a server. What has no field is not recorded: the query may have secrets, and the address says who the client is.
type Request struct {
	Method, Scheme, Path string
	Host                 string // without the port
	Route                string // that the server has matched, such as /v1/runs/{run_id}
	Protocol             string // the version, such as 1.1
	UserAgent            string
}

// Traces reports whether the plugin makes spans. A nil plugin makes none.
func (p *Plugin) Traces() bool { return p != nil && p.tracer != nil }

// Serve begins the span of a request, by the conventions for HTTP (1.41), and returns the context of what answers it. Ctx has the position that the client names, if
// any. A run that the request starts belongs below the span; if the client names no trace, the sample_rate of its agent decides whether it is
// recorded. The plugin must make spans.
//
// End ends the span with the status of the response, or 0 if the handler has panicked.
func (p *Plugin) Serve(ctx context.Context, r *Request) (inside context.Context, end func(status int)) {
	from := tracecontext.Of(ctx)
	ctx, span := p.tracer.Start(remote(ctx, from), r.Method+" "+r.Route, oteltrace.WithSpanKind(oteltrace.SpanKindServer))
	if from.Parent == "" {
		ctx = tracecontext.With(ctx, positioned{span}.Position().New())
	} else {
		ctx = tracecontext.WithPositioned(ctx, positioned{span})
	}
	if !span.IsRecording() {
		return ctx, func(int) {}
	}
	return ctx, func(status int) {
		failed := ""
		switch {
		case status == 0:
			failed = "panic"
		case status >= 500:
			failed = strconv.Itoa(status)
		}
		setAttributes(span, func(attrs []attribute.KeyValue) []attribute.KeyValue {
			attrs = append(attrs, semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(r.Route), semconv.URLScheme(r.Scheme), semconv.URLPath(r.Path),
				semconv.ServerAddress(r.Host), semconv.NetworkProtocolVersion(r.Protocol), semconv.UserAgentOriginal(cut(r.UserAgent, 256)))
			if status > 0 {
				attrs = append(attrs, semconv.HTTPResponseStatusCode(status))
			}
			return attrs
		})
		endSpan(span, failed, p.opts.Now())
	}
}
