package replay

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// past is the record of one run.
type past struct {
	rec    *trace.Recording
	events []awaken.Entry // of the activations that count
	lines  []string       // the events as JSON
	acts   []activation
}

// part is one run of the record: what it has to say and to do, and how far the replay is.
type part struct {
	past
	root   bool           // it was started from outside
	before []*llm.Message // the log before it
	rewind string         // the message that it began by hiding
	// followed says that the events are compared. They are not if another owner took over.
	followed bool

	outcomes  map[string][]outcome      // of calls, by id
	shown     map[string][]shownEvent   // what calls showed while they ran
	posts     map[int][]*llm.Message    // messages that arrive behind an event
	heard     map[int][]*llm.Message    // messages that arrive before a call ends with an event
	awaited   map[place][]*llm.Message  // messages that the run reads elsewhere
	decisions map[int][]awaken.Decision // that are made behind an event
	late      map[int][]awaken.Decision // that are made when the run is about to wait, after the step that ends with an event
	refused   map[string]bool           // messages for which the model was asked again, because the request was too large
	cut       cancellation
	block     block
	alias     string   // the id of the run in the replay, if it is another
	streams   []stream // what the model says, in order
	written

	progress
}

// progress is how far the replay of a run is.
type progress struct {
	pos      int            // events published so far
	starts   int            // activations begun so far
	done     map[string]int // outcomes published so far, by call
	next     map[string]int // the event that a call may show next
	spoke    int            // streams begun so far
	rest     []llm.Delta    // of the last stream, if the run cut it off
	asked    string         // the message that the model is asked for
	inquiry  inquiry        // the last one to the model
	answered int            // times it has answered so far
}

// cancellation is how a run was cancelled.
type cancellation struct {
	at      int             // the event behind which it was, or -1
	running map[string]bool // the calls during which it was, until they begin
	ended   map[string]bool // the calls that it ended, of a run that is not followed
	silent  bool            // the record has no answer of the model behind it
	gate    gate            // the phase of a call in which it was, if that is known
	passed  bool            // the run has come to the gate
	done    bool
}

// activation is a time during which the run was active. From and to are its first event and the one behind its last.
type activation struct {
	from, to int
	start    awaken.Entry
	begin    *awaken.RunStart
	end      *awaken.Termination // set if it does nothing but end the run
	finish   *awaken.RunFinish
}

// lost says that the version of the run was not available.
func (a *activation) lost() bool {
	out := a.finish.Result
	return out != nil && out.Waiting != nil && out.Waiting.Reason == awaken.WaitPin
}

func (a *activation) woken() bool {
	return a.begin.Identity != nil && a.begin.Identity.Mode == "internal_wake"
}

// outcome is an event with the outcome of a call.
type outcome struct {
	at     int
	result *awaken.ToolResult // pending if the call was suspended
	writes *awaken.CallWrites // nil if the call wrote nothing
}

type shownEvent struct {
	at    int
	event awaken.Event
}

type stream struct {
	trace.Stream
	turn *trace.Turn
	last bool // of its turn
}

