package a2a_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A run that another worker takes over, and that parks without another text, keeps its stored answer.
func TestReset_KeepsTheStoredAnswer(t *testing.T) {
	stored := []awaken.Event{&awaken.RunStart{ThreadID: "c", RunID: "t"},
		&awaken.StepStart{MessageID: "t-0"}, &awaken.TextDelta{Delta: "I will wait."}, &awaken.InferenceComplete{}, &awaken.StepEnd{}}
	rest := []awaken.Event{&awaken.RunStart{ThreadID: "c", RunID: "t"}, &awaken.RunFinish{ThreadID: "c", RunID: "t",
		Termination: awaken.Termination{Type: awaken.Suspended}, Result: &awaken.RunOutput{Waiting: &awaken.Waiting{Reason: awaken.WaitBackgroundTasks}}}}
	for name, lost := range map[string][]awaken.Event{
		"nothing is lost":         {},
		"events of no text":       {&awaken.StateSnapshot{}},
		"a text":                  {&awaken.StepStart{MessageID: "t-1"}, &awaken.TextDelta{Delta: "Now"}},
		"a text that was retried": {&awaken.StepStart{MessageID: "t-1"}, &awaken.TextDelta{Delta: "Now"}, &awaken.StreamReset{Reason: "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			var live protocol.Frames
			reset := awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: 5}, Event: &awaken.StreamReset{Reason: "lost", Cursor: "1-5"}}
			first := feed(t, &live, a2a.NewEncoder(a2a.Options{}), 1, 1, slices.Concat(stored, lost))
			encodeOne(t, &live, first, &reset)
			var discarded protocol.Frames // the stream continues with an encoder that has seen only what is stored
			second := feed(t, &discarded, a2a.NewEncoder(a2a.Options{}), 1, 1, stored)
			encodeOne(t, &discarded, second, &reset)
			feed(t, &live, second, 2, 6, rest)
			start := `data: {"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_SUBMITTED"}}}` + "\n\n"
			if got := text(seen(t, events(t, start+string(live.Bytes()))), "response"); got != "I will wait." {
				t.Errorf("the client has %q after\n%s", got, live.Bytes())
			}
		})
	}
}

// A client whose position was lost with the owner of the run gets the task, also after the run is over.
func TestSubscribe_PositionIsLost(t *testing.T) {
	slow := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, slow)
	task := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
	cut := g.request(g.URL, "SubscribeToTask", map[string]any{"id": task.ID})
	received, has, lost := "", "", ""
	for texts := 0; texts < protocoltest.FirstPieces; texts = strings.Count(received, `"append":true`) + 1 {
		received += readSome(cut.Body, 1, false)
		has, lost = protocoltest.Whole(received)
	}
	cut.Body.Close()
	if _, err := g.DB.Handle("").Acquire(t.Context(), task.ContextID); err != nil { // another owner takes over
		t.Fatal(err)
	}
	close(slow)
	early := g.request(g.URL, "SubscribeToTask", map[string]any{"id": task.ID}, "Last-Event-ID", lost)
	first := has + protocoltest.ReadAll(early)
	late := protocoltest.ReadAll(g.request(g.URL, "SubscribeToTask", map[string]any{"id": task.ID}, "Last-Event-ID", lost))
	for name, stream := range map[string]string{"before the run is over": first, "after": late} {
		list := events(t, stream)
		if len(list) == 0 || list[0].Task == nil {
			t.Errorf("%s: %s", name, stream)
			continue
		}
		if end := seen(t, list); end.Status.State != a2a.Completed || text(end, "response") != protocoltest.SlowText {
			t.Errorf("%s: %+v", name, end)
		}
	}
}

func feed(t *testing.T, out *protocol.Frames, enc *a2a.Encoder, epoch, seq uint64, events []awaken.Event) *a2a.Encoder {
	t.Helper()
	for i, ev := range events {
		encodeOne(t, out, enc, &awaken.Entry{Cursor: awaken.Cursor{Epoch: epoch, Seq: seq + uint64(i)}, Event: ev})
	}
	return enc
}

func encodeOne(t *testing.T, out *protocol.Frames, enc *a2a.Encoder, e *awaken.Entry) {
	t.Helper()
	out.Entry(e.Cursor, 0)
	if err := enc.Encode(out, e); err != nil {
		t.Fatal(err)
	}
}
