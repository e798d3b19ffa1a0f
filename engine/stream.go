package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// stream receives one answer, in one or more pieces.
type stream struct {
	inf     *inference
	ctx     context.Context
	got     llm.Collector
	open    []openCall // started and not cancelled
	started bool
	inside  bool // in take: a panic is not the model's
	silent  bool // show nothing until the guards have checked the whole answer
	pieces  int
	began   time.Time

	tried     tries
	pass      llm.Pass          // of the current request, through the model's breaker
	lost      []string          // tools whose calls broke off with the stream
	usage     llm.Usage         // of all pieces
	cost      money.Amount      // of all pieces
	allowance allowance         // of the current piece
	member    string            // the member of a pool that answers
	made      *llm.Composition  // of the request, or nil
	asked     llm.RequestDigest // of the first request; zero if the answer is another's
	err       error
}

// tries counts the attempts to complete an answer.
type tries struct{ continued, retries, recoveries, overflows int }

// reset prepares the stream for another answer.
func (s *stream) reset(inf *inference, ctx context.Context) {
	open, made := s.open[:0], s.made
	*s = stream{} // in place, because a composite literal would be built on the stack first
	s.inf, s.ctx, s.open, s.made, s.began = inf, ctx, open, made, inf.rt.cfg.Now()
	if inf.yield == nil {
		inf.yield = inf.take
	}
	s.silent = len(inf.agent.Guards[awaken.OutputPoint]) > 0
	s.got.Bound(&inf.request)
}

// show emits an event about the stream, unless the stream is silent.
func (s *stream) show(ctx context.Context, ev awaken.Event) {
	if !s.silent {
		s.inf.out.emit(ctx, ev)
	}
}

// receiveAll receives an answer: one stream, and further ones while the model runs out of tokens
// and may continue.
func (s *stream) receiveAll() error {
	for {
		var err error
		if f := s.inf.followed(); f != nil {
			err = s.receiveFollowed(f)
		} else {
			err = s.receive()
			s.bill(err)
		}
		switch {
		case err == errOverspent && s.tried.continued < s.inf.agent.Spec.ContinuationRetries():
			s.tried.continued++
			s.got.BreakOff()
			s.cancelOpen(s.ctx, errOverspent.Error(), cutOverspent, false)
			s.continueAnswer(truncatedPrompt)
		case err != nil:
			if err = s.recover(err); err != nil || s.got.Finished() {
				return err
			}
		case !s.truncated() || s.tried.continued >= s.inf.agent.Spec.ContinuationRetries():
			return nil
		default:
			s.tried.continued++
			s.cancelOpen(s.ctx, "out of tokens", cutTokens, false)
			s.got.Continue()
			s.continueAnswer(truncatedPrompt)
		}
	}
}

// recover handles a request that failed or an answer that broke off, within the agent's retry
// policy. It returns nil if the model should be called again, or if what arrived is enough. It
// keeps what clients were shown where possible:
//
// - Nothing arrived: call again.
// - Complete calls arrived: use them.
// - Text arrived: ask the model to continue; cancel a call that had begun.
// - Anything else arrived: reset the stream and call again.
//
// A request that is too large for the model is reduced, once.
func (s *stream) recover(err error) error {
	p, inf := &s.inf.agent.Retry, s.inf
	if llm.KindOf(err) == llm.ContextOverflow {
		return s.overflowed(err)
	}
	n, again := &s.tried.retries, p.Admission
	if s.started {
		n, again = &s.tried.recoveries, p.Recovery
	}
	admission := again(*n, err)
	if admission.Verdict == llm.Refuse || s.ctx.Err() != nil {
		return err
	}
	*n++
	dropped := s.got.BreakOff()
	switch {
	case !s.started:
	case len(s.got.Calls(nil)) > 0:
		s.cancelOpen(s.ctx, brokeOffText, cutBroken, false)
		s.lost = dropped
		return s.got.Add(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse})
	case s.got.HasText():
		s.cancelOpen(s.ctx, brokeOffText, cutBroken, false)
		s.continueAnswer(brokenPrompt)
	default:
		s.retract(err.Error(), llm.KindOf(err))
	}
	inf.log().Warn("retrying a model call", "error", err, "wait", admission.After)
	return admission.Wait(s.ctx)
}

// refuse takes back all of a reply that exceeded its limits. Nothing of it is stored, except that there was one.
func (s *stream) refuse(ctx context.Context, err *llm.Error, reason string) {
	s.open = s.open[:0]
	if s.started {
		s.inf.out.withdraw()
		s.show(ctx, &awaken.StreamReset{Reason: reason, Kind: err.Kind})
	}
}

// retract takes back what has arrived.
func (s *stream) retract(reason string, kind llm.Kind) {
	s.open = s.open[:0]
	s.got.Release()
	s.show(s.ctx, &awaken.StreamReset{Reason: reason, Kind: kind})
	s.started = false
}

