package observe

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/trace"
)

// begin begins the activation, and returns its context.
func (r *recorder) begin(ctx context.Context) context.Context {
	if r.p.tracer != nil {
		ctx = r.startRoot(ctx)
	}
	r.ctx = ctx
	return ctx
}

// startRoot starts the span of the activation, if it is to be recorded.
func (r *recorder) startRoot(ctx context.Context) context.Context {
	opts := []oteltrace.SpanStartOption{oteltrace.WithTimestamp(r.began), oteltrace.WithAttributes(identity(r.info)...)}
	cause, resumed := tracecontext.Cause(ctx)
	began, fresh := tracecontext.Of(ctx).Begun()
	if fresh {
		ctx = tracecontext.With(ctx, began)
	}
	if cause.Parent != "" && cause.TraceID() != began.TraceID() {
		opts = append(opts, oteltrace.WithLinks(oteltrace.LinkFromContext(remote(ctx, cause)))) // what let the run continue
	}
	if resumed || !oteltrace.SpanContextFromContext(ctx).IsValid() {
		ctx = remote(ctx, began)
	}
	parent := oteltrace.SpanContextFromContext(ctx)
	if (fresh || !parent.IsValid()) && !chosen(r.info.RunID, *r.cfg.SampleRate) {
		began = began.Unsampled()
		return tracecontext.With(remote(ctx, began), began)
	}
	if parent.IsValid() && !parent.IsSampled() {
		return ctx
	}
	inner, span := r.p.tracer.Start(ctx, "invoke_agent "+r.info.AgentID, opts...)
	if span.IsRecording() {
		r.root = span
	}
	return at(inner, span)
}

// remote returns a context below a position of another process.
func remote(ctx context.Context, c tracecontext.Context) context.Context {
	if c.Parent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": c.Parent, "tracestate": c.State})
}

// at returns a context whose position is the span's.
func at(ctx context.Context, span oteltrace.Span) context.Context {
	c := span.SpanContext()
	if !c.IsValid() {
		return ctx
	}
	var b strings.Builder
	b.Grow(55)
	b.WriteString("00-")
	b.WriteString(c.TraceID().String())
	b.WriteByte('-')
	b.WriteString(c.SpanID().String())
	b.WriteByte('-')
	b.WriteString(c.TraceFlags().String())
	return tracecontext.With(ctx, tracecontext.Context{Parent: b.String(), State: c.TraceState().String()})
}

// startPart returns the context of what begins, with its span if spans are recorded.
func (r *recorder) startPart(ctx context.Context, pt *part) context.Context {
	if r.root != nil {
		opts := []oteltrace.SpanStartOption{oteltrace.WithTimestamp(pt.began)}
		name := "awaken." + pt.kind + " " + pt.name
		switch pt.kind {
		case "inference":
			name = "chat " + pt.name
			opts = append(opts, oteltrace.WithSpanKind(oteltrace.SpanKindClient), oteltrace.WithAttributes(inferenceAttributes(pt.req, false)...))
		case "tool":
			name = "execute_tool " + pt.name
			opts = append(opts, oteltrace.WithAttributes(semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(pt.name)))
		case "handoff":
			opts = append(opts, oteltrace.WithAttributes(attribute.String("awaken.handoff.to", pt.name)))
		}
		ctx, pt.span = r.p.tracer.Start(ctx, name, opts...)
		ctx = at(ctx, pt.span)
	}
	return context.WithValue(ctx, partKey{}, pt)
}

// startDelegation starts the span of a call's work as another agent.
func (r *recorder) startDelegation(ctx context.Context, call *awaken.ToolCall) (context.Context, oteltrace.Span) {
	ctx, span := r.p.tracer.Start(ctx, "awaken.delegation", oteltrace.WithAttributes(attribute.String("awaken.delegation.agent.id", strings.TrimPrefix(call.Tool, toolPrefix)),
		attribute.String("awaken.delegation.run.id", awaken.ChildID(call.Key))))
	return at(ctx, span), span
}

// endSpan ends a span, with the type of an error unless that is "".
func endSpan(span oteltrace.Span, errorType string, now time.Time) {
	if errorType != "" {
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType))
		span.SetStatus(codes.Error, errorType)
	}
	span.End(oteltrace.WithTimestamp(now))
}

