package observe

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/trace"
)

// startRoot starts the span of the activation, if it is to be recorded. That of a later activation is below the position of the first.
func (r *recorder) startRoot() {
	if parent := oteltrace.SpanContextFromContext(r.ctx); !parent.IsValid() && tracecontext.Of(r.ctx).Parent != "" && !tracecontext.Sampled(r.ctx) {
		return // where the run is remains in the context as text, for others
	}
	var links []oteltrace.Link
	cause, resumed := tracecontext.Cause(r.ctx)
	began, fresh := tracecontext.Of(r.ctx).Begun()
	if fresh {
		r.ctx = tracecontext.With(r.ctx, began)
	}
	if cause.Parent != "" && cause.TraceID() != began.TraceID() {
		r.cause = cause
		links = append(links, oteltrace.LinkFromContext(remote(r.ctx, cause))) // what let the run continue
	}
	if resumed || !oteltrace.SpanContextFromContext(r.ctx).IsValid() {
		r.ctx = remote(r.ctx, began)
	}
	parent := oteltrace.SpanContextFromContext(r.ctx)
	if (fresh || !parent.IsValid()) && !chosen(r.info.RunID, *r.cfg.SampleRate) {
		began = began.Unsampled()
		r.ctx = tracecontext.With(remote(r.ctx, began), began)
		return
	}
	if parent.IsValid() && !parent.IsSampled() {
		return
	}
	opts := r.p.startOptions(oteltrace.SpanKindInternal, r.began)
	if len(links) > 0 {
		opts = append(slices.Clip(opts), oteltrace.WithLinks(links...))
	}
	ctx, span := r.p.tracer.Start(r.ctx, "invoke_agent "+r.info.AgentID, opts...)
	r.ctx = tracecontext.WithPositioned(ctx, positioned{span})
	if span.IsRecording() {
		r.root = span
	}
}

// remote returns a context below a position of another process.
func remote(ctx context.Context, c tracecontext.Context) context.Context {
	if c.Parent == "" {
		return ctx
	}
	var at oteltrace.SpanContextConfig
	var flags [1]byte
	_, errTrace := hex.Decode(at.TraceID[:], []byte(c.Parent[3:35]))
	_, errSpan := hex.Decode(at.SpanID[:], []byte(c.Parent[36:52]))
	_, errFlags := hex.Decode(flags[:], []byte(c.Parent[53:55]))
	if errTrace != nil || errSpan != nil || errFlags != nil {
		return ctx // not a position of [tracecontext.Parse]
	}
	at.TraceFlags = oteltrace.TraceFlags(flags[0]) & oteltrace.FlagsSampled
	if c.State != "" {
		at.TraceState, _ = oteltrace.ParseTraceState(c.State)
	}
	return oteltrace.ContextWithRemoteSpanContext(ctx, oteltrace.NewSpanContext(at))
}

// positioned has the position of a span.
type positioned struct{ oteltrace.Span }

// Position implements [tracecontext.Positioned].
func (p positioned) Position() tracecontext.Context {
	c := p.SpanContext()
	if !c.IsValid() {
		return tracecontext.Context{}
	}
	trace, span := c.TraceID(), c.SpanID()
	text := make([]byte, 0, 55)
	text = hex.AppendEncode(append(text, "00-"...), trace[:])
	text = hex.AppendEncode(append(text, '-'), span[:])
	text = hex.AppendEncode(append(text, '-'), []byte{byte(c.TraceFlags())})
	return tracecontext.Context{Parent: string(text), State: c.TraceState().String()}
}

// Sampled implements [tracecontext.Positioned].
func (p positioned) Sampled() bool { return p.SpanContext().IsSampled() }

// Position and Sampled implement [tracecontext.Positioned] for a part that has a span.
func (pt *part) Position() tracecontext.Context { return positioned{pt.span}.Position() }
func (pt *part) Sampled() bool                  { return positioned{pt.span}.Sampled() }

