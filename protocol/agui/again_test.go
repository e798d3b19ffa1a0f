package agui_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/agui"
)

// A request in the middle of an answer to answer the same message again hides what the stopped run
// stores of its answer.
func TestRun_AgainInMidAnswerHidesTheCutAnswer(t *testing.T) {
	g := newRigWith(t, make(chan struct{}))
	const said = `"messages":[{"id":"m","role":"user","content":"go"}]}`
	resp := g.send(http.MethodPost, g.URL+"/v1/ag-ui/run", `{"threadId":"t","runId":"r","agentId":"slow",`+said, "")
	defer resp.Body.Close()
	for in := bufio.NewReader(resp.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("the text did not come: %v", err)
		}
		if strings.Contains(line, `"TEXT_MESSAGE_CONTENT"`) {
			break
		}
	}
	g.ask(`{"threadId":"t","runId":"r2","agentId":"default",` + said)
	all, err := protocol.Conversation(t.Context(), g.Box.Tenant(""), "t")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].ID != "m" || all[1].Role != llm.Assistant || protocol.RunOf(all[1]) != "r2" {
		t.Errorf("the conversation is %+v, want the message and one answer", all)
	}
}

// An activity of the type messages-snapshot shows the conversation when the run ends, with its answer.
func TestEncoder_MessagesSnapshotOnRequest(t *testing.T) {
	stored := []*llm.Message{{ID: "m", Role: llm.User, Content: []llm.Block{llm.Text("go")}},
		{ID: "a", Role: llm.Assistant, Content: []llm.Block{llm.Text("done")}, Metadata: &llm.Metadata{RunID: "r"}}}
	enc := agui.NewEncoder(agui.Options{Conversation: func() ([]*llm.Message, error) { return stored, nil }})
	var out protocol.Frames
	for i, ev := range []awaken.Event{
		&awaken.RunStart{ThreadID: "t", RunID: "r"}, &awaken.StepStart{MessageID: "a"}, &awaken.ActivitySnapshot{MessageID: "x", ActivityType: "messages-snapshot"},
		&awaken.TextDelta{Delta: "done"}, &awaken.StepEnd{}, &awaken.RunFinish{ThreadID: "t", RunID: "r", Termination: awaken.Termination{Type: awaken.NaturalEnd}},
	} {
		if err := enc.Encode(&out, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: uint64(i + 1)}, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	list := eventsIn(t, string(out.Bytes()))
	if got := list[len(list)-2]; got.kind() != "MESSAGES_SNAPSHOT" || len(got["messages"].([]any)) != 2 {
		t.Errorf("before the end: %v, want a snapshot of two messages: %s", got, out.Bytes())
	}
}
