package anthropic

import (
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// turns converts a conversation: user and assistant alternate, and tool results are at the
// beginning of the user's next turn.
func (b *builder) turns(msgs []*llm.Message) []turn {
	out := make([]turn, 0, len(msgs))
	for _, m := range msgs {
		role, blocks := "user", []contentBlock(nil)
		switch m.Role {
		case llm.Assistant:
			role, blocks = "assistant", b.assistantContent(m)
		case llm.ToolRole:
			blocks = []contentBlock{{Type: "tool_result", ToolUseID: m.ToolCallID, Content: userContent(m.Content)}}
		default:
			blocks = userContent(m.Content)
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

// assistantContent converts the content and calls of an assistant message.
func (b *builder) assistantContent(m *llm.Message) []contentBlock {
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
		// These models require thinking first; two merged messages may have it later.
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

// userContent converts the content of a user message or of a tool result.
func userContent(blocks []llm.Block) []contentBlock {
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

// documentBlock converts a document whose source the API accepts.
func documentBlock(blk *llm.Block) contentBlock {
	out := contentBlock{Type: "document", Source: documentSource(blk.Source)}
	if strings.TrimSpace(blk.Title) != "" {
		out.Title = blk.Title
	}
	return out
}
