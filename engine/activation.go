package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/clientdata"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
)

// activation is shared by all parts of a run: the run's identity, its record and state, its
// context and its current step. All parts embed it.
type activation struct {
	rt     *Runtime
	reg    *registry.Registry
	agent  *registry.Agent
	active activeRun
	ctx    context.Context // cancelled with the run

	thread            string // thread id
	fence, generation uint64
	info              *awaken.RunInfo // immutable; replaced when it changes
	rec               *awaken.Run     // of the run's scratch: only the run's goroutine uses it
	st                *state.Store
	step              stepState
	ending            *awaken.Termination   // requested by a plugin, a tool or a decision
	watch             atomic.Pointer[watch] // for the next call of a plugin's code

	resumed   bool
	attended  bool                // the parent runs it and waits for it
	started   bool                // run_start has been committed
	endAtOnce *awaken.Termination // set if the run was continued only to be ended
	narrator  narrator            // nil unless it is a replay
}

// stepState is the current step, or the last one.
type stepState struct {
	index     int           // 0-based
	messageID string        // of its assistant message
	closed    bool          // step_end has been deferred for a commit
	response  string        // the model's latest text
	metadata  *llm.Metadata // of its messages; nil until the first
}

// fail turns an error into an end. It returns nil for a nil error.
func (a *activation) fail(err error) *end {
	cause := context.Cause(a.ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, awaken.ErrFenced):
		return &end{err: err, lost: true}
	case errors.Is(cause, awaken.ErrFenced):
		return &end{err: cause, lost: true}
	case a.lostCommit(cause):
		err = cause // the cause of the cancellation
	case fault.OutageOf(err) != nil:
	case errors.Is(err, awaken.ErrGeneration), cause != nil:
		// A failed sink cancels the run too.
		return &end{Termination: awaken.Termination{Type: awaken.Cancelled}}
	}
	if fault.OutageOf(err) != nil {
		return &end{err: err, lost: true} // the next owner continues the run
	}
	message := err.Error()
	if _, ok := errors.AsType[storeError](err); ok {
		message = "the run could not be stored"
	}
	return &end{Termination: awaken.Termination{Type: awaken.Failed, Message: message}, err: err}
}

// requested is the end that a plugin, a tool or a decision asked for, or nil.
func (a *activation) requested() *end {
	if a.ending == nil {
		return nil
	}
	return &end{Termination: *a.ending}
}

// trusts reports whether the agent obeys the system messages and the context of a request, and
// lets its tools replace the agent's.
func (a *activation) trusts(untrusted bool) bool {
	if t := a.agent.Spec.TrustClients; t != nil {
		return *t
	}
	return !untrusted
}

// admit returns a message of a request as the model may see it: a system message of a client that
// the agent does not trust becomes data.
func (a *activation) admit(m *llm.Message, untrusted bool) *llm.Message {
	if m.Role != llm.System || a.trusts(untrusted) {
		return m
	}
	out, md := *m, llm.Metadata{}
	if m.Metadata != nil {
		md = *m.Metadata
	}
	out.Role, md.ClientRole = llm.User, m.Role
	out.Content, out.Metadata = asData(string(m.Role), m.Content), &md
	return &out
}

// asData returns blocks with their texts as data of a client.
func asData(source string, blocks []llm.Block) []llm.Block {
	out := slices.Clone(blocks)
	for i := range out {
		if out[i].Type == llm.TextBlock {
			out[i] = llm.Text(clientdata.Wrap(source, out[i].Text))
		}
	}
	return out
}

// note adds a problem that does not end the run to its record, once.
func (a *activation) note(d awaken.Diagnostic) {
	if !slices.Contains(a.rec.Diagnostics, d) {
		a.rec.Diagnostics = append(slices.Clip(a.rec.Diagnostics), d)
	}
}

// warn notes a problem of the run itself.
func (a *activation) warn(code, format string, args ...any) {
	a.note(awaken.Diagnostic{Code: code, Severity: awaken.Warning, Namespace: "runs", ID: a.info.RunID, Message: fmt.Sprintf(format, args...)})
}

