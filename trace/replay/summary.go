package replay

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// written is what the record has of the attempts to summarise: those that a run began, and those whose end it recorded, in order. The engine
// makes no summary in a replay: it is given the recorded result where the run took it in.
type written struct {
	begun []builtin.CompactionTask
	ends  []ending
	task  *builtin.CompactionTask // in flight in the replay, when the run last asked for a result
}

// ending is the end of an attempt.
type ending struct {
	builtin.CompactionEnd
	shown int // the first event that shows it
	seq   int // the number of the summary in the log, or 0
}

// findAttempts finds the attempts of all runs, and the requests that were refused as too large.
func (s *stage) findAttempts() {
	limits := map[string]int{} // by thread
	for _, p := range s.order {
		for i := range p.events {
			state, limit := p.windowAt(i)
			if limit > 0 && limit != limits[p.rec.Run.ThreadID] {
				limits[p.rec.Run.ThreadID] = limit
				p.refused[p.stepAt(i)] = true
			}
			if state != nil {
				p.note(i, state)
			}
		}
	}
}

const summaryKey = "__context_compaction"

// windowAt returns the state of summarising that an event shows, or nil, and the limit of requests that was learned from a refusal, or 0.
func (p *past) windowAt(i int) (*builtin.CompactionState, int) {
	switch ev := p.events[i].Event.(type) {
	case *awaken.StateSnapshot:
		var shown struct {
			Snapshot struct {
				Extensions struct {
					Summaries *builtin.CompactionState `json:"__context_compaction"`
					Window    struct {
						Limit int `json:"limit"`
					} `json:"__runtime.context_window"`
				} `json:"extensions"`
			} `json:"snapshot"`
		}
		if line := p.lines[i]; (strings.Contains(line, summaryKey) || strings.Contains(line, `"limit":`)) && json.Unmarshal([]byte(line), &shown) == nil {
			return shown.Snapshot.Extensions.Summaries, shown.Snapshot.Extensions.Window.Limit
		}
	case *awaken.StateDelta:
		for _, op := range ev.Delta {
			var state builtin.CompactionState
			if op.Path == "/extensions/"+summaryKey && json.Unmarshal(op.Value, &state) == nil {
				return &state, 0
			}
		}
	}
	return nil, 0
}

// note notes the attempts that an event shows.
func (p *part) note(i int, state *builtin.CompactionState) {
	for _, e := range state.Ended {
		p.began(&e.CompactionTask)
		known := func(o ending) bool { return o.TaskID == e.TaskID && o.Outcome == e.Outcome }
		if e.EndedBy == p.rec.Run.RunID && !slices.ContainsFunc(p.ends, known) && p.comes(&e) {
			p.ends = append(p.ends, ending{e, i, p.seqOf(e.MessageID)})
		}
	}
	if state.InFlight != nil {
		p.began(state.InFlight)
	}
}

// comes reports whether the end of an attempt is a result that the run is given. Others are the run's own doing, or do not show in the messages
// of a run whose events are not compared.
func (p *part) comes(e *builtin.CompactionEnd) bool {
	switch e.Outcome {
	case builtin.CompactionLost, builtin.CompactionCancelled:
		return false
	case builtin.CompactionSummary:
		return true
	}
	return p.followed
}

// began notes an attempt, if the run began it.
func (p *part) began(t *builtin.CompactionTask) {
	known := func(o builtin.CompactionTask) bool { return o.TaskID == t.TaskID }
	if t.RunID == p.rec.Run.RunID && !slices.ContainsFunc(p.begun, known) {
		p.begun = append(p.begun, *t)
	}
}

// Begins reports whether a run begins an attempt in a step. Where its clock has a say, the record says what it said. A run that other owners took
// over begins none: it is given the summaries that its log has.
func (s *stage) Begins(runID string, step int, overflow, ok, timed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[runID]
	if p == nil {
		return ok
	}
	if !p.followed {
		return false
	}
	at := slices.IndexFunc(p.begun, func(t builtin.CompactionTask) bool { return t.Step == step && t.Overflow == overflow })
	if at >= 0 {
		p.begun = slices.Delete(p.begun, at, at+1)
	}
	if timed {
		return at >= 0
	}
	return ok
}

// Comes returns the result of an attempt that a run takes in at a point, or nil.
func (s *stage) Comes(runID string, steps int, at builtin.CompactionPoint, log int, task *builtin.CompactionTask, msgs llm.Messages) (*awaken.CompactionResult, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[runID]
	if p == nil {
		return nil, false
	}
	p.task = task
	if len(p.ends) == 0 {
		return nil, false
	}
	e := &p.ends[0]
	here := p.here(e, at, steps)
	if !p.followed {
		here = (e.Point == builtin.AtOverflow) == (at == builtin.AtOverflow)
	}
	if !here || e.seq > 0 && e.seq != log+1 {
		return nil, false
	}
	p.ends = p.ends[1:]
	if p.followed {
		return p.result(e, task), false
	}
	res := p.result(e, nil)
	res.FirstMessageID, res.BoundaryMessageID = p.counterpart(res.FirstMessageID, msgs), p.counterpart(res.BoundaryMessageID, msgs)
	if task != nil { // an owner had announced it, or one that was lost before
		res.TaskID = task.TaskID
	}
	return res, task == nil
}

