package jury

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/trace"
)

// Limits of the conversation that the judge sees.
const (
	maxRecords = 100    // of the log that are read, up to the end of the run
	maxBytes   = 32_000 // of what was said
	maxOwn     = 16_000 // of one message that the run began with
	maxPiece   = 4_000  // of any other message, call or result
)

// conversation returns the conversation before the answer of a run, as the model saw it: earlier turns, calls and their results, without
// rewound messages, and with summaries instead of the messages they replace. If it is too long, the oldest messages are omitted, and the
// first entry says how many.
func conversation(ctx context.Context, from trace.Source, rec *trace.Recording, answer string) ([]eval.Said, error) {
	run := rec.Run
	records, err := from.Messages(ctx, run.ThreadID, awaken.MessageQuery{Before: max(run.Input.ToSeq, run.Output.ToSeq) + 1, Limit: maxRecords, Last: true})
	if err != nil || len(records) == 0 {
		return nil, err
	}
	// Rewinds and summaries name records by their place in the log.
	unread := &llm.Message{Role: llm.User}
	log := slices.Repeat([]*llm.Message{unread}, records[0].Seq-1)
	for i := range records {
		log = append(log, records[i].Message)
	}
	var view awaken.View
	view.Append(log...)
	msgs := view.Messages()
	if n := len(msgs); n > 0 && msgs[n-1].Role == llm.Assistant && len(msgs[n-1].ToolCalls) == 0 && msgs[n-1].Text() == answer {
		msgs = msgs[:n-1] // it is shown as the answer
	}
	var out []eval.Said // the last first
	left := maxBytes
	for i, m := range slices.Backward(msgs) {
		said := pieces(m, contains(rec.Input, m))
		for _, s := range said {
			left -= len(s.Text)
		}
		if m == unread || left < 0 && len(out) > 0 {
			out = append(out, eval.Said{Role: "note", Text: fmt.Sprintf("%d earlier messages are left out", i+1)})
			break
		}
		slices.Reverse(said)
		out = append(out, said...)
	}
	slices.Reverse(out)
	return out, nil
}

// contains reports whether messages have one with the id of m.
func contains(msgs []*llm.Message, m *llm.Message) bool {
	return m.ID != "" && slices.ContainsFunc(msgs, func(other *llm.Message) bool { return other.ID == m.ID })
}

// pieces returns what a message says, cut if it is long. Messages that only the model sees say nothing, apart from summaries.
func pieces(m *llm.Message, own bool) (out []eval.Said) {
	add := func(role, text string) {
		most := maxPiece
		if own {
			most = maxOwn
		}
		if n := len(text) - most; n > 0 {
			text = strings.ToValidUTF8(text[:most], "") + fmt.Sprintf("\n(%d more bytes are left out)", n)
		}
		if text != "" {
			out = append(out, eval.Said{Role: role, Text: text})
		}
	}
	text := m.Text()
	for i := range m.Content {
		if b := &m.Content[i]; b.Source != nil {
			text = strings.TrimLeft(text+fmt.Sprintf("\n(%s %s)", b.Type, b.Title), "\n")
		}
	}
	switch {
	case m.IsSummary():
		add("summary of earlier messages", text)
	case m.IsInternal() || m.Role == llm.System:
	case m.Role == llm.ToolRole:
		add("result of call "+m.ToolCallID, text)
	default:
		add(string(m.Role), text)
	}
	for _, c := range m.ToolCalls {
		add("call "+c.ID+" of tool "+c.Name, string(c.Arguments))
	}
	return out
}
