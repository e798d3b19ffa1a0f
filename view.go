package awaken

import (
	"slices"

	"github.com/awaken-go/awaken/llm"
)

// View computes the conversation that a model sees from a thread's append-only log. Later
// records of the log change the meaning of earlier ones:
//
//   - a rewind hides all records from a sequence number on, except summaries of earlier
//     records;
//   - a compaction summary replaces the interval that it summarises, unless a wider summary
//     contains it;
//   - an internal tool message retracts the call that it names;
//   - the answers to the calls of one message appear in the order of the calls.
//
// Calls without an answer are left out, except in the last message with calls, where they may
// still be open. The zero View is empty. Stores use it to build [Checkpoint.View]. Appending
// plain messages takes constant time, however long the log is.
type View struct {
	log    []*llm.Message // record i has Seq i+1
	msgs   []*llm.Message // only when folded
	folded bool           // msgs differs from log
	open   bool           // the last message with calls has an unanswered call
	blobs  bool           // some message refers to a stored file
	summed bool           // the log has a summary
	index  *llm.Index     // of msgs, or of log; nil while they are few
}

// indexed is the number of messages from which on a view has an index. Fewer are read faster.
const indexed = 64

// Append adds records to the log.
func (v *View) Append(msgs ...*llm.Message) {
	if v.log == nil {
		v.log = make([]*llm.Message, 0, max(4, len(msgs)))
	}
	refold := false
	for _, m := range msgs {
		refold = refold || !v.extends(m)
		v.log = append(v.log, m)
		v.blobs, v.summed = v.blobs || m.HasBlobs(), v.summed || m.IsSummary()
		if refold {
			continue
		}
		if v.folded {
			v.msgs = append(v.msgs, m)
		}
		if len(m.ToolCalls) > 0 {
			v.open = true
		} else if m.Role == llm.ToolRole {
			calls, answers := v.lastBlock()
			v.open = len(answers) < len(calls)
		}
	}
	if refold {
		v.msgs, v.folded, v.index = fold(v.log, compact), true, nil
		v.open = len(llm.Unanswered(v.msgs)) > 0
	}
	if v.index == nil && len(v.shown()) >= indexed {
		v.index = new(llm.Index)
	}
}

// Index returns an index of the conversation that Messages returns, or nil if it is short. Later calls of
// Append do not affect it.
func (v *View) Index() *llm.Index { return v.index }

// HasBlobs reports whether a record of the log refers to a stored file.
func (v *View) HasBlobs() bool { return v.blobs }

// Messages returns the conversation. The caller must not change it. Later calls of Append do
// not affect it.
func (v *View) Messages() []*llm.Message {
	msgs := v.shown()
	return msgs[:len(msgs):len(msgs)]
}

// Clip returns a copy of v. What is appended to one of the two does not affect the other.
func (v *View) Clip() View {
	c := *v
	c.log, c.msgs = slices.Clip(c.log), slices.Clip(c.msgs)
	if c.index != nil {
		c.index = new(llm.Index)
	}
	return c
}

// History returns the conversation as people see it: as Messages does, but with the messages that
// summaries stand for. The summaries are in it, too, each where it was written; see
// [llm.Message.IsSummary]. The caller must not change it.
func (v *View) History() []*llm.Message {
	if !v.summed {
		return v.Messages()
	}
	return fold(v.log, whole)
}

func (v *View) shown() []*llm.Message {
	if v.folded {
		return v.msgs
	}
	return v.log
}

// Log returns the raw log. The caller must not change it.
func (v *View) Log() []*llm.Message { return v.log[:len(v.log):len(v.log)] }

// extends reports whether appending m to the log only appends m to the view.
func (v *View) extends(m *llm.Message) bool {
	if md := m.Metadata; md != nil && (md.Rewind != nil || md.Compaction != nil) {
		return false
	}
	if m.Role != llm.ToolRole {
		return len(m.ToolCalls) == 0 || !v.open // open calls are shown in the last message that has calls
	}
	if m.IsInternal() {
		return false
	}
	calls, answers := v.lastBlock()
	pos := callIndex(calls, m.ToolCallID)
	if n := len(answers); pos >= 0 && n > 0 {
		return callIndex(calls, answers[n-1].ToolCallID) < pos
	}
	return pos >= 0
}

