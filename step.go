package awaken

import (
	"context"
	"encoding/json"
	"fmt"
)

// Step runs a part of a tool's work, and records its result in the ledger. If the call is cut off
// and made again, a step that has its result is not run again: Step returns what was recorded. So
// a long tool continues where it was.
//
//	order, err := awaken.Step(ctx, call, "order", awaken.Idempotent, func(ctx context.Context, key string) (Order, error) {
//		return shop.Order(ctx, key, in.Item)
//	})
//	if err != nil {
//		return nil, err
//	}
//	_, err = awaken.Step(ctx, call, "mail", awaken.Effectful, func(ctx context.Context, key string) (bool, error) {
//		return true, mail.Send(ctx, in.Address, order)
//	})
//
// The effect of a step, like a tool's, says what a repetition would do. A step
// that is not read-only is recorded before it begins, and its result is stored when Step returns.
// If its result is missing after a crash, an idempotent one is repeated with the same key. An
// effectful one is in doubt, and is not repeated: a tool that is a [Prober] is asked about the key;
// otherwise ToolSpec.InDoubt decides whether Step returns [ErrInDoubt], again and again, or a person is asked. A
// read-only step is recorded with its result, a moment later.
//
// The effect of the tool says what its code does outside of steps. A tool that has all its effects in steps is
// [Idempotent]: the runtime calls it again after a crash. An [Effectful] one that was cut off stays in doubt as a
// whole, with or without steps.
//
// A name has 1 to 200 bytes and no ~. It stands for one step of the call. A name that is used again, as in a loop, is numbered: the second step
// named "page" is "page~2". Steps that run concurrently need different names, so that each is found again. An error
// of fn is recorded like a result, without its type; if ctx is done by then, or fn suspends the call, the step has not ended. A step
// that is tried again under its name after an error keeps its key, unless it is effectful.
//
// The result is what its JSON decodes to, and may be as large as a result of the tool. A call has at most 1000 steps.
// A tool that is called directly, in a test, runs its steps without recording them.
func Step[T any](ctx context.Context, call *ToolCall, name string, effect EffectClass, fn func(ctx context.Context, key string) (T, error)) (T, error) {
	var out T
	run := func(ctx context.Context, key string) (json.RawMessage, error) {
		v, err := fn(ctx, key)
		if err != nil {
			return nil, err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("result of step %q: %w", name, err)
		}
		return data, nil
	}
	var data json.RawMessage
	var err error
	if call.steps != nil {
		data, err = call.steps.Step(ctx, call, name, effect, run)
	} else {
		data, err = run(ctx, call.Key+"/"+name)
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("result of step %q: %w", name, err)
	}
	return out, nil
}

// StepsBy makes r run the steps of the call. It is for code that calls tools; see [Step].
func (c *ToolCall) StepsBy(r interface {
	Step(ctx context.Context, call *ToolCall, name string, effect EffectClass, fn func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error)
}) {
	c.steps = r
}

// CallStep is the ledger's record of one step of a call; see [Step]. It is immutable.
type CallStep struct {
	Name      string          `json:"name"` // unique in the call
	Key       string          `json:"key"`  // idempotency key
	Effect    EffectClass     `json:"effect,omitempty"`
	Attempts  int             `json:"attempts,omitempty"`             // how often it has begun
	StartedAt int64           `json:"started_at,omitempty" time:"ms"` // Unix ms; 0 if it is to begin again
	EndedAt   int64           `json:"ended_at,omitempty" time:"ms"`   // Unix ms; 0 if it has not ended
	Result    json.RawMessage `json:"result,omitempty"`
	Error     string          `json:"error,omitempty"` // instead of a result
	InDoubt   bool            `json:"in_doubt,omitempty"`
}

// Open reports whether the step has begun and not ended.
func (s *CallStep) Open() bool { return s.StartedAt != 0 && s.EndedAt == 0 }
