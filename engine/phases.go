package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

// phases runs hooks, gates and scheduled actions.
type phases struct {
	*core
}

// maxActionRounds bounds how often the actions of one phase may schedule further ones.
const maxActionRounds = 16

// run runs the hooks of p, and then the actions scheduled for p until none is left. Without either
// it does nothing.
func (ph *phases) run(ctx context.Context, p awaken.Phase, in about) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	if hooks := ph.agent.Hooks[p]; len(hooks) > 0 {
		if err := ph.runHooks(ctx, p, hooks, in); err != nil {
			return err
		}
	}
	if ph.narrator != nil {
		ph.narrator.Passes(ph.info.RunID, p, ph.step.index, in.tool)
	}
	return ph.runActions(ctx, p, in)
}

// runHooks runs the hooks of p, as a part of the run that is followed.
func (ph *phases) runHooks(ctx context.Context, p awaken.Phase, hooks []registry.Hook, in about) error {
	f := ph.followed()
	if f == nil {
		return ph.gather(ctx, p, hooks, in)
	}
	ctx = f.beginPart(ctx, "phase", p.String())
	err := ph.gather(ctx, p, hooks, in)
	f.endPart(ctx, err)
	return err
}

// stage runs p as a stage: it returns an end if p fails, or if a hook or an action asks to end the
// run.
func (ph *phases) stage(ctx context.Context, p awaken.Phase, in about) *end {
	if err := ph.run(ctx, p, in); err != nil {
		return ph.fail(err)
	}
	return ph.requested()
}

// gather runs the hooks on one snapshot and applies what they recorded, in the order of
// registration. A hook that wrote an exclusive key after another hook wrote it runs again, on the
// updated state.
func (ph *phases) gather(ctx context.Context, p awaken.Phase, hooks []registry.Hook, in about) error {
	calls := make([]*awaken.HookCall, len(hooks))
	errs := make([]error, len(hooks))
	for i := range hooks {
		calls[i] = ph.hooks.call(p, in)
	}
	if len(hooks) == 1 {
		errs[0] = ph.runHook(ctx, &hooks[0], calls[0])
	} else {
		var wg sync.WaitGroup
		for i := range hooks {
			wg.Go(func() { errs[i] = ph.runHook(ctx, &hooks[i], calls[i]) })
		}
		wg.Wait()
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var merged awaken.Command
	var again []int
	for i, h := range calls {
		if err := merged.Batch.Merge(&h.Batch); err != nil {
			again = append(again, i)
			continue
		}
		h.Batch.Reset()
		merge(merged.Recorded(), h.Recorded())
	}
	if err := ph.submit(&merged); err != nil {
		return err
	}
	for _, i := range again {
		h := ph.hooks.call(p, in)
		if err := ph.runHook(ctx, &hooks[i], h); err != nil {
			return err
		}
		if err := ph.submit(&h.Command); err != nil {
			return err
		}
	}
	return nil
}

// merge adds the requests of one command to another, except those that only tools record.
func merge(to, from *awaken.Recorded) {
	to.Actions = append(to.Actions, from.Actions...)
	to.Effects = append(to.Effects, from.Effects...)
	to.Outbox = append(to.Outbox, from.Outbox...)
	if from.Ending != nil {
		to.Ending = from.Ending
	}
}

// submit applies a command: state at once, actions to the queue, effects after the next commit. If
// the command asks for something unknown, it changes nothing.
func (ph *phases) submit(c *awaken.Command) error {
	ph.takeMarks() // what is sent carries the taint
	made := c.Recorded()
	if c.Batch.Len() == 0 && len(made.Actions) == 0 && len(made.Effects) == 0 && len(made.Outbox) == 0 && made.Ending == nil {
		return nil
	}
	for _, a := range made.Actions {
		if err := a.Err(); err != nil {
			return err
		}
		if h, ok := ph.agent.Actions[a.Key]; !ok {
			return fmt.Errorf("action %q has no handler", a.Key)
		} else if h.Phase() != a.Phase {
			return fmt.Errorf("action %q is scheduled for %s but handled in %s", a.Key, a.Phase, h.Phase())
		}
	}
	for _, e := range made.Effects {
		if _, ok := ph.agent.Effects[e.Name]; !ok {
			return fmt.Errorf("effect %q has no handler", e.Name)
		}
	}
	if made.Ending != nil && made.Ending.Type == awaken.Suspended {
		return fmt.Errorf("a command cannot end a run as %s; only calls can be suspended, by a gate or a tool", made.Ending.Type)
	}
	if len(made.Actions) > 0 {
		builtin.PendingActions.Update(&c.Batch, builtin.QueueUpdate{Push: made.Actions})
	}
	if len(made.Outbox) > 0 {
		builtin.Outbox.Update(&c.Batch, builtin.OutboxUpdate{Push: ph.sender.stamp(made.Outbox)})
	}
	if err := ph.apply(&c.Batch); err != nil {
		return err
	}
	ph.sender.unsent += len(made.Outbox)
	ph.hooks.effects = append(ph.hooks.effects, made.Effects...)
	if made.Ending != nil {
		ph.ending = made.Ending
	}
	return nil
}

// runActions runs the actions scheduled for p, and those they schedule, until none is left. A
// handler that fails is recorded in FailedActions.
func (ph *phases) runActions(ctx context.Context, p awaken.Phase, in about) error {
	for round := 0; ; round++ {
		due := ph.due(p)
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
			if err := ph.runAction(ctx, p, a, in); err != nil {
				return err
			}
		}
	}
}