// overflowed reduces a request that the model refused as too large: it summarises the conversation
// if possible, and cuts what is still too much.
func (s *stream) overflowed(err error) error {
	inf, w := s.inf, s.inf.conv.window
	if w == nil || s.started || s.pieces > 0 || s.tried.overflows > 0 || s.ctx.Err() != nil {
		return err
	}
	s.tried.overflows++
	inf.log().Warn("the model refused a request as too large", "estimate", w.estimate, "error", err)
	w.refused()
	inf.saveWindow()
	if bad := inf.compactor.finishNow(s.ctx); bad != nil {
		return bad
	}
	req := &inf.request
	if w.plain != nil {
		*req = *w.plain
	}
	if inf.fitRequest(s.ctx, req) != nil {
		return err
	}
	return nil
}

type openCall struct {
	awaken.ToolCallStart
	given string // the model's id, which may be empty or ambiguous
}

// receive receives one stream. It calls the iterator directly, because a range loop over a
// function would allocate for each variable shared with its body.
func (s *stream) receive() error {
	s.err = nil
	req := &s.inf.request
	if s.inf.conv.blobs { // before the breaker: the model is not to blame if the store cannot be read
		var err error
		if req, err = s.inf.attached(s.ctx); err != nil {
			return err
		}
	}
	if b := s.inf.agent.Breaker; b != nil {
		var err error
		if s.pass, err = b.Enter(req.Routing.Session()); err != nil {
			return err
		}
		defer func() {
			s.pass.Leave(s.err, s.err == nil && !s.got.Finished() || s.ctx.Err() != nil || s.err == errOverspent)
			s.pass = llm.Pass{}
		}()
	}
	if s.inf.wallet.spending != nil {
		s.allowance.streamed, s.allowance.arrived, s.allowance.overspent = 0, false, false
		if err := s.reserve(); err != nil {
			return err
		}
	}
	s.play(req)
	return s.played()
}

// played returns the error with which a stream ended, and shows the exchange to the tap.
func (s *stream) played() (err error) {
	switch {
	case s.err != nil:
		err = s.err
	case s.ctx.Err() != nil:
		err = context.Cause(s.ctx)
	case !s.got.Finished():
		err = &llm.Error{Kind: llm.Interrupted, Message: "the stream ended without a finish"}
	}
	if llm.KindOf(err) == llm.ReplyTooLarge {
		s.got.Discard() // before it is shown or stored
	}
	if tap := s.inf.rt.cfg.Tap; tap != nil {
		tap.Inferred(s.inf.step.index, &llm.Exchange{Request: &s.inf.request, Reply: s.got.Message, Finish: s.got.Finish(), Usage: s.got.Usage(), Err: err, Ended: s.inf.rt.cfg.Now()})
	}
	return err
}

// play runs the model's stream. A panic of the model is an error.
func (s *stream) play(req *llm.Request) {
	defer func() {
		if s.inside {
			return // the sink panicked: let it propagate
		}
		if v := recover(); v != nil {
			s.err = &awaken.PanicError{In: fmt.Sprintf("model %q", s.inf.request.Model), Value: v, Stack: debug.Stack()}
		}
	}()
	if a := s.inf.agent.Remote; a != nil {
		a.Exchange(s.ctx, s.inf.exchange(req))(s.inf.yield)
		return
	}
	s.inf.agent.Model.Stream(s.ctx, req)(s.inf.yield)
}

// take receives one delta and reports whether it wants more.
func (inf *inference) take(d llm.Delta, err error) bool {
	s := inf.stream
	if s == nil || s.err != nil {
		return false // the model ignored the stop, or the end of the run
	}
	s.inside = true
	s.err = s.add(&d, err)
	s.inside = false
	return s.err == nil
}

