package anthropic

import (
	"slices"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/awaken-go/awaken/llm"
)

// turns writes a conversation as the API wants it: users and the assistant take turns,
// and the answers to calls are at the beginning of the user's next turn.
func (b *builder) turns(msgs []*llm.Message) []sdk.MessageParam {
	out := make([]sdk.MessageParam, 0, len(msgs))
	for _, m := range msgs {
		role, blocks := sdk.MessageParamRoleUser, []sdk.ContentBlockParamUnion(nil)
		switch m.Role {
		case llm.Assistant:
			role, blocks = sdk.MessageParamRoleAssistant, b.said(m)
		case llm.ToolRole:
			blocks = []sdk.ContentBlockParamUnion{{OfToolResult: result(m)}}
		default:
			blocks = shown(m.Content)
		}
		switch n := len(out); {
		case len(blocks) == 0:
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, blocks...)
		default:
			out = append(out, sdk.MessageParam{Role: role, Content: blocks})
		}
	}
	return out
}

// said writes a message of the assistant.
func (b *builder) said(m *llm.Message) []sdk.ContentBlockParamUnion {
	out := make([]sdk.ContentBlockParamUnion, 0, len(m.Content)+len(m.ToolCalls))
	for i := range m.Content {
		switch blk := &m.Content[i]; blk.Type {
		case llm.TextBlock:
			out = append(out, sdk.NewTextBlock(blk.Text))
		case llm.ThinkingBlock:
			if t, ok := thinkingBlock(blk); ok {
				out = append(out, t)
			}
		}
	}
	if !b.traits.adaptive() && len(out) > 0 && !isThinking(out[0]) {
		// These models begin with it; here it comes of two messages that became one.
		slices.SortStableFunc(out, func(x, y sdk.ContentBlockParamUnion) int { return rank(x) - rank(y) })
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		out = append(out, sdk.NewToolUseBlock(c.ID, c.Arguments, b.names.Out(c.Name)))
	}
	return out
}

func isThinking(c sdk.ContentBlockParamUnion) bool {
	return c.OfThinking != nil || c.OfRedactedThinking != nil
}

func rank(c sdk.ContentBlockParamUnion) int {
	if isThinking(c) {
		return 0
	}
	return 1
}

// shown writes what a user said and showed.
func shown(blocks []llm.Block) []sdk.ContentBlockParamUnion {
	out := make([]sdk.ContentBlockParamUnion, 0, len(blocks))
	for i := range blocks {
		switch blk := &blocks[i]; blk.Type {
		case llm.TextBlock:
			out = append(out, sdk.NewTextBlock(blk.Text))
		case llm.ImageBlock:
			out = append(out, sdk.ContentBlockParamUnion{OfImage: imageBlock(blk.Source)})
		case llm.DocumentBlock:
			out = append(out, sdk.ContentBlockParamUnion{OfDocument: documentBlock(blk)})
		}
	}
	return out
}

// result writes what a tool returned.
func result(m *llm.Message) *sdk.ToolResultBlockParam {
	r := &sdk.ToolResultBlockParam{ToolUseID: m.ToolCallID}
	for i := range m.Content {
		switch blk := &m.Content[i]; blk.Type {
		case llm.TextBlock:
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfText: &sdk.TextBlockParam{Text: blk.Text}})
		case llm.ImageBlock:
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfImage: imageBlock(blk.Source)})
		case llm.DocumentBlock:
			r.Content = append(r.Content, sdk.ToolResultBlockParamContentUnion{OfDocument: documentBlock(blk)})
		}
	}
	return r
}
