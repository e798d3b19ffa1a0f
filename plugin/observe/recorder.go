package observe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// recorder follows one activation of one run.
type recorder struct {
	p       *Plugin
	cfg     Config
	info    *awaken.RunInfo
	version string          // of the registry
	ctx     context.Context // of the activation
	began   time.Time
	cause   tracecontext.Context // what let the run continue, if it is in another trace
	root    oteltrace.Span       // nil if spans are not recorded

	asked *request // that the model answers; a run makes one after another
	kept  *request // those whose events are in events

	mu     sync.Mutex
	ended  bool
	made   map[string]bool // calls that were executed
	events []*trace.Event  // of an activation whose spans are not recorded, in case it fails
	tally  tally
}

// tally is what an activation has used so far.
type tally struct {
	inferences, calls, failures int
	usage                       llm.Usage
	costUSD                     float64
}

type partKey struct{}

// part is something that has begun. It is the context of what happens in it, which has the position of its span.
type part struct {
	context.Context
	kind, name string
	began      time.Time
	span       oteltrace.Span // nil if spans are not recorded
	inner      oteltrace.Span // of a delegation
}

// Value implements [context.Context].
func (pt *part) Value(key any) any {
	switch key.(type) {
	case partKey:
		return pt
	case tracecontext.Key:
		if pt.span != nil {
			return pt
		}
	}
	return pt.Context.Value(key)
}

// request is a request to a model, and what sinks are told of it. Its memory is used again.
type request struct {
	began     time.Time
	span      oteltrace.Span // nil if spans are not recorded
	event     trace.Event
	inference trace.Inference
	reason    [1]string // why the model has stopped
	next      *request
}

var (
	requests  = sync.Pool{New: func() any { return new(request) }}
	summaries = sync.Pool{New: func() any { return new(Summary) }}
)

// release gives the memory of a request, and of the next ones, to others.
func (q *request) release() {
	for q != nil {
		next := q.next
		*q = request{}
		requests.Put(q)
		q = next
	}
}

// contextOf returns what all events of a run begin with.
func contextOf(run *awaken.RunInfo, version, kind string) trace.Context {
	return trace.Context{Type: kind, ReleaseTag: version, RunID: run.RunID, ThreadID: run.ThreadID, AgentID: run.AgentID, ParentRunID: run.ParentRunID, ParentToolCallID: run.ParentToolCallID}
}

func spanOf(from, to time.Time) trace.Span {
	return trace.Span{DurationMS: max(0, to.Sub(from).Milliseconds()), StartedAtMS: from.UnixMilli(), EndedAtMS: to.UnixMilli()}
}

// Emit implements [awaken.Sink]: it takes in what has no beginning and end of its own.
func (r *recorder) Emit(ctx context.Context, e awaken.Entry) error {
	done, ok := e.Event.(*awaken.ToolCallDone)
	if !ok || done.Result == nil {
		return nil
	}
	now := r.p.now()
	if t := done.Result.Suspension; done.Outcome == awaken.CallSuspended && t != nil {
		ev := r.event("suspension", now, now)
		ev.Suspension = &trace.Suspension{ToolCallID: done.ID, ToolName: done.Result.ToolName, Action: t.Suspension.Action, ResumeMode: string(t.ResumeMode)}
		r.record(ctx, ev)
		return nil
	}
	r.mu.Lock()
	executed := r.made[done.ID]
	delete(r.made, done.ID)
	r.mu.Unlock()
	if !executed { // a gate has answered it, or it was not valid
		ev := r.event("tool", now, now)
		ev.Operation = "execute_tool"
		ev.Tool = &trace.Tool{Name: done.Result.ToolName, CallID: done.ID, Status: done.Outcome}
		if done.Outcome == awaken.CallFailed {
			ev.Tool.Error = toolError
		}
		doubt(ev.Tool, done.Result, nil)
		r.record(ctx, ev)
	}
	return nil
}

// event returns an event of the run.
func (r *recorder) event(kind string, from, to time.Time) *trace.Event {
	return &trace.Event{Context: contextOf(r.info, r.version, kind), Span: spanOf(from, to)}
}

