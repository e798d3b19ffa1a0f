package timeline

import (
	"context"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ids"
)

// Source is the input of [Read]. Stores implement it.
type Source interface {
	Log
	awaken.EventLog
	Calls(ctx context.Context, runID string) ([]*awaken.CallState, error)
}

// Mark is a position between two pages. The zero Mark is before the first page.
type Mark struct {
	Fence  uint64 `json:"f,omitempty"` // of the last commit of the page before
	Number uint64 `json:"n,omitempty"`
	Point  Point  `json:"p,omitzero"`
}

// Point is the position where the events of a page begin, just before the last step of the previous page.
type Point struct {
	Seq         uint64 `json:"s,omitempty"`
	Steps       int    `json:"t,omitempty"` // before it
	Activations int    `json:"a,omitempty"` // before it
	Fence       uint64 `json:"f,omitempty"` // of the last of them, as what follows
	Began       uint64 `json:"b,omitempty"` // its first event
	Since       int64  `json:"i,omitempty"` // its time
	Open        bool   `json:"o,omitempty"` // it had not ended
}

// Read returns the page after a mark, with up to limit commits, and the mark after that page. More reports whether the run had more commits
// when it was read.
func Read(ctx context.Context, from Source, run *awaken.Run, after Mark, limit int) (page *Page, next Mark, more bool, err error) {
	commits, err := from.Commits(ctx, run.RunID, Query{After: Place{Fence: after.Fence, Number: after.Number}, Limit: limit + 1})
	if err != nil {
		return nil, after, false, err
	}
	if more = len(commits) > limit; more {
		commits = commits[:limit]
	}
	t := newTeller(run.RunID, after.Point)
	for _, c := range commits {
		t.page.Commits = append(t.page.Commits, CommitRow{Fence: c.Fence, Number: c.Number, At: c.Time, FirstSeq: c.First, LastSeq: c.Last, Kinds: c.Kinds.Names()})
	}
	if len(commits) == 0 {
		return &t.page, after, false, nil
	}
	last := commits[len(commits)-1]
	if err := t.readEvents(ctx, from, run.ThreadID, last.Last); err != nil {
		return nil, after, false, err
	}
	calls, err := from.Calls(ctx, run.RunID)
	if err != nil {
		return nil, after, false, err
	}
	t.addCalls(calls, more)
	return &t.page, Mark{last.Fence, last.Number, t.start}, more, nil
}

// atOnce is how many entries are read at once.
const atOnce = 1000

// readEvents adds the events after the start of the page, up to sequence number upTo. It limits each query by the sequence numbers that are
// left, so that small pages do not read the rest of the run again and again.
func (t *teller) readEvents(ctx context.Context, log awaken.EventLog, threadID string, upTo uint64) error {
	for after := t.at.Seq; after < upTo; {
		limit := int(min(atOnce, upTo-after))
		entries, err := log.Entries(ctx, threadID, awaken.EntryQuery{After: after, RunID: t.runID, Limit: limit})
		if err != nil {
			return err
		}
		for i := range entries {
			if e := &entries[i]; e.Seq > after { // a coalesced entry may reach beyond those behind it
				if e.Seq > upTo {
					return nil
				}
				t.tell(e)
			}
		}
		if len(entries) < limit || entries[limit-1].Seq <= after {
			return nil
		}
		after = entries[limit-1].Seq
	}
	return nil
}

// teller makes a page of the events of a run.
type teller struct {
	runID string
	page  Page
	first Point // where the page begins
	at    Point // of what was told so far
	start Point // where the next page begins

	step    int // index in page.Steps, or -1
	wait    int // index in page.Waits of the wait that lasts, or -1
	lost    int // index in page.Takeovers of one whose step may be begun anew, or -1
	partial uint64
	queued  map[string]int64 // times of calls, by id
	asked   map[string]int64
	ended   map[string]int64
}

func newTeller(runID string, from Point) *teller {
	return &teller{runID: runID, first: from, at: from, start: from, step: -1, wait: -1, lost: -1,
		page:   Page{Commits: []CommitRow{}, Activations: []Activation{}, Takeovers: []Takeover{}, Steps: []StepRow{}, Calls: []CallRow{}, Waits: []WaitRow{}, Resets: []Reset{}},
		queued: map[string]int64{}, asked: map[string]int64{}, ended: map[string]int64{}}
}

