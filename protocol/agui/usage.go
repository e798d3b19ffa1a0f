package agui

import (
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
)

// usage is the token usage of an activation, by model.
type usage []modelUsage

type modelUsage struct {
	model string
	llm.Usage
}

// add adds the usage of one answer.
func (all *usage) add(ev *awaken.InferenceComplete) {
	if ev.Usage == nil {
		return
	}
	i := slices.IndexFunc(*all, func(u modelUsage) bool { return u.model == ev.Model })
	if i < 0 {
		i = len(*all)
		*all = append(*all, modelUsage{model: ev.Model})
	}
	u := &(*all)[i]
	u.PromptTokens += ev.Usage.PromptTokens
	u.CompletionTokens += ev.Usage.CompletionTokens
	u.TotalTokens += ev.Usage.TotalTokens
	u.CacheReadTokens += ev.Usage.CacheReadTokens
	u.ThinkingTokens += ev.Usage.ThinkingTokens
}

// append appends the usage field, if there was any usage.
func (all usage) append(buf []byte) ([]byte, error) {
	for i, u := range all {
		if i == 0 {
			buf = append(buf, `,"usage":[`...)
		} else {
			buf = append(buf, ',')
		}
		start := len(buf)
		buf = appendjson.TextIf(buf, `,"model":`, u.model)
		buf = appendjson.IntIf(buf, `,"inputTokens":`, u.PromptTokens)
		buf = appendjson.IntIf(buf, `,"outputTokens":`, u.CompletionTokens)
		buf = appendjson.IntIf(buf, `,"totalTokens":`, u.TotalTokens)
		buf = appendjson.IntIf(buf, `,"reasoningTokens":`, u.ThinkingTokens)
		buf = appendjson.Close(appendjson.IntIf(buf, `,"cachedInputTokens":`, u.CacheReadTokens), start)
	}
	if len(all) > 0 {
		buf = append(buf, ']')
	}
	return buf, nil
}
