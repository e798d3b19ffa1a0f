package anthropic

import (
	"encoding/json"

	"github.com/awaken-go/awaken/llm"
)

const minBudget = 1024 // the least that the API accepts

// budgets maps levels to tokens, for models with a thinking budget.
var budgets = map[string]int{"low": 4096, "medium": 16384, "high": 32768, "max": 65536}

// think sets how much the model thinks. A forced tool excludes thinking and takes precedence.
func (b *builder) think() {
	e := b.req.ReasoningEffort
	switch {
	case b.req.Capabilities.Reasoning == llm.NoReasoning:
	case b.traits.alwaysThinks():
		if e != nil {
			b.setEffort(e)
		}
	case b.forced || e != nil && e.Level == "none":
		if e != nil && e.Level != "none" {
			b.emit.Omit("reasoning_effort", "omitted if the model must call a tool")
		}
		if b.traits.thinksByDefault() {
			b.request.Thinking = &thinking{Type: "disabled"}
		}
	case e == nil: // the model's default
	case b.adaptive():
		b.request.Thinking = &thinking{Type: "adaptive", Display: "summarized"}
		b.setEffort(e)
	case !b.resumes():
		b.emit.Omit("reasoning_effort", "omitted in a turn that another model started")
	default:
		if n := b.budget(e); n >= minBudget {
			b.request.Thinking = &thinking{Type: "enabled", BudgetTokens: n}
		} else {
			b.emit.Omit("reasoning_effort", "omitted: the limit of the reply is too low for it")
		}
	}
}

// adaptive reports whether the model takes an effort and decides itself how much to think. Others
// take a thinking budget.
func (b *builder) adaptive() bool {
	if kind := b.req.Capabilities.Reasoning; kind != "" {
		return kind == llm.ReasoningLevels
	}
	return b.traits.adaptive()
}

// setEffort sets the effort.
func (b *builder) setEffort(e *llm.Effort) {
	if b.request.OutputConfig == nil {
		b.request.OutputConfig = &outputConfig{}
	}
	b.request.OutputConfig.Effort = effortOf(e)
}

// thinks reports whether the request enables thinking.
func (b *builder) thinks() bool {
	return b.request.Thinking != nil && b.request.Thinking.Type != "disabled"
}

// budget returns the thinking budget, below the limit of the reply, which includes thinking. A
// level leaves a fifth of the limit for the rest of the reply.
func (b *builder) budget(e *llm.Effort) int {
	limit := b.request.MaxTokens
	if e.Level == "" {
		return min(max(e.Budget, minBudget), limit-1)
	}
	return min(max(min(budgets[e.Level], limit*4/5), minBudget), limit-1)
}

// effortOf returns the API's effort for a level or a budget.
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

// resumes reports whether models with a thinking budget accept the end of the conversation: a turn
// that continues after tool calls must start with thinking, which is missing if another model
// started the turn.
func (b *builder) resumes() bool {
	n := len(b.request.Messages)
	return n < 2 || b.request.Messages[n-1].Content[0].Type != "tool_result" || b.request.Messages[n-2].Content[0].isThinking()
}

// redactedData is the opaque data of a fully encrypted block. Of other thinking blocks the opaque
// data has only the signature.
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

// thinkingBlock returns a thinking block as it was received, or false if it cannot be sent.
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
