package replay

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state/builtin"
)

// summaries is what the record has of summarising the conversation of a thread. It has no requests for summaries; it has the state of summarising in its
// events, and the summaries in the log.
type summaries struct {
	open []*attempt // that have begun in the replay, or that a run before the record began

	state  builtin.CompactionState // that was shown last
	limit  int                     // of a request, that was shown last
	flying *attempt                // that of the state
	// inherited is an attempt that a run before the record began, and that has no result yet.
	inherited *attempt
}

// written are the attempts to summarise that a run began, in order. Those of a run that other owners took over are not told from each other: notes are the
// summaries in its log instead, in order.
type written struct {
	attempts []*attempt
	notes    []*note
	// reopened is an event that shows a summary which came when the run was about to end, or 0. The record does not tell whether the run had begun to end,
	// found the summary in its inbox and began again, which counts as a revision of the state.
	reopened int
}

// note is a summary in the log of a run that is not followed.
type note struct {
	message *llm.Message
	due     place // it comes there
	atOnce  bool  // the run waits for it, because a request was refused
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
	result *awaken.CompactionResult // of one that a run before the record began

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
	inbox   Store // of the replay
}

// newScribe finds what came of the attempts to summarise.
func newScribe(s *stage) *scribe {
	sc := &scribe{stage: s, threads: map[string]*summaries{}}
	for _, p := range s.order {
		t := sc.threads[p.rec.Run.ThreadID]
		if t == nil {
			t = &summaries{}
			if raw := p.rec.State[summaryKey]; raw != nil {
				_ = json.Unmarshal(raw, &t.state) // it is as the engine wrote it
			}
			if f := t.state.InFlight; f != nil {
				t.inherited = &attempt{taskID: f.TaskID, inbox: true}
				t.open = append(t.open, t.inherited)
			}
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
		if last != nil && !slices.ContainsFunc(t.open, func(a *attempt) bool { return a.result != nil && a.due.p == p }) { // or that one has it
			last.usage = p.unsaid()
		}
		if !p.followed {
			p.recall(t)
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
	f := state.InFlight
	switch a := t.inherited; {
	case !p.followed:
		return nil
	case a != nil && f != nil && f.TaskID == a.taskID:
		return nil
	case a != nil:
		t.inherited = nil
		if !t.succeed(p, i, a, &was, state) {
			a.result = p.inherit(s, was.InFlight, &was, state)
			if f != nil {
				t.flying = p.add(place{p: p, act: p.actAt(i)})
			}
			return nil
		}
	}
	end := func() *attempt {
		last = t.flying
		if t.flying = nil; last == nil { // it began after the event before, because a request was refused
			last = p.add(place{})
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
			a.endBehind(p, b.MessageID)
		}
	}
	switch {
	case state.Failures > was.Failures:
		end().failed = state.LastError
	case state.Skipped > was.Skipped:
		end().text = strings.Repeat("Too long. ", state.SkippedTokens)
	}
	if t.flying != nil && (f == nil || was.InFlight == nil || f.TaskID != was.InFlight.TaskID) { // it was discarded
		if act := p.actAt(i); f == nil && act >= 0 && p.acts[act].finish.Termination.Type != awaken.Cancelled {
			end().text = "The conversation was rewritten."
		}
		t.flying = nil
	}
	if f != nil && t.flying == nil {
		t.flying = p.add(place{p: p, act: p.actAt(i)})
	}
	return last
}

// succeed notes what became of an attempt that a run before the record began. It reports whether the attempt counted as lost, and the run began another.
func (t *summaries) succeed(p *part, i int, a *attempt, was, is *builtin.CompactionState) bool {
	act := p.actAt(i)
	a.end(p, i)
	for _, b := range is.Boundaries {
		a.endBehind(p, b.MessageID)
	}
	before := slices.ContainsFunc(is.Boundaries, func(b builtin.CompactionBoundary) bool {
		return slices.ContainsFunc(p.rec.Before[len(p.before):], func(m *llm.Message) bool { return m.ID == b.MessageID })
	})
	if before { // the run found it before its input
		a.due = place{p: p}
	}
	same := is.Total == was.Total && is.Failures == was.Failures && is.Skipped == was.Skipped
	if act < 0 || before || !was.InFlight.Lost(p.acts[act].start.Time) || a.due.step == "" && (!same || is.InFlight == nil) {
		return false
	}
	a.due, was.InFlight = place{}, is.InFlight
	t.flying = p.add(place{p: p, act: act})
	return true
}

// recall finds the summaries in the log of a run that other owners took over.
func (p *part) recall(t *summaries) {
	answer := place{p: p} // before the activation
	var late []*note      // behind the last answer
	for _, m := range p.log() {
		switch md := m.Metadata; {
		case md == nil || md.RunID != p.rec.Run.RunID:
		case m.Role == llm.Assistant:
			if n := len(late); n > 0 && p.refused[m.ID] {
				late[n-1].atOnce = true
			}
			answer, late = place{p: p, step: m.ID}, nil
		case m.IsSummary():
			late = append(late, &note{message: m, due: answer})
			p.notes = append(p.notes, late[len(late)-1])
		}
	}
	if f := t.state.InFlight; f == nil || t.inherited == nil || f.TaskID != t.inherited.taskID {
		t.inherited, t.flying = nil, nil
		if f != nil {
			t.flying = p.add(place{p: p})
		}
	}
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
		res.FirstMessageID = p.firstOf(m)
	}
	return res
}

// firstOf returns the id of the first message that a summary stands for: one of the log, or a summary that the new one includes.
func (p *past) firstOf(m *llm.Message) (id string) {
	from := m.Metadata.Compaction.FromSeq
	if first := p.seq(from); first != nil {
		id = first.ID
	}
	for _, o := range p.log() {
		if o == m {
			break
		}
		if o.IsSummary() && o.Metadata.Compaction.FromSeq == from {
			id = o.ID
		}
	}
	return id
}

func (w *written) add(from place) *attempt {
	a := &attempt{from: from, free: make(chan struct{})}
	w.attempts = append(w.attempts, a)
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
		p.reopened = max(p.reopened, i)
	case n > 1:
		a.due = place{p: p, step: steps[n-2]}
	case a.inbox:
		a.due = place{p: p, act: act}
	default:
		a.release()
	}
}

// endBehind corrects where an attempt ended, if its summary is in the log of the run: in the step whose answer is before it.
func (a *attempt) endBehind(p *part, messageID string) {
	at := slices.IndexFunc(p.rec.Messages, func(r awaken.MessageRecord) bool { return r.Message.ID == messageID })
	if a.due == (place{}) || a.due.act > 0 || at < 0 { // what is before a later activation, is of an earlier one
		return
	}
	for _, r := range slices.Backward(p.rec.Messages[:at]) {
		if r.Message.Role == llm.Assistant {
			a.due = place{p: p, step: r.Message.ID}
			return
		}
	}
}

// release lets the attempt end.
func (a *attempt) release() {
	if !a.freed {
		a.freed = true
		if a.free != nil {
			close(a.free)
		}
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
	return builtin.SummaryText(m), true
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

type attemptKey struct{}

// Summarising is told of an attempt to summarise that a run begins. Its requests are made with the context that it returns.
func (sc *scribe) Summarising(ctx context.Context, runID, taskID string, done <-chan struct{}) context.Context {
	s := sc.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &attempt{free: make(chan struct{})} // the record does not say what came of it
	p := s.parts[runID]
	switch {
	case p == nil:
	case len(p.notes) > 0: // it is one of them
		if p.notes[0].atOnce {
			a.text = builtin.SummaryText(p.notes[0].message)
			a.release()
			p.notes = p.notes[1:]
		}
	case len(p.attempts) > 0:
		a, p.attempts = p.attempts[0], p.attempts[1:]
	}
	a.taskID, a.done = taskID, done
	if p != nil {
		a.from.p = p
		t := sc.threads[p.rec.Run.ThreadID]
		t.open = append(t.open, a)
	}
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
		yield(llm.Delta{}, errors.New(a.failed))
		return
	}
	if yield(llm.Delta{Kind: llm.TextDelta, Text: a.text}, nil) {
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// finish ends the attempts that are due at a place of a run, and waits until they have ended.
func (sc *scribe) finish(ctx context.Context, at place) {
	s := sc.stage
	for _, a := range sc.due(at) {
		if a.result != nil {
			if err := sc.inbox.Post(ctx, at.p.rec.Run.ThreadID, awaken.InboxItem{ID: "compaction:" + a.taskID, Compaction: a.result}); err != nil {
				s.part(at.p, "a summary", "", err.Error())
			}
			s.rt.Notify(at.p.rec.Run.ThreadID)
			continue
		}
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

// due releases the attempts that end at a place, and returns them.
func (sc *scribe) due(at place) (out []*attempt) {
	sc.stage.mu.Lock()
	defer sc.stage.mu.Unlock()
	t := sc.threads[at.p.rec.Run.ThreadID]
	if t == nil {
		return nil
	}
	if p := at.p; len(p.notes) > 0 && p.notes[0].due == at && !p.notes[0].atOnce {
		for _, a := range slices.Backward(t.open) { // the last one is under way
			if !a.freed {
				a.carry(p, p.notes[0].message, at)
				p.notes = p.notes[1:]
				break
			}
		}
	}
	for _, a := range t.open {
		if a.due == at && (a.result != nil || a.done != nil) && !a.freed {
			a.release()
			out = append(out, a)
		}
	}
	return out
}

// carry makes a summary of the log of a run what comes of the attempt.
func (a *attempt) carry(p *part, m *llm.Message, due place) {
	a.due = due
	if a.done != nil {
		a.text, a.inbox = builtin.SummaryText(m), a.from.p != p
		return
	}
	iv := *m.Metadata.Compaction
	a.result = &awaken.CompactionResult{TaskID: a.taskID, FirstMessageID: p.firstOf(m), Summary: builtin.SummaryText(m), Interval: iv}
	if last := p.seq(iv.ToSeq); last != nil {
		a.result.BoundaryMessageID = last.ID
	}
}

// delivered notes that the result of an attempt is in the inbox. It requires the lock.
func (sc *scribe) delivered(threadID, taskID string) {
	if t := sc.threads[threadID]; t != nil {
		for _, a := range t.open {
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