// due returns the queued actions of a phase.
func (ph *phases) due(p awaken.Phase) []awaken.ScheduledAction {
	var due []awaken.ScheduledAction
	for _, a := range builtin.PendingActions.Get(ph.st).Actions {
		if a.Phase == p {
			due = append(due, a)
		}
	}
	return due
}

// runAction runs one scheduled action and removes it from the queue, even if it fails.
func (ph *phases) runAction(ctx context.Context, p awaken.Phase, a awaken.ScheduledAction, in about) error {
	h := ph.hooks.call(p, in)
	h.Source = a.Source
	handler, ok := ph.agent.Actions[a.Key]
	err := fmt.Errorf("action %q has no handler", a.Key) // after a handoff
	if ok {
		_, err = bounded(ctx, &ph.activation, func(ctx context.Context) (struct{}, error) { return struct{}{}, handler.Handle(ctx, h, a) },
			"action %q of plugin %q", a.Key, handler.Plugin)
	}
	if err == nil {
		sign(&h.Command, "", handler.Plugin)
		builtin.PendingActions.Update(h, builtin.QueueUpdate{Remove: a.ID})
		err = ph.submit(&h.Command)
		if err == nil {
			return nil
		}
	}
	ph.log().Warn("scheduled action failed", "action", a.Key, "phase", p.String(), "error", err)
	var failed awaken.Command
	builtin.PendingActions.Update(&failed, builtin.QueueUpdate{Remove: a.ID})
	builtin.FailedActions.Update(&failed, builtin.FailedAction{ScheduledAction: a, Error: err.Error()})
	return ph.submit(&failed)
}

// askGates asks the gates about a tool call and returns the strictest verdict, the first of equal
// ones, and the hosts that each of them bounds the call to. It stops at one that changes the arguments.
func (ph *phases) askGates(ctx context.Context, c *call) (strictest awaken.Verdict, bounds [][]string, err error) {
	tc := c.tc
	for i := range ph.agent.Gates {
		g := &ph.agent.Gates[i]
		h := ph.hooks.call(awaken.PhaseToolGate, about{tool: tc})
		f := ph.followed()
		gctx := f.beginPart(ctx, "gate", g.Plugin)
		v, err := bounded(gctx, &ph.activation, func(ctx context.Context) (awaken.Verdict, error) { return g.Ask(ctx, h) }, "gate of plugin %q", g.Plugin)
		f.endPart(gctx, err)
		if err != nil {
			return awaken.Verdict{}, nil, err
		}
		if hosts, bound := v.Bounds(); bound {
			bounds = append(bounds, hosts)
		}
		if v.Suspended() && slices.Contains(c.state.Approved, v.SuspensionID(tc.ID)) {
			continue // a decision has approved this
		}
		if args := v.Arguments(); args != nil && !sameJSON(args, tc.Args) {
			return v, bounds, nil
		}
		if v.Stricter(&strictest) {
			strictest = v
		} else if !v.Allowed() && !strictest.Stricter(&v) {
			ph.log().Warn("two gates gave the same verdict; the first counts", "call", tc.ID, "plugin", g.Plugin)
		}
	}
	return strictest, bounds, nil
}

// activate lets the agent's plugins set up.
func (ph *phases) activate(ctx context.Context) error {
	for _, p := range ph.agent.Plugins {
		if a, ok := p.(awaken.Activator); ok {
			if err := ph.lifecycle(ctx, p, "activate", a.Activate); err != nil {
				return err
			}
		}
	}
	return nil
}

