package delegate_test

import (
	"context"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// A delegate of a tainted run is tainted, and a run is tainted by a delegate that has read something
// untrusted. The mark names the result that was read first.
func TestTaint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		lead   []llmtest.Turn
		worker []llmtest.Turn
		reader string // the agent whose result taints both
	}{
		{"from the parent", []llmtest.Turn{llmtest.Use("fetch", "{}"), give("worker"), llmtest.Say("ok")}, []llmtest.Turn{llmtest.Say("done")}, "root"},
		{"from the delegate", []llmtest.Turn{give("worker"), llmtest.Say("ok")}, []llmtest.Turn{llmtest.Use("fetch", "{}"), llmtest.Say("done")}, "worker"},
		{"from none", []llmtest.Turn{give("worker"), llmtest.Say("ok")}, []llmtest.Turn{llmtest.Say("done")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCrew(t)
			c.member("root", []string{"worker"}, tt.lead...)
			c.member("worker", nil, tt.worker...)
			if _, err := c.runtime().Run(t.Context(), say("t", "go"), nil); err != nil {
				t.Fatal(err)
			}
			runs := c.runs()
			var by string
			for _, r := range runs {
				if r.AgentID == tt.reader {
					by = r.RunID
				}
			}
			if len(runs) != 2 {
				t.Fatalf("there are %d runs", len(runs))
			}
			for _, r := range runs {
				if (r.Taint != nil) != (tt.reader != "") || r.Taint != nil && (r.Taint.RunID != by || r.Taint.Tool != "fetch") {
					t.Errorf("the run of %s is tainted by %+v", r.AgentID, r.Taint)
				}
			}
		})
	}
}

// fetch is a tool whose results are not trusted.
var fetch = awaken.NewTool(awaken.ToolSpec{ID: "fetch", Effect: awaken.ReadOnly, Untrusted: true}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) { return "page", nil })
