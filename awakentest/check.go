package awakentest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// CheckEvents fails the test unless entries fulfil the contract of the event stream. Entries
// are the events of one run, or of several activations in sequence:
//
//   - an activation begins with run_start and ends with one run_finish, with no events
//     outside; the last run_finish of a run, and only that, is not suspended; a new owner
//     may begin an activation after one that was lost without a run_finish;
//   - the error event of a run that could not start is its only event;
//   - steps begin and end in turn, and the model's output is inside a step: deltas and ready
//     calls before inference_complete, tool results after it (or after the last ready call,
//     in a step without a model), and state_snapshot right before step_end and run_finish;
//   - a ready call was started, and has at most one result: it is done, or it is suspended
//     and resumed later;
//   - a call that was cancelled, or withdrawn by a stream_reset, is neither ready nor done;
//   - sequence numbers grow by one.
func CheckEvents(tb TB, entries []awaken.Entry) {
	tb.Helper()
	for _, p := range problems(entries) {
		tb.Error(p)
	}
}

// problems returns the violations of the contract.
func problems(entries []awaken.Entry) []string {
	c := checker{calls: map[string]callPhase{}, over: map[string]bool{}}
	for i, e := range entries {
		c.at, c.entry = i, e
		c.number()
		c.event(e.Event)
		c.last = e.Event.Type()
	}
	if c.run != "" {
		c.problem("run %s has no run_finish", c.run)
	}
	return c.found
}

// callPhase is the state of a call according to the events so far.
type callPhase uint8

const (
	unknown   callPhase = iota
	started             // the model has begun it
	ready               // it is complete
	suspended           // it waits for a decision
	settled             // it has its result
	void                // it was cancelled or withdrawn
)

type checker struct {
	found []string
	at    int
	entry awaken.Entry
	seq   uint64
	last  string // type of the event before

	run     string // open run, or ""
	epoch   uint64 // of its run_start
	step    bool   // a step is open
	steps   int    // of this activation
	reply   bool   // the step has its inference_complete
	cutOff  bool   // the step began in a lost activation; this one only ends it
	calls   map[string]callPhase
	current []string        // calls of the open step
	over    map[string]bool // runs that have ended
}

func (c *checker) problem(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("event %d (%s): ", c.at, c.entry.Event.Type())+fmt.Sprintf(format, args...))
}

func (c *checker) number() {
	if c.entry.Cursor == (awaken.Cursor{}) {
		return // not part of a log
	}
	switch seq := c.entry.Seq; {
	case c.run != "" && seq != c.seq+1:
		c.problem("sequence number is %d after %d", seq, c.seq)
	case seq <= c.seq:
		c.problem("sequence number is %d, but an earlier one is %d", seq, c.seq)
	}
	c.seq = c.entry.Seq
}

func (c *checker) event(ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.Error:
		if c.run != "" {
			c.problem("run %s is open, so it has started", c.run)
		}
		return
	case *awaken.RunStart:
		c.runStart(ev)
		return
	}
	if c.run == "" {
		c.problem("no run is open")
		return
	}
	if c.entry.RunID != c.run {
		c.problem("the entry is of run %q, the open one is %q", c.entry.RunID, c.run)
	}
	switch ev := ev.(type) {
	case *awaken.RunFinish:
		c.runFinish(ev)
	case *awaken.StepStart:
		if c.step {
			c.problem("a step is already open")
		}
		if ev.MessageID == "" {
			c.problem("message_id is empty")
		}
		c.step, c.reply, c.current = true, false, nil
		c.steps++
		c.cutOff = false
	case *awaken.StepEnd:
		if !c.step {
			c.problem("no step is open")
		}
		if c.last != "state_snapshot" {
			c.problem("it comes after %s, want state_snapshot", c.last)
		}
		c.step = false
	case *awaken.StreamReset:
		c.speaking()
		for _, id := range c.current {
			c.calls[id] = void
		}
	case *awaken.TextDelta, *awaken.ReasoningDelta, *awaken.ReasoningEncryptedValue:
		c.speaking()
	case *awaken.InferenceComplete:
		c.speaking()
		c.reply = true
		for _, id := range c.current {
			if c.calls[id] == started {
				c.problem("call %s is neither ready nor cancelled", id)
			}
		}
	default:
		c.call(ev)
	}
}

