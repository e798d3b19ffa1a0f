package trace

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Branch is how a fork of a run begins: with the conversation as it was before one of its steps.
type Branch struct {
	// Seq is how many records of the log the fork shares with the thread of the run.
	Seq int
	// Messages follow them. They are those of the log, with other results; there are none if no result was changed.
	Messages []*llm.Message
}

// Steps returns how many steps a fork of the run can begin before: those with an answer, and one more if the last answer makes calls that
// have results.
func (rec *Recording) Steps() int {
	steps, open := 0, false
	for _, r := range rec.Messages {
		m := r.Message
		if step, ok := rec.stepOf(m); ok {
			steps, open = max(steps, step+1), false
		}
		open = open || m.Role == llm.ToolRole && !m.IsInternal()
	}
	if open {
		steps++
	}
	return max(steps, 1) // a run that failed at once can be tried again
}

// stepOf returns the step that a message answers, if it is an answer of the run.
func (rec *Recording) stepOf(m *llm.Message) (int, bool) {
	md := m.Metadata
	if m.Role != llm.Assistant || md == nil || md.RunID != rec.Run.RunID || md.StepIndex == nil || md.Compaction != nil {
		return 0, false
	}
	return *md.StepIndex, true
}

// Branch returns how a fork begins that takes the place of a step, counted from 0, and of all that followed it. Results replace those of calls
// before the step, by the id of the call. Its errors are awaken.ErrInvalid.
func (rec *Recording) Branch(step int, results map[string]*awaken.ToolResult) (*Branch, error) {
	if n := rec.Steps(); step < 0 || step >= n {
		return nil, fmt.Errorf("%w: step is %d, want 0 to %d", awaken.ErrInvalid, step, n-1)
	}
	end := len(rec.Messages)
	for i, r := range rec.Messages {
		if n, ok := rec.stepOf(r.Message); ok && n >= step {
			end = i
			break
		}
	}
	before := rec.Messages[:end]
	b := &Branch{Seq: max(rec.Run.Input.ToSeq, rec.Run.Output.FromSeq-1)}
	if end > 0 {
		b.Seq = before[end-1].Seq
	}
	first := end
	for id := range results {
		at := slices.IndexFunc(before, func(r awaken.MessageRecord) bool { return r.Message.HasCall(id) })
		if at < 0 || !slices.ContainsFunc(before[at:], func(r awaken.MessageRecord) bool { return answers(r.Message, id) }) {
			return nil, fmt.Errorf("%w: call %q has no result before step %d", awaken.ErrInvalid, id, step)
		}
		first = min(first, at)
	}
	if first == end {
		return b, nil
	}
	b.Seq = before[first].Seq - 1
	for _, r := range before[first:] {
		m := r.Message
		if md := m.Metadata; md != nil && (md.Rewind != nil || md.Compaction != nil) || m.Role == llm.ToolRole && m.IsInternal() {
			return nil, fmt.Errorf("%w: the conversation was rewritten between the call and step %d, so its result cannot be replaced", awaken.ErrInvalid, step)
		}
		if res := results[m.ToolCallID]; res != nil && m.Role == llm.ToolRole {
			m = replaced(m, res)
		}
		b.Messages = append(b.Messages, m)
	}
	return b, nil
}

func answers(m *llm.Message, callID string) bool {
	return m.Role == llm.ToolRole && m.ToolCallID == callID && !m.IsInternal()
}

// replaced returns the message of a result with another one.
func replaced(m *llm.Message, res *awaken.ToolResult) *llm.Message {
	c := *m
	if c.Content = res.Content; len(c.Content) == 0 {
		c.Content = []llm.Block{llm.Text(res.Plain())}
	}
	return &c
}
