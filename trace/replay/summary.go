package replay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/builtin"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/money"
)

// summaries are the attempts to summarise the conversation of a thread, in the order in which they began. The record has no requests for summaries; it
// has the state of summarising in its events, and the summaries in the log.
type summaries struct {
	list  []*attempt
	begun int // in the replay

	state  builtin.CompactionState // that was shown last
	limit  int                     // of a request, that was shown last
	flying *attempt                // that of the state
	// inherited is an attempt that a run before the record began, and that has no result yet.
	inherited *builtin.CompactionTask
}

// attempt is one attempt to summarise: what came of it, and where.
type attempt struct {
	text   string // of the summary
	failed string // why there is none
	from   place  // the activation that began it
	due    place  // it ends there
	inbox  bool   // another activation took it in
	time   int64  // when it was taken in, Unix ms, or 0
	usage  llm.Usage

	free   chan struct{} // closed when it may end
	freed  bool
	taskID string          // in the replay
	done   <-chan struct{} // closed when it has ended
	posted bool            // it is in the inbox
}

// place is where a run is: before an activation or, if step is set, where its model is asked for the message with that id.
type place struct {
	p    *part
	act  int
	step string
}

// scribe makes the summaries of a replay.
type scribe struct {
	stage   *stage
	threads map[string]*summaries
}

