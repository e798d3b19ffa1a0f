package agui_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
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
