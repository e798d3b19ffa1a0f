package replay

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"math"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// Stream is the model of all runs: it says what the run's model said.
func (s *stage) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		p := s.of(req.Routing.RunID)
		if p == nil {
			yield(llm.Delta{}, &llm.Error{Kind: llm.InvalidRequest, Message: "the record has no run " + req.Routing.RunID})
			return
		}
		if p.refuse(s) {
			yield(llm.Delta{}, &llm.Error{Kind: llm.ContextOverflow})
			return
		}
		st := p.speak(s, req)
		switch {
		case st == nil && p.cut.at >= 0 && !p.followed:
			yield(llm.Delta{}, s.fallSilent(ctx, p))
			return
		case st == nil:
			yield(llm.Delta{}, &llm.Error{Kind: llm.InvalidRequest, Message: "the record has no further answer"})
			return
		}
		for i, d := range st.Deltas {
			s.keepPace(ctx, p, p.position(s))
			s.reachNext(p, d.Kind == llm.UsageDelta || d.Kind == llm.FinishDelta)
			if !yield(d, nil) {
				s.mu.Lock()
				p.rest = st.Deltas[i:]
				s.mu.Unlock()
				return
			}
		}
		if st.Cut == "max_tokens" {
			yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.MaxTokens}, nil)
			return
		}
		if p.blocksAnswer(st) {
			p.sayUnseen(yield)
			return
		}
		if p.unpaid(st) && !yield(llm.Delta{Kind: llm.TextDelta, Text: tooMuch(req)}, nil) {
			return
		}
		if err := s.endStream(ctx, p, st); err != nil {
			yield(llm.Delta{}, err)
		}
	}
}

// speak returns the next stream of the run, or nil. One without a word, in which every request failed, is given again.
func (p *part) speak(s *stage, req *llm.Request) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := p.rest
	p.rest = nil
	if p.spoke > 0 && len(rest) > 0 && req.Continues { // the record has one answer, of which the run did not pay for more at once
		st := p.streams[p.spoke-1]
		st.Deltas = rest
		return &st
	}
	if p.spoke > 0 && p.streams[p.spoke-1].last && req.Continues { // in vain: the record has one answer, which is cut off
		t := p.streams[p.spoke-1].turn
		return &stream{Stream: trace.Stream{Deltas: []llm.Delta{{Kind: llm.FinishDelta, Finish: t.Finish}}}, turn: t}
	}
	if p.spoke < len(p.streams) {
		p.spoke++
	} else if n := len(p.streams); n == 0 || p.streams[n-1].turn.Answered {
		return nil
	}
	return &p.streams[p.spoke-1]
}

// unpaid reports whether a stream was cut off because there was no money for more. The piece that was too much is not in the record.
func (p *part) unpaid(st *stream) bool {
	if st.turn.Answered || len(st.Deltas) == 0 {
		return false
	}
	i := p.actAt(p.answerAt(st.turn.MessageID))
	if i < 0 {
		return false
	}
	out := p.acts[i].finish.Result
	return out != nil && out.Waiting != nil && out.Waiting.Budget != nil
}

// blocksAnswer reports whether a stream is the answer that a guard blocked. The record does not have it.
func (p *part) blocksAnswer(st *stream) bool {
	return p.block.point == awaken.OutputPoint && st.turn == &p.rec.Turns[len(p.rec.Turns)-1]
}

// sayUnseen says something instead of an answer that a guard blocked, with its usage.
func (p *part) sayUnseen(yield func(llm.Delta, error) bool) {
	usage := p.unsaid()
	if yield(llm.Delta{Kind: llm.TextDelta, Text: "Blocked."}, nil) && yield(llm.Delta{Kind: llm.UsageDelta, Usage: &usage}, nil) {
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// tooMuch returns a piece that is longer than the answer to a request may be.
func tooMuch(req *llm.Request) string {
	n := 16_384
	if req.MaxTokens != nil {
		n = *req.MaxTokens
	}
	return strings.Repeat("more", n+1)
}

func (p *part) position(s *stage) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return p.pos
}

// reachNext moves the clock to the next event of a run or, if the answer ends, to that of its end.
func (s *stage) reachNext(p *part, end bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.followed {
		return
	}
	for i := p.pos; i < len(p.events); i++ {
		_, last := p.events[i].Event.(*awaken.InferenceComplete)
		if !end || last {
			s.clock = max(s.clock, p.events[i].Time)
			return
		}
		if _, next := p.events[i].Event.(*awaken.StepEnd); next {
			return
		}
	}
}

// endStream returns the error with which a stream ended, or nil.
func (s *stage) endStream(ctx context.Context, p *part, st *stream) error {
	switch {
	case st.Lost != "" && st.Withdrawn:
		return &recorded{st.Lost, llm.Error{Kind: cmp.Or(st.Kind, llm.Interrupted)}}
	case st.Lost != "" && (!st.last || p.cut.at < 0):
		return nil
	case st.turn.Answered:
		return nil
	case st.turn.Error != "":
		return failure(st.turn.Error, st.turn.ErrorKind)
	case p.rec.Run.Termination.Type == awaken.Cancelled || !p.root:
		return s.fallSilent(ctx, p)
	}
	if t := p.rec.Run.Termination; t.Type == awaken.Stopped && t.Cause() != "" { // after too many errors
		return &recorded{t.Cause(), llm.Error{Kind: t.Details.Kind}}
	}
	return &llm.Error{Kind: llm.Overloaded, Message: "the record does not say why"}
}

// fallSilent waits until the run is cancelled.
func (s *stage) fallSilent(ctx context.Context, p *part) error {
	s.mu.Lock()
	p.cut.silent = true
	s.mu.Unlock()
	s.cancelIfDue()
	select {
	case <-ctx.Done():
	case <-s.ctx.Done():
	case <-time.After(s.player.patience()):
		s.part(p, "the model's answer", "", "a request of which the record has no answer")
	}
	return &llm.Error{Kind: llm.Cancelled, Err: context.Cause(ctx)}
}

// recorded is an error of a model with its recorded text.
type recorded struct {
	text string
	err  llm.Error
}

func (e *recorded) Error() string { return e.text }
func (e *recorded) Unwrap() error { return &e.err }

// failure is the error that ended a run. The model is not asked again, because it was, in vain: it says to come back in an age.
func failure(text string, kind llm.Kind) error {
	if kind == "" { // it is not a model's
		return errors.New(text)
	}
	return &recorded{text, llm.Error{Kind: kind, RetryAfter: math.MaxInt64}}
}
