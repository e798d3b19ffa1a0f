package awaken

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// maxActionRounds bounds how often the actions of one phase may schedule more.
const maxActionRounds = 16

// about is what the hooks of a phase are told beyond the run itself.
type about struct {
	tool   *ToolCall
	result *ToolResult
	reply  *llm.Reply
}

func (r *run) hookCall(p Phase, in about) *HookCall {
	r.derive()
	return &HookCall{Phase: p, Run: r.info, Agent: r.agent.spec, Step: r.index, Messages: r.msgs.Clip(), Tools: r.offered,
		Profile: r.rt.cfg.Profile, Tool: in.tool, Result: in.result, Reply: in.reply, Snapshot: r.st.Snapshot()}
}

// phase asks the hooks of p and runs the actions scheduled for it until there are
// none left. Without hooks and actions it does nothing.
func (r *run) phase(ctx context.Context, p Phase, in about) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if hooks := r.agent.hooks[p]; len(hooks) > 0 {
		if err := r.gather(ctx, p, hooks, in); err != nil {
			return err
		}
	}
	return r.runActions(ctx, p, in)
}

// gather runs the hooks on one snapshot and applies what they recorded, in the
// order they were registered. A hook that wrote an exclusive key which an earlier
// one wrote as well is run again, on what the others left.
func (r *run) gather(ctx context.Context, p Phase, hooks []ownedHook, in about) error {
	calls := make([]*HookCall, len(hooks))
	errs := make([]error, len(hooks))
	for i := range hooks {
		calls[i] = r.hookCall(p, in)
	}
	if len(hooks) == 1 {
		errs[0] = hooks[0].run(ctx, calls[0])
	} else {
		var wg sync.WaitGroup
		for i := range hooks {
			wg.Go(func() { errs[i] = hooks[i].run(ctx, calls[i]) })
		}
		wg.Wait()
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var merged Command
	var again []int
	for i, h := range calls {
		if err := merged.Batch.Merge(&h.Batch); err != nil {
			again = append(again, i)
			continue
		}
		h.Batch.Reset()
		merge(merged.Recorded(), h.Recorded())
	}
	if err := r.submit(&merged); err != nil {
		return err
	}
	for _, i := range again {
		h := r.hookCall(p, in)
		if err := hooks[i].run(ctx, h); err != nil {
			return err
		}
		if err := r.submit(&h.Command); err != nil {
			return err
		}
	}
	return nil
}

// merge adds what one command asks for to another, but for what only tools record.
func merge(to, from *Recorded) {
	to.Actions = append(to.Actions, from.Actions...)
	to.Effects = append(to.Effects, from.Effects...)
	to.Outbox = append(to.Outbox, from.Outbox...)
	if from.Ending != nil {
		to.Ending = from.Ending
	}
}

func (o *ownedHook) run(ctx context.Context, h *HookCall) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("hook of plugin %q in %s", o.plugin, h.Phase), v, debug.Stack()}
		}
	}()
	if err := o.Hook(ctx, h); err != nil {
		return fmt.Errorf("plugin %q in %s: %w", o.plugin, h.Phase, err)
	}
	return nil
}

// submit applies a command: state now, actions into the queue, effects after the
// next commit. It changes nothing if the command asks for something unknown.
func (r *run) submit(c *Command) error {
	made := c.Recorded()
	if c.Batch.Len() == 0 && len(made.Actions) == 0 && len(made.Effects) == 0 && len(made.Outbox) == 0 && made.Ending == nil {
		return nil
	}
	for _, a := range made.Actions {
		if err := a.Err(); err != nil {
			return err
		}
		if h, ok := r.agent.actions[a.Key]; !ok {
			return fmt.Errorf("action %q has no handler", a.Key)
		} else if h.Phase() != a.Phase {
			return fmt.Errorf("action %q is scheduled for %s but handled in %s", a.Key, a.Phase, h.Phase())
		}
	}
	for _, e := range made.Effects {
		if _, ok := r.agent.effects[e.Name]; !ok {
			return fmt.Errorf("effect %q has no handler", e.Name)
		}
	}
	if len(made.Actions) > 0 {
		pendingActions.Update(&c.Batch, queueUpdate{push: made.Actions})
	}
	if len(made.Outbox) > 0 {
		outbox.Update(&c.Batch, outboxUpdate{push: r.stamp(made.Outbox)})
	}
	if err := r.apply(&c.Batch); err != nil {
		return err
	}
	r.unsent += len(made.Outbox)
	r.effects = append(r.effects, made.Effects...)
	if made.Ending != nil {
		r.ending = made.Ending
	}
	return nil
}

// apply applies a batch; a reducer that panics is an error.
func (r *run) apply(b *state.Batch) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{"state update", v, debug.Stack()}
		}
	}()
	err = r.st.Apply(b)
	if _, unknown := errors.AsType[*state.UnknownKeyError](err); unknown {
		err = fmt.Errorf("%w: a plugin registers keys with Registrar.Key, a program in Config.Keys", err)
	}
	return err
}

