package engine

import (
	"context"
	"runtime/debug"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/llm"
)

// Observer is a plugin that follows the runs of its agents while they happen. Hooks cannot: they are
// not called when something fails, and cannot give what they surround a context.
//
// A run that is handed off is still followed by the observers of the agent it began with.
type Observer interface {
	// Follow is called when an activation of a run begins. It returns the
	// context of the activation, and a sink that gets its events, except deltas, after the run's own sink; the
	// sink's errors are ignored. If the sink is a [Follower], it is also told when parts of the run begin
	// and end. A nil sink follows nothing. Version is the registry version to which the run is pinned.
	Follow(ctx context.Context, run *awaken.RunInfo, agent *awaken.AgentSpec, version string) (context.Context, awaken.Sink)
}

// Follower is the sink of an [Observer] that follows one activation. Every Begin method returns the
// context of what begins; the End method gets that context. Calls of tools may run concurrently, and
// one that was abandoned may end after the activation. What panics in a Follower is logged.
type Follower interface {
	awaken.Sink
	// BeginRequest and EndRequest surround one request to a model: a retry is another. M is the model that was asked,
	// and in the end the one that answered, which may be a member of a pool. Done is about this request alone, without its duration. Got is
	// what has arrived so far, of earlier requests for the same message too; it may be read only before EndRequest returns.
	BeginRequest(ctx context.Context, m *awaken.ModelSpec, req *llm.Request) context.Context
	EndRequest(ctx context.Context, m *awaken.ModelSpec, done *awaken.InferenceComplete, got *llm.Collector, err error)
	// BeginCall and EndCall surround the execution of a tool. A call that a gate has answered or suspended is not executed.
	BeginCall(ctx context.Context, call *awaken.ToolCall) context.Context
	EndCall(ctx context.Context, call *awaken.ToolCall, res *awaken.ToolResult, err error)
	// BeginPart and EndPart surround a part of the run or of a call: a step (the name is its number), a phase, a gate (of a plugin), a handoff (to
	// an agent), or a tool_step (a step of a tool, see [awaken.Step]).
	BeginPart(ctx context.Context, kind, name string) context.Context
	EndPart(ctx context.Context, err error)
	// Waited says that a call waits no more: d is the decision, or withdrawn is the word for what came instead of one (superseded by a message, rewound, or how the run has
	// ended) and d has only the time. Asked is the record of the call from when it began to wait, perhaps in another process; ctx is where the run began in its trace.
	Waited(ctx context.Context, asked *awaken.CallState, d *awaken.Decision, withdrawn string)
	// End says that the activation is over. A nil result means that the run has another owner, or did not start. It is not called for a
	// run that was opened and not accepted, which is opened again.
	End(res *awaken.RunResult, err error)
}

// followed is the sink of a run that is followed. A run without it pays a comparison of types.
type followed struct {
	awaken.Sink
	rt        *Runtime
	sinks     []awaken.Sink
	followers []Follower  // the sinks that follow runs
	owner     provisional // or nil
}

// follow asks the agent's plugins who follows the activation, and keeps where in a trace the run began.
func (op *opening) follow() {
	op.ctx = tracecontext.Continue(op.ctx, tracecontext.ParseText(op.rec.Trace))
	defer func() {
		if op.rec.Trace == "" && tracecontext.Sampled(op.ctx) {
			op.rec.Trace = tracecontext.Of(op.ctx).String()
		}
	}()
	var f *followed
	for _, p := range op.agent.Plugins {
		o, ok := p.(Observer)
		if !ok {
			continue
		}
		if f == nil {
			f = &followed{Sink: op.out.sink, rt: op.rt}
			f.owner, _ = ownership.Of[provisional](op.ctx)
		}
		f.safely(func() {
			ctx, sink := o.Follow(op.ctx, op.info, op.agent.Spec, op.rec.ResolutionID)
			if sink == nil {
				return
			}
			op.ctx = ctx
			f.sinks = append(f.sinks, sink)
			if one, ok := sink.(Follower); ok {
				f.followers = append(f.followers, one)
			}
		})
	}
	if f != nil && len(f.sinks) > 0 {
		op.out.sink = f
	}
}

// traced returns a context at the position that a request names.
func traced(ctx context.Context, req *awaken.RunRequest) context.Context {
	if req.Trace == "" {
		return ctx
	}
	return tracecontext.With(ctx, tracecontext.ParseText(req.Trace))
}

// followed returns who follows the run, or nil.
func (c *core) followed() *followed {
	f, _ := c.out.sink.(*followed)
	return f
}

