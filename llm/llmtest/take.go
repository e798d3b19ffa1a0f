package llmtest

import (
	"context"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// take is a prepared turn: all its deltas exist before it is played, so that a chunk costs
// nothing.
type take struct {
	expect *Expect
	deltas []llm.Delta
	delay  time.Duration
	fail   *llm.Error
	hang   bool
}

// newTake prepares t. An invalid turn becomes a take that fails.
func newTake(t Turn) *take {
	if err := t.check(); err != nil {
		return &take{fail: invalid("the turn is wrong: %v", err)}
	}
	k := &take{expect: t.Expect, delay: time.Duration(t.DelayMS) * time.Millisecond, hang: t.Hang}
	for _, s := range t.Reasoning.cut(t.Chunk) {
		k.add(llm.Delta{Kind: llm.ReasoningDelta, Text: s})
	}
	if t.Opaque != nil {
		k.add(llm.Delta{Kind: llm.OpaqueDelta, Opaque: t.Opaque})
	}
	for _, s := range t.Text.cut(t.Chunk) {
		k.add(llm.Delta{Kind: llm.TextDelta, Text: s})
	}
	for i := range t.ToolCalls {
		c := &t.ToolCalls[i]
		k.add(llm.Delta{Kind: llm.ToolCallStart, ID: c.ID, Name: c.Name, Opaque: c.Opaque})
		for _, s := range (Text{c.text()}).cut(t.Chunk) {
			k.add(llm.Delta{Kind: llm.ToolCallDelta, ID: c.ID, Text: s})
		}
	}
	if t.Usage != nil {
		k.add(llm.Delta{Kind: llm.UsageDelta, Usage: new(*t.Usage)})
	}
	switch {
	case t.Error != nil:
		k.fail = t.Error.err()
	case t.Cut, t.Hang:
	case t.Finish != "":
		k.add(llm.Delta{Kind: llm.FinishDelta, Finish: t.Finish})
	case len(t.ToolCalls) > 0:
		k.add(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse})
	default:
		k.add(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn})
	}
	return k
}

func (k *take) add(d llm.Delta) { k.deltas = append(k.deltas, d) }

func (f *Failure) err() *llm.Error {
	kind := f.Kind
	if kind == "" {
		kind = llm.Provider
	}
	return &llm.Error{
		Kind:       kind,
		Status:     f.Status,
		RetryAfter: time.Duration(f.RetryAfterMS) * time.Millisecond,
		Message:    f.Message,
	}
}

// play streams the take as the reply to req. The number is used in the ids of calls without
// one.
func (k *take) play(ctx context.Context, req *llm.Request, number int, yield func(llm.Delta, error) bool) {
	if err := k.expect.check(req); err != nil {
		yield(llm.Delta{}, err)
		return
	}
	var timer *time.Timer
	if k.delay > 0 {
		timer = time.NewTimer(k.delay)
		defer timer.Stop()
	}
	calls, id := 0, ""
	for _, d := range k.deltas {
		switch d.Kind {
		case llm.ToolCallStart:
			if id = d.ID; id == "" {
				id = callID(d.Name, number, calls)
			}
			d.ID = id
			calls++
		case llm.ToolCallDelta:
			d.ID = id
		}
		if timer != nil && isChunk(d.Kind) {
			select {
			case <-timer.C:
				timer.Reset(k.delay)
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			yield(llm.Delta{}, cancelled(ctx))
			return
		}
		if !yield(d, nil) {
			return
		}
	}
	switch {
	case k.hang:
		<-ctx.Done()
		yield(llm.Delta{}, cancelled(ctx))
	case k.fail != nil:
		yield(llm.Delta{}, new(*k.fail)) // a copy: the caller may modify it
	}
}

func isChunk(k llm.DeltaKind) bool {
	return k == llm.TextDelta || k == llm.ReasoningDelta || k == llm.ToolCallDelta
}

// callID returns the id of the call at index i of its turn.
func callID(name string, number, i int) string {
	if i == 0 {
		return fmt.Sprintf("call_%s_%d", name, number)
	}
	return fmt.Sprintf("call_%s_%d_%d", name, number, i)
}

// unnamed yields the ids that calls without one get with this number.
func (k *take) unnamed(number int) []string {
	var ids []string
	calls := 0
	for i := range k.deltas {
		if d := &k.deltas[i]; d.Kind == llm.ToolCallStart {
			if d.ID == "" {
				ids = append(ids, callID(d.Name, number, calls))
			}
			calls++
		}
	}
	return ids
}

func cancelled(ctx context.Context) *llm.Error {
	return &llm.Error{Kind: llm.Cancelled, Err: context.Cause(ctx)}
}

func invalid(format string, args ...any) *llm.Error {
	return &llm.Error{Kind: llm.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}
