package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/awaken-go/awaken/llm"
)

const minBudget = 1024 // the API's

// budgets are what the levels mean for models that are given a number of tokens.
var budgets = map[string]int{"low": 4096, "medium": 16384, "high": 32768, "max": 65536}

// efforts are what the levels mean for models that decide themselves.
var efforts = map[string]sdk.OutputConfigEffort{
	"low": sdk.OutputConfigEffortLow, "medium": sdk.OutputConfigEffortMedium, "high": sdk.OutputConfigEffortHigh, "max": sdk.OutputConfigEffortMax,
}

// think says how much to think. A tool that has to be called and thinking exclude each
// other; the tool wins.
func (b *builder) think() {
	e := b.req.ReasoningEffort
	switch {
	case b.traits.alwaysThinks():
		if e != nil {
			b.params.OutputConfig.Effort = effortOf(e)
		}
	case b.forced || e != nil && e.Level == "none":
		if b.traits.thinksUnasked() {
			off := sdk.NewThinkingConfigDisabledParam()
			b.params.Thinking.OfDisabled = &off
		}
	case e == nil: // as the model does by itself
	case b.traits.adaptive():
		b.params.Thinking.OfAdaptive = &sdk.ThinkingConfigAdaptiveParam{Display: sdk.ThinkingConfigAdaptiveDisplaySummarized}
		b.params.OutputConfig.Effort = effortOf(e)
	case b.resumes():
		if n := b.budget(e); n >= minBudget {
			b.params.Thinking = sdk.ThinkingConfigParamOfEnabled(int64(n))
		}
	}
}

// thinks reports whether the model has been told to think, or does.
func (b *builder) thinks() bool {
	return b.params.Thinking.OfEnabled != nil || b.params.Thinking.OfAdaptive != nil
}

// budget is how many tokens to think with, below the limit of the answer, which counts
// thinking too. A level leaves a fifth of that for the answer.
func (b *builder) budget(e *llm.Effort) int {
	limit := int(b.params.MaxTokens)
	if e.Level == "" {
		return min(max(e.Budget, minBudget), limit-1)
	}
	return min(max(min(budgets[e.Level], limit*4/5), minBudget), limit-1)
}

// effortOf is the effort for a level, or for about so many tokens.
func effortOf(e *llm.Effort) sdk.OutputConfigEffort {
	switch {
	case e.Level == "none":
		return sdk.OutputConfigEffortLow
	case e.Level != "":
		return efforts[e.Level]
	case e.Budget <= budgets["low"]:
		return sdk.OutputConfigEffortLow
	case e.Budget <= budgets["medium"]:
		return sdk.OutputConfigEffortMedium
	case e.Budget <= budgets["high"]:
		return sdk.OutputConfigEffortHigh
	}
	return sdk.OutputConfigEffortMax
}

// resumes reports whether models that are given a budget would accept the end of the
// conversation while they think: a turn that goes on after calls has to begin with
// thinking, which it does not if another model began it.
func (b *builder) resumes() bool {
	n := len(b.params.Messages)
	if n < 2 || b.params.Messages[n-1].Content[0].OfToolResult == nil {
		return true
	}
	first := b.params.Messages[n-2].Content[0]
	return first.OfThinking != nil || first.OfRedactedThinking != nil
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
func thinkingBlock(blk *llm.Block) (sdk.ContentBlockParamUnion, bool) {
	o := blk.Opaque
	switch {
	case o == nil:
	case o.Signature != "":
		return sdk.NewThinkingBlock(o.Signature, blk.Text), true
	default:
		var d redactedData
		if json.Unmarshal(o.Data, &d) == nil && d.Redacted != "" {
			return sdk.NewRedactedThinkingBlock(d.Redacted), true
		}
	}
	return sdk.ContentBlockParamUnion{}, false
}
