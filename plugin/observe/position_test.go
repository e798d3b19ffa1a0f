package observe_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/tracecontext"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/observe"
)

// The record of a run says where its trace is, if that is recorded.
func TestTrace_IsPartOfTheRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, section, trace string
		want                 bool
	}{
		{"recorded", "", "", true},
		{"in a trace that is recorded", `{"sample_rate":0}`, parent, true},
		{"not recorded", `{"sample_rate":0}`, "", false},
		{"in a trace that is not recorded", "", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, tt.section, observe.Options{}, llmtest.NewScript(llmtest.Say("ok")))
			res, err := g.run(awaken.RunRequest{Trace: tt.trace})
			if err != nil {
				t.Fatal(err)
			}
			run, err := g.rt.Store().LoadRun(t.Context(), res.RunID)
			if err != nil {
				t.Fatal(err)
			}
			if !tt.want {
				if run.Trace != "" || len(g.spans.GetSpans()) > 0 {
					t.Errorf("the record has the trace %q, and there are %d spans", run.Trace, len(g.spans.GetSpans()))
				}
				return
			}
			c := g.span("invoke_agent default").SpanContext
			if at := tracecontext.ParseText(run.Trace); at.TraceID() != c.TraceID().String() || !at.Sampled() || run.Trace[36:52] != c.SpanID().String() {
				t.Errorf("the record has the trace %q, want that of span %s in %s", run.Trace, c.SpanID(), c.TraceID())
			}
		})
	}
}
