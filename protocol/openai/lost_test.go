package openai_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/openai"
)

// entries numbers events of an epoch.
func entries(epoch, first uint64, events ...awaken.Event) (out []awaken.Entry) {
	for i, ev := range events {
		out = append(out, awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: first + uint64(i)}, RunID: "r", Time: 5000, Event: ev})
	}
	return out
}

func encodeAll(t *testing.T, enc protocol.Encoder, list ...awaken.Entry) string {
	t.Helper()
	var f protocol.Frames
	for i := range list {
		f.Entry(list[i].Cursor, 0)
		if err := enc.Encode(&f, &list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return string(f.Bytes())
}

var (
	begun    = []awaken.Event{&awaken.RunStart{ThreadID: "t", RunID: "r", Identity: &awaken.RunInfo{ThreadID: "t", RunID: "r", AgentID: "a"}}, &awaken.StepStart{MessageID: "m"}}
	answered = []awaken.Event{&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "m"}, &awaken.TextDelta{Delta: "The whole answer."}, &awaken.InferenceComplete{}, &awaken.StepEnd{},
		&awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}, Result: &awaken.RunOutput{Response: "The whole answer."}}}
)

// What was lost with the owner of a run is not in the response, and a client that has numbers of lost
// events gets everything that the next owner says.
func TestLost_Response(t *testing.T) {
	stored := entries(1, 1, begun...)
	lost := entries(1, 3, &awaken.TextDelta{Delta: "The wrong "}, &awaken.TextDelta{Delta: "answ"})
	next := entries(2, 3, answered...)
	connected := openai.NewResponseEncoder(openai.Options{})
	before := encodeAll(t, connected, append(stored, lost...)...)
	reset := awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 2}, RunID: "r", Event: &awaken.StreamReset{Reason: "lost", Cursor: "1-2"}}
	retracted := frames(t, encodeAll(t, connected, reset))
	if n := len(retracted); n == 0 || retracted[n-1].text("type") != "response.output_item.done" || retracted[n-1].text("item", "status") != "incomplete" {
		t.Errorf("a connected client gets %v", retracted)
	}
	number := func(o object) float64 { return o.at("sequence_number").(float64) }
	seen := number(retracted[len(retracted)-1])
	if had := frames(t, before); number(had[len(had)-1]) >= seen {
		t.Errorf("the numbers do not grow: %v", seen)
	}
	all := frames(t, encodeAll(t, openai.NewResponseEncoder(openai.Options{}), append(stored, next...)...))
	last := all[len(all)-1]
	if last.text("type") != "response.completed" || last.text("response", "output", 0, "content", 0, "text") != "The whole answer." || last.at("response", "output", 1) != nil {
		t.Errorf("%v", last)
	}
	rest := frames(t, encodeAll(t, openai.NewResponseEncoder(openai.Options{Has: int(seen) + 1}), append(stored, next...)...))
	said := ""
	for _, e := range rest {
		if number(e) <= seen {
			t.Errorf("the client has %v already", e)
		}
		said += e.text("delta")
	}
	if said != "The whole answer." {
		t.Errorf("the client is told %q", said)
	}
}

// A chat completion whose text turns out to be void ends with an error: its client cannot take text back.
func TestLost_ChatCompletion(t *testing.T) {
	enc := openai.NewChatEncoder(openai.Options{})
	encodeAll(t, enc, append(entries(1, 1, begun...), entries(1, 3, &awaken.TextDelta{Delta: "The wrong "})...)...)
	var f protocol.Frames
	err := enc.Encode(&f, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 2}, Event: &awaken.StreamReset{Reason: "lost", Cursor: "1-2"}})
	failure, ok := errors.AsType[*protocol.Failure](err)
	if !ok || failure.Code != "stream_reset" {
		t.Fatalf("%v", err)
	}
	enc.End(&f, failure)
	if got := string(f.Bytes()); !strings.Contains(got, `"code":"stream_reset"`) || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("%s", got)
	}
	if err := openai.NewChatEncoder(openai.Options{}).Encode(&f, &entries(1, 1, begun...)[0]); err != nil {
		t.Error(err)
	}
	// One that has shown nothing of what was lost continues.
	quiet := openai.NewChatEncoder(openai.Options{})
	encodeAll(t, quiet, entries(1, 1, begun...)...)
	if err := quiet.Encode(&f, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 2}, Event: &awaken.StreamReset{Reason: "lost", Cursor: "1-2"}}); err != nil {
		t.Error(err)
	}
}