// cast makes the part of a recording, and of those below it.
func (s *stage) cast(rec *trace.Recording, root bool) error {
	if len(rec.Events) == 0 {
		return fmt.Errorf("run %s: %w: the store has no events of it", rec.Run.RunID, ErrUnplayable)
	}
	if rec.Run.Status != awaken.RunDone && rec.Run.Status != awaken.RunWaiting {
		return fmt.Errorf("run %s: %w: its status is %s, want done or waiting", rec.Run.RunID, ErrUnplayable, rec.Run.Status)
	}
	p := &part{past: past{rec: rec}, root: root, before: rec.Before, outcomes: map[string][]outcome{}, shown: map[string][]shownEvent{}, posts: map[int][]*llm.Message{}, heard: map[int][]*llm.Message{}, awaited: map[place][]*llm.Message{}, decisions: map[int][]awaken.Decision{}, late: map[int][]awaken.Decision{}, refused: map[string]bool{},
		progress: progress{done: map[string]int{}, next: map[string]int{}}, cut: cancellation{at: -1, running: map[string]bool{}, ended: map[string]bool{}}, followed: true}
	if n := len(p.before); n > 0 {
		if md := p.before[n-1].Metadata; md != nil && md.Rewind != nil && md.RunID == rec.Run.RunID && md.Rewind.FromSeq <= n-1 && md.Rewind.FromSeq > 0 {
			p.rewind, p.before = p.before[md.Rewind.FromSeq-1].ID, p.before[:n-1]
		}
	}
	for len(p.before) > 0 && p.before[len(p.before)-1].IsSummary() && p.before[len(p.before)-1].Metadata.RunID == rec.Run.RunID {
		p.before = p.before[:len(p.before)-1] // the run took it in before its input
	}
	p.divide()
	if len(p.acts) == 0 {
		return fmt.Errorf("run %s: %w: no activation of it has ended", rec.Run.RunID, ErrUnplayable)
	}
	for i := range p.events {
		line, err := awaken.AppendEvent(nil, p.events[i].Event)
		if err != nil {
			return err
		}
		p.lines = append(p.lines, string(line))
		p.index(i)
	}
	for i := range rec.Turns {
		t := &rec.Turns[i]
		for j := range t.Streams {
			p.streams = append(p.streams, stream{t.Streams[j], t, j == len(t.Streams)-1})
		}
	}
	if err := p.placeArrivals(); err != nil {
		return err
	}
	p.placeBlock()
	p.placeCancel(s.mode(rec.Run.AgentID) == awaken.Sequential)
	s.parts[rec.Run.RunID] = p
	s.order = append(s.order, p)
	for _, child := range rec.Children {
		if child.Run.StartedAt == 0 || len(child.Events) == 0 {
			continue
		}
		if err := s.cast(child, false); err != nil {
			return err
		}
	}
	p.placeDecisions(s)
	return nil
}

// divide finds the activations. One that another owner took over lasts until the new owner ended it; the events of such a run are not compared.
func (p *part) divide() {
	var open *activation
	for _, e := range p.rec.Events {
		switch ev := e.Event.(type) {
		case *awaken.RunStart:
			if open != nil { // its owner was lost
				p.followed = false
			} else {
				open = &activation{from: len(p.events), start: e, begin: ev}
			}
			open.end = ev.End
		case *awaken.RunFinish:
			p.events = append(p.events, e)
			if open != nil {
				open.finish, open.to = ev, len(p.events)
				p.acts = append(p.acts, *open)
				open = nil
			}
			continue
		}
		if open == nil {
			continue
		}
		p.events = append(p.events, e)
	}
	if open != nil {
		p.followed = false
	}
}

// index notes what an event tells about a call.
func (p *part) index(i int) {
	switch ev := p.events[i].Event.(type) {
	case *awaken.ToolCallDone:
		p.outcomes[ev.ID] = append(p.outcomes[ev.ID], outcome{i, ev.Result, ev.Writes})
	case *awaken.ToolCallResumed:
		if c := p.call(ev.TargetID); c != nil {
			p.outcomes[ev.TargetID] = append(p.outcomes[ev.TargetID], outcome{i, c.Result, ev.Writes})
		}
	case *awaken.ToolCallStreamDelta:
		p.shown[ev.ID] = append(p.shown[ev.ID], shownEvent{i, ev})
	case *awaken.ActivitySnapshot:
		if id, ok := strings.CutPrefix(ev.MessageID, "tool_call:"); ok {
			p.shown[id] = append(p.shown[id], shownEvent{i, ev})
		}
	case *awaken.ActivityDelta:
		if id, ok := strings.CutPrefix(ev.MessageID, "tool_call:"); ok {
			p.shown[id] = append(p.shown[id], shownEvent{i, ev})
		}
	}
}

// call returns the record of a call in the ledger, or nil.
func (p *past) call(id string) *awaken.CallState {
	for _, c := range p.rec.Calls {
		if c.CallID == id {
			return c
		}
	}
	return nil
}