// add adds one delta to the answer and emits it, unless the stream is silent. It may change d.
func (s *stream) add(d *llm.Delta, err error) error {
	switch {
	case err != nil:
		return err
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx) // the model ignores it
	case s.got.Finished():
		return &llm.Error{Kind: llm.Provider, Message: "the stream went on after its finish"}
	case d.Kind == llm.MemberDelta:
		s.member = d.ID
		return nil
	case d.Kind == llm.OmittedDelta:
		s.inf.warn("parameter_omitted", "in requests to model %q, %s is %s", s.answeredBy(), d.Name, d.Text)
		return nil
	case d.Kind == llm.ToolCallStart:
		d.ID = s.startCall(d.ID, d.Name)
	case d.Kind == llm.ToolCallDelta:
		if d.ID = s.resolveID(d.ID); d.ID == "" {
			return nil // the call has not started
		}
	}
	s.pass.Answered()
	if s.allowance.id != "" {
		s.allowance.arrived = true
		if err := s.watch(d); err != nil {
			return err
		}
	}
	if err := s.got.Add(*d); err != nil {
		if d.Kind == llm.ToolCallStart {
			s.open = s.open[:len(s.open)-1] // it is not shown
		}
		return err
	}
	atDelta.Hit()
	out := &s.inf.out
	if s.silent {
		s.started = s.started || d.Kind != llm.FinishDelta
		return nil
	}
	if !s.started {
		out.time = out.now().UnixMilli() // of the first token
	}
	switch d.Kind {
	case llm.TextDelta:
		err = out.textDelta(s.ctx, d.Text)
	case llm.ReasoningDelta:
		err = out.reasoningDelta(s.ctx, d.Text)
	case llm.ToolCallDelta:
		err = out.argsDelta(s.ctx, d.ID, d.Text)
	case llm.ToolCallStart:
		err = out.emit(s.ctx, &awaken.ToolCallStart{ID: d.ID, Name: d.Name})
	case llm.OpaqueDelta:
		if o := d.Opaque; o != nil {
			err = out.emit(s.ctx, &awaken.ReasoningEncryptedValue{EncryptedValue: cmp.Or(o.Signature, string(o.Data))})
		}
	default:
		return nil
	}
	s.started = true
	if err != nil {
		s.inf.journal.cancelIfSinkFailed()
		return context.Cause(s.ctx)
	}
	return nil
}

// startCall registers a call and returns its id: the model's, or a new one if that is empty. Ids
// are unique on the thread, because people decide about calls by their ids: an id that the thread
// has already is numbered, as in call_0~2.
func (s *stream) startCall(given, tool string) string {
	id := given
	if id == "" {
		id = s.inf.rt.cfg.NewID()
	}
	for n := 2; s.hasCall(id); n++ {
		id = given + "~" + strconv.Itoa(n)
	}
	s.open = append(s.open, openCall{awaken.ToolCallStart{ID: id, Name: tool}, given})
	return id
}

// hasCall reports whether the answer, or the conversation before it, has a call with that id.
func (s *stream) hasCall(id string) bool {
	return slices.ContainsFunc(s.open, func(o openCall) bool { return o.ID == id }) || s.inf.conv.msgs.HasCall(id)
}

// resolveID returns the id of the newest call with the model's id or, if given is empty, of the
// newest call; "" if there is none.
func (s *stream) resolveID(given string) string {
	for i := len(s.open) - 1; i >= 0; i-- {
		if o := &s.open[i]; given == "" || o.given == given {
			return o.ID
		}
	}
	return ""
}

// truncated reports whether the model ran out of tokens in the middle of a text or of a call's
// arguments.
func (s *stream) truncated() bool {
	if s.got.Finish() != llm.MaxTokens {
		return false
	}
	return len(s.got.Incomplete()) > 0 || s.got.HasText() && len(s.got.Calls(nil)) == 0
}

// continueAnswer asks the model to continue its answer. The prompt is part of this request only;
// the answer is stored as one message.
func (s *stream) continueAnswer(prompt string) {
	s.pieces++
	inf := s.inf
	said := s.got.Message()
	said.ToolCalls = nil
	msgs := inf.request.Messages
	if s.pieces > 1 {
		msgs = msgs.Cut(msgs.Len() - 2)
	} else {
		msgs = msgs.Clip()
	}
	if said.Empty() {
		said = llm.NewText(llm.Assistant, "…")
	}
	inf.request.Messages, inf.request.Continues = msgs.Append(said, llm.UserText(prompt)), true
}

const (
	truncatedPrompt = "Your answer was cut off because it was too long. Continue exactly where it stopped, without repeating anything. If you were about to call a tool, use smaller arguments."
	brokenPrompt    = "Your answer was cut off because the connection was lost. Continue exactly where it stopped, without repeating anything. If you were about to call a tool, call it."
)

// Why an answer was cut off; see [awaken.ToolCallCancel].
const (
	cutTokens    = "max_tokens"
	cutBroken    = "interrupted"
	cutOverspent = "overspent"

	brokeOffText = "the answer broke off"
)

// cancelOpen cancels calls that have started and will not be made: those with incomplete arguments
// or, if all is set, all of them. Cut says why the answer was cut off, or is "".
func (s *stream) cancelOpen(ctx context.Context, reason, cut string, all bool) {
	complete := s.got.Calls(nil)
	s.open = slices.DeleteFunc(s.open, func(o openCall) bool {
		keep := !all && slices.ContainsFunc(complete, func(c llm.ToolCall) bool { return c.ID == o.ID })
		if !keep {
			s.show(ctx, &awaken.ToolCallCancel{ID: o.ID, Name: o.Name, Reason: reason, Cut: cut})
		}
		return !keep
	})
}