// record tells the sinks, the meters and, if nothing has a span already, the tracer. It reports whether it keeps the event until the activation ends.
func (r *recorder) record(ctx context.Context, ev *trace.Event) (kept bool) {
	r.mu.Lock()
	r.tally.add(ev)
	if kept = r.root == nil && r.p.tracer != nil && !r.ended && len(r.events) < maxBuffered; kept {
		r.events = append(r.events, ev)
	}
	r.mu.Unlock()
	if r.root != nil && ev.Inference == nil && ev.Tool == nil && (ev.Child == nil || ev.Type == "background_task") {
		r.p.makeSpan(ctx, ev)
	}
	if r.p.meters != nil {
		r.p.meters.record(ctx, ev)
	}
	for _, s := range r.p.opts.Sinks {
		s.Record(ctx, ev)
	}
	return kept
}

// add counts an event.
func (t *tally) add(ev *trace.Event) {
	switch {
	case ev.Inference != nil:
		in := ev.Inference
		t.inferences++
		t.usage.Add(llm.Usage{PromptTokens: in.InputTokens, CompletionTokens: in.OutputTokens, TotalTokens: in.TotalTokens,
			CacheReadTokens: in.CacheReadTokens, CacheCreationTokens: in.CacheCreationTokens, ThinkingTokens: in.ThinkingTokens})
		t.costUSD += in.CostUSD
	case ev.Tool != nil:
		t.calls++
		if ev.Tool.Error != "" {
			t.failures++
		}
	}
}

// BeginPart follows a part of the run, or of a call.
func (r *recorder) BeginPart(ctx context.Context, kind, name string) context.Context {
	if r.root == nil {
		if kind == "handoff" {
			now := r.p.now()
			r.record(ctx, r.handoff(name, now, now))
		}
		return ctx
	}
	pt := &part{kind: kind, name: name, began: r.p.now()}
	return r.startPart(ctx, pt)
}

// EndPart ends what BeginPart has begun.
func (r *recorder) EndPart(ctx context.Context, err error) {
	pt, _ := ctx.Value(partKey{}).(*part)
	if r.root == nil || pt == nil {
		return
	}
	now := r.p.now()
	if pt.kind == "handoff" {
		pt.span.SetAttributes(attribute.String("awaken.handoff.to", pt.name))
	}
	r.p.endSpan(pt.span, errorType(ctx, err), now)
	if pt.kind == "handoff" {
		r.record(ctx, r.handoff(pt.name, pt.began, now))
	}
}

func (r *recorder) handoff(to string, from, until time.Time) *trace.Event {
	ev := r.event("handoff", from, until)
	ev.Child = &trace.Child{ChildRunID: r.info.RunID, ChildAgentID: to, ChildStatus: awaken.RunRunning}
	return ev
}

// BeginRequest follows a request to a model.
func (r *recorder) BeginRequest(ctx context.Context, m *awaken.ModelSpec, req *llm.Request) context.Context {
	if r.asked == nil {
		r.asked = requests.Get().(*request)
	}
	q := r.asked
	q.began = r.p.now()
	q.inference = trace.Inference{Model: req.Model, FinishReasons: q.reason[:0], Attempts: 1, Temperature: req.Temperature, TopP: req.TopP, MaxTokens: req.MaxTokens, StopSequences: req.StopSequences}
	if m != nil {
		q.inference.Provider = m.ProviderID
	}
	if r.cfg.Content {
		q.inference.RequestMessages = r.clip(req.Messages.Slice())
	}
	if r.root == nil {
		return ctx
	}
	pt := &part{kind: "inference", name: req.Model, began: q.began}
	ctx = r.startPart(ctx, pt)
	q.span = pt.span
	return ctx
}

// EndRequest ends what BeginRequest has begun.
func (r *recorder) EndRequest(ctx context.Context, m *awaken.ModelSpec, done *awaken.InferenceComplete, got *llm.Collector, err error) {
	q := r.asked
	if q == nil {
		return
	}
	now := r.p.now()
	ev, in := &q.event, &q.inference
	*ev = trace.Event{Context: contextOf(r.info, r.version, "inference"), Span: spanOf(q.began, now), Inference: in}
	ev.Operation = "chat"
	in.ResponseID = cut(got.ResponseID(), maxResponseID)
	if in.ResponseModel = done.Model; m != nil {
		in.Provider = cmp.Or(m.ProviderID, in.Provider)
	}
	if done.FinishReason != "" {
		in.FinishReasons = append(in.FinishReasons, string(done.FinishReason))
	}
	u := done.Usage
	in.InputTokens, in.OutputTokens, in.TotalTokens = u.PromptTokens, u.CompletionTokens, cmp.Or(u.TotalTokens, u.PromptTokens+u.CompletionTokens)
	in.CacheReadTokens, in.CacheCreationTokens, in.ThinkingTokens, in.CostUSD = u.CacheReadTokens, u.CacheCreationTokens, u.ThinkingTokens, done.CostUSD
	if in.ErrorType = errorType(ctx, err); in.ErrorType != "" {
		in.ErrorClass = "provider"
	}
	if r.cfg.Content {
		in.ResponseContent = r.clipText("", got.Message().Text())
	}
	if q.span != nil {
		setAttributes(q.span, func(attrs []attribute.KeyValue) []attribute.KeyValue { return inferenceAttributes(attrs, in) })
		r.p.endSpan(q.span, in.ErrorType, now)
	}
	if r.record(ctx, ev) {
		q.next, r.kept, r.asked = r.kept, q, nil
	}
}