// agent is the agent that the run started with.
func (p *past) agent() string {
	if p.rec.Run.FirstAgentID != "" {
		return p.rec.Run.FirstAgentID
	}
	return p.rec.Run.AgentID
}

// lastOutcome returns the last event with an outcome of the calls of an answer that ended at an event, or -1.
func (p *past) lastOutcome(at int) int {
	last := -1
	for i := at; i < len(p.events); i++ {
		switch p.events[i].Event.(type) {
		case *awaken.StepStart, *awaken.RunFinish:
			return last
		case *awaken.ToolCallDone:
			last = i
		}
	}
	return last
}

// fromOutside reports whether a message of the log was neither said nor made by the run.
func fromOutside(r *awaken.MessageRecord) bool {
	return r.Message.Role == llm.User && !r.Message.IsSummary() && (r.Message.Metadata == nil || r.Message.Metadata.RunID == "")
}

// answerAt returns the event that ends the answer with that id, or -1.
func (p *past) answerAt(messageID string) int {
	in := false
	for i := range p.events {
		switch ev := p.events[i].Event.(type) {
		case *awaken.StepStart:
			in = ev.MessageID == messageID
		case *awaken.InferenceComplete:
			if in {
				return i
			}
		}
	}
	return -1
}

// startsActivation reports whether a message that follows the answer ended at an event arrived while the run waited: then it is part of
// the request that continued the run.
func (p *past) startsActivation(at int, _ *llm.Message) bool {
	for i := range p.acts {
		if a := &p.acts[i]; at >= a.from && at < a.to {
			next := slices.IndexFunc(p.events[at:a.to], func(e awaken.Entry) bool { _, ok := e.Event.(*awaken.StepStart); return ok })
			return next < 0 && a.finish.Termination.Type == awaken.Suspended && i+1 < len(p.acts)
		}
	}
	return false
}

// placeDecisions finds the events behind which decisions were made while the run was active. It requires the runs below.
func (p *part) placeDecisions(s *stage) {
	if !p.root {
		return
	}
	for i := range p.acts {
		asked := map[string]int{}
		for at := p.acts[i].from; at < p.acts[i].to; at++ {
			switch ev := p.events[at].Event.(type) {
			case *awaken.ToolCallDone:
				if ev.Outcome == awaken.CallSuspended {
					asked[ev.ID] = at
				}
			case *awaken.ToolCallResumed:
				question, ok := asked[ev.TargetID]
				delete(asked, ev.TargetID)
				if !ok {
					continue
				}
				behind := p.decidedBehind(ev.TargetID, question, at, s.mode(p.rec.Run.AgentID) == awaken.ParallelBatchApproval)
				list := p.decisions
				if _, ended := p.events[behind].Event.(*awaken.StepEnd); ended {
					list = p.late
				}
				for _, ticket := range p.ticketsOf(ev, question) {
					if d := s.decision(p, ticket); d != nil {
						d.UpdatedAt = 0
						list[behind] = append(list[behind], *d)
					}
				}
			}
		}
		p.placeEarly(p.acts[i].to, asked)
	}
}

// ticketsOf returns the ids of the questions that were answered before a call continued: its own, or those of the run that it started.
func (p *past) ticketsOf(ev *awaken.ToolCallResumed, question int) []string {
	if ev.Decision != nil {
		return []string{ev.Decision.TicketID}
	}
	var out []string
	done := p.events[question].Event.(*awaken.ToolCallDone)
	if done.Result != nil && done.Result.Suspension != nil {
		for _, t := range done.Result.Suspension.Tickets {
			out = append(out, t.TicketID)
		}
	}
	return out
}

// decidedBehind returns the event behind which the question of a call was answered. The call ended at another.
func (p *part) decidedBehind(callID string, question, end int, batch bool) int {
	for _, sh := range p.shown[callID] {
		if sh.at > question {
			end = min(end, sh.at) // it had continued
		}
	}
	switch p.events[end-1].Event.(type) {
	case *awaken.ToolCallDone, *awaken.ToolCallResumed:
		if !batch { // decisions are acted on when all are made
			return end - 1
		}
	case *awaken.StepEnd: // the run was about to wait
		if c := p.held(callID, question); p.followed && c != nil && c.Decision == nil {
			return end - 1
		}
	}
	return question
}

