package anthropic

import (
	"encoding/json"

	"github.com/awaken-go/awaken/llm"
)

const minBudget = 1024 // the API's

// budgets are what the levels mean for models that are given a number of tokens.
var budgets = map[string]int{"low": 4096, "medium": 16384, "high": 32768, "max": 65536}

// think says how much to think. A tool that has to be called and thinking exclude each
// other; the tool wins.
func (b *builder) think() {
	e := b.req.ReasoningEffort
	switch {
	case b.traits.alwaysThinks():
		if e != nil {
			b.setEffort(e)
		}
	case b.forced || e != nil && e.Level == "none":
		if b.traits.thinksUnasked() {
			b.request.Thinking = &thinking{Type: "disabled"}
		}
	case e == nil: // as the model does by itself
	case b.traits.adaptive():
		b.request.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		b.setEffort(e)
	case b.resumes():
		if n := b.budget(e); n >= minBudget {
			b.request.Thinking = &thinking{Type: "enabled", BudgetTokens: n}
		}
	}
}

// setEffort asks for an effort.
func (b *builder) setEffort(e *llm.Effort) {
	if b.request.OutputConfig == nil {
		b.request.OutputConfig = &outputConfig{}
	}
	b.request.OutputConfig.Effort = effortOf(e)
}

// thinks reports whether the model has been told to think.
func (b *builder) thinks() bool {
	return b.request.Thinking != nil && b.request.Thinking.Type != "disabled"
}

// budget is how many tokens to think with, below the limit of the answer, which counts
// thinking too. A level leaves a fifth of that for the answer.
func (b *builder) budget(e *llm.Effort) int {
	limit := b.request.MaxTokens
	if e.Level == "" {
		return min(max(e.Budget, minBudget), limit-1)
	}
	return min(max(min(budgets[e.Level], limit*4/5), minBudget), limit-1)
}

// effortOf is the effort for a level, or for about so many tokens.
func effortOf(e *llm.Effort) string {
	switch {
	case e.Level == "none":
		return "low"
	case e.Level != "":
		return e.Level
	case e.Budget <= budgets["low"]:
		return "low"
	case e.Budget <= budgets["medium"]:
		return "medium"
	case e.Budget <= budgets["high"]:
		return "high"
	}
	return "max"
}

// resumes reports whether models that are given a budget would accept the end of the
// conversation while they think: a turn that goes on after calls has to begin with
// thinking, which it does not if another model began it.
func (b *builder) resumes() bool {
	n := len(b.request.Messages)
	return n < 2 || b.request.Messages[n-1].Content[0].Type != "tool_result" || b.request.Messages[n-2].Content[0].isThinking()
}

// What is kept of thinking: the signature of a block, or, in Data, a block that is
// encrypted as a whole.
type redactedData struct {
	Redacted string `json:"redacted_thinking"`
}

func redacted(data string) *llm.Opaque {
	raw, err := json.Marshal(redactedData{data})
	if err != nil {
		panic(err) // a string
	}
	return &llm.Opaque{Provider: Name, Data: raw}
}

// thinkingBlock returns a block of thinking as it came, or false if it cannot be sent.
func thinkingBlock(blk *llm.Block) (contentBlock, bool) {
	o := blk.Opaque
	switch {
	case o == nil:
	case o.Signature != "":
		return contentBlock{Type: "thinking", Thinking: &blk.Text, Signature: o.Signature}, true
	default:
		var d redactedData
		if json.Unmarshal(o.Data, &d) == nil && d.Redacted != "" {
			return contentBlock{Type: "redacted_thinking", Data: d.Redacted}, true
		}
	}
	return contentBlock{}, false
}