// here reports whether a run is at the point at which it recorded the end of an attempt.
func (p *part) here(e *ending, at builtin.CompactionPoint, steps int) bool {
	return e.Point == at && e.EndStep == steps && p.actAt(e.shown) == p.actAt(min(p.pos, len(p.events)-1))
}

// arrives returns the result of an attempt that is in the inbox when a run is about to end or to wait, or nil.
func (s *stage) arrives(runID string, steps int) *awaken.CompactionResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.parts[runID]
	if p == nil || !p.followed || len(p.ends) == 0 || !p.here(&p.ends[0], builtin.AtUnread, steps) {
		return nil
	}
	e := p.ends[0]
	p.ends = p.ends[1:]
	return p.result(&e, p.task)
}

// result returns the result of an attempt. Task is the attempt in the replay, or nil.
func (p *past) result(e *ending, task *builtin.CompactionTask) *awaken.CompactionResult {
	res := &awaken.CompactionResult{TaskID: e.TaskID, FirstMessageID: e.FirstMessageID, BoundaryMessageID: e.BoundaryMessageID, PreTokens: e.PreTokens,
		PostTokens: e.PostTokens, Skipped: e.Outcome == builtin.CompactionSkipped, Error: e.Error, Usage: e.Usage, CostUSD: e.CostUSD}
	if task != nil && e.Outcome != builtin.CompactionLate {
		res.TaskID, res.FirstMessageID, res.BoundaryMessageID = task.TaskID, task.FirstMessageID, task.BoundaryMessageID
	}
	if m := p.find(e.MessageID); m != nil && m.IsSummary() {
		res.Summary, res.Interval = builtin.SummaryText(m), *m.Metadata.Compaction
	}
	return res
}

// counterpart returns the id that a message of the record has in the conversation of the replay.
func (p *past) counterpart(id string, msgs llm.Messages) string {
	was := p.find(id)
	for _, m := range msgs.All() {
		if m.ID == id || was != nil && was.IsSummary() && m.IsSummary() && *m.Metadata.Compaction == *was.Metadata.Compaction {
			return m.ID
		}
	}
	return id
}

// seqOf returns the number of a message in the log of the thread, or 0.
func (p *past) seqOf(id string) int {
	if id == "" {
		return 0
	}
	for i, m := range slices.Backward(p.log()) {
		if m.ID == id {
			return i + 1
		}
	}
	return 0
}

// actAt returns the activation of an event, or -1.
func (p *past) actAt(i int) int {
	return slices.IndexFunc(p.acts, func(a activation) bool { return i >= a.from && i < a.to })
}

// stepStart returns the event that begins the step of an event, or -1.
func (p *past) stepStart(i int) int {
	for ; i >= 0; i-- {
		if _, ok := p.events[i].Event.(*awaken.StepStart); ok {
			break
		}
	}
	return i
}

// stepAt returns the id of the message that the model is asked for in the step of an event, or "".
func (p *past) stepAt(i int) string {
	if i = p.stepStart(i); i < 0 {
		return ""
	}
	return p.events[i].Event.(*awaken.StepStart).MessageID
}

// log returns the log of the thread up to the end of the run.
func (p *past) log() []*llm.Message {
	msgs := slices.Concat(p.rec.Before, p.rec.Input)
	for _, r := range p.rec.Messages {
		msgs = append(msgs, r.Message)
	}
	return msgs
}

// find returns the last message with that id, or nil.
func (p *past) find(id string) *llm.Message {
	for _, m := range slices.Backward(p.log()) {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// unsaid returns the usage of the run that is not of its answers.
func (p *past) unsaid() llm.Usage {
	u := p.rec.Run.Usage
	for i := range p.rec.Turns {
		if said := p.rec.Turns[i].Usage; said != nil {
			u.PromptTokens -= said.PromptTokens
			u.CompletionTokens -= said.CompletionTokens
			u.TotalTokens -= said.TotalTokens
			u.CacheReadTokens -= said.CacheReadTokens
			u.CacheCreationTokens -= said.CacheCreationTokens
			u.ThinkingTokens -= said.ThinkingTokens
		}
	}
	return u
}

// refuse reports whether the model refuses a request of the run because it is too large. It does so once in a step.
func (p *part) refuse(s *stage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.spoke >= len(p.streams) {
		return false
	}
	t := p.streams[p.spoke].turn
	refused := t.Answered && p.refused[t.MessageID]
	delete(p.refused, t.MessageID)
	return refused
}
