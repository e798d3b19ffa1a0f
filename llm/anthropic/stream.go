package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// event is any event of the stream. Type determines which other fields are set.
type event struct {
	Type         string  `json:"type"`
	Index        int     `json:"index"`
	Message      message `json:"message"`       // message_start
	ContentBlock block   `json:"content_block"` // content_block_start
	Delta        delta   `json:"delta"`         // content_block_delta, message_delta
	Usage        *usage  `json:"usage"`         // message_delta
}

type message struct {
	ID    string `json:"id"`
	Usage *usage `json:"usage"`
}

type block struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Input     json.RawMessage `json:"input"`
}

type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`
	StopReason  string `json:"stop_reason"`
	StopDetails *struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// usage is cumulative and counts cached input separately. An absent field leaves the value
// reported before.
type usage struct {
	Input         *int64 `json:"input_tokens"`
	Output        *int64 `json:"output_tokens"`
	CacheRead     *int64 `json:"cache_read_input_tokens"`
	CacheCreation *int64 `json:"cache_creation_input_tokens"`
	Details       *struct {
		Thinking int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// answer converts the events of one stream into deltas.
type answer struct {
	emit   provider.Emit
	names  provider.Names
	output string // the tool whose input is the reply's text, or ""

	open   map[int]*openBlock
	ids    provider.CallIDs
	held   provider.Held
	input  int64 // without cached input
	usage  llm.Usage
	called bool // a tool other than output was called
	reason delta
}

type openBlock struct {
	kind      string
	id        string
	signature strings.Builder
	filled    bool            // a piece of the input has arrived
	whole     json.RawMessage // the complete input, from servers that do not stream it
}

// blockCost is about how much memory an open block takes.
const blockCost = 256

// take handles one event and reports whether it was the last.
func (a *answer) take(raw provider.Event) (last bool, err error) {
	if string(raw.Type) == "ping" {
		return false, nil
	}
	var ev event
	if err := json.Unmarshal(raw.Data, &ev); err != nil {
		return false, fmt.Errorf("an event is not valid JSON: %w", err)
	}
	switch ev.Type {
	case "message_start":
		a.emit(llm.Delta{Kind: llm.ResponseDelta, ID: ev.Message.ID})
		a.count(ev.Message.Usage)
	case "content_block_start":
		a.start(ev.Index, &ev.ContentBlock)
		return false, a.held.Add(blockCost + len(ev.ContentBlock.Signature) + len(ev.ContentBlock.Input))
	case "content_block_delta":
		a.grow(a.open[ev.Index], &ev.Delta)
		if n := len(ev.Delta.Signature); n > 0 {
			return false, a.held.Add(n)
		}
	case "content_block_stop":
		a.stop(ev.Index)
	case "message_delta":
		if ev.Delta.StopReason != "" {
			a.reason = ev.Delta
		}
		a.count(ev.Usage)
	case "message_stop":
		return true, a.finish()
	case "error":
		return false, provider.StreamError(Name, raw.Data)
	}
	return false, nil // unknown events are ignored
}

func (a *answer) start(index int, b *block) {
	o := &openBlock{kind: b.Type}
	a.open[index] = o
	switch b.Type {
	case "text":
		a.emit(llm.Delta{Kind: llm.TextDelta, Text: b.Text})
	case "thinking":
		o.signature.WriteString(b.Signature)
		a.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: b.Thinking})
	case "redacted_thinking":
		a.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: redacted(b.Data)})
	case "tool_use":
		if s := string(b.Input); s != "" && s != "{}" && s != "null" {
			o.whole = b.Input
		}
		if a.output != "" && b.Name == a.output {
			o.kind = "output"
			return
		}
		a.called, o.id = true, a.ids.Take(b.ID)
		a.emit(llm.Delta{Kind: llm.ToolCallStart, ID: o.id, Name: a.names.In(b.Name)})
	}
}

func (a *answer) grow(o *openBlock, d *delta) {
	if o == nil {
		return
	}
	switch d.Type {
	case "text_delta":
		a.emit(llm.Delta{Kind: llm.TextDelta, Text: d.Text})
	case "thinking_delta":
		a.emit(llm.Delta{Kind: llm.ReasoningDelta, Text: d.Thinking})
	case "signature_delta":
		o.signature.WriteString(d.Signature)
	case "input_json_delta":
		a.argument(o, d.PartialJSON)
	}
}

// argument emits a piece of a tool's input.
func (a *answer) argument(o *openBlock, piece string) {
	o.filled = o.filled || piece != ""
	if o.kind == "output" {
		a.emit(llm.Delta{Kind: llm.TextDelta, Text: piece})
	} else {
		a.emit(llm.Delta{Kind: llm.ToolCallDelta, ID: o.id, Text: piece})
	}
}

func (a *answer) stop(index int) {
	o := a.open[index]
	delete(a.open, index)
	switch {
	case o == nil:
	case o.kind == "thinking" && o.signature.Len() > 0:
		a.emit(llm.Delta{Kind: llm.OpaqueDelta, Opaque: &llm.Opaque{Provider: Name, Signature: o.signature.String()}})
	case (o.kind == "tool_use" || o.kind == "output") && !o.filled:
		if o.whole == nil {
			o.whole = json.RawMessage("{}") // a complete call without input
		}
		a.argument(o, string(o.whole))
	}
}

// count adds a usage report and emits the result.
func (a *answer) count(u *usage) {
	if u == nil {
		return
	}
	set := func(dst *int64, v *int64) {
		if v != nil {
			*dst = *v
		}
	}
	set(&a.input, u.Input)
	set(&a.usage.CacheReadTokens, u.CacheRead)
	set(&a.usage.CacheCreationTokens, u.CacheCreation)
	set(&a.usage.CompletionTokens, u.Output)
	if u.Details != nil {
		a.usage.ThinkingTokens = u.Details.Thinking
	}
	a.usage.PromptTokens = a.input + a.usage.CacheReadTokens + a.usage.CacheCreationTokens
	a.usage.TotalTokens = a.usage.PromptTokens + a.usage.CompletionTokens
	if sum := a.usage; sum != (llm.Usage{}) {
		a.emit(llm.Delta{Kind: llm.UsageDelta, Usage: &sum})
	}
}

// finish emits the finish, or returns an error for a reply that did not end well.
func (a *answer) finish() error {
	var reason llm.FinishReason
	switch a.reason.StopReason {
	case "end_turn":
		reason = llm.EndTurn
	case "stop_sequence":
		reason = llm.StopSequence
	case "tool_use":
		reason = llm.ToolUse
		if !a.called { // only the output tool was called
			reason = llm.EndTurn
		}
	case "max_tokens", "model_context_window_exceeded", "pause_turn": // the reply can be continued
		reason = llm.MaxTokens
	case "refusal":
		return a.refusal()
	default:
		return &llm.Error{Kind: llm.Provider, Provider: Name, Message: fmt.Sprintf("unknown stop reason %q", a.reason.StopReason)}
	}
	a.emit(llm.Delta{Kind: llm.FinishDelta, Finish: reason})
	return nil
}

func (a *answer) refusal() error {
	e := &llm.Error{Kind: llm.ContentFiltered, Provider: Name, Message: "the model refused to answer"}
	if d := a.reason.StopDetails; d != nil {
		for _, s := range []string{d.Category, d.Explanation} {
			if s != "" {
				e.Message += ": " + s
			}
		}
	}
	return e
}