// runActions runs the actions scheduled for p, and those they schedule, until
// quiet. A handler that fails is recorded in FailedActions.
func (r *run) runActions(ctx context.Context, p Phase, in about) error {
	for round := 0; ; round++ {
		due := r.due(p)
		if len(due) == 0 {
			return nil
		}
		if round == maxActionRounds {
			return &PhaseLoopError{p, maxActionRounds, due[0].Key}
		}
		for _, a := range due {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if err := r.runAction(ctx, p, a, in); err != nil {
				return err
			}
		}
	}
}

// due returns the queued actions of a phase.
func (r *run) due(p Phase) []ScheduledAction {
	var due []ScheduledAction
	for _, a := range pendingActions.Get(r.st).Actions {
		if a.Phase == p {
			due = append(due, a)
		}
	}
	return due
}

func (r *run) runAction(ctx context.Context, p Phase, a ScheduledAction, in about) error {
	h := r.hookCall(p, in)
	handler, ok := r.agent.actions[a.Key]
	err := fmt.Errorf("action %q has no handler", a.Key) // after a handoff
	if ok {
		err = handler.handle(ctx, h, a)
	}
	if err == nil {
		pendingActions.Update(h, queueUpdate{remove: a.ID})
		err = r.submit(&h.Command)
		if err == nil {
			return nil
		}
	}
	r.rt.cfg.Logger.Warn("scheduled action failed", "run", r.info.RunID, "action", a.Key, "phase", p.String(), "error", err)
	var failed Command
	pendingActions.Update(&failed, queueUpdate{remove: a.ID})
	FailedActions.Update(&failed, FailedAction{a, err.Error()})
	return r.submit(&failed)
}

func (o *ownedAction) handle(ctx context.Context, h *HookCall, a ScheduledAction) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("action %q of plugin %q", a.Key, o.plugin), v, debug.Stack()}
		}
	}()
	return o.ActionHandler.Run(ctx, h, a)
}

// runEffects does what committed commands asked for outside the run. Failures are
// logged; they do not end the run.
func (r *run) runEffects(ctx context.Context) {
	effects := r.effects
	r.effects = nil
	for _, e := range effects {
		atEffect.Hit()
		if err := r.runEffect(ctx, e); err != nil {
			r.rt.cfg.Logger.Warn("effect failed", "run", r.info.RunID, "effect", e.Name, "error", err)
		}
		atEffectDone.Hit()
	}
}

func (r *run) runEffect(ctx context.Context, e ScheduledEffect) (err error) {
	h, ok := r.agent.effects[e.Name]
	if !ok {
		return errors.New("no handler") // after a handoff
	}
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("effect %q of plugin %q", e.Name, h.plugin), v, debug.Stack()}
		}
	}()
	return h.EffectHandler.Run(ctx, r.hookCall(PhaseStepEnd, about{}), e)
}

// ask puts a tool call to the gates and returns the strictest verdict. Of equal
// ones the first counts.
func (r *run) ask(ctx context.Context, c *call) (Verdict, error) {
	tc := c.tc
	var strictest Verdict
	for i := range r.agent.gates {
		g := &r.agent.gates[i]
		v, err := g.ask(ctx, r.hookCall(PhaseToolGate, about{tool: tc}))
		if err != nil {
			return Verdict{}, err
		}
		if v.Suspended() && slices.Contains(c.state.Approved, v.SuspensionID(tc.ID)) {
			continue // this question has been answered
		}
		if v.Stricter(&strictest) {
			strictest = v
		} else if !v.Allowed() && !strictest.Stricter(&v) {
			r.rt.cfg.Logger.Warn("two gates give the same verdict, the first counts", "run", r.info.RunID, "call", tc.ID, "plugin", g.plugin)
		}
	}
	return strictest, nil
}

func (o *ownedGate) ask(ctx context.Context, h *HookCall) (v Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{fmt.Sprintf("gate of plugin %q", o.plugin), p, debug.Stack()}
		}
	}()
	v, err = o.Gate(ctx, h)
	if err != nil {
		return v, fmt.Errorf("gate of plugin %q: %w", o.plugin, err)
	}
	return v, nil
}

// activate lets the agent's plugins set up.
func (r *run) activate(ctx context.Context) error {
	for _, p := range r.agent.plugins {
		if a, ok := p.(Activator); ok {
			if err := r.lifecycle(ctx, p, "activate", a.Activate); err != nil {
				return err
			}
		}
	}
	return nil
}

// deactivate lets the agent's plugins clean up before a handoff.
func (r *run) deactivate(ctx context.Context) error {
	for _, p := range r.agent.plugins {
		if d, ok := p.(Deactivator); ok {
			if err := r.lifecycle(ctx, p, "deactivate", d.Deactivate); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) lifecycle(ctx context.Context, p Plugin, what string, fn Hook) (err error) {
	h := r.hookCall(PhaseRunStart, about{})
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{fmt.Sprintf("%s of plugin %q", what, p.Name()), v, debug.Stack()}
		}
	}()
	if err := fn(ctx, h); err != nil {
		return fmt.Errorf("%s plugin %q: %w", what, p.Name(), err)
	}
	return r.submit(&h.Command)
}
