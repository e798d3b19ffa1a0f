package observe

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/trace"
)

// Waited records the time that a call has waited, from the question to the decision, below the position where the run began: the activation that asked is over. It
// says who decided, and not what, and links to the request that did. The activation links to it too, if it is in another trace.
func (r *recorder) Waited(ctx context.Context, asked *awaken.CallState, d *awaken.Decision, withdrawn string) {
	t := asked.Ticket
	if t == nil {
		return
	}
	ev := r.event("suspension", time.UnixMilli(asked.UpdatedAt), time.UnixMilli(max(asked.UpdatedAt, d.UpdatedAt)))
	ev.Suspension = &trace.Suspension{ToolCallID: asked.CallID, ToolName: asked.ToolName, Action: t.Suspension.Action, ResumeMode: string(t.ResumeMode), Withdrawn: withdrawn}
	if withdrawn == "" {
		ev.Suspension.Decision = &awaken.Decision{Target: asked.SuspensionID(), ID: d.ID, Action: d.Action, UpdatedAt: d.UpdatedAt, Actor: d.Actor, Trace: d.Trace}
	}
	began, made := tracecontext.Of(ctx), tracecontext.ParseText(d.Trace)
	if r.root != nil && made.Parent != "" && made != r.cause && made.TraceID() != began.TraceID() {
		r.root.AddLink(oteltrace.LinkFromContext(remote(ctx, made)))
	}
	r.record(remote(ctx, began), ev)
}

// waitAttributes returns the attributes of a call that has waited.
func waitAttributes(s *trace.Suspension) []attribute.KeyValue {
	attrs := []attribute.KeyValue{semconv.GenAIToolName(s.ToolName), semconv.GenAIToolCallID(s.ToolCallID), attribute.String("awaken.suspension.action", s.Action),
		attribute.String("awaken.suspension.resume_mode", s.ResumeMode)}
	if s.Decision == nil {
		return append(attrs, attribute.String("awaken.suspension.withdrawn", s.Withdrawn))
	}
	attrs = append(attrs, attribute.String("awaken.suspension.decision", string(s.Decision.Action)))
	by := s.Decision.Actor.String()
	if by == "" && s.Decision.ID == "expired" { // as the engine names the decision that it makes then
		by = "expiry"
	}
	if by != "" {
		attrs = append(attrs, attribute.String("awaken.suspension.decided_by", by))
	}
	return attrs
}
