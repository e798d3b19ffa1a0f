package awakentest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
)

// CheckEvents fails the test unless entries, the events of one run or of several
// activations one after another, keep what the event stream promises:
//
//   - a run opens with run_start and closes with one run_finish, with nothing
//     outside; a run has one run_finish that is not suspended, and it is the last;
//     a new owner opens a run again that the one before could not close;
//   - an error event, for a run that could not start, stands alone;
//   - steps are opened and closed in turn, and what a model says lies inside one:
//     deltas and ready calls before inference_complete, answers after it (or after the
//     last ready call, in a step in which no model is asked), state_snapshot right before
//     step_end and run_finish;
//   - a call that is ready was started, and gets one outcome at most: it is done, or
//     it is done as suspended and resumed later;
//   - a call that was cancelled or lost to a stream_reset is neither ready nor done;
//   - sequence numbers grow by one.
func CheckEvents(tb TB, entries []awaken.Entry) {
	tb.Helper()
	for _, p := range problems(entries) {
		tb.Error(p)
	}
}

// problems returns what is wrong with the events.
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

// callPhase is how far a call has come, as the events tell it.
type callPhase uint8

const (
	unknown   callPhase = iota
	started             // the model began to ask for it
	ready               // it is complete
	suspended           // it waits for a decision
	settled             // it has its outcome
	void                // it was cancelled or reset
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
	reply   bool   // the step's inference_complete has come
	cutOff  bool   // the step began in an activation that was lost; this one only ends it
	calls   map[string]callPhase
	current []string        // calls of the open step
	over    map[string]bool // runs that have ended for good
}

func (c *checker) problem(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf("event %d (%s): ", c.at, c.entry.Event.Type())+fmt.Sprintf(format, args...))
}

func (c *checker) number() {
	if c.entry.Cursor == (awaken.Cursor{}) {
		return // it is not part of any log
	}
	switch seq := c.entry.Seq; {
	case c.run != "" && seq != c.seq+1:
		c.problem("sequence number is %d after %d", seq, c.seq)
	case seq <= c.seq:
		c.problem("sequence number is %d, but %d was there before", seq, c.seq)
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
			c.problem("a step is open already")
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

// speaking checks that the model may say something now.
func (c *checker) speaking() {
	switch {
	case !c.step:
		c.problem("no step is open")
	case c.reply:
		c.problem("the step's inference_complete has been")
	}
}

func (c *checker) runStart(ev *awaken.RunStart) {
	if c.run != "" && (c.run != ev.RunID || c.entry.Epoch <= c.epoch) {
		c.problem("run %s is open already", c.run)
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
				c.problem("call %s has no outcome", id)
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
			c.problem("call %s has started already", ev.ID)
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

// answering checks that a call may have something to show now. Calls that are not
// known must be from an activation that is not among the events.
func (c *checker) answering(id string) callPhase {
	p := c.calls[id]
	if c.step && !c.reply && c.steps == 1 && len(c.current) == 0 {
		c.reply, c.cutOff = true, true
	}
	if c.step && p == ready && !slices.ContainsFunc(c.current, func(id string) bool { return c.calls[id] == started }) {
		c.reply = true // no model is asked in this step
	}
	switch {
	case c.step && !c.reply:
		c.problem("the step's inference_complete has not been")
	case p == unknown && c.steps > 0 && !c.cutOff, p == started, p == void, p == settled:
		c.problem("call %s is %s", id, p)
	}
	return p
}

func (p callPhase) String() string {
	return [...]string{"unknown", "started", "ready", "suspended", "over", "taken back"}[p]
}

// CheckLog fails the test unless the stored log of a thread, from the first of
// streamed on, is what was streamed: the same events under the same numbers, with
// the deltas cut where they were.
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

// Expand undoes the coalescing of deltas in stored entries: every delta is an entry
// of its own again, in the order of the sequence numbers.
func Expand(stored []awaken.Entry) ([]awaken.Entry, error) {
	var out []awaken.Entry
	for _, e := range stored {
		if e.Chunks == nil {
			out = append(out, e)
			continue
		}
		text, with := delta(e.Event)
		if with == nil {
			return nil, fmt.Errorf("entry %s has chunks, but is a %s", e.Cursor, e.Event.Type())
		}
		if e.Chunks[0].Offset != 0 {
			return nil, fmt.Errorf("entry %s begins %d too late", e.Cursor, e.Chunks[0].Offset)
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

// delta returns the text of a delta, and how to make one of the same kind.
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