// Emit implements [awaken.Sink].
func (f *followed) Emit(ctx context.Context, e awaken.Entry) error {
	err := f.Sink.Emit(ctx, e)
	switch e.Event.(type) {
	case *awaken.TextDelta, *awaken.ReasoningDelta, *awaken.ToolCallDelta, *awaken.ToolCallStreamDelta:
		return err
	}
	f.safely(func() {
		for _, s := range f.sinks {
			_ = s.Emit(ctx, e) // an observer does not end a run
		}
	})
	return err
}

// safely calls fn, and logs what panics in it.
func (f *followed) safely(fn func()) {
	defer func() {
		if v := recover(); v != nil {
			f.rt.cfg.Logger.Error("an observer of runs panicked", "panic", v, "stack", string(debug.Stack()))
		}
	}()
	fn()
}

// beginPart begins a part of a run. A nil f does nothing.
func (f *followed) beginPart(ctx context.Context, kind, name string) context.Context {
	if f == nil {
		return ctx
	}
	f.safely(func() {
		for _, one := range f.followers {
			ctx = one.BeginPart(ctx, kind, name)
		}
	})
	return ctx
}

func (f *followed) endPart(ctx context.Context, err error) {
	if f == nil {
		return
	}
	f.safely(func() {
		for _, one := range f.followers {
			one.EndPart(ctx, err)
		}
	})
}

// endWith ends a part with the error of an end.
func (f *followed) endWith(ctx context.Context, e *end) {
	if f == nil {
		return
	}
	var err error
	if e != nil {
		err = e.err
	}
	f.endPart(ctx, err)
}

type followedKey struct{}

// beginCall begins the execution of a tool.
func (f *followed) beginCall(ctx context.Context, call *awaken.ToolCall) context.Context {
	ctx = context.WithValue(ctx, followedKey{}, f)
	f.safely(func() {
		for _, one := range f.followers {
			ctx = one.BeginCall(ctx, call)
		}
	})
	return ctx
}

func (f *followed) endCall(ctx context.Context, o *outcome) {
	f.safely(func() {
		for _, one := range f.followers {
			one.EndCall(ctx, o.tc, o.res, o.err)
		}
	})
}

// followedBy returns who follows the call of ctx, or nil.
func followedBy(ctx context.Context) *followed {
	f, _ := ctx.Value(followedKey{}).(*followed)
	return f
}

// waited says that a call has waited for a decision, or that its question was withdrawn. A nil f does nothing.
func (f *followed) waited(c *core, asked *awaken.CallState, d *awaken.Decision, withdrawn string) {
	if f == nil {
		return
	}
	f.safely(func() {
		for _, one := range f.followers {
			one.Waited(tracecontext.With(c.ctx, tracecontext.ParseText(c.rec.Trace)), asked, d, withdrawn)
		}
	})
}

// withdrawn says that the question of a call is withdrawn, if it has one that is not decided.
func (f *followed) withdrawn(c *core, s *awaken.CallState, how string) {
	if f != nil && s.Status == awaken.CallSuspended && !s.AwaitsChild() {
		f.waited(c, s, &awaken.Decision{UpdatedAt: c.rt.cfg.Now().UnixMilli()}, how)
	}
}

// end says that the activation is over.
func (f *followed) end(res *awaken.RunResult, err error) {
	if f == nil || f.owner != nil && f.owner.Provisional() {
		return
	}
	f.safely(func() {
		for _, one := range f.followers {
			one.End(res, err)
		}
	})
}

// receiveFollowed is receive and bill, with the followers told.
func (s *stream) receiveFollowed(f *followed) error {
	outer, cost, asked := s.ctx, s.cost, s.inf.agent.ModelSpec
	f.safely(func() {
		for _, one := range f.followers {
			s.ctx = one.BeginRequest(s.ctx, asked, &s.inf.request)
		}
	})
	err := s.receive()
	s.bill(err)
	answered := asked
	if m := s.inf.agent.Members[s.member]; m != nil {
		answered = m
	}
	done := awaken.InferenceComplete{Model: s.answeredBy(), CostUSD: (s.cost - cost).USD(), FinishReason: s.got.Finish(), Usage: new(s.got.Usage())}
	f.safely(func() {
		for _, one := range f.followers {
			one.EndRequest(s.ctx, answered, &done, &s.got, err)
		}
	})
	s.ctx = outer
	return err
}

// driveFollowed drives a run that is followed, and says when it is over, even if its sink panics.
func driveFollowed(r *run, f *followed) (res *awaken.RunResult, err error) {
	defer func() { f.end(res, err) }()
	return r.main()
}