// tell adds an event.
func (t *teller) tell(e *awaken.Entry) {
	switch ev := e.Event.(type) {
	case *awaken.RunStart:
		t.activate(e)
	case *awaken.RunFinish:
		t.finish(e, ev)
	case *awaken.StepStart:
		t.begin(e, ev.MessageID)
	case *awaken.TextDelta, *awaken.ReasoningDelta, *awaken.ReasoningEncryptedValue, *awaken.ToolCallStart:
		t.speak(e)
	case *awaken.InferenceComplete:
		t.speak(e)
		if s := t.current(); s != nil {
			s.AnsweredAt, s.Model, s.Usage, s.CostUSD, s.DurationMS, s.FinishReason = e.Time, ev.Model, ev.Usage, ev.CostUSD, ev.DurationMS, ev.FinishReason
			if ev.Composition != nil {
				s.Member = ev.Composition.Member
			}
		}
	case *awaken.StreamReset:
		t.page.Resets = append(t.page.Resets, Reset{Seq: e.Seq, At: e.Time, Step: t.at.Steps - 1, Reason: ev.Reason})
	case *awaken.ToolCallReady:
		t.queued[ev.ID] = e.Time
	case *awaken.ToolCallDone:
		if ev.Outcome == awaken.CallSuspended {
			t.asked[ev.ID] = e.Time
		} else {
			t.ended[ev.ID] = e.Time
		}
	case *awaken.ToolCallResumed:
		t.ended[ev.TargetID] = e.Time
	case *awaken.StepEnd:
		if s := t.current(); s != nil {
			s.EndedAt = e.Time
		}
	}
	t.at.Seq = e.Seq
}

// current returns the last step, or nil.
func (t *teller) current() *StepRow {
	if t.step < 0 {
		return nil
	}
	return &t.page.Steps[t.step]
}

// activate begins an activation. If the one before has not ended, its owner was lost.
func (t *teller) activate(e *awaken.Entry) {
	if t.at.Open {
		over := Takeover{Seq: e.Seq, At: e.Time, FromFence: t.at.Fence, ToFence: e.Epoch}
		if s := t.current(); s != nil && s.EndedAt == 0 {
			over.Step = &s.Step
			t.lost = len(t.page.Takeovers)
		}
		t.page.Takeovers = append(t.page.Takeovers, over)
	}
	if t.wait >= 0 {
		t.page.Waits[t.wait].Until, t.wait = e.Time, -1
	}
	t.at.Activations++
	t.at.Fence, t.at.Open, t.at.Began, t.at.Since = e.Epoch, true, e.Seq, e.Time
	t.activation()
}

// activation returns the last activation. It may have begun before the page.
func (t *teller) activation() *Activation {
	n := len(t.page.Activations)
	if n == 0 || t.page.Activations[n-1].Seq != t.at.Began {
		t.page.Activations = append(t.page.Activations, Activation{Number: t.at.Activations, Seq: t.at.Began, Fence: t.at.Fence, StartedAt: t.at.Since})
		n++
	}
	return &t.page.Activations[n-1]
}

// finish ends an activation.
func (t *teller) finish(e *awaken.Entry, ev *awaken.RunFinish) {
	t.at.Open = false
	a := t.activation()
	a.EndedAt, a.Outcome = e.Time, ev.Termination.Type
	if ev.Termination.Type != awaken.Suspended {
		return
	}
	w := WaitRow{Seq: e.Seq, Since: e.Time, TicketIDs: []string{}}
	if ev.Result != nil && ev.Result.Waiting != nil {
		w.Reason, w.Message = ev.Result.Waiting.Reason, ev.Result.Waiting.Message
		w.TicketIDs = append(w.TicketIDs, ev.Result.Waiting.TicketIDs...)
	}
	t.wait = len(t.page.Waits)
	t.page.Waits = append(t.page.Waits, w)
}

