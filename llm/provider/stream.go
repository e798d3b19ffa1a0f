package provider

import (
	"context"
	"errors"
	"iter"

	"github.com/awaken-go/awaken/llm"
)

// Emit hands the next delta to the reader of a stream. After an error, which the adapter
// returns as it is, nothing more can be emitted.
type Emit func(llm.Delta) error

// errLeft tells an adapter that nobody is reading.
var errLeft = errors.New("the reader has left")

// Stream runs one call: send makes the request with the context it is given, emits what
// the provider says, and returns when that is over. It has to close what it opened.
//
// What is yielded ends with one finish or one error. A finish may be emitted at any time
// (usage often comes after it) and is yielded last; once there is one, the reply is whole
// and an error of send is not reported. Without one, a send that returns nil is an error
// of kind Interrupted. Errors that are not *llm.Error are Interrupted when the request was
// sent and InvalidRequest when it was not. After a cancel nothing but the error is yielded.
//
// The arguments of calls pass through [Arguments]. An empty piece of text is not yielded.
func (c *Client) Stream(ctx context.Context, req *llm.Request, send func(ctx context.Context, emit Emit) error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		s := stream{ctx: ctx, yield: yield}
		shared := &call{idle: c.idle}
		if req.IdleTimeout > 0 {
			shared.idle = req.IdleTimeout
		}
		inner, cancel := context.WithCancel(context.WithValue(ctx, callKey{}, shared))
		defer cancel()
		err := send(inner, s.emit)
		switch {
		case s.left:
		case ctx.Err() != nil:
			yield(llm.Delta{}, &llm.Error{Kind: llm.Cancelled, Provider: c.name, Err: context.Cause(ctx)})
		case s.finish.Kind != 0:
			if s.endCalls(s.finish.Finish == llm.MaxTokens) == nil {
				yield(s.finish, nil)
			}
		default:
			err := c.failure(err, shared.sent != nil)
			if shared.sent != nil {
				own := *err // it may be another's
				own.Message = c.t.hide(own.Message, shared.sent)
				err = &own
			}
			yield(llm.Delta{}, err)
		}
	}
}

// failure makes an *llm.Error of what a send returned without a finish.
func (c *Client) failure(err error, sent bool) *llm.Error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		if e.Provider == "" {
			e.Provider = c.name
		}
		return e
	}
	switch {
	case err == nil:
		return &llm.Error{Kind: llm.Interrupted, Provider: c.name, Message: "the stream ended without a finish"}
	case !sent:
		return &llm.Error{Kind: llm.InvalidRequest, Provider: c.name, Err: err}
	}
	return &llm.Error{Kind: llm.Interrupted, Provider: c.name, Err: err}
}

// stream is what is known of a stream that is going on.
type stream struct {
	ctx    context.Context
	yield  func(llm.Delta, error) bool
	left   bool
	finish llm.Delta
	calls  []openCall
}

type openCall struct {
	id   string
	args Arguments
}

func (s *stream) emit(d llm.Delta) error {
	switch {
	case s.left:
		return errLeft
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	}
	switch d.Kind {
	case llm.FinishDelta:
		s.finish = d
		return nil
	case llm.TextDelta, llm.ReasoningDelta:
		if d.Text == "" {
			return nil
		}
	case llm.ToolCallStart:
		s.calls = append(s.calls, openCall{id: d.ID})
	case llm.ToolCallDelta:
		for i := len(s.calls) - 1; i >= 0; i-- {
			if c := &s.calls[i]; c.id == d.ID || d.ID == "" {
				d.Text = c.args.Add(d.Text)
				break
			}
		}
		if d.Text == "" {
			return nil
		}
	}
	return s.give(d)
}

func (s *stream) give(d llm.Delta) error {
	if !s.yield(d, nil) {
		s.left = true
		return errLeft
	}
	return nil
}

// endCalls yields what the arguments of calls still lack.
func (s *stream) endCalls(truncated bool) error {
	for i := range s.calls {
		c := &s.calls[i]
		if rest := c.args.End(truncated); rest != "" {
			if err := s.give(llm.Delta{Kind: llm.ToolCallDelta, ID: c.id, Text: rest}); err != nil {
				return err
			}
		}
	}
	return nil
}
