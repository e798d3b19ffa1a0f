package engine

import (
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// What the record of a run has for lists.
const (
	questionLength = 200 // characters
	maxTools       = 16
)

// outline adds to a record what lists show of the run, from messages that are about to be committed. A message that a guard holds is not among
// them until it is released.
func outline(rec *awaken.Run, added []*llm.Message) {
	for _, m := range slices.Backward(added) {
		if rec.Question != "" {
			break
		}
		if m.Role == llm.User && !m.IsInternal() && !m.IsSummary() {
			rec.Question = beginning(strings.TrimSpace(firstText(m)), questionLength)
		}
	}
	for _, m := range added {
		for i := range m.ToolCalls {
			name := m.ToolCalls[i].Name
			if m.Role == llm.Assistant && name != awaken.FinalOutputTool && len(rec.Tools) < maxTools && !slices.Contains(rec.Tools, name) {
				rec.Tools = append(slices.Clip(rec.Tools), name) // earlier commits keep the slice
			}
		}
	}
}

// firstText returns the first text of a message, or "".
func firstText(m *llm.Message) string {
	for i := range m.Content {
		if b := &m.Content[i]; b.Type == llm.TextBlock {
			return b.Text
		}
	}
	return ""
}

// beginning returns at most n characters of a text, with an ellipsis if there are more.
func beginning(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i] + "…"
		}
	}
	return text
}
