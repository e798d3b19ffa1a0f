package gemini

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/internal/providertest"
)

// The API accepts every generated history with Gemini's own signatures, for every model and with
// any parameters.
func TestHistories_AreAcceptedWithAnyModelAndParameters(t *testing.T) {
	providertest.Accepts(t, adapter("gemini-3-pro-preview"), anyRequest)
}

func anyRequest(t *rapid.T, msgs []*llm.Message) *llm.Request {
	req := &llm.Request{
		Model:    rapid.SampledFrom([]string{"gemini-2.0-flash", "gemini-2.5-flash", "gemini-2.5-pro", "gemini-3-pro-preview", "gemini-3-flash-preview", "gemini-flash-latest"}).Draw(t, "model"),
		Messages: llm.NewMessages(msgs...),
	}
	sign := func(o *llm.Opaque) *llm.Opaque {
		if o == nil || o.Provider != Name {
			return o
		}
		return rapid.SampledFrom([]*llm.Opaque{o, signed("c2ln", req.Model), signed("b3RoZXI=", "gemini-other")}).Draw(t, "opaque")
	}
	for _, m := range msgs {
		m.Opaque = sign(m.Opaque)
		for i := range m.Content {
			m.Content[i].Opaque = sign(m.Content[i].Opaque)
		}
		for i := range m.ToolCalls {
			m.ToolCalls[i].Opaque = sign(m.ToolCalls[i].Opaque)
		}
	}
	if rapid.Bool().Draw(t, "tools") {
		req.Tools = []llm.Tool{providertest.Lookup(), {Name: "3d.a b"}}
		req.ToolChoice = rapid.SampledFrom([]*llm.ToolChoice{nil, {Mode: "auto"}, {Mode: "none"}, {Mode: "required"}, {Mode: "tool", Name: "3d.a b"}}).Draw(t, "choice")
	}
	req.ReasoningEffort = rapid.SampledFrom([]*llm.Effort{nil, {Level: "none"}, {Level: "low"}, {Level: "max"}, {Budget: 1}, {Budget: 1 << 20}}).Draw(t, "effort")
	if rapid.IntRange(0, 3).Draw(t, "output") == 0 {
		req.Output = &llm.OutputSchema{Name: "lookup", Schema: providertest.Lookup().Parameters}
	}
	return req
}