// maxResponseID is how many bytes of the id of a response are recorded.
const maxResponseID = 256

// toolPrefix is what the names of tools that run other agents begin with.
const toolPrefix = "agent_run_"

// BeginCall follows the execution of a tool.
func (r *recorder) BeginCall(ctx context.Context, call *awaken.ToolCall) context.Context {
	r.mu.Lock()
	if r.made == nil {
		r.made = map[string]bool{}
	}
	r.made[call.ID] = true
	r.mu.Unlock()
	pt := &part{kind: "tool", name: call.Tool, began: r.p.now()}
	ctx = r.startPart(ctx, pt)
	if pt.span != nil && strings.HasPrefix(call.Tool, toolPrefix) {
		ctx, pt.inner = r.startDelegation(ctx, call)
	}
	return ctx
}

// EndCall ends what BeginCall has begun.
func (r *recorder) EndCall(ctx context.Context, call *awaken.ToolCall, res *awaken.ToolResult, err error) {
	pt, _ := ctx.Value(partKey{}).(*part)
	if pt == nil || pt.kind != "tool" {
		return
	}
	now := r.p.now()
	ev := r.event("tool", pt.began, now)
	tool := &trace.Tool{Name: call.Tool, CallID: call.ID, Status: awaken.CallSucceeded, Attempts: 1}
	ev.Operation, ev.Tool = "execute_tool", tool
	out, fatal := awaken.ResultOf(call.Tool, res, err)
	switch {
	case fatal != nil:
		tool.Status, tool.Error = awaken.CallFailed, errorType(ctx, fatal)
	case out.Status == awaken.ToolPending:
		tool.Status = awaken.CallSuspended
	case ctx.Err() != nil && err != nil:
		tool.Status, tool.Error = awaken.CallCancelled, errorType(ctx, err)
	case out.Status == awaken.ToolError:
		tool.Status, tool.Error = awaken.CallFailed, toolError
	}
	doubt(tool, out, err)
	if io := r.cfg.ToolIO; io == Arguments || io == Both {
		tool.Arguments = r.clipJSON(call.Args)
	}
	if io := r.cfg.ToolIO; out != nil && (io == Results || io == Both) {
		tool.Result = &awaken.ToolResult{ToolName: call.Tool, Status: out.Status, Data: r.clipJSON(out.Data), Message: r.clipText("message", out.Message)}
	}
	if pt.span != nil {
		setAttributes(pt.span, func(attrs []attribute.KeyValue) []attribute.KeyValue { return toolAttributes(attrs, tool) })
		if pt.inner != nil {
			r.p.endSpan(pt.inner, tool.Error, now)
		}
		r.p.endSpan(pt.span, tool.Error, now)
	}
	r.record(ctx, ev)
	if strings.HasPrefix(call.Tool, toolPrefix) && tool.Status != awaken.CallSuspended {
		ev := r.event("delegation", pt.began, now)
		ev.Child = &trace.Child{ChildRunID: awaken.ChildID(call.Key), ChildAgentID: strings.TrimPrefix(call.Tool, toolPrefix), ChildStatus: awaken.RunDone, ErrorType: tool.Error}
		r.record(ctx, ev)
	}
}

// doubt says of a call that it is not known whether it took effect, if its result or its error says so.
func doubt(tool *trace.Tool, res *awaken.ToolResult, err error) {
	if res.InDoubt() || errors.Is(err, awaken.ErrInDoubt) {
		tool.Error, tool.Outcome = trace.InDoubt, awaken.OutcomeInDoubt
	}
}

