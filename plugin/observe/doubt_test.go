package observe_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/observe"
)

// A span, and an event, of a call in doubt says that it is not known whether the call took effect: it is not just a failure.
func TestCall_InDoubt(t *testing.T) {
	t.Parallel()
	g := newRig(t, "", observe.Options{}, llmtest.NewScript(llmtest.Use("doubt", `{}`), llmtest.Say("I do not know.")))
	if _, err := g.run(awaken.RunRequest{}); err != nil {
		t.Fatal(err)
	}
	s := g.span("execute_tool doubt")
	if got := attr(s, "error.type") + " " + attr(s, "awaken.tool.outcome"); got != "in_doubt in_doubt" {
		t.Errorf("the span has error type and outcome %q", got)
	}
	if tools := g.memory.Metrics().Tools; len(tools) != 1 || tools[0].Tool.Error != "in_doubt" || tools[0].Tool.Outcome != awaken.OutcomeInDoubt {
		t.Errorf("the events are %+v", tools)
	}
}
