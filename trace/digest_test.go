package trace_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/trace"
)

// Equal digests are equal requests: of another run too, and not with another parameter or another word.
func TestDigests_AreThoseOfRequests(t *testing.T) {
	t.Parallel()
	h := awakentest.New(t, engine.Config{RegistryID: "v1", Tools: []awaken.Tool{echo()}},
		llmtest.Use("echo", `{"text":"hi"}`), llmtest.Say("Done."),
		llmtest.Use("echo", `{"text":"hi"}`), llmtest.Say("Done."),
		llmtest.Use("echo", `{"text":"hi"}`), llmtest.Say("Done."),
		llmtest.Say("Done."))
	digests := func(req awaken.RunRequest, text string) map[int]string {
		t.Helper()
		req.Messages = []*llm.Message{llm.UserText(text)}
		rec, err := (&trace.Recorder{Source: h.Store.(trace.Source), Before: true}).Record(t.Context(), h.Run(req).Result.RunID)
		if err != nil {
			t.Fatal(err)
		}
		return rec.Digests()
	}
	a, b := digests(awaken.RunRequest{ThreadID: "a"}, "Go"), digests(awaken.RunRequest{ThreadID: "b"}, "Go")
	if len(a) != 2 || a[0] != b[0] || a[1] != b[1] || a[0] == a[1] {
		t.Errorf("digests of equal runs are %v and %v", a, b)
	}
	if c := digests(awaken.RunRequest{ThreadID: "c", Overrides: &awaken.InferenceOverride{Temperature: new(0.5)}}, "Go"); c[0] == a[0] || c[1] == a[1] {
		t.Errorf("another temperature has the same digests: %v", c)
	}
	if d := digests(awaken.RunRequest{ThreadID: "a"}, "Go"); d[0] == a[0] {
		t.Errorf("a longer conversation has the same digest: %v", d)
	}
}
