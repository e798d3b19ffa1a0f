package awakentest

import (
	"strings"

	"github.com/awaken-go/awaken"
)

// Types returns the type of every event, in order.
func Types(entries []awaken.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = e.Event.Type()
	}
	return out
}

// Text returns the streamed text, without what a stream_reset withdrew.
func Text(entries []awaken.Entry) string {
	var sb, step strings.Builder
	for _, e := range entries {
		switch ev := e.Event.(type) {
		case *awaken.TextDelta:
			step.WriteString(ev.Delta)
		case *awaken.StreamReset:
			step.Reset()
		case *awaken.StepStart:
			sb.WriteString(step.String())
			step.Reset()
		}
	}
	return sb.String() + step.String()
}

// All returns the events of one type, in order:
//
//	done := awakentest.All[*awaken.ToolCallDone](run.Entries)
func All[E awaken.Event](entries []awaken.Entry) []E {
	var out []E
	for _, e := range entries {
		if ev, ok := e.Event.(E); ok {
			out = append(out, ev)
		}
	}
	return out
}

// Lines returns the events as JSON, one per line.
func Lines(tb TB, entries []awaken.Entry) string {
	tb.Helper()
	var sb strings.Builder
	for _, e := range entries {
		sb.WriteString(line(tb, e.Event))
		sb.WriteByte('\n')
	}
	return sb.String()
}

func line(tb TB, ev awaken.Event) string {
	tb.Helper()
	data, err := awaken.AppendEvent(nil, ev)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// WantOrder fails the test unless events of these types occur in this order, possibly with
// others in between.
func WantOrder(tb TB, entries []awaken.Entry, types ...string) {
	tb.Helper()
	have := Types(entries)
	next := 0
	for _, t := range have {
		if next < len(types) && t == types[next] {
			next++
		}
	}
	if next < len(types) {
		tb.Errorf("no %s after %q in the events %q", types[next], types[:next], have)
	}
}