// lastBlock returns the answers at the end of the view, and the calls of the message before
// them.
func (v *View) lastBlock() ([]llm.ToolCall, []*llm.Message) {
	msgs := v.shown()
	i := len(msgs)
	for i > 0 && msgs[i-1].Role == llm.ToolRole {
		i--
	}
	if i == 0 {
		return nil, msgs
	}
	return msgs[i-1].ToolCalls, msgs[i:]
}

func callIndex(calls []llm.ToolCall, id string) int {
	return slices.IndexFunc(calls, func(c llm.ToolCall) bool { return c.ID == id })
}

// fold builds the view of a log from scratch. Pick returns the records that are shown, given which of
// them are hidden by rewinds: compact or whole.
func fold(log []*llm.Message, pick func(log []*llm.Message, hidden []bool) []*llm.Message) []*llm.Message {
	hidden := make([]bool, len(log))
	for i, m := range log {
		if m.Metadata != nil && m.Metadata.Rewind != nil {
			from := m.Metadata.Rewind.FromSeq
			for j := max(from-1, 0); j < i; j++ {
				// A summary of earlier records stays valid.
				hidden[j] = hidden[j] || !log[j].IsSummary() || log[j].Metadata.Compaction.ToSeq >= from
			}
			hidden[i] = true
		}
	}
	shown := pick(log, hidden)

	last := -1 // the last message with calls may still have open ones
	for i, m := range shown {
		if len(m.ToolCalls) > 0 {
			last = i
		}
	}
	out := make([]*llm.Message, 0, len(shown))
	for i := 0; i < len(shown); i++ {
		m := shown[i]
		if m.Role == llm.ToolRole {
			continue // added after the message it answers; orphans are dropped
		}
		if len(m.ToolCalls) == 0 {
			out = append(out, m)
			continue
		}
		// Call ids may repeat, so look for answers and retractions only up to the next
		// message with calls.
		answers, retracted := map[string]*llm.Message{}, map[string]bool{}
		for j := i + 1; j < len(shown) && len(shown[j].ToolCalls) == 0; j++ {
			switch t := shown[j]; {
			case t.Role != llm.ToolRole:
			case t.IsInternal():
				retracted[t.ToolCallID] = true
			case answers[t.ToolCallID] == nil:
				answers[t.ToolCallID] = t
			}
		}
		keep := m.ToolCalls[:0:0]
		for _, c := range m.ToolCalls {
			if !retracted[c.ID] && (answers[c.ID] != nil || i == last) {
				keep = append(keep, c)
			}
		}
		if len(keep) < len(m.ToolCalls) {
			m = m.WithCalls(keep)
		}
		if m.Empty() {
			continue
		}
		out = append(out, m)
		for _, c := range keep {
			if a := answers[c.ID]; a != nil {
				out = append(out, a)
			}
		}
	}
	return out
}

// whole returns the records that are not hidden.
func whole(log []*llm.Message, hidden []bool) []*llm.Message {
	out := make([]*llm.Message, 0, len(log))
	for i, m := range log {
		if !hidden[i] {
			out = append(out, m)
		}
	}
	return out
}

// compact returns the records that are not hidden, with each summary in place of the interval
// that it summarises.
func compact(log []*llm.Message, hidden []bool) []*llm.Message {
	type summary struct {
		at int
		iv llm.Interval
	}
	var sums []summary
	for i, m := range log {
		if !hidden[i] && m.IsSummary() {
			sums = append(sums, summary{i, *m.Metadata.Compaction})
		}
	}
	// Drop summaries whose interval is contained in another; of equal ones, keep the last.
	kept := slices.DeleteFunc(slices.Clone(sums), func(s summary) bool {
		return slices.ContainsFunc(sums, func(o summary) bool {
			contains := o.iv.FromSeq <= s.iv.FromSeq && o.iv.ToSeq >= s.iv.ToSeq
			return o.at != s.at && contains && (o.iv != s.iv || o.at > s.at)
		})
	})
	start := map[int]*llm.Message{}
	drop := slices.Clone(hidden)
	for _, s := range sums {
		drop[s.at] = true
	}
	for _, s := range kept {
		start[max(s.iv.FromSeq-1, 0)] = log[s.at]
		for j := max(s.iv.FromSeq-1, 0); j < min(s.iv.ToSeq, len(log)); j++ {
			drop[j] = true
		}
	}
	out := make([]*llm.Message, 0, len(log))
	for i, m := range log {
		if s := start[i]; s != nil {
			out = append(out, s)
		}
		if !drop[i] {
			out = append(out, m)
		}
	}
	return out
}