// kinds are options of spans, made once.
var kinds = [...][]oteltrace.SpanStartOption{
	oteltrace.SpanKindInternal: {oteltrace.WithSpanKind(oteltrace.SpanKindInternal)},
	oteltrace.SpanKindServer:   {oteltrace.WithSpanKind(oteltrace.SpanKindServer)},
	oteltrace.SpanKindClient:   {oteltrace.WithSpanKind(oteltrace.SpanKindClient)},
}

// startOptions returns the options of a span that begins now. Its provider reads the clock itself, unless that of the plugin is another.
func (p *Plugin) startOptions(kind oteltrace.SpanKind, now time.Time) []oteltrace.SpanStartOption {
	if p.opts.Now == nil {
		return kinds[kind]
	}
	return append(slices.Clip(kinds[kind]), oteltrace.WithTimestamp(now))
}

// startPart returns the context of what begins, with its span if spans are recorded. What is known of it becomes attributes when it ends.
func (r *recorder) startPart(ctx context.Context, pt *part) context.Context {
	if r.root != nil {
		name, kind := "awaken."+pt.kind+" "+pt.name, oteltrace.SpanKindInternal
		switch pt.kind {
		case "inference":
			name, kind = "chat "+pt.name, oteltrace.SpanKindClient
		case "tool":
			name = "execute_tool " + pt.name
		}
		ctx, pt.span = r.p.tracer.Start(ctx, name, r.p.startOptions(kind, pt.began)...)
	}
	pt.Context = ctx
	return pt
}

// startDelegation starts the span of a call's work as another agent.
func (r *recorder) startDelegation(ctx context.Context, call *awaken.ToolCall) (context.Context, oteltrace.Span) {
	ctx, span := r.p.tracer.Start(ctx, "awaken.delegation", oteltrace.WithAttributes(attribute.String("awaken.delegation.agent.id", strings.TrimPrefix(call.Tool, toolPrefix)),
		attribute.String("awaken.delegation.run.id", awaken.ChildID(call.Key))))
	return tracecontext.WithPositioned(ctx, positioned{span}), span
}

// endSpan ends a span now, with the type of an error unless that is "".
func (p *Plugin) endSpan(span oteltrace.Span, errorType string, now time.Time) {
	if p.opts.Now == nil && errorType == "" {
		span.End()
		return
	}
	endSpanAt(span, errorType, now)
}

func endSpanAt(span oteltrace.Span, errorType string, at time.Time) {
	if errorType != "" {
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType))
		span.SetStatus(codes.Error, errorType)
	}
	span.End(oteltrace.WithTimestamp(at))
}

// makeSpan makes the span of an event that has ended.
func (p *Plugin) makeSpan(ctx context.Context, ev *trace.Event) {
	name, failed, kind := "awaken."+ev.Type, "", oteltrace.SpanKindInternal
	var links []oteltrace.Link
	attrs := []attribute.KeyValue{semconv.GenAIConversationID(ev.ThreadID), attribute.String("awaken.run.id", ev.RunID), semconv.GenAIAgentID(ev.AgentID)}
	switch {
	case ev.Inference != nil:
		name, failed, kind = "chat "+ev.Inference.Model, ev.Inference.ErrorType, oteltrace.SpanKindClient
		attrs = inferenceAttributes(attrs, ev.Inference)
	case ev.Tool != nil:
		name, failed = "execute_tool "+ev.Tool.Name, ev.Tool.Error
		attrs = toolAttributes(attrs, ev.Tool)
	case ev.Suspension != nil && ev.Suspension.Decision == nil && ev.Suspension.Withdrawn == "":
		return // it has the span of the wait when that is over
	case ev.Suspension != nil:
		attrs = append(attrs, waitAttributes(ev.Suspension)...)
		if d := ev.Suspension.Decision; d != nil && d.Trace != "" {
			links = append(links, oteltrace.LinkFromContext(remote(ctx, tracecontext.ParseText(d.Trace))))
		}
	case ev.Evaluation != nil:
		name = "gen_ai.evaluation.result"
		label := "failed"
		if ev.Evaluation.Passed {
			label = "passed"
		}
		attrs = append(attrs, semconv.GenAIEvaluationName(ev.Evaluation.Name), semconv.GenAIEvaluationScoreValue(ev.Evaluation.Score), semconv.GenAIEvaluationScoreLabel(label))
		for _, a := range [...]attribute.KeyValue{semconv.GenAIEvaluationExplanation(ev.Evaluation.Explanation), attribute.String("awaken.evaluation.model", ev.Evaluation.Model), attribute.String("awaken.evaluation.judge_revision", ev.Evaluation.Revision)} {
			if a.Value.AsString() != "" {
				attrs = append(attrs, a)
			}
		}
	case ev.Child != nil:
		failed = ev.Child.ErrorType
		attrs = append(attrs, attribute.String("awaken."+ev.Type+".run.id", ev.Child.ChildRunID), attribute.String("awaken."+ev.Type+".agent.id", ev.Child.ChildAgentID))
	}
	_, span := p.tracer.Start(ctx, name, oteltrace.WithTimestamp(time.UnixMilli(ev.StartedAtMS)), oteltrace.WithSpanKind(kind), oteltrace.WithAttributes(attrs...), oteltrace.WithLinks(links...))
	endSpanAt(span, failed, time.UnixMilli(max(ev.StartedAtMS, ev.EndedAtMS)))
}

