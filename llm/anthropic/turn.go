package anthropic

import (
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// turns writes a conversation as the API wants it: users and the assistant take turns,
// and the answers to calls are at the beginning of the user's next turn.
func (b *builder) turns(msgs []*llm.Message) []turn {
	out := make([]turn, 0, len(msgs))
	for _, m := range msgs {
		role, blocks := "user", []contentBlock(nil)
		switch m.Role {
		case llm.Assistant:
			role, blocks = "assistant", b.said(m)
		case llm.ToolRole:
			blocks = []contentBlock{{Type: "tool_result", ToolUseID: m.ToolCallID, Content: shown(m.Content)}}
		default:
			blocks = shown(m.Content)
		}
		switch n := len(out); {
		case len(blocks) == 0:
		case n > 0 && out[n-1].Role == role:
			out[n-1].Content = append(out[n-1].Content, blocks...)
		default:
			out = append(out, turn{Role: role, Content: blocks})
		}
	}
	return out
}

// said writes a message of the assistant.
func (b *builder) said(m *llm.Message) []contentBlock {
	out := make([]contentBlock, 0, len(m.Content)+len(m.ToolCalls))
	for i := range m.Content {
		switch blk := &m.Content[i]; blk.Type {
		case llm.TextBlock:
			out = append(out, plainText(blk.Text))
		case llm.ThinkingBlock:
			if t, ok := thinkingBlock(blk); ok {
				out = append(out, t)
			}
		}
	}
	if !b.traits.adaptive() && len(out) > 0 && !out[0].isThinking() {
		// These models begin with it; here it comes of two messages that became one.
		slices.SortStableFunc(out, func(x, y contentBlock) int { return rank(&x) - rank(&y) })
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		out = append(out, contentBlock{Type: "tool_use", ID: c.ID, Name: b.names.Out(c.Name), Input: c.Arguments})
	}
	return out
}

func rank(c *contentBlock) int {
	if c.isThinking() {
		return 0
	}
	return 1
}

// shown writes what a user said and showed, or what a tool returned.
func shown(blocks []llm.Block) []contentBlock {
	out := make([]contentBlock, 0, len(blocks))
	for i := range blocks {
		switch blk := &blocks[i]; blk.Type {
		case llm.TextBlock:
			out = append(out, plainText(blk.Text))
		case llm.ImageBlock:
			out = append(out, contentBlock{Type: "image", Source: imageSource(blk.Source)})
		case llm.DocumentBlock:
			out = append(out, documentBlock(blk))
		}
	}
	return out
}

func plainText(s string) contentBlock { return contentBlock{Type: "text", Text: s} }

// documentBlock is a document whose source the API takes.
func documentBlock(blk *llm.Block) contentBlock {
	out := contentBlock{Type: "document", Source: documentSource(blk.Source)}
	if strings.TrimSpace(blk.Title) != "" {
		out.Title = blk.Title
	}
	return out
}
