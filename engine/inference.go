package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// inference calls the model.
type inference struct {
	*core
	phases    *phases
	wallet    *wallet
	compactor *compactor

	request llm.Request
	whom    client                      // of the request
	stream  *stream                     // of the run's scratch; nil once the run is over
	yield   func(llm.Delta, error) bool // take, made for the first answer
	reply   llm.Reply
}

// infer calls the model. A nil reply without an end is a failure that a stop policy counts. The
// work before and after the wait is in functions of its own, so that the stack of a run that waits
// for its model stays small.
func (r *run) infer(ctx context.Context) (*llm.Reply, *end) {
	if e := r.inference.compose(ctx); e != nil {
		return nil, e
	}
	s := r.inference.stream
	defer s.got.Release()
	err := s.receiveAll()
	atReply.Hit()
	return r.received(ctx, s, err)
}

// received counts what an answer cost, and returns the reply.
func (r *run) received(ctx context.Context, s *stream, err error) (*llm.Reply, *end) {
	r.use(s.usage)
	r.charge(s.cost)
	if err != nil {
		return nil, r.inferenceFailed(ctx, s, err)
	}
	m := s.got.Message()
	if s.silent {
		var e *end
		if m, e = r.passOutput(ctx, s, m); m == nil {
			return nil, e
		}
	}
	return r.inference.replied(ctx, s, m), nil
}

// replyPlanned makes the planned call of a run the reply of the step.
func (inf *inference) replyPlanned(ctx context.Context) {
	call := llm.ToolCall{ID: "call_" + inf.info.RunID, Name: inf.rec.Call.Tool, Arguments: inf.rec.Call.Arguments}
	args := arguments(call)
	inf.out.emit(ctx, &awaken.ToolCallStart{ID: call.ID, Name: call.Name})
	inf.out.emit(ctx, &awaken.ToolCallDelta{ID: call.ID, ArgsDelta: string(args)})
	inf.out.emit(ctx, &awaken.ToolCallReady{ID: call.ID, Name: call.Name, Arguments: args})
	inf.reply = llm.Reply{Message: &llm.Message{Role: llm.Assistant, ToolCalls: []llm.ToolCall{call}}, Finish: llm.ToolUse}
}

// compose does everything before the model call, up to the request.
func (inf *inference) compose(ctx context.Context) *end {
	if e := inf.phases.stage(ctx, awaken.PhaseBeforeInference, about{}); e != nil {
		return e
	}
	if inf.conv.window != nil {
		if err := inf.compactor.beginIfDue(ctx); err != nil {
			return inf.fail(err)
		}
	}
	if inf.wallet.spending != nil {
		inf.wallet.spending.before = inf.st.Snapshot()
	}
	if err := inf.buildRequest(ctx); err != nil {
		return inf.fail(err)
	}
	atInference.Hit()
	inf.stream.reset(inf, ctx)
	inf.stream.asked = inf.request.Digest(nil)
	return nil
}

// replied emits the calls of the reply and inference_complete, and returns the reply.
func (inf *inference) replied(ctx context.Context, s *stream, m *llm.Message) *llm.Reply {
	reply := &inf.reply
	*reply = llm.Reply{Message: m, Usage: s.usage, Finish: s.got.Finish(), Incomplete: append(s.got.Incomplete(), s.lost...)}
	for _, c := range reply.Message.ToolCalls {
		inf.out.emit(ctx, &awaken.ToolCallReady{ID: c.ID, Name: c.Name, Arguments: arguments(c)})
	}
	if len(reply.Incomplete) > 0 {
		s.cancelOpen(ctx, "arguments are not complete JSON", "", false)
	}
	inf.out.emit(ctx, inf.completed(s))
	inf.journal.cancelIfSinkFailed()
	if inf.conv.window != nil {
		inf.learn(s)
	}
	return reply
}

// completed makes the inference_complete event, with usage and cost.
func (inf *inference) completed(s *stream) *awaken.InferenceComplete {
	done := &struct {
		awaken.InferenceComplete
		usage llm.Usage
		asked llm.RequestDigest
	}{usage: s.usage, asked: s.asked}
	done.Model, done.DurationMS, done.CostUSD = s.answeredBy(), inf.rt.cfg.Now().Sub(s.began).Milliseconds(), s.cost.USD()
	done.FinishReason, done.Composition = s.got.Finish(), inf.composed(s)
	if s.usage != (llm.Usage{}) {
		done.Usage = &done.usage
	}
	if s.asked != (llm.RequestDigest{}) {
		done.Request = &done.asked
	}
	return &done.InferenceComplete
}

// arguments returns the arguments of a call, {} if the model gave none.
func arguments(c llm.ToolCall) []byte {
	if len(c.Arguments) == 0 {
		return []byte("{}")
	}
	return c.Arguments
}

