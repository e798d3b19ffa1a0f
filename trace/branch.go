package trace

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Branch is the beginning of a fork of a run: the conversation before one of its steps.
type Branch struct {
	// Seq is the number of log records that the fork shares with the thread of the run.
	Seq int
	// Messages follow the shared records: messages of the log with replaced results. There are none if no result was replaced.
	Messages []*llm.Message
}

// Steps returns the number of steps that a fork can replace: the steps with an answer, and the next one if all calls of the last answer
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
	return max(steps, 1) // a run that failed immediately can be forked, too
}

// stepOf returns the step that a message answers, if it is an answer of the run.
func (rec *Recording) stepOf(m *llm.Message) (int, bool) {
	md := m.Metadata
	if m.Role != llm.Assistant || md == nil || md.RunID != rec.Run.RunID || md.StepIndex == nil || md.Compaction != nil {
		return 0, false
	}
	return *md.StepIndex, true
}

// Branch returns the beginning of a fork that replaces a step, counted from 0, and everything after it. Results override the results of
// earlier calls, by call ID. Errors are awaken.ErrInvalid.
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

// replaced returns a copy of a result's message with another result.
func replaced(m *llm.Message, res *awaken.ToolResult) *llm.Message {
	c := *m
	if c.Content = res.Content; len(c.Content) == 0 {
		c.Content = []llm.Block{llm.Text(res.Plain())}
	}
	return &c
}
