package anthropic

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
)

// The API accepts every generated history with Claude's own thinking, for every model and with
// any parameters.
func TestHistories_AreAcceptedWithAnyModelAndParameters(t *testing.T) {
	providertest.Accepts(t, adapter, anyRequest)
}

func anyRequest(t *rapid.T, msgs []*llm.Message) *llm.Request {
	for _, m := range msgs {
		for i := range m.Content {
			if o := m.Content[i].Opaque; o != nil && o.Provider == Name {
				m.Content[i].Opaque = rapid.SampledFrom([]*llm.Opaque{o, {Provider: Name, Signature: "sig"}, redacted("data")}).Draw(t, "opaque")
			}
		}
	}
	req := &llm.Request{
		Model:       rapid.SampledFrom([]string{"claude-3-5-haiku-latest", "claude-opus-4-1", "claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-4-7", "claude-sonnet-5", "claude-fable-5", "glm-4.6"}).Draw(t, "model"),
		Messages:    llm.NewMessages(msgs...),
		CachePrompt: rapid.Bool().Draw(t, "cache"),
	}
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = []llm.Tool{providertest.Lookup(), {Name: "a.b c"}}
		req.ToolChoice = rapid.SampledFrom([]*llm.ToolChoice{nil, {Mode: "auto"}, {Mode: "none"}, {Mode: "required"}, {Mode: "tool", Name: "a.b c"}}).Draw(t, "choice")
		req.ParallelTools = rapid.SampledFrom([]*bool{nil, new(true), new(false)}).Draw(t, "parallel")
	}
	req.ReasoningEffort = rapid.SampledFrom([]*llm.Effort{nil, {Level: "none"}, {Level: "low"}, {Level: "max"}, {Budget: 1}, {Budget: 1 << 20}}).Draw(t, "effort")
	req.Temperature = rapid.SampledFrom([]*float64{nil, new(0.0), new(1.0)}).Draw(t, "temperature")
	req.TopP = rapid.SampledFrom([]*float64{nil, new(0.5), new(0.99)}).Draw(t, "top p")
	req.MaxTokens = rapid.SampledFrom([]*int{nil, new(10), new(1024), new(1025), new(5000)}).Draw(t, "max tokens")
	req.StopSequences = rapid.SampledFrom([][]string{nil, {"END", " \n"}}).Draw(t, "stop")
	if rapid.IntRange(0, 3).Draw(t, "output") == 0 {
		req.Output = &llm.OutputSchema{Name: "lookup", Schema: providertest.Lookup().Parameters}
	}
	return req
}
