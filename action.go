package awaken

import (
	"context"
	"encoding/json"
	"fmt"
)

// An Action is work scheduled for a phase. Hooks, tools and other handlers schedule it;
// the owning plugin handles it when the run reaches the phase. Scheduled actions survive a
// restart. Declare actions once, as package variables. P is the payload, encoded as JSON.
type Action[P any] struct {
	name  string
	phase Phase
}

// NewAction returns the action with that name, which runs in phase. It panics if name is
// empty or phase does not exist.
func NewAction[P any](name string, phase Phase) Action[P] {
	if name == "" || phase >= phaseCount {
		panic("awaken: an action needs a name and a phase")
	}
	return Action[P]{name, phase}
}

// Name returns the action's name.
func (a Action[P]) Name() string { return a.name }

// Phase returns the phase that the action runs in.
func (a Action[P]) Phase() Phase { return a.phase }

// Schedule records that the action runs with payload p. If p cannot be encoded as JSON, the
// run ends with an error that names the action.
func (a Action[P]) Schedule(r Recorder, p P) {
	data, err := json.Marshal(p)
	rec := r.command().Recorded()
	rec.Actions = append(rec.Actions, ScheduledAction{Phase: a.phase, Key: a.name, Payload: data, err: err})
}

// Handler returns a handler that calls fn; see [Registrar.Handle]. An error from fn does not
// end the run: it is recorded in the state key builtin.FailedActions.
func (a Action[P]) Handler(fn func(ctx context.Context, h *HookCall, p P) error) ActionHandler {
	return ActionHandler{a.name, a.phase, func(ctx context.Context, h *HookCall, payload json.RawMessage) error {
		var p P
		if err := json.Unmarshal(payload, &p); err != nil {
			return fmt.Errorf("payload of action %q: %w", a.name, err)
		}
		return fn(ctx, h, p)
	}}
}

// ActionHandler handles the actions of one name. [Action.Handler] makes one.
type ActionHandler struct {
	name  string
	phase Phase
	run   func(ctx context.Context, h *HookCall, payload json.RawMessage) error
}

// Name returns the name of the actions.
func (h ActionHandler) Name() string { return h.name }

// Phase returns the phase that the actions run in.
func (h ActionHandler) Phase() Phase { return h.phase }

// Run decodes the payload of a and handles it.
func (h ActionHandler) Run(ctx context.Context, call *HookCall, a ScheduledAction) error {
	return h.run(ctx, call, a.Payload)
}

// ScheduledAction is a scheduled action that has not run yet.
type ScheduledAction struct {
	ID      uint64          `json:"id"`
	Phase   Phase           `json:"phase"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload"`
	Source  string          `json:"source,omitempty"` // see [HookCall]; the runtime sets it
	err     error
}

// Err reports why the payload could not be encoded. Such an action cannot run.
func (a *ScheduledAction) Err() error {
	if a.err == nil {
		return nil
	}
	return fmt.Errorf("payload of action %q: %w", a.Key, a.err)
}

// MarshalText returns the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses a phase's name.
func (p *Phase) UnmarshalText(text []byte) error {
	for i, name := range phaseNames {
		if name == string(text) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("phase is %q, want one of %v", text, phaseNames)
}

// An Effect is a side effect outside the run. It runs after the commit of the command that
// emitted it, at most once. Declare effects once, as package variables.
type Effect[P any] struct{ name string }

// NewEffect returns the effect with that name. It panics if name is empty.
func NewEffect[P any](name string) Effect[P] {
	if name == "" {
		panic("awaken: an effect needs a name")
	}
	return Effect[P]{name}
}

// Name returns the effect's name.
func (e Effect[P]) Name() string { return e.name }

// Emit records that the effect happens with payload p.
func (e Effect[P]) Emit(r Recorder, p P) {
	rec := r.command().Recorded()
	rec.Effects = append(rec.Effects, ScheduledEffect{e.name, p})
}

// Handler returns a handler that calls fn; see [Registrar.HandleEffect]. The runtime logs an
// error from fn; the run continues.
func (e Effect[P]) Handler(fn func(ctx context.Context, h *HookCall, p P) error) EffectHandler {
	return EffectHandler{e.name, func(ctx context.Context, h *HookCall, payload any) error {
		return fn(ctx, h, payload.(P))
	}}
}

// EffectHandler handles the effects of one name. [Effect.Handler] makes one.
type EffectHandler struct {
	name string
	run  func(ctx context.Context, h *HookCall, payload any) error
}

// Name returns the name of the effects.
func (h EffectHandler) Name() string { return h.name }

// Run handles e.
func (h EffectHandler) Run(ctx context.Context, call *HookCall, e ScheduledEffect) error {
	return h.run(ctx, call, e.Payload)
}

// ScheduledEffect is an effect whose command is not committed yet.
type ScheduledEffect struct {
	Name    string
	Payload any
}