// makeTrace makes the spans of an activation that was not recorded, and has failed.
func (p *Plugin) makeTrace(ctx context.Context, run *awaken.RunInfo, sum *Summary, from, until time.Time, events []*trace.Event) {
	opts := []oteltrace.SpanStartOption{oteltrace.WithNewRoot(), oteltrace.WithTimestamp(from)}
	if !oteltrace.SpanContextFromContext(ctx).IsValid() {
		ctx = remote(ctx, tracecontext.Of(ctx))
	}
	if asked := oteltrace.SpanContextFromContext(ctx); asked.IsValid() {
		opts = append(opts, oteltrace.WithLinks(oteltrace.Link{SpanContext: asked})) // whose spans are not recorded
	}
	ctx, span := p.tracer.Start(ctx, "invoke_agent "+run.AgentID, opts...)
	for _, ev := range events {
		p.makeSpan(ctx, ev)
	}
	span.SetAttributes(runAttributes(nil, run, sum)...)
	endSpanAt(span, sum.ErrorType, until)
}

// lists holds lists of attributes that are used again.
var lists = sync.Pool{New: func() any { return new([]attribute.KeyValue) }}

// setAttributes sets the attributes of a span that fill appends. The span must not keep the list.
func setAttributes(span oteltrace.Span, fill func(attrs []attribute.KeyValue) []attribute.KeyValue) {
	list := lists.Get().(*[]attribute.KeyValue)
	*list = fill((*list)[:0])
	span.SetAttributes(*list...)
	clear(*list)
	lists.Put(list)
}

// runAttributes appends the attributes of an activation that has ended: which run it is, and what it did.
func runAttributes(attrs []attribute.KeyValue, run *awaken.RunInfo, s *Summary) []attribute.KeyValue {
	attrs = append(attrs, semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentID(run.AgentID), semconv.GenAIAgentName(run.AgentID), semconv.GenAIConversationID(run.ThreadID),
		attribute.String("awaken.run.id", run.RunID), attribute.String("awaken.thread.id", run.ThreadID), attribute.String("awaken.agent.id", run.AgentID),
		attribute.String("awaken.outcome", string(s.Outcome)), attribute.Int("awaken.session.inference_count", s.Inferences), attribute.Int("awaken.session.tool_count", s.ToolCalls),
		attribute.Int("awaken.session.tool_failures", s.ToolFailures), attribute.Int64("awaken.session.duration_ms", s.DurationMS), attribute.Float64("awaken.cost_usd", s.CostUSD),
		semconv.GenAIUsageInputTokens(int(s.Usage.PromptTokens)), semconv.GenAIUsageOutputTokens(int(s.Usage.CompletionTokens)))
	for _, a := range [...]struct{ key, value string }{{"awaken.parent_run.id", run.ParentRunID}, {"awaken.parent_tool.call_id", run.ParentToolCallID}, {"awaken.dispatch.id", run.DispatchID}, {"awaken.mode", run.Mode}, {"awaken.release.tag", s.ReleaseTag}} {
		if a.value != "" {
			attrs = append(attrs, attribute.String(a.key, a.value))
		}
	}
	return attrs
}