// newScribe finds what came of the attempts to summarise.
func newScribe(s *stage) *scribe {
	sc := &scribe{s, map[string]*summaries{}}
	for _, p := range s.order {
		t := sc.threads[p.rec.Run.ThreadID]
		if t == nil {
			t = &summaries{}
			if raw := p.rec.State[summaryKey]; raw != nil {
				_ = json.Unmarshal(raw, &t.state) // it is as the engine wrote it
			}
			t.inherited = t.state.InFlight
			sc.threads[p.rec.Run.ThreadID] = t
		}
		var last *attempt
		for i := range p.events {
			state, limit := p.windowAt(i)
			if limit > 0 && limit != t.limit {
				t.limit = limit
				p.refused[p.stepAt(i)] = true
			}
			if state != nil {
				if a := t.follow(s, p, i, state); a != nil {
					last = a
				}
			}
		}
		if last != nil {
			last.usage = p.unsaid()
		}
	}
	return sc
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

// follow notes what happened before an event showed a state. It returns the last attempt that ended, or nil.
func (t *summaries) follow(s *stage, p *part, i int, state *builtin.CompactionState) (last *attempt) {
	was := t.state
	t.state = *state
	if task := t.inherited; task != nil {
		if f := state.InFlight; f == nil || f.TaskID != task.TaskID {
			p.posted, t.inherited = p.inherit(s, task, &was, state), nil
		}
		return nil
	}
	end := func() *attempt {
		last = t.flying
		if t.flying = nil; last == nil { // it began after the event before, because a request was refused
			last = t.add(place{})
			last.release()
		} else {
			last.end(p, i)
		}
		return last
	}
	for _, b := range state.Boundaries {
		if slices.ContainsFunc(was.Boundaries, func(o builtin.CompactionBoundary) bool { return o.MessageID == b.MessageID }) {
			continue
		}
		if text, ok := p.summary(s, b.MessageID); ok {
			a := end()
			a.text, a.time = text, b.At
		}
	}
	switch {
	case state.Failures > was.Failures:
		end().failed = state.LastError
	case state.Skipped > was.Skipped:
		end().text = strings.Repeat("Too long. ", state.SkippedTokens)
	}
	f := state.InFlight
	if t.flying != nil && (f == nil || was.InFlight == nil || f.TaskID != was.InFlight.TaskID) { // it was discarded
		if act := p.actAt(i); f == nil && act >= 0 && p.acts[act].finish.Termination.Type != awaken.Cancelled {
			end().text = "The conversation was rewritten."
		}
		t.flying = nil
	}
	if f != nil && t.flying == nil {
		t.flying = t.add(place{p: p, act: p.actAt(i)})
	}
	return last
}

// inherit returns what came of an attempt that a run before the record began: the run found it in the inbox.
func (p *part) inherit(s *stage, task *builtin.CompactionTask, was, is *builtin.CompactionState) *awaken.CompactionResult {
	res := &awaken.CompactionResult{TaskID: task.TaskID, BoundaryMessageID: task.BoundaryMessageID, Usage: p.unsaid(), Skipped: is.Skipped > was.Skipped}
	if is.Failures > was.Failures {
		res.Error = is.LastError
	}
	cost := money.Dollars(p.rec.Run.CostUSD)
	for i := range p.rec.Turns {
		cost -= money.Dollars(p.rec.Turns[i].CostUSD)
	}
	res.CostUSD = cost.USD()
	for _, b := range is.Boundaries {
		m := p.find(b.MessageID)
		if b.BoundaryMessageID != task.BoundaryMessageID || m == nil || m.Metadata == nil || m.Metadata.Compaction == nil {
			continue
		}
		res.Summary, _ = p.summary(s, b.MessageID)
		res.PreTokens, res.PostTokens, res.Interval = b.PreTokens, b.PostTokens, *m.Metadata.Compaction
		if first := p.seq(res.Interval.FromSeq); first != nil {
			res.FirstMessageID = first.ID
		}
	}
	return res
}

func (t *summaries) add(from place) *attempt {
	a := &attempt{from: from, free: make(chan struct{})}
	t.list = append(t.list, a)
	return a
}

// end notes where an attempt ended, if its result shows first in an event: before the step of the event or, behind the end of a step, when the run ended or
// began to wait. The model was asked before that, in the step before or, if there is none, in an earlier activation.
func (a *attempt) end(p *part, i int) {
	act := p.actAt(i)
	if act < 0 {
		a.release()
		return
	}
	var steps []string
	over := false
	for _, e := range p.events[p.acts[act].from : i+1] {
		switch ev := e.Event.(type) {
		case *awaken.StepStart:
			steps, over = append(steps, ev.MessageID), false
		case *awaken.StepEnd:
			over = true
		}
	}
	a.inbox = a.from != place{p: p, act: act}
	switch n := len(steps); {
	case over && n > 0:
		a.due = place{p: p, step: steps[n-1]}
	case n > 1:
		a.due = place{p: p, step: steps[n-2]}
	case a.inbox:
		a.due = place{p: p, act: act}
	default:
		a.release()
	}
}

// release lets the attempt end.
func (a *attempt) release() {
	if !a.freed {
		a.freed = true
		close(a.free)
	}
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

// summary returns the text of a summary that a run of the replay took in.
func (p *part) summary(s *stage, messageID string) (string, bool) {
	m := p.find(messageID)
	if m == nil || m.Metadata == nil || s.parts[m.Metadata.RunID] == nil {
		return "", false
	}
	text := strings.TrimPrefix(m.Text(), "<conversation-summary>\n")
	return strings.TrimSuffix(text, "\n</conversation-summary>"), true
}

// find returns the last message with that id, or nil.
func (p *past) find(id string) *llm.Message {
	msgs := slices.Concat(p.rec.Before, p.rec.Input)
	for _, r := range p.rec.Messages {
		msgs = append(msgs, r.Message)
	}
	for _, m := range slices.Backward(msgs) {
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

type attemptKey struct{}

// Summarising is told of an attempt to summarise a thread that begins. Its requests are made with the context that it returns.
func (sc *scribe) Summarising(ctx context.Context, threadID, taskID string, done <-chan struct{}) context.Context {
	sc.stage.mu.Lock()
	defer sc.stage.mu.Unlock()
	a := &attempt{free: make(chan struct{})} // the record does not say what came of it
	if t := sc.threads[threadID]; t != nil && t.begun < len(t.list) {
		a = t.list[t.begun]
		t.begun++
	}
	a.taskID, a.done = taskID, done
	return context.WithValue(ctx, attemptKey{}, a)
}

// answer answers a request for a summary when the attempt is due.
func (a *attempt) answer(ctx context.Context, s *stage, yield func(llm.Delta, error) bool) {
	select {
	case <-a.free:
	case <-ctx.Done():
		yield(llm.Delta{}, &llm.Error{Kind: llm.Cancelled, Err: context.Cause(ctx)})
		return
	case <-s.ctx.Done(): // the replay is over
		yield(llm.Delta{}, &llm.Error{Kind: llm.Cancelled, Err: context.Cause(s.ctx)})
		return
	}
	s.mu.Lock()
	usage := a.usage
	a.usage = llm.Usage{}
	s.mu.Unlock()
	if a.due == (place{}) {
		s.reach(a.time) // the run waits for it
	}
	if usage != (llm.Usage{}) && !yield(llm.Delta{Kind: llm.UsageDelta, Usage: &usage}, nil) {
		return
	}
	if a.failed != "" {
		yield(llm.Delta{}, failure(a.failed))
		return
	}
	if yield(llm.Delta{Kind: llm.TextDelta, Text: a.text}, nil) {
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// finish ends the attempts that are due at a place of a run, and waits until they have ended.
func (sc *scribe) finish(ctx context.Context, at place) {
	s := sc.stage
	var due []*attempt
	s.mu.Lock()
	if t := sc.threads[at.p.rec.Run.ThreadID]; t != nil {
		for _, a := range t.list[:t.begun] {
			if a.due == at && !a.freed {
				a.release()
				due = append(due, a)
			}
		}
	}
	s.mu.Unlock()
	for _, a := range due {
		select {
		case <-a.done:
		case <-ctx.Done():
		case <-time.After(s.player.patience()):
		}
		if a.inbox {
			s.awaitThat(ctx, at.p, func() bool { return a.posted })
		}
	}
}

// delivered notes that the result of an attempt is in the inbox. It requires the lock.
func (sc *scribe) delivered(threadID, taskID string) {
	if t := sc.threads[threadID]; t != nil {
		for _, a := range t.list[:t.begun] {
			a.posted = a.posted || a.taskID == taskID
		}
	}
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