// deactivate lets the agent's plugins clean up before a handoff.
func (ph *phases) deactivate(ctx context.Context) error {
	for _, p := range ph.agent.Plugins {
		if d, ok := p.(awaken.Deactivator); ok {
			if err := ph.lifecycle(ctx, p, "deactivate", d.Deactivate); err != nil {
				return err
			}
		}
	}
	return nil
}

// lifecycle calls a method of a plugin and applies what it recorded.
func (ph *phases) lifecycle(ctx context.Context, p awaken.Plugin, what string, fn awaken.Hook) error {
	h := ph.hooks.call(awaken.PhaseRunStart, about{})
	_, err := bounded(ctx, &ph.activation, func(ctx context.Context) (_ struct{}, err error) {
		defer caught(&err, "%s of plugin %q", what, p.Name())
		if err = fn(ctx, h); err != nil {
			err = fmt.Errorf("%s plugin %q: %w", what, p.Name(), err)
		}
		return struct{}{}, err
	}, "%s of plugin %q", what, p.Name())
	if err != nil {
		return err
	}
	sign(&h.Command, "", p.Name())
	return ph.submit(&h.Command)
}

// transform lets plugins change the request.
func (ph *phases) transform(ctx context.Context, req *llm.Request) error {
	if len(ph.agent.Transforms) > 0 { // which may modify them
		req.System, req.Tools = slices.Clone(req.System), slices.Clone(req.Tools)
	}
	for i := range ph.agent.Transforms {
		t := &ph.agent.Transforms[i]
		h := ph.hooks.call(awaken.PhaseBeforeInference, about{})
		_, err := bounded(ctx, &ph.activation, func(ctx context.Context) (struct{}, error) { return struct{}{}, t.Apply(ctx, h, req) },
			"transform of plugin %q", t.Plugin)
		if err != nil {
			return err
		}
	}
	return nil
}

// PhaseLoopError reports that the actions of a phase kept scheduling further ones.
type PhaseLoopError struct {
	Phase  awaken.Phase
	Rounds int
	Action string // one that is still scheduled
}

// Error names the phase and one action that is still scheduled.
func (e *PhaseLoopError) Error() string {
	return fmt.Sprintf("phase %s: actions still scheduled after %d rounds, for example %q", e.Phase, e.Rounds, e.Action)
}

// about has the arguments of a phase's hooks, beside the run itself.
type about struct {
	tool   *awaken.ToolCall
	result *awaken.ToolResult
	reply  *llm.Reply
}

// hooks makes the arguments of hooks, and runs the effects they ask for.
type hooks struct {
	*core

	effects []awaken.ScheduledEffect // to run after the next commit
}

// call makes the argument of a hook: the run as it is now.
func (hk *hooks) call(p awaken.Phase, in about) *awaken.HookCall {
	hk.takeMarks()
	hk.ledger.derive()
	return &awaken.HookCall{Phase: p, Run: hk.info, Agent: hk.agent.Spec, Step: hk.step.index, Messages: hk.conv.msgs.Clip(), Tools: hk.tools.offered,
		Profile: hk.profile(""), Tool: in.tool, Result: in.result, Reply: in.reply, Snapshot: hk.st.Snapshot()}
}

// runEffects runs the effects of committed commands. Failures are logged and do not end the run.
func (hk *hooks) runEffects(ctx context.Context) {
	effects := hk.effects
	hk.effects = nil
	for _, e := range effects {
		atEffect.Hit()
		if err := hk.runEffect(ctx, e); err != nil {
			hk.log().Warn("effect failed", "effect", e.Name, "error", err)
		}
		atEffectDone.Hit()
	}
}

func (hk *hooks) runEffect(ctx context.Context, e awaken.ScheduledEffect) error {
	h, ok := hk.agent.Effects[e.Name]
	if !ok {
		return errors.New("the agent has no handler for it") // after a handoff
	}
	call := hk.call(awaken.PhaseStepEnd, about{})
	_, err := bounded(ctx, &hk.activation, func(ctx context.Context) (_ struct{}, err error) {
		defer caught(&err, "effect %q of plugin %q", e.Name, h.Plugin)
		return struct{}{}, h.EffectHandler.Run(ctx, call, e)
	}, "effect %q of plugin %q", e.Name, h.Plugin)
	return err
}
