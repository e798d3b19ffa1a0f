package engine_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

func TestMetadata_OnlyTheAnswerSaysWhyTheModelStopped(t *testing.T) {
	t.Parallel()
	cut := uses("echo")
	cut.Finish = llm.StopSequence
	g := newRig(t, []llmtest.Turn{cut, llmtest.Say("ok")}, withTools(echo("echo")))
	res, _ := g.run(say("hi"))
	records, err := g.store.Messages(t.Context(), res.ThreadID, awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var answers, others int
	for _, r := range records {
		md := r.Message.Metadata
		switch {
		case md == nil: // input
		case len(r.Message.ToolCalls) > 0 && md.Finish == llm.StopSequence:
			answers++
		case md.Finish == "":
			others++
		default:
			t.Errorf("message %s has finish reason %q", r.Message.ID, md.Finish)
		}
	}
	if answers != 1 || others != 2 {
		t.Errorf("%d messages have the finish reason of the answer and %d none, want 1 and 2", answers, others)
	}
}
