package provider

import (
	"context"
	"errors"
	"iter"

	"github.com/awaken-go/awaken/llm"
)

// Emit passes the next delta to the reader of a stream. It returns nothing to check: once the
// reader has left or its context has ended, Emit drops deltas, and the request's context ends too,
// so that reading the response fails.
type Emit func(llm.Delta)

// Omit emits that a parameter is not sent as the request has it, and how and why: see
// [llm.Omission]. An adapter calls it before it sends the request.
func (e Emit) Omit(parameter, reason string) {
	e(llm.Delta{Kind: llm.OmittedDelta, Name: parameter, Text: reason})
}

// Stream runs one call. Send makes the request with the context it gets, emits the deltas of the
// response, closes what it opened, and returns when the response ends. The request that it gets
// is req without the parameters that the model does not accept. If the provider rejects it and
// names an optional parameter, Stream calls send once more without that parameter, and remembers
// what the model does not accept. Before the finish, Stream yields an [llm.OmittedDelta] for each
// parameter that was not sent as req has it.
//
// The stream ends with one finish or one error. Send may emit the finish at any time (usage often
// follows it); Stream yields it last. After a finish the reply is complete, and an error of send
// is ignored. Without a finish, a send that returns nil is an error of kind Interrupted. Errors
// that are not *llm.Error become Interrupted if the request was sent and InvalidRequest if not.
// After a cancel, Stream yields only the error.
//
// A reply beyond its limits is an error of kind ReplyTooLarge: see [llm.ReplyLimits].
//
// Stream does not yield empty text. It repairs tool arguments where the repair has one possible
// meaning: it escapes control characters in strings and backslashes that escape nothing, drops
// commas before a closing bracket and brackets after the end, adds brackets missing at the end
// unless the reply was truncated, and unwraps a string that contains an object.
func (a *API) Stream(ctx context.Context, req *llm.Request, send func(ctx context.Context, req *llm.Request, emit Emit) error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		shared := &call{idle: a.t.idle, reported: req.Reported, limits: req.Limits}
		if req.IdleTimeout > 0 {
			shared.idle = req.IdleTimeout
		}
		inner, cancel := context.WithCancel(context.WithValue(ctx, callKey{}, shared))
		defer cancel()
		s := stream{ctx: ctx, yield: yield, cancel: cancel, meter: llm.NewMeter(req)}
		err := a.send(inner, &s, a.fitted(req, s.emit), send)
		switch {
		case s.left:
		case ctx.Err() != nil:
			yield(llm.Delta{}, &llm.Error{Kind: llm.Cancelled, Provider: a.name, Err: context.Cause(ctx)})
		case s.over != nil:
			yield(llm.Delta{}, a.failure(s.over, true))
		case s.finish.Kind != 0:
			s.endCalls(s.finish.Finish == llm.MaxTokens)
			for _, d := range append(s.omitted, s.finish) {
				s.give(d)
			}
		default:
			err := a.failure(err, shared.sent != nil)
			if shared.sent != nil {
				own := *err // it may be shared
				own.Message = a.t.hide(own.Message, shared.sent)
				err = &own
			}
			yield(llm.Delta{}, err)
		}
	}
}

// send calls send, and again without the optional parameters that the provider rejects.
func (a *API) send(ctx context.Context, s *stream, req *llm.Request, send func(ctx context.Context, req *llm.Request, emit Emit) error) error {
	before := len(s.omitted)
	rejected := send(ctx, req, s.emit)
	if rejected == nil || s.begun || s.over != nil || ctx.Err() != nil {
		return rejected
	}
	less, dropped, lacks := without(req, rejected)
	if less == nil {
		return rejected
	}
	s.omitted = s.omitted[:before]
	for _, name := range dropped {
		Emit(s.emit).Omit(name, "omitted: the provider rejected it")
	}
	err := send(ctx, less, s.emit)
	if s.begun && permanent(rejected) {
		a.learned.reject(req.Model, lacks)
	}
	return err
}

// failure converts what send returned, without a finish, into an *llm.Error.
func (a *API) failure(err error, sent bool) *llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		if e.Provider == "" {
			e.Provider = a.name
		}
		return e
	}
	switch {
	case err == nil:
		return &llm.Error{Kind: llm.Interrupted, Provider: a.name, Message: "the stream ended without a finish"}
	case !sent:
		return &llm.Error{Kind: llm.InvalidRequest, Provider: a.name, Err: err}
	}
	return &llm.Error{Kind: llm.Interrupted, Provider: a.name, Err: err}
}

// stream is the state of a stream in progress.
type stream struct {
	ctx     context.Context
	yield   func(llm.Delta, error) bool
	cancel  func() // ends the request
	begun   bool   // the response has a delta
	left    bool   // the reader has left
	meter   llm.Meter
	over    error // the reply exceeds its limits
	omitted []llm.Delta
	finish  llm.Delta
	calls   []openCall
}

type openCall struct {
	id   string
	args arguments
}

func (s *stream) emit(d llm.Delta) {
	if s.left || s.over != nil || s.ctx.Err() != nil {
		return
	}
	if d.Kind == llm.OmittedDelta {
		s.omitted = append(s.omitted, d)
		return
	}
	s.begun = true
	if s.over = s.meter.Add(&d); s.over != nil {
		s.cancel()
		return
	}
	switch d.Kind {
	case llm.FinishDelta:
		s.finish = d
		return
	case llm.TextDelta, llm.ReasoningDelta:
		if d.Text == "" {
			return
		}
	case llm.ToolCallStart:
		s.calls = append(s.calls, openCall{id: d.ID})
	case llm.ToolCallDelta:
		for i := len(s.calls) - 1; i >= 0; i-- {
			if c := &s.calls[i]; c.id == d.ID || d.ID == "" {
				d.Text = c.args.add(d.Text)
				break
			}
		}
		if d.Text == "" {
			return
		}
	}
	s.give(d)
}

func (s *stream) give(d llm.Delta) {
	if !s.left && !s.yield(d, nil) {
		s.left = true
		s.cancel()
	}
}

// endCalls yields what is missing at the end of the calls' arguments.
func (s *stream) endCalls(truncated bool) {
	for i := range s.calls {
		c := &s.calls[i]
		if rest := c.args.end(truncated); rest != "" {
			s.give(llm.Delta{Kind: llm.ToolCallDelta, ID: c.id, Text: rest})
		}
	}
}