// makeSpan makes the span of an event that has ended.
func (p *Plugin) makeSpan(ctx context.Context, ev *trace.Event, extra []attribute.KeyValue) {
	name, failed, kind := "awaken."+ev.Type, "", oteltrace.SpanKindInternal
	attrs := append([]attribute.KeyValue{semconv.GenAIConversationID(ev.ThreadID), attribute.String("awaken.run.id", ev.RunID), semconv.GenAIAgentID(ev.AgentID)}, extra...)
	switch {
	case ev.Inference != nil:
		name, failed, kind = "chat "+ev.Inference.Model, ev.Inference.ErrorType, oteltrace.SpanKindClient
		attrs = append(append(attrs, inferenceAttributes(ev.Inference, false)...), inferenceAttributes(ev.Inference, true)...)
	case ev.Tool != nil:
		name, failed = "execute_tool "+ev.Tool.Name, ev.Tool.Error
		attrs = append(append(attrs, semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(ev.Tool.Name)), toolAttributes(ev.Tool)...)
	case ev.Suspension != nil:
		s := ev.Suspension
		attrs = append(attrs, semconv.GenAIToolName(s.ToolName), semconv.GenAIToolCallID(s.ToolCallID), attribute.String("awaken.suspension.action", s.Action), attribute.String("awaken.suspension.resume_mode", s.ResumeMode))
	case ev.Evaluation != nil:
		name = "gen_ai.evaluation.result"
		label := "failed"
		if ev.Evaluation.Passed {
			label = "passed"
		}
		attrs = append(attrs, semconv.GenAIEvaluationName(ev.Evaluation.Name), semconv.GenAIEvaluationScoreValue(ev.Evaluation.Score), semconv.GenAIEvaluationScoreLabel(label))
	case ev.Child != nil:
		failed = ev.Child.ErrorType
		attrs = append(attrs, attribute.String("awaken."+ev.Type+".run.id", ev.Child.ChildRunID), attribute.String("awaken."+ev.Type+".agent.id", ev.Child.ChildAgentID))
	}
	_, span := p.tracer.Start(ctx, name, oteltrace.WithTimestamp(time.UnixMilli(ev.StartedAtMS)), oteltrace.WithSpanKind(kind), oteltrace.WithAttributes(attrs...))
	endSpan(span, failed, time.UnixMilli(max(ev.StartedAtMS, ev.EndedAtMS)))
}

// makeTrace makes the spans of an activation that was not recorded, and has failed.
func (p *Plugin) makeTrace(ctx context.Context, run *awaken.RunInfo, sum *Summary, from, until time.Time, events []*trace.Event) {
	opts := []oteltrace.SpanStartOption{oteltrace.WithNewRoot(), oteltrace.WithTimestamp(from), oteltrace.WithAttributes(identity(run)...)}
	if asked := oteltrace.SpanContextFromContext(ctx); asked.IsValid() {
		opts = append(opts, oteltrace.WithLinks(oteltrace.Link{SpanContext: asked})) // whose spans are not recorded
	}
	ctx, span := p.tracer.Start(ctx, "invoke_agent "+run.AgentID, opts...)
	for _, ev := range events {
		p.makeSpan(ctx, ev, nil)
	}
	span.SetAttributes(runAttributes(sum)...)
	endSpan(span, sum.ErrorType, until)
}

// identity returns the attributes that say which run it is.
func identity(run *awaken.RunInfo) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 10)
	attrs = append(attrs, semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentID(run.AgentID), semconv.GenAIAgentName(run.AgentID), semconv.GenAIConversationID(run.ThreadID),
		attribute.String("awaken.run.id", run.RunID), attribute.String("awaken.thread.id", run.ThreadID), attribute.String("awaken.agent.id", run.AgentID))
	for _, a := range [...]struct{ key, value string }{{"awaken.parent_run.id", run.ParentRunID}, {"awaken.parent_tool.call_id", run.ParentToolCallID}, {"awaken.dispatch.id", run.DispatchID}, {"awaken.mode", run.Mode}} {
		if a.value != "" {
			attrs = append(attrs, attribute.String(a.key, a.value))
		}
	}
	return attrs
}

// runAttributes returns the attributes of an activation that has ended.
func runAttributes(s *Summary) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("awaken.outcome", string(s.Outcome)), attribute.Int("awaken.session.inference_count", s.Inferences), attribute.Int("awaken.session.tool_count", s.ToolCalls),
		attribute.Int("awaken.session.tool_failures", s.ToolFailures), attribute.Int64("awaken.session.duration_ms", s.DurationMS), attribute.Float64("awaken.cost_usd", s.CostUSD),
		semconv.GenAIUsageInputTokens(int(s.Usage.PromptTokens)), semconv.GenAIUsageOutputTokens(int(s.Usage.CompletionTokens))}
}

// inferenceAttributes returns what is known of a request: when it begins, or when it has ended.
func inferenceAttributes(in *trace.Inference, ended bool) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, 12)
	if !ended {
		attrs = append(attrs, semconv.GenAIOperationNameChat, semconv.GenAIProviderNameKey.String(provider(in.Provider)), semconv.GenAIRequestModel(in.Model), semconv.GenAIRequestStream(true))
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
		return attrs
	}
	attrs = append(attrs, semconv.GenAIProviderNameKey.String(provider(in.Provider)), semconv.GenAIResponseModel(in.ResponseModel), semconv.GenAIUsageInputTokens(int(in.InputTokens)), semconv.GenAIUsageOutputTokens(int(in.OutputTokens)),
		attribute.Float64("awaken.cost_usd", in.CostUSD))
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

// toolAttributes returns the attributes of a call that has ended.
func toolAttributes(t *trace.Tool) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.GenAIToolCallID(t.CallID), semconv.GenAIToolType("function"), attribute.String("awaken.tool.status", string(t.Status))}
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