// speaking checks that the model may produce output now.
func (c *checker) speaking() {
	switch {
	case !c.step:
		c.problem("no step is open")
	case c.reply:
		c.problem("it comes after the step's inference_complete")
	}
}

func (c *checker) runStart(ev *awaken.RunStart) {
	if c.run != "" && (c.run != ev.RunID || c.entry.Epoch <= c.epoch) {
		c.problem("run %s is already open", c.run)
	}
	c.cutOff = c.run != ""
	c.epoch = c.entry.Epoch
	if c.over[ev.RunID] {
		c.problem("run %s has ended", ev.RunID)
	}
	if c.entry.RunID != ev.RunID {
		c.problem("the entry is of run %q, the event of %q", c.entry.RunID, ev.RunID)
	}
	c.run, c.step, c.steps = ev.RunID, false, 0
}

func (c *checker) runFinish(ev *awaken.RunFinish) {
	if ev.RunID != c.run {
		c.problem("it finishes run %q, the open one is %q", ev.RunID, c.run)
	}
	if c.step {
		c.problem("a step is open")
	}
	if c.last != "state_snapshot" {
		c.problem("it comes after %s, want state_snapshot", c.last)
	}
	if ev.Termination.Type != awaken.Suspended {
		c.over[c.run] = true
		for id, p := range c.calls {
			if p == started || p == ready {
				c.problem("call %s has no result", id)
			}
		}
		clear(c.calls) // another run may use the same ids
	}
	c.run = ""
}

func (c *checker) call(ev awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.ToolCallStart:
		c.speaking()
		if p := c.calls[ev.ID]; p != unknown && p != void && p != settled {
			c.problem("call %s has already started", ev.ID)
		}
		c.calls[ev.ID] = started
		c.current = append(c.current, ev.ID)
	case *awaken.ToolCallDelta:
		c.speaking()
		c.want(ev.ID, started)
	case *awaken.ToolCallReady:
		c.speaking()
		c.want(ev.ID, started)
		c.calls[ev.ID] = ready
	case *awaken.ToolCallCancel:
		c.speaking()
		c.want(ev.ID, started)
		c.calls[ev.ID] = void
	case *awaken.ToolCallStreamDelta:
		c.answering(ev.ID)
	case *awaken.ToolCallDone:
		if p := c.answering(ev.ID); p == suspended && ev.Outcome != awaken.CallSuspended {
			c.problem("call %s was suspended, so its outcome is a tool_call_resumed", ev.ID)
		}
		if c.calls[ev.ID] = settled; ev.Outcome == awaken.CallSuspended {
			c.calls[ev.ID] = suspended
		}
		switch {
		case ev.Result == nil:
			c.problem("call %s has no result", ev.ID)
		case (ev.Outcome == awaken.CallSuspended) != (ev.Result.Status == awaken.ToolPending):
			c.problem("outcome of call %s is %s, but its result is %s", ev.ID, ev.Outcome, ev.Result.Status)
		case (ev.Outcome == awaken.CallSuspended) != (ev.MessageID == ""):
			c.problem("outcome of call %s is %s, and its message is %q", ev.ID, ev.Outcome, ev.MessageID)
		}
	case *awaken.ToolCallResumed:
		if p := c.answering(ev.TargetID); p == ready {
			c.problem("call %s was not suspended", ev.TargetID)
		}
		c.calls[ev.TargetID] = settled
	}
}

func (c *checker) want(id string, p callPhase) {
	if have := c.calls[id]; have != p {
		c.problem("call %s is %s, want %s", id, have, p)
	}
}

// answering checks that a call may have output or a result now. An unknown call must come from
// an activation that is not among the events.
func (c *checker) answering(id string) callPhase {
	p := c.calls[id]
	if c.step && !c.reply && c.steps == 1 && len(c.current) == 0 {
		c.reply, c.cutOff = true, true
	}
	if c.step && p == ready && !slices.ContainsFunc(c.current, func(id string) bool { return c.calls[id] == started }) {
		c.reply = true // a step without a model
	}
	switch {
	case c.step && !c.reply:
		c.problem("it comes before the step's inference_complete")
	case p == unknown && c.steps > 0 && !c.cutOff, p == started, p == void, p == settled:
		c.problem("call %s is %s", id, p)
	}
	return p
}

