//go:build unix

package crashtest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
)

// check looks at what is left from outside.
func check(ctx context.Context, s store, j job) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	run, err := s.LoadRun(ctx, runID)
	if err != nil {
		return []string{fmt.Sprintf("the run is lost: %v", err)}
	}
	cancelled := j.Cancel && run.Termination.Type == awaken.Cancelled
	if run.Status != awaken.RunDone || run.Termination.Type != awaken.NaturalEnd && !cancelled {
		bad("the run is %s, %s", run.Status, run.Termination)
	}
	calls, err := s.Calls(ctx, runID)
	if err != nil {
		bad("the ledger: %v", err)
	}
	wanted := 0
	for _, step := range script {
		wanted += len(step)
	}
	if len(calls) != wanted && !cancelled {
		bad("the ledger has %d calls, want %d", len(calls), wanted)
	}
	checkEffects(bad, calls, j.world().read(), cancelled)
	checkMessages(ctx, bad, s, calls, cancelled)
	checkEvents(ctx, bad, s, j)
	checkTimeline(ctx, bad, s, j, run)
	if sent, err := s.Unread(ctx, otherID); err != nil || len(sent) != 1 {
		bad("the message of step 0 is there %d times: %v", len(sent), err)
	}
	return problems
}

// checkWhole checks that nothing is missing in the middle, wherever the run is. A
// commit that was on its way when its process died may arrive meanwhile.
func checkWhole(ctx context.Context, s store) error {
	th, err := s.Thread(ctx, threadID)
	if err != nil {
		return err
	}
	log, err := s.Messages(ctx, threadID, awaken.MessageQuery{})
	if err != nil {
		return err
	}
	if len(log) < th.MessageCount {
		return fmt.Errorf("there are %d messages, and the thread says %d", len(log), th.MessageCount)
	}
	for i, rec := range log {
		if rec.Seq != i+1 {
			return fmt.Errorf("message %d has number %d", i+1, rec.Seq)
		}
	}
	at := uint64(0)
	for e, err := range eventlog.New(s, nil).Tail(ctx, threadID, awaken.Cursor{}, eventlog.Follow{Committed: true}) {
		if err != nil {
			return err
		}
		if at++; e.Seq != at {
			return fmt.Errorf("event %d has number %d", at, e.Seq)
		}
	}
	return nil
}

// checkEffects compares the ledger with the effects that happened.
func checkEffects(bad func(string, ...any), calls []*awaken.CallState, marked map[string]int, cancelled bool) {
	for _, c := range calls {
		n := marked[c.ToolName+" "+c.Key]
		doubt := c.Result != nil && c.Result.Metadata["in_doubt"] == true
		switch {
		case !c.Status.Terminal():
			bad("call %s is %s", c.CallID, c.Status)
		case c.ToolName == "effect" && n > 1:
			bad("the effect of call %s happened %d times", c.CallID, n)
		case c.ToolName == "effect" && c.Status == awaken.CallSucceeded && n != 1:
			bad("call %s succeeded, but its effect happened %d times", c.CallID, n)
		case c.ToolName == "effect" && c.Status != awaken.CallSucceeded && !doubt && (n > 0 || !cancelled):
			bad("call %s is %s and not in doubt; its effect happened %d times", c.CallID, c.Status, n)
		case c.ToolName != "effect" && c.Status != awaken.CallSucceeded && !cancelled:
			bad("call %s of %s is %s, want it made again", c.CallID, c.ToolName, c.Status)
		case c.ToolName != "effect" && c.ToolName != "ask" && c.Status == awaken.CallSucceeded && n == 0:
			bad("call %s succeeded, but never happened", c.CallID)
		}
	}
	for mark, n := range marked {
		if strings.HasPrefix(mark, "stepped ") && n > 1 {
			bad("the plugin's effect %q happened %d times", mark, n)
		}
	}
}

