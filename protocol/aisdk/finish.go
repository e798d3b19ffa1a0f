package aisdk

import (
	"cmp"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

func (e *Encoder) finish(ev *awaken.RunFinish) {
	e.endStep()
	if ev.Termination.Type == awaken.Failed {
		e.failed(ev.Termination.Message)
		return
	}
	end, waits := metadata{Termination: &ev.Termination}, (*waiting)(nil)
	if r := ev.Result; r != nil {
		end.Usage, end.CostUSD, end.Output = usageOf(&r.Usage), r.CostUSD, r.StructuredOutput
		end.FinishReason, end.Diagnostics = r.FinishReason, r.Diagnostics
		waits = waitingOf(r.Waiting)
	}
	if ev.Termination.Type == awaken.Cancelled {
		e.out.Object("message-metadata").Value(`,"messageMetadata":`, end).Close()
		if e.message == "" { // there is nothing to show
			e.failed(protocol.NotBegun)
			return
		}
		e.out.Object("abort").Close()
		return
	}
	reason := "stop"
	if ev.Result != nil && ev.Result.FinishReason == llm.MaxTokens {
		reason = "length"
	}
	switch ev.Termination.Type {
	case awaken.Suspended:
		if reason = "tool-calls"; waits != nil {
			reason = "other"
			e.data("waiting", "", true, waits)
		}
	case awaken.Blocked:
		reason = "content-filter"
	}
	e.out.Object("finish").Text(`,"finishReason":`, reason).Value(`,"messageMetadata":`, end).Close()
}

// metadata is the outcome of a run, in the metadata of its message.
type metadata struct {
	Usage        *usage              `json:"usage,omitempty"`
	Termination  *awaken.Termination `json:"termination,omitempty"` // nil while the run is in flight
	CostUSD      float64             `json:"costUsd,omitempty"`
	Output       json.RawMessage     `json:"output,omitempty"`       // the structured output
	FinishReason llm.FinishReason    `json:"finishReason,omitempty"` // of the last answer
	Diagnostics  []awaken.Diagnostic `json:"diagnostics,omitempty"`
}

// waiting is what a run waits for, if not for the client.
type waiting struct {
	Reason  awaken.WaitingReason `json:"reason"`
	Message string               `json:"message,omitempty"`
}

func waitingOf(w *awaken.Waiting) *waiting {
	if w == nil || w.Reason == awaken.WaitToolPermission || w.Reason == awaken.WaitUserInput {
		return nil
	}
	return &waiting{w.Reason, w.Message}
}

func (e *Encoder) inference(ev *awaken.InferenceComplete) {
	e.endText()
	e.endReasoning()
	e.data("inference-complete", "", true, inference{ev.Model, usageOf(ev.Usage), ev.CostUSD, ev.DurationMS, ev.FinishReason})
}

type inference struct {
	Model        string           `json:"model"`
	Usage        *usage           `json:"usage,omitempty"`
	CostUSD      float64          `json:"costUsd,omitempty"`
	DurationMS   int64            `json:"durationMs"`
	FinishReason llm.FinishReason `json:"finishReason,omitempty"`
}

// usage is token usage, with the names of the ai package.
type usage struct {
	InputTokens       int64 `json:"inputTokens"`
	OutputTokens      int64 `json:"outputTokens"`
	TotalTokens       int64 `json:"totalTokens"`
	ReasoningTokens   int64 `json:"reasoningTokens,omitempty"`
	CachedInputTokens int64 `json:"cachedInputTokens,omitempty"`
}

func usageOf(u *llm.Usage) *usage {
	if u == nil || *u == (llm.Usage{}) {
		return nil
	}
	total := cmp.Or(u.TotalTokens, u.PromptTokens+u.CompletionTokens)
	return &usage{u.PromptTokens, u.CompletionTokens, total, u.ThinkingTokens, u.CacheReadTokens}
}