// begin begins a step, or the same one anew.
func (t *teller) begin(e *awaken.Entry, messageID string) {
	if s := t.current(); s != nil && s.MessageID == messageID {
		t.partial = s.Seq
		s.Fence, s.EndedAt = e.Epoch, 0
		return
	}
	t.lost = -1
	t.start = t.at
	number := t.numberOf(messageID)
	t.step = len(t.page.Steps)
	t.page.Steps = append(t.page.Steps, StepRow{Step: number, Seq: e.Seq, MessageID: messageID, Fence: e.Epoch, StartedAt: e.Time})
	t.at.Steps = number + 1
}

// numberOf returns the number of a new step. The id of its message follows from it, as a rule.
func (t *teller) numberOf(messageID string) int {
	for n := max(0, t.at.Steps-1); n <= t.at.Steps+1; n++ {
		if ids.Of(t.runID, n) == messageID {
			return n
		}
	}
	return t.at.Steps
}

// speak notes that the model says something in the step. If the step was cut off, what it said
// before does not count.
func (t *teller) speak(e *awaken.Entry) {
	s := t.current()
	if s == nil {
		return
	}
	if t.lost >= 0 {
		t.page.Takeovers[t.lost].TakenBack = &Range{FirstSeq: t.partial, LastSeq: t.page.Takeovers[t.lost].Seq - 1}
		s.FirstTokenAt, s.AnsweredAt = 0, 0
		s.Begun++
		t.lost = -1
	}
	s.Begun = max(s.Begun, 1)
	if s.FirstTokenAt == 0 {
		if _, over := e.Event.(*awaken.InferenceComplete); !over {
			s.FirstTokenAt = e.Time
		}
	}
}

// addCalls adds the calls of the page's steps. Those of later steps are on later pages, if there are
// any.
func (t *teller) addCalls(calls []*awaken.CallState, more bool) {
	for _, c := range calls {
		if c.Step >= t.first.Steps && (c.Step < t.at.Steps || !more) {
			t.page.Calls = append(t.page.Calls, t.row(c))
		}
	}
}

// row returns the row of a call.
func (t *teller) row(c *awaken.CallState) CallRow {
	r := CallRow{
		CallID:    c.CallID,
		ToolName:  c.ToolName,
		Step:      c.Step,
		Index:     c.Index,
		Status:    c.Status,
		Effect:    c.Effect,
		Key:       c.Key,
		QueuedAt:  t.queued[c.CallID],
		StartedAt: c.StartedAt,
		Attempts:  int(c.Attempts),
		InDoubt:   inDoubt(c),
		Doubt:     c.Doubt,
		Outcome:   c.Outcome(),
		Probe:     c.Probed.String(),
		Child:     c.Child,
	}
	if c.StartedAt != 0 && r.Attempts == 0 {
		r.Attempts = 1
	}
	if c.Status.Terminal() {
		if r.EndedAt = t.ended[c.CallID]; r.EndedAt == 0 {
			r.EndedAt = c.UpdatedAt
		}
	}
	if k := c.Ticket; k != nil && k.Child == "" {
		r.Question = &Asked{TicketID: k.Suspension.ID, Action: k.Suspension.Action, Message: k.Suspension.Message, AskedAt: t.asked[c.CallID],
			ExpiresAt: k.ExpiresAt, OnExpiry: k.OnExpiry, Escalated: c.Escalated}
	}
	if r.Decisions = slices.Clone(c.Earlier); c.Decision != nil {
		r.Decisions = append(r.Decisions, *c.Decision)
	}
	for _, s := range c.Steps {
		s := *s
		s.Result = nil
		r.Steps = append(r.Steps, &s)
	}
	return r
}

// inDoubt reports whether the outcome of a call, or of a step of it, was not known after its owner was
// lost.
func inDoubt(c *awaken.CallState) bool {
	return c.Doubt != nil || c.Result.InDoubt() ||
		c.Ticket != nil && (c.Ticket.Suspension.Action == awaken.ActionInDoubt || c.Ticket.Suspension.Action == awaken.ActionStepInDoubt) ||
		slices.ContainsFunc(c.Steps, func(s *awaken.CallStep) bool { return s.InDoubt })
}
