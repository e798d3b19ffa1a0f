package openai

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// Options says what an encoder encodes. The zero Options is the first response of a run.
type Options struct {
	// Model is the agent as the client names it. "" means the agent of the run.
	Model string
	// From is the end of the run's earlier responses: the encoder sees their entries and shows
	// nothing of them.
	From awaken.Cursor
	// Structured says that the client has asked for an answer that fits a schema. Its text is shown
	// when it is complete and valid.
	Structured bool
	// Keep is how the response is kept.
	Keep keeping
	// Previous is the response that the client has asked to continue, or "" if it is not known.
	Previous string
	// Asked is what the response repeats of the request.
	Asked Asked
	// Has is how many events of a stream the client has, by their sequence numbers. Responses only.
	Has int
	// Usage says that the last chunk has the usage. Chat Completions only.
	Usage bool
}

// format names an encoder with these options, for streams that share one. A client that has some of the events shares none.
func (o *Options) format(kind string) string {
	if o.Has > 0 {
		return ""
	}
	return fmt.Sprintf("openai.%s %q %s %t %q %q %t", kind, o.Model, o.From, o.Structured, o.Keep, o.Previous, o.Usage)
}

// span tells which entries of a run belong to a response, and keeps what all encoders need of the run.
type span struct {
	opts    Options
	number  int // of the response in its run, counted from 1
	info    awaken.RunInfo
	created int64     // Unix s
	before  llm.Usage // of the run, before the response
	over    bool

	step     string // id of the step's message, "" between steps
	answered bool   // the step's answer is complete
	shown    uint64 // seq of the entry that showed the step's latest text, or 0
	last     []byte // text of the step so far
	calls    map[string]*call
}

// call is a call of the run, by the id that the model gave it.
type call struct {
	name      string
	arguments string
	approval  string // id of the approval request, if one was made
	client    bool   // the client was asked for its result
}

// enter reports whether an entry belongs to the response, and keeps what it says about the run.
func (s *span) enter(e *awaken.Entry) bool {
	if s.number == 0 {
		s.number = 1
	}
	switch ev := e.Event.(type) {
	case *awaken.ToolCallReady:
		if s.calls == nil {
			s.calls = map[string]*call{}
		}
		s.calls[ev.ID] = &call{name: ev.Name, arguments: textOfJSON(ev.Arguments)}
	case *awaken.RunStart:
		s.info = awaken.RunInfo{ThreadID: ev.ThreadID, RunID: ev.RunID}
		if ev.Identity != nil {
			s.info = *ev.Identity
		}
	case *awaken.StreamReset:
		return s.created != 0 && !s.over
	case *awaken.RunFinish:
		if s.info.RunID == "" { // cancelled while queued
			s.info = awaken.RunInfo{ThreadID: ev.ThreadID, RunID: ev.RunID}
			if ev.Identity != nil {
				s.info = *ev.Identity
			}
		}
		if e.Seq <= s.opts.From.Seq {
			s.number++
			s.ask(ev)
			if ev.Result != nil {
				s.before = ev.Result.Usage
			}
		}
	}
	if e.Seq <= s.opts.From.Seq || s.over {
		return false
	}
	if s.created == 0 {
		s.created = max(1, e.Time/1000)
	}
	return true
}

// restarts reports whether a step_start begins a step again whose answer was lost. It keeps the step.
func (s *span) restarts(ev *awaken.StepStart) bool {
	if s.step == ev.MessageID && s.step != "" {
		return !s.answered
	}
	s.step, s.answered, s.shown, s.last = ev.MessageID, false, 0, s.last[:0]
	return false
}

// retracts reports whether a reset makes text void that the client has.
func (s *span) retracts(ev *awaken.StreamReset) bool {
	kept := uint64(0)
	if at, err := awaken.ParseCursor(ev.Cursor); err == nil {
		kept = at.Seq
	}
	return s.shown > kept
}

// model returns the name of the agent.
func (s *span) model() string { return cmp.Or(s.opts.Model, s.info.AgentID) }

// responseID returns the id of the response.
func (s *span) responseID() string {
	return responseID(s.info.RunID, max(s.number, 1), s.opts.Keep)
}

// usage returns the usage of the response.
func (s *span) usage(r *awaken.RunOutput) llm.Usage {
	if r == nil {
		return llm.Usage{}
	}
	u, b := r.Usage, &s.before
	u.PromptTokens -= b.PromptTokens
	u.CompletionTokens -= b.CompletionTokens
	u.CacheReadTokens -= b.CacheReadTokens
	u.ThinkingTokens -= b.ThinkingTokens
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// query is a question to the client at the end of a response.
type query struct {
	ticket   *awaken.WaitingTicket
	approval bool
}

// ask returns the questions that a run waits for.
func (s *span) ask(ev *awaken.RunFinish) (out []query) {
	if ev.Termination.Type != awaken.Suspended || ev.Result == nil || ev.Result.Waiting == nil {
		return nil
	}
	for i := range ev.Result.Waiting.Tickets {
		t := &ev.Result.Waiting.Tickets[i]
		q := query{t, protocol.IsApproval(t.ResumeMode, t.Suspension)}
		if c := s.calls[t.ToolCallID]; c != nil && t.RunID == "" {
			if c.client = !q.approval; q.approval {
				c.approval = callID(approvalPrefix, ev.RunID, t.TicketID)
			}
		}
		out = append(out, q)
	}
	return out
}

// answer returns the text with which a response ends although it was not streamed, or "".
func (s *span) answer(r *awaken.RunOutput) string {
	switch {
	case r == nil:
		return ""
	case s.opts.Structured && len(r.StructuredOutput) > 0:
		return string(r.StructuredOutput)
	case s.opts.Structured, len(r.StructuredOutput) > 0 && string(bytes.TrimSpace(s.last)) != r.Response && textOfJSON(s.last) != textOfJSON(r.StructuredOutput):
		return r.Response
	}
	return ""
}

// unfinished returns why a run that waits has no answer, if the client cannot do anything about it.
func unfinished(ev *awaken.RunFinish) *protocol.Failure {
	if ev.Termination.Type != awaken.Suspended || ev.Result == nil || ev.Result.Waiting == nil {
		return nil
	}
	switch w := ev.Result.Waiting; w.Reason {
	case awaken.WaitBudget:
		return &protocol.Failure{Status: 429, Code: "budget_exhausted", Message: cmp.Or(w.Message, "the run waits for budget; an operator can raise the limit and continue it")}
	case awaken.WaitPin:
		return &protocol.Failure{Status: 503, Code: "pin_unavailable", Message: cmp.Or(w.Message, "the run waits for its version of the configuration")}
	case awaken.WaitRestored:
		return &protocol.Failure{Status: 503, Code: "restored", Message: w.Message}
	}
	return nil
}