// placeEarly finds where decisions were made that the activation up to an event took and did not act on, because others were open. Asked are the events with the questions of calls
// that are still open.
func (p *part) placeEarly(to int, asked map[string]int) {
	for id, at := range asked {
		c := p.held(id, at)
		if c == nil || c.Decision == nil {
			continue
		}
		d := *c.Decision
		for at+1 < to && p.events[at+1].Time <= d.UpdatedAt {
			at++
		}
		d.UpdatedAt = 0
		p.decisions[at] = append(p.decisions[at], d)
	}
}

// seq returns the record of the log with that number, or nil.
func (p *past) seq(n int) *llm.Message {
	n -= len(p.rec.Before) + 1
	if n < 0 {
		if n += len(p.rec.Before); n >= 0 {
			return p.rec.Before[n]
		}
		return nil
	}
	if n < len(p.rec.Input) {
		return p.rec.Input[n]
	}
	if n -= len(p.rec.Input); n < len(p.rec.Messages) {
		return p.rec.Messages[n].Message
	}
	return nil
}

// held returns the record of a call as the next snapshot of the state shows it, or nil.
func (p *past) held(callID string, behind int) *awaken.CallState {
	for i := behind; i < len(p.events); i++ {
		if ev, ok := p.events[i].Event.(*awaken.StateSnapshot); ok {
			return trace.CallIn(ev, callID)
		}
	}
	return nil
}

// placeCancel finds the event behind which the run was cancelled.
func (p *part) placeCancel(sequential bool) {
	a := p.acts[len(p.acts)-1]
	if a.finish.Termination.Type != awaken.Cancelled || p.endsAtOnce(len(p.acts)-1) {
		return
	}
	defer p.placeGate(sequential)
	if !p.followed {
		p.cut.at = a.from
		for _, e := range p.events[a.from:a.to] {
			if ev, ok := e.Event.(*awaken.ToolCallDone); ok && interrupted(ev.Result) {
				p.cut.ended[ev.ID] = true
				p.cut.running[ev.ID] = !notMade(ev.Result)
			}
		}
		maps.DeleteFunc(p.cut.running, func(_ string, begun bool) bool { return !begun })
		return
	}
	i := a.to - 1
	for ; i > a.from; i-- {
		switch ev := p.events[i].Event.(type) {
		case *awaken.RunFinish, *awaken.StateSnapshot, *awaken.StepEnd, *awaken.ToolCallCancel, *awaken.StateDelta:
			continue
		case *awaken.InferenceComplete:
			if ev.FinishReason == "" {
				continue
			}
		case *awaken.ToolCallResumed:
			if ev.Outcome == awaken.CallCancelled && ev.Decision == nil {
				continue
			}
		case *awaken.ToolCallDone:
			if interrupted(ev.Result) {
				if !notMade(ev.Result) {
					p.cut.running[ev.ID] = true
				}
				continue
			}
		}
		break
	}
	p.cut.at = i
}

// interrupted reports whether the runtime ended the call because the run ended.
func interrupted(r *awaken.ToolResult) bool {
	return r != nil && r.Replaces != nil && r.Replaces.Interrupted != ""
}

// notMade reports whether a call that was interrupted had not begun.
func notMade(r *awaken.ToolResult) bool { return r.Replaces.Interrupted == "not_made" }

// endsAtOnce reports whether an activation does nothing but end the run. Its owner may have been lost before, but not behind a step.
func (p *past) endsAtOnce(i int) bool {
	a := &p.acts[i]
	return a.end != nil &&
		!slices.ContainsFunc(p.events[a.from:a.to], func(e awaken.Entry) bool { _, ok := e.Event.(*awaken.StepStart); return ok })
}