// graceContext returns ctx or, if ctx is done, a context that leaves a cancelled run Limits.RunEnd
// to end properly.
func (a *activation) graceContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() == nil {
		return ctx, func() {}
	}
	ctx = context.WithoutCancel(ctx)
	if a.rt.cfg.Limits.RunEnd < 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, a.rt.cfg.Limits.RunEnd)
}

// detached returns a context for work that must be done even if ctx is done.
func detached(ctx context.Context) context.Context {
	if ctx.Err() == nil {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// metadata returns the metadata of the messages of the current step, which share it: a message that
// needs another gets a newMetadata.
func (a *activation) metadata() *llm.Metadata {
	if md := a.step.metadata; md == nil || *md.StepIndex != a.step.index {
		a.step.metadata = newMetadata(a.info.RunID, a.step.index)
	}
	return a.step.metadata
}

// newMetadata makes the metadata of a message of a step, in one allocation.
func newMetadata(runID string, step int) *llm.Metadata {
	m := &struct {
		llm.Metadata
		step int
	}{step: step}
	m.RunID, m.StepIndex = runID, &m.step
	return &m.Metadata
}

// apply applies a batch. A reducer that panics returns an error.
func (a *activation) apply(b *state.Batch) (err error) {
	defer caught(&err, "state update")
	err = a.st.Apply(b)
	if _, unknown := errors.AsType[*state.UnknownKeyError](err); unknown {
		err = fmt.Errorf("%w: a plugin registers keys with Registrar.Key, a program in Config.Keys", err)
	}
	return err
}

// set applies updates of built-in keys. It cannot fail: every schema has them.
func (a *activation) set(b *state.Batch) {
	if err := a.st.Apply(b); err != nil {
		panic(err)
	}
}

// caught, when deferred, turns a panic into a PanicError that says where it happened.
func caught(err *error, in string, args ...any) {
	if v := recover(); v != nil {
		*err = &awaken.PanicError{In: fmt.Sprintf(in, args...), Value: v, Stack: debug.Stack()}
	}
}

// use adds usage to the record.
func (a *activation) use(u llm.Usage) {
	a.rec.Usage.Add(u)
	a.rec.InputTokens, a.rec.OutputTokens = a.rec.Usage.PromptTokens, a.rec.Usage.CompletionTokens
}

// charge adds cost to the record.
func (a *activation) charge(m money.Amount) {
	if m != 0 {
		a.rec.CostUSD = (money.Dollars(a.rec.CostUSD) + m).USD()
	}
}

// addChildUsage adds the usage and cost of a child run to the record.
func (a *activation) addChildUsage(u llm.Usage, usd float64) {
	if u == (llm.Usage{}) && usd == 0 {
		return
	}
	a.rec.ChildUsage.Add(u)
	a.rec.ChildCostUSD = (money.Dollars(a.rec.ChildCostUSD) + money.Dollars(usd)).USD()
}

// addSpent adds what a tool call has spent on child runs to the record.
func (a *activation) addSpent(made *awaken.Recorded) {
	if made.Usage != nil {
		a.addChildUsage(*made.Usage, made.CostUSD)
	}
}

// finished makes the run_finish event of this activation. It is not inlined, because its frame is
// large.
//
//go:noinline
func (a *activation) finished(t awaken.Termination) *awaken.RunFinish {
	ev := &struct {
		awaken.RunFinish
		out awaken.RunOutput
	}{}
	ev.out = awaken.RunOutput{Response: a.step.response, Status: a.rec.Status, StatusReason: a.rec.StatusReason, Waiting: a.rec.Waiting,
		StructuredOutput: a.rec.StructuredOutput, Usage: a.rec.Usage, CostUSD: a.rec.CostUSD, FinishReason: a.rec.FinishReason, Diagnostics: a.rec.Diagnostics}
	ev.RunFinish = awaken.RunFinish{ThreadID: a.thread, RunID: a.info.RunID, Identity: a.info, Result: &ev.out, Termination: t}
	return &ev.RunFinish
}

// log returns the logger for what happens in the run: it adds the run, the thread and the trace.
func (a *activation) log() *slog.Logger {
	l := a.rt.cfg.Logger.With("run", a.info.RunID, "thread", a.info.ThreadID)
	if at := tracecontext.Of(a.ctx); at.Parent != "" {
		l = l.With("trace", at.TraceID())
	}
	return l
}