// learn calibrates the token estimates with the usage the model reported, unless that covers
// several requests.
func (inf *inference) learn(s *stream) {
	w := inf.conv.window
	if s.pieces+s.tried.retries+s.tried.recoveries == 0 {
		w.learn(s.usage.PromptTokens)
	}
	inf.saveWindow()
}

// saveWindow writes the window's counters to the state.
func (inf *inference) saveWindow() {
	var b state.Batch
	builtin.ContextWindow.Update(&b, inf.conv.window.WindowState)
	inf.set(&b) // every agent with a window has the key
}

// inferenceFailed decides what a failed inference means: the run waits for money, is cancelled or
// fails, or a stop policy counts one more error. If the run ends, the part of the answer that
// arrived is kept.
func (r *run) inferenceFailed(ctx context.Context, s *stream, err error) *end {
	cancelled := ctx.Err() != nil
	if ex, ok := errors.AsType[*money.Exhausted](err); ok && r.wallet.spending != nil && !cancelled {
		return r.exhausted(ctx, s, ex)
	}
	le, known := errors.AsType[*llm.Error](err)
	if !cancelled && r.agent.Tolerant && known && le.Retryable() {
		r.log().Warn("a model call failed", "error", err)
		if s.started {
			s.show(ctx, &awaken.StreamReset{Reason: err.Error(), Kind: le.Kind})
		}
		c := r.stops().counts()
		c.ConsecutiveErrors++
		r.stops().setCounts(c)
		if d, bad := r.stops().stop(nil, false); bad != nil {
			return r.fail(bad)
		} else if d != nil {
			t := awaken.Termination{Type: awaken.Stopped, Code: d.Code, Detail: d.Detail + ": " + err.Error()}
			return &end{Termination: t.CausedBy(le.Kind, err.Error())}
		}
		return nil
	}
	if known && le.Kind == llm.ReplyTooLarge {
		s.refuse(ctx, le, err.Error())
	}
	s.cancelOpen(ctx, brokeOffText, cutBroken, true)
	r.inference.keepPartial(s)
	if cancelled {
		if s.started {
			r.out.emit(ctx, r.inference.completed(s))
		}
		return r.fail(err)
	}
	if known && le.Kind == llm.ContentFiltered {
		r.warn("content_filtered", "the answer of step %d was stopped by a content filter", r.step.index+1)
	}
	e := r.fail(fmt.Errorf("inference: %w", err))
	if _, ours := errors.AsType[storeError](err); e.Type == awaken.Failed && !ours {
		e.Termination = e.CausedBy(llm.KindOf(err), err.Error())
	}
	return e
}

// keepPartial stores the part of an answer that arrived before it broke off, unless guards would
// have had to check it.
func (inf *inference) keepPartial(s *stream) {
	m := s.got.Message()
	if m.ToolCalls = nil; m.Empty() || s.silent {
		return
	}
	m.ID, m.Metadata = inf.step.messageID, newMetadata(inf.info.RunID, inf.step.index)
	m.Metadata.Interrupted = true
	inf.conv.add(m)
	inf.step.response = m.Text()
}

// answer stores the reply and adds its calls to the ledger.
func (inf *inference) answer(reply *llm.Reply) {
	m := reply.Message
	m.ID, m.Metadata = inf.step.messageID, inf.metadata()
	if reply.Finish != llm.EndTurn && reply.Finish != llm.ToolUse {
		m.Metadata = newMetadata(inf.info.RunID, inf.step.index)
		m.Metadata.Finish = reply.Finish
	}
	inf.rec.FinishReason = reply.Finish
	if m.Empty() {
		return
	}
	inf.conv.add(m)
	if t := m.Text(); t != "" || len(m.ToolCalls) == 0 {
		inf.step.response, inf.out.said = t, t
	}
	if len(m.ToolCalls) == 0 {
		return
	}
	now := inf.rt.cfg.Now().UnixMilli()
	for i, c := range m.ToolCalls {
		entry := inf.tools.find(c.Name)
		one := &struct {
			call
			state awaken.CallState
		}{}
		s := &one.state
		s.CallID, s.ToolName, s.Arguments, s.Status, s.UpdatedAt = c.ID, c.Name, arguments(c), awaken.CallNew, now
		s.RunID, s.Step, s.Index = inf.info.RunID, inf.step.index, i
		if entry != nil {
			s.Effect, s.AskInDoubt = entry.Spec.Effect, entry.Spec.Effect == awaken.Effectful && entry.Spec.InDoubt == awaken.DoubtSuspend
		}
		one.call.state, one.entry = s, entry
		inf.ledger.calls = append(inf.ledger.calls, &one.call)
		inf.ledger.edit(&one.call)
	}
}

// signature identifies a response for loop detection, by its text and its calls.
func signature(m *llm.Message) string {
	if m.Empty() {
		return ""
	}
	h := fnv.New128a()
	h.Write([]byte(m.Text()))
	for _, c := range m.ToolCalls {
		h.Write([]byte{0})
		h.Write([]byte(c.Name))
		h.Write([]byte{0})
		h.Write(c.Arguments)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
