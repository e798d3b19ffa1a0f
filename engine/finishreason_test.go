package engine_test

import (
	"slices"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// A run whose answer is cut off or empty ends naturally, but says so: on the event, the message, the
// record and the result.
func TestFinishReason_IsOnTheEventTheMessageAndTheRun(t *testing.T) {
	t.Parallel()
	cut := llmtest.Turn{Text: llmtest.Text{"more "}, Finish: llm.MaxTokens}
	for name, tt := range map[string]struct {
		turns   []llmtest.Turn
		finish  llm.FinishReason
		message llm.FinishReason
		code    string
	}{
		"complete":                 {[]llmtest.Turn{llmtest.Say("all of it")}, llm.EndTurn, "", ""},
		"complete in the end":      {[]llmtest.Turn{cut, cut, llmtest.Say("end")}, llm.EndTurn, "", ""},
		"cut off for good":         {[]llmtest.Turn{cut, cut, cut}, llm.MaxTokens, llm.MaxTokens, "answer_truncated"},
		"thinking only":            {[]llmtest.Turn{{Reasoning: llmtest.Text{"hm"}}}, llm.EndTurn, "", "answer_empty"},
		"thinking up to the limit": {[]llmtest.Turn{{Reasoning: llmtest.Text{"hm"}, Finish: llm.MaxTokens}}, llm.MaxTokens, llm.MaxTokens, "answer_truncated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newRig(t, tt.turns)
			res, p := g.run(say("hi"))
			rec := g.record(res.RunID)
			if rec.FinishReason != tt.finish || res.FinishReason != tt.finish {
				t.Errorf("the record says %q, the result %q, want %q", rec.FinishReason, res.FinishReason, tt.finish)
			}
			var code string
			if len(rec.Diagnostics) == 1 {
				code = rec.Diagnostics[0].Code
			}
			if code != tt.code || !slices.Equal(rec.Diagnostics, res.Diagnostics) {
				t.Errorf("the diagnostics are %v and %v, want %q", rec.Diagnostics, res.Diagnostics, tt.code)
			}
			for _, e := range p.entries {
				switch ev := e.Event.(type) {
				case *awaken.InferenceComplete:
					if ev.FinishReason != tt.finish {
						t.Errorf("inference_complete says %q, want %q", ev.FinishReason, tt.finish)
					}
				case *awaken.RunFinish:
					if ev.Result.FinishReason != tt.finish || !slices.Equal(ev.Result.Diagnostics, rec.Diagnostics) {
						t.Errorf("run_finish says %q, %v", ev.Result.FinishReason, ev.Result.Diagnostics)
					}
				}
			}
			for _, m := range g.log("t") {
				if m.Role == llm.Assistant && m.Metadata.Finish != tt.message {
					t.Errorf("the message says %q, want %q", m.Metadata.Finish, tt.message)
				}
			}
		})
	}
}

// A run that a content filter stops fails, with a code that programs can recognise.
func TestFinishReason_NamesAContentFilter(t *testing.T) {
	t.Parallel()
	g := newRig(t, []llmtest.Turn{{Text: llmtest.Text{"so far"}, Error: &llmtest.Failure{Kind: llm.ContentFiltered}}})
	res, err := g.rt.Run(t.Context(), say("hi"), nil)
	if err == nil || res.Termination.Type != awaken.Failed || len(res.Diagnostics) != 1 || res.Diagnostics[0].Code != "content_filtered" {
		t.Errorf("the run ends with %v, %+v", err, res)
	}
}
