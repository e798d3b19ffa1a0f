package aisdk_test

import (
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// A page learns that an answer is cut off: from the finish chunk.
func TestFinish_SaysThatTheAnswerIsCutOff(t *testing.T) {
	g := newRig(t)
	g.Model.Model = llmtest.NewScript(llmtest.Turn{Text: llmtest.Text{"more "}, Finish: llm.MaxTokens}).Loop()
	_, body := g.post(g.URL, `{"id":"t","messages":[{"role":"user","content":"tell me all"}]}`)
	finish := find(chunksOf(t, body), "finish")
	if finish["finishReason"] != "length" {
		t.Errorf("the stream ends with %v", finish)
	}
	if m := finish["messageMetadata"].(map[string]any); m["finishReason"] != "MaxTokens" || m["diagnostics"] == nil {
		t.Errorf("the metadata is %v", m)
	}
}
