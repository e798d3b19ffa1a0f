package observe

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken/internal/tracecontext"
)

// Request is an HTTP request to a server. It has no fields for the query, which may contain secrets, and for the client's address, so these
// are never recorded.
type Request struct {
	Method, Scheme, Path string
	Host                 string // without the port
	Route                string // matched by the server, such as /v1/runs/{run_id}
	Protocol             string // the version, such as 1.1
	UserAgent            string
}

// Traces reports whether the plugin creates spans. A nil plugin does not.
func (p *Plugin) Traces() bool { return p != nil && p.tracer != nil }

// Serve begins the span of a request, named by its method and route as in the HTTP conventions (1.41), and returns the context for its
// handler. Ctx has the client's trace context, if any. The span is the parent of a run that the request starts; if the client sent no trace
// context, the sample_rate of the agent decides whether the run is recorded. Serve must be called only if Traces reports true.
//
// End ends the span with the request and the status of the response, or 0 if the handler panicked. It is nil if the span is not recorded.
func (p *Plugin) Serve(ctx context.Context, name string) (inside context.Context, end func(r *Request, status int)) {
	from := tracecontext.Of(ctx)
	inside, span := p.tracer.Start(remote(ctx, from), name, kinds[oteltrace.SpanKindServer]...)
	inside = tracecontext.WithPositioned(inside, &served{p: p, span: span, fresh: from.Parent == ""})
	if !span.IsRecording() {
		return inside, nil
	}
	return inside, func(r *Request, status int) {
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
		p.endSpan(span, failed, p.now())
	}
}

// served is a request that is answered.
type served struct {
	p     *Plugin
	span  oteltrace.Span
	fresh bool // the client names no trace
}

// Position implements [tracecontext.Positioned].
func (s *served) Position() tracecontext.Context { return s.position(s.span) }

// Sampled implements [tracecontext.Positioned].
func (s *served) Sampled() bool { return positioned{s.span}.Sampled() }

func (s *served) position(span oteltrace.Span) tracecontext.Context {
	at := positioned{span}.Position()
	if s.fresh {
		return at.New()
	}
	return at
}

// maxRequestID is how many bytes of the id of a client's message are recorded.
const maxRequestID = 64

// Serve implements [tracecontext.Server], by the conventions for MCP: what the message names is the parent, and the request is linked.
func (s *served) Serve(ctx context.Context, from tracecontext.Context, method string) (tracecontext.Context, func(tracecontext.Message)) {
	var links []oteltrace.Link
	position := s.position
	if at := s.span.SpanContext(); from.Parent != "" {
		links = append(links, oteltrace.Link{SpanContext: at})
		ctx = remote(ctx, from)
		position = func(span oteltrace.Span) tracecontext.Context { return positioned{span}.Position() }
	}
	_, span := s.p.tracer.Start(ctx, method, oteltrace.WithSpanKind(oteltrace.SpanKindServer), oteltrace.WithLinks(links...))
	return position(span), func(m tracecontext.Message) {
		span.SetAttributes(attribute.String("mcp.method.name", method), semconv.JSONRPCRequestID(cut(m.ID, maxRequestID)), attribute.String("mcp.protocol.version", m.Version))
		switch {
		case m.Tool != "":
			span.SetName(method + " " + m.Tool)
			span.SetAttributes(semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(m.Tool))
		case m.Prompt != "":
			span.SetName(method + " " + m.Prompt)
			span.SetAttributes(semconv.GenAIPromptName(m.Prompt))
		}
		s.p.endSpan(span, m.Failed, s.p.now())
	}
}