// End ends the activation.
func (r *recorder) End(res *awaken.RunResult, err error) {
	now := r.p.now()
	r.mu.Lock()
	again, asked := r.ended, r.tally.inferences > 0
	r.ended = true
	r.mu.Unlock()
	if again {
		return
	}
	failed := r.outcomeError(res, err)
	if res != nil && r.info.Mode == "scheduled" && r.info.ParentRunID != "" && res.Termination.Type != awaken.Suspended {
		ev := r.event("background_task", r.began, now)
		if ev.Operation = "sub_agent"; !asked {
			ev.Operation = "tool" // a task that is one call asks no model
		}
		ev.Child = &trace.Child{ChildRunID: r.info.RunID, ChildAgentID: r.info.AgentID, ChildStatus: awaken.RunDone, ErrorType: failed}
		r.record(r.ctx, ev)
	}
	r.mu.Lock()
	t, events := r.tally, r.events
	r.events = nil
	r.mu.Unlock()
	sum := summaries.Get().(*Summary)
	*sum = Summary{Context: contextOf(r.info, r.version, "run"), ErrorType: failed, Mode: r.info.Mode, Inferences: t.inferences, ToolCalls: t.calls, ToolFailures: t.failures,
		Usage: t.usage, CostUSD: t.costUSD, Span: spanOf(r.began, now)}
	if res != nil {
		sum.Outcome = res.Termination.Type
	}
	if r.root != nil {
		setAttributes(r.root, func(attrs []attribute.KeyValue) []attribute.KeyValue { return runAttributes(attrs, r.info, sum) })
		r.p.endSpan(r.root, failed, now)
	} else if sum.failed() && r.p.tracer != nil {
		r.p.makeTrace(r.ctx, r.info, sum, r.began, now, events)
	}
	if r.p.meters != nil {
		r.p.meters.runEnded(r.ctx, sum, now.Sub(r.began))
	}
	for _, sink := range r.p.opts.Sinks {
		sink.RunEnd(r.ctx, sum)
	}
	*sum = Summary{}
	summaries.Put(sum)
	r.asked.release()
	r.kept.release()
	r.asked, r.kept = nil, nil
}

// outcomeError returns the type of the error that an activation ended with.
func (r *recorder) outcomeError(res *awaken.RunResult, err error) string {
	switch {
	case res == nil && err == nil:
		return "not_started"
	case res == nil:
		return "" // another owner continues the run
	case res.Termination.Type == awaken.Cancelled:
		return "cancelled"
	case res.Termination.Type == awaken.Blocked:
		return "blocked"
	case res.Termination.Type != awaken.Failed:
		return ""
	}
	return cmp.Or(string(llm.KindOf(err)), "error")
}

// toolError is the type of an error that a tool has reported.
const toolError = "tool_error"

// errorType returns the type of an error: the kind of a provider's, or what kind of end it was. Nil has none.
func errorType(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, awaken.ErrCancelled), errors.Is(err, context.Canceled):
		return "cancelled"
	case llm.KindOf(err) != "":
		return string(llm.KindOf(err))
	case ctx.Err() != nil:
		return "cancelled"
	}
	if _, ok := errors.AsType[*awaken.PanicError](err); ok {
		return "panic"
	}
	return "error"
}

// clip returns messages with their texts as they may be recorded.
func (r *recorder) clip(msgs []*llm.Message) []*llm.Message {
	out := make([]*llm.Message, 0, len(msgs))
	left := r.cfg.MaxBytes
	for i := len(msgs) - 1; i >= 0 && left > 0; i-- { // the latest say most
		text := r.said(msgs[i])
		if len(text) > left {
			text = cut(text, left)
		}
		left -= len(text)
		out = append(out, llm.NewText(msgs[i].Role, text))
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

// said returns the text of a message as it may be recorded. That of a tool's result is subject to tool_io.
func (r *recorder) said(m *llm.Message) string {
	if m.Role != llm.ToolRole {
		return r.redact("", m.Text())
	}
	if io := r.cfg.ToolIO; io != Results && io != Both {
		return hidden
	}
	return string(r.clipJSON(json.RawMessage(m.Text())))
}

func (r *recorder) redact(field, text string) string {
	if f := r.p.opts.Redact; f != nil {
		return f(field, text)
	}
	return text
}

// clipText returns a text as it may be recorded.
func (r *recorder) clipText(field, text string) string {
	return cut(r.redact(field, text), r.cfg.MaxBytes)
}

// cut returns at most n bytes of a text, without a broken character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "")
}

// clipJSON returns arguments or data as they may be recorded.
func (r *recorder) clipJSON(data json.RawMessage) json.RawMessage {
	return clipped(&r.cfg, r.redact, data)
}