// checkMessages checks that the conversation is whole: every call answered once, in
// order, and what is in doubt said so.
func checkMessages(ctx context.Context, bad func(string, ...any), s store, calls []*awaken.CallState, cancelled bool) {
	log, err := s.Messages(ctx, threadID, awaken.MessageQuery{})
	if err != nil {
		bad("the messages: %v", err)
		return
	}
	var view awaken.View
	for i, rec := range log {
		if rec.Seq != i+1 {
			bad("record %d has number %d", i, rec.Seq)
		}
		view.Append(rec.Message)
	}
	if cancelled {
		return // wherever it was
	}
	msgs := view.Messages()
	at := 0
	next := func() *llm.Message {
		if at == len(msgs) {
			return &llm.Message{}
		}
		at++
		return msgs[at-1]
	}
	if m := next(); m.Role != llm.User {
		bad("the first message is of %q", m.Role)
	}
	for step, names := range script {
		m := next()
		if len(m.ToolCalls) != len(names) || m.Text() != fmt.Sprintf("Step %d: so. ", step) {
			bad("message of step %d says %q and asks for %d calls", step, m.Text(), len(m.ToolCalls))
			return
		}
		for i := range names {
			id := fmt.Sprintf("call-%d-%d", step, i)
			a := next()
			if a.Role != llm.ToolRole || a.ToolCallID != id {
				bad("step %d: after its call comes the answer of %q, want of %q", step, a.ToolCallID, id)
				return
			}
			for _, c := range calls {
				if c.CallID == id && c.Result != nil && c.Result.Metadata["in_doubt"] == true && !strings.Contains(a.Text(), "not known") {
					bad("call %s is in doubt, but the model sees %q", id, a.Text())
				}
			}
		}
	}
	if m := next(); m.Text() != fmt.Sprintf("Step %d: so. ", len(script)) || at != len(msgs) {
		bad("the last message says %q, and %d follow", m.Text(), len(msgs)-at)
	}
}

// checkEvents checks the log of events, and that a reader who was cut off by each
// crash and resumed got exactly that.
func checkEvents(ctx context.Context, bad func(string, ...any), s store, j job) {
	log := eventlog.New(s, nil)
	read := func(after awaken.Cursor) (out []note) {
		for e, err := range log.Tail(ctx, threadID, after, eventlog.Follow{Committed: true}) {
			if err != nil {
				bad("the log of events: %v", err)
				return nil
			}
			ev, err := awaken.AppendEvent(nil, e.Event)
			if err != nil {
				bad("the log of events: %v", err)
				return nil
			}
			out = append(out, note{e.Cursor, string(ev)})
		}
		return out
	}
	whole := read(awaken.Cursor{})
	for i, n := range whole {
		if n.Cursor.Seq != uint64(i+1) {
			bad("event %d of the log has number %d", i+1, n.Cursor.Seq)
			return
		}
	}
	seen, err := j.notes().read()
	if err != nil {
		bad("the reader's notes: %v", err)
		return
	}
	// The reader watched each process until it died. Wherever it was cut off, what it
	// had, taken back as far as it is told to, and what it gets now are the log. What
	// came before a process took over is committed, so the reader has it.
	for len(seen) > 0 {
		epoch, n := seen[0].Cursor.Epoch, 0
		for n < len(seen) && seen[n].Cursor.Epoch == epoch {
			n++
		}
		first, last := seen[0].Cursor.Seq, seen[n-1].Cursor
		if first > uint64(len(whole))+1 {
			bad("a reader saw event %d, the log has %d", first, len(whole))
			return
		}
		have := append(slices.Clone(whole[:first-1]), seen[:n]...)
		seen = seen[n:]
		rest := read(last)
		if len(rest) > 0 && strings.Contains(rest[0].Event, `"stream_reset"`) && strings.Contains(rest[0].Event, `"cursor"`) {
			for _, n := range have[min(rest[0].Cursor.Seq, uint64(len(have))):] {
				if n.durable() {
					bad("a reader was shown %v and had to take it back", n)
				}
			}
			have, rest = upTo(have, rest[0].Cursor), rest[1:]
		}
		if got := append(have, rest...); !slices.Equal(got, whole) {
			bad("a reader cut off at %s has %d events and gets %d, the log has %d: %s", last, len(have), len(rest), len(whole), firstDifference(got, whole))
			return
		}
	}
}

// durable reports whether the event claims something that must not be taken back.
func (n note) durable() bool {
	return slices.ContainsFunc([]string{"run_start", "tool_call_done", "tool_call_resumed", "step_end", "run_finish"}, func(kind string) bool {
		return strings.HasPrefix(n.Event, `{"event_type":"`+kind+`"`)
	})
}

// upTo returns what a reader keeps when a reset makes it fall back to a cursor.
func upTo(have []note, at awaken.Cursor) []note {
	return slices.DeleteFunc(have, func(n note) bool { return n.Cursor.Seq > at.Seq })
}

func firstDifference(a, b []note) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return fmt.Sprintf("missing %v", b[i])
		case i >= len(b):
			return fmt.Sprintf("surplus %v", a[i])
		case a[i] != b[i]:
			return fmt.Sprintf("%v instead of %v", a[i], b[i])
		}
	}
	return "none"
}