func (p callPhase) String() string {
	return [...]string{"unknown", "started", "ready", "suspended", "over", "withdrawn"}[p]
}

// CheckLog fails the test unless the stored event log of a thread equals streamed, from its
// first entry on: the same events with the same sequence numbers, and deltas cut at the same
// places.
func CheckLog(tb TB, log awaken.EventLog, threadID string, streamed []awaken.Entry) {
	tb.Helper()
	var after awaken.EntryQuery
	streamed = slices.DeleteFunc(slices.Clone(streamed), func(e awaken.Entry) bool { return e.Cursor == (awaken.Cursor{}) })
	if len(streamed) > 0 {
		after.After = streamed[0].Seq - 1
	}
	entries, err := log.Entries(tb.Context(), threadID, after)
	if err != nil {
		tb.Fatal(err)
	}
	stored, err := Expand(entries)
	if err != nil {
		tb.Error(err)
	}
	for i := range max(len(stored), len(streamed)) {
		switch {
		case i >= len(stored):
			tb.Errorf("log of thread %s: %s %s was streamed but is not stored", threadID, streamed[i].Cursor, line(tb, streamed[i].Event))
			return
		case i >= len(streamed):
			tb.Errorf("log of thread %s: %s %s is stored but was not streamed", threadID, stored[i].Cursor, line(tb, stored[i].Event))
			return
		}
		live, kept := streamed[i], stored[i]
		if live.Cursor != kept.Cursor || live.RunID != kept.RunID || line(tb, live.Event) != line(tb, kept.Event) {
			tb.Errorf("log of thread %s differs at event %d:\nstreamed %s of %s %s\nstored   %s of %s %s", threadID, i,
				live.Cursor, live.RunID, line(tb, live.Event), kept.Cursor, kept.RunID, line(tb, kept.Event))
			return
		}
	}
}

// Expand splits the coalesced deltas of stored entries: the result has one entry per delta,
// ordered by sequence number.
func Expand(stored []awaken.Entry) ([]awaken.Entry, error) {
	var out []awaken.Entry
	for _, e := range stored {
		if e.Chunks == nil {
			out = append(out, e)
			continue
		}
		text, with := delta(e.Event)
		if with == nil {
			return nil, fmt.Errorf("entry %s has chunks, but its event is a %s", e.Cursor, e.Event.Type())
		}
		if e.Chunks[0].Offset != 0 {
			return nil, fmt.Errorf("entry %s: the first chunk has offset %d, want 0", e.Cursor, e.Chunks[0].Offset)
		}
		for _, ch := range e.Chunks {
			if int(ch.Len) > len(text) {
				return nil, fmt.Errorf("entry %s has chunks that are longer than its text", e.Cursor)
			}
			piece := e
			piece.Seq, piece.Event, piece.Chunks = e.Seq+uint64(ch.Offset), with(text[:ch.Len]), nil
			out = append(out, piece)
			text = text[ch.Len:]
		}
		if text != "" {
			return nil, fmt.Errorf("entry %s has text that is in no chunk: %q", e.Cursor, text)
		}
	}
	slices.SortStableFunc(out, func(a, b awaken.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	return out, nil
}

// delta returns the text of a delta, and a function that makes a delta of the same kind.
func delta(ev awaken.Event) (string, func(string) awaken.Event) {
	switch ev := ev.(type) {
	case *awaken.TextDelta:
		return ev.Delta, func(s string) awaken.Event { return &awaken.TextDelta{Delta: s} }
	case *awaken.ReasoningDelta:
		return ev.Delta, func(s string) awaken.Event { return &awaken.ReasoningDelta{Delta: s} }
	case *awaken.ToolCallDelta:
		return ev.ArgsDelta, func(s string) awaken.Event { return &awaken.ToolCallDelta{ID: ev.ID, ArgsDelta: s} }
	case *awaken.ToolCallStreamDelta:
		return ev.Delta, func(s string) awaken.Event {
			return &awaken.ToolCallStreamDelta{ID: ev.ID, Name: ev.Name, Delta: s}
		}
	}
	return "", nil
}
