package awaken

import (
	"context"
	"encoding/json"
	"fmt"
)

// An Action is work scheduled for a phase. Hooks, tools and other handlers
// schedule it; the plugin that owns it handles it when the run reaches the phase.
// Scheduled actions survive a restart. Declare actions once, as package variables.
type Action[P any] struct {
	name  string
	phase Phase
}

// NewAction returns the action called name, which runs in phase.
func NewAction[P any](name string, phase Phase) Action[P] {
	if name == "" || phase >= phaseCount {
		panic("awaken: an action needs a name and a phase")
	}
	return Action[P]{name, phase}
}

// Name is the action's key.
func (a Action[P]) Name() string { return a.name }

// Phase is when the action runs.
func (a Action[P]) Phase() Phase { return a.phase }

// Schedule records that the action is to run with payload p. A payload that has
// no JSON ends the run with an error that names the action.
func (a Action[P]) Schedule(r Recorder, p P) {
	data, err := json.Marshal(p)
	made := r.command().Recorded()
	made.Actions = append(made.Actions, ScheduledAction{Phase: a.phase, Key: a.name, Payload: data, err: err})
}

// Handler returns the handler that runs fn. An error of fn does not end the run;
// it is recorded in [builtin.FailedActions].
func (a Action[P]) Handler(fn func(ctx context.Context, h *HookCall, p P) error) ActionHandler {
	return ActionHandler{a.name, a.phase, func(ctx context.Context, h *HookCall, payload json.RawMessage) error {
		var p P
		if err := json.Unmarshal(payload, &p); err != nil {
			return fmt.Errorf("payload of action %q: %w", a.name, err)
		}
		return fn(ctx, h, p)
	}}
}

// ActionHandler handles the actions of one name; see [Registrar.Handle].
type ActionHandler struct {
	name  string
	phase Phase
	run   func(ctx context.Context, h *HookCall, payload json.RawMessage) error
}

// Name is the name of the actions.
func (h ActionHandler) Name() string { return h.name }

// Phase is when the actions run.
func (h ActionHandler) Phase() Phase { return h.phase }

// Run handles one action.
func (h ActionHandler) Run(ctx context.Context, call *HookCall, a ScheduledAction) error {
	return h.run(ctx, call, a.Payload)
}

// ScheduledAction is an action that waits for its phase.
type ScheduledAction struct {
	ID      uint64          `json:"id"`
	Phase   Phase           `json:"phase"`
	Key     string          `json:"key"`
	Payload json.RawMessage `json:"payload"`
	err     error
}

// Err says that the action's payload has no JSON. Such an action cannot run.
func (a *ScheduledAction) Err() error {
	if a.err == nil {
		return nil
	}
	return fmt.Errorf("payload of action %q: %w", a.Key, a.err)
}

// MarshalText writes the phase's name.
func (p Phase) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads a phase's name.
func (p *Phase) UnmarshalText(text []byte) error {
	for i, name := range phaseNames {
		if name == string(text) {
			*p = Phase(i)
			return nil
		}
	}
	return fmt.Errorf("phase is %q, want one of %v", text, phaseNames)
}

// An Effect is something done outside the run once the command that asked for it
// is committed. It is done at most once. Declare effects once, as package variables.
type Effect[P any] struct{ name string }

// NewEffect returns the effect called name.
func NewEffect[P any](name string) Effect[P] {
	if name == "" {
		panic("awaken: an effect needs a name")
	}
	return Effect[P]{name}
}

// Name is the effect's key.
func (e Effect[P]) Name() string { return e.name }

// Emit records that the effect is to happen with payload p.
func (e Effect[P]) Emit(r Recorder, p P) {
	made := r.command().Recorded()
	made.Effects = append(made.Effects, ScheduledEffect{e.name, p})
}

// Handler returns the handler that runs fn. An error of fn is logged and does not
// end the run.
func (e Effect[P]) Handler(fn func(ctx context.Context, h *HookCall, p P) error) EffectHandler {
	return EffectHandler{e.name, func(ctx context.Context, h *HookCall, payload any) error {
		return fn(ctx, h, payload.(P))
	}}
}

// EffectHandler handles the effects of one name; see [Registrar.HandleEffect].
type EffectHandler struct {
	name string
	run  func(ctx context.Context, h *HookCall, payload any) error
}

// Name is the name of the effects.
func (h EffectHandler) Name() string { return h.name }

// Run handles one effect.
func (h EffectHandler) Run(ctx context.Context, call *HookCall, e ScheduledEffect) error {
	return h.run(ctx, call, e.Payload)
}

// ScheduledEffect is an effect that waits for its commit.
type ScheduledEffect struct {
	Name    string
	Payload any
}