// inferenceAttributes appends the attributes of a request that has ended.
func inferenceAttributes(attrs []attribute.KeyValue, in *trace.Inference) []attribute.KeyValue {
	attrs = append(attrs, semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(provider(in.Provider)), semconv.GenAIRequestModel(in.Model), semconv.GenAIRequestStream(true),
		semconv.GenAIResponseModel(in.ResponseModel), semconv.GenAIUsageInputTokens(int(in.InputTokens)), semconv.GenAIUsageOutputTokens(int(in.OutputTokens)), attribute.Float64("awaken.cost_usd", in.CostUSD))
	if in.ResponseID != "" {
		attrs = append(attrs, semconv.GenAIResponseID(in.ResponseID))
	}
	if in.Temperature != nil {
		attrs = append(attrs, semconv.GenAIRequestTemperature(*in.Temperature))
	}
	if in.TopP != nil {
		attrs = append(attrs, semconv.GenAIRequestTopP(*in.TopP))
	}
	if in.MaxTokens != nil {
		attrs = append(attrs, semconv.GenAIRequestMaxTokens(*in.MaxTokens))
	}
	if len(in.StopSequences) > 0 {
		attrs = append(attrs, semconv.GenAIRequestStopSequences(in.StopSequences...))
	}
	if len(in.RequestMessages) > 0 {
		if data, err := json.Marshal(in.RequestMessages); err == nil {
			attrs = append(attrs, semconv.GenAIInputMessagesKey.String(string(data)))
		}
	}
	if len(in.FinishReasons) > 0 {
		attrs = append(attrs, semconv.GenAIResponseFinishReasons(in.FinishReasons...))
	}
	if n := in.CacheReadTokens; n > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheReadInputTokens(int(n)))
	}
	if n := in.CacheCreationTokens; n > 0 {
		attrs = append(attrs, semconv.GenAIUsageCacheCreationInputTokens(int(n)))
	}
	if n := in.ThinkingTokens; n > 0 {
		attrs = append(attrs, semconv.GenAIUsageReasoningOutputTokens(int(n)))
	}
	if in.ResponseContent != "" {
		attrs = append(attrs, semconv.GenAIOutputMessagesKey.String(in.ResponseContent))
	}
	return attrs
}

// provider returns the name of a provider; the conventions require one.
func provider(name string) string {
	if name == "" {
		return "unknown"
	}
	return name
}

// toolAttributes appends the attributes of a call that has ended.
func toolAttributes(attrs []attribute.KeyValue, t *trace.Tool) []attribute.KeyValue {
	attrs = append(attrs, semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(t.Name), semconv.GenAIToolCallID(t.CallID), semconv.GenAIToolType("function"), attribute.String("awaken.tool.status", string(t.Status)))
	if t.Outcome != "" {
		attrs = append(attrs, attribute.String("awaken.tool.outcome", string(t.Outcome)))
	}
	if len(t.Arguments) > 0 {
		attrs = append(attrs, semconv.GenAIToolCallArgumentsKey.String(string(t.Arguments)))
	}
	if t.Result != nil {
		if data, err := json.Marshal(t.Result); err == nil {
			attrs = append(attrs, semconv.GenAIToolCallResultKey.String(string(data)))
		}
	}
	if strings.Contains(string(t.Arguments), truncated) || t.Result != nil && strings.Contains(string(t.Result.Data), truncated) {
		attrs = append(attrs, attribute.Bool("awaken.tool.payload.truncated", true))
	}
	return attrs
}
