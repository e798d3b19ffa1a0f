package provider

import (
	"context"
	"errors"
	"iter"

	"github.com/awaken-go/awaken/llm"
)

// Emit hands the next delta to the reader of a stream. Once the reader has left, or its context
// is cancelled, it does nothing; the context of the request has ended then, and reading the
// answer fails.
type Emit func(llm.Delta)

// Stream runs one call: send makes the request with the context it is given, emits what
// the provider says, and returns when that is over. It has to close what it opened.
//
// What is yielded ends with one finish or one error. A finish may be emitted at any time
// (usage often comes after it) and is yielded last; once there is one, the reply is whole
// and an error of send is not reported. Without one, a send that returns nil is an error
// of kind Interrupted. Errors that are not *llm.Error are Interrupted when the request was
// sent and InvalidRequest when it was not. After a cancel nothing but the error is yielded.
//
// The arguments of calls are repaired where that can mean only one thing: control characters in
// strings are escaped, and so is a backslash that escapes nothing; commas before a closing bracket
// and brackets after the end are dropped; brackets that are missing at the end are added, unless
// the model was cut off; a string that holds an object becomes that object. An empty piece of text
// is not yielded.
func (a *API) Stream(ctx context.Context, req *llm.Request, send func(ctx context.Context, emit Emit) error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		shared := &call{idle: a.t.idle}
		if req.IdleTimeout > 0 {
			shared.idle = req.IdleTimeout
		}
		inner, cancel := context.WithCancel(context.WithValue(ctx, callKey{}, shared))
		defer cancel()
		s := stream{ctx: ctx, yield: yield, cancel: cancel}
		err := send(inner, s.emit)
		switch {
		case s.left:
		case ctx.Err() != nil:
			yield(llm.Delta{}, &llm.Error{Kind: llm.Cancelled, Provider: a.name, Err: context.Cause(ctx)})
		case s.finish.Kind != 0:
			if s.endCalls(s.finish.Finish == llm.MaxTokens); !s.left {
				yield(s.finish, nil)
			}
		default:
			err := a.failure(err, shared.sent != nil)
			if shared.sent != nil {
				own := *err // it may be another's
				own.Message = a.t.hide(own.Message, shared.sent)
				err = &own
			}
			yield(llm.Delta{}, err)
		}
	}
}

// failure makes an *llm.Error of what a send returned without a finish.
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

// stream is what is known of a stream that is going on.
type stream struct {
	ctx    context.Context
	yield  func(llm.Delta, error) bool
	cancel func() // ends the request
	left   bool   // the reader has left
	finish llm.Delta
	calls  []openCall
}

type openCall struct {
	id   string
	args arguments
}

func (s *stream) emit(d llm.Delta) {
	if s.ctx.Err() != nil {
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

// endCalls yields what the arguments of calls still lack.
func (s *stream) endCalls(truncated bool) {
	for i := range s.calls {
		c := &s.calls[i]
		if rest := c.args.end(truncated); rest != "" {
			s.give(llm.Delta{Kind: llm.ToolCallDelta, ID: c.id, Text: rest})
		}
	}
}
