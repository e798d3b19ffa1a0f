package shorten

import (
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// Pack joins lines, and splits those that are too long, into as few parts of at most size bytes as
// possible.
func Pack(lines []string, size int) []string {
	const between = "\n\n"
	var parts []string
	var sb strings.Builder
	for _, line := range lines {
		for line != "" {
			room := size - sb.Len()
			if sb.Len() > 0 {
				room -= len(between)
			}
			if len(line) > room && sb.Len() > 0 {
				parts = append(parts, sb.String())
				sb.Reset()
				continue
			}
			piece := Prefix(line, room)
			if piece == "" {
				piece = line // a part has at least one character
			}
			if sb.Len() > 0 {
				sb.WriteString(between)
			}
			sb.WriteString(piece)
			line = line[len(piece):]
		}
	}
	if sb.Len() > 0 {
		parts = append(parts, sb.String())
	}
	return parts
}

// Transcript formats messages as text, one string each. Preview returns what is shown of a message. It leaves out internal messages, except
// those from other agents and tasks: the engine adds them to requests when they matter.
func Transcript(msgs []*llm.Message, preview func(*llm.Message) *llm.Message) []string {
	var out []string
	tools := map[string]string{} // by call id
	for _, m := range msgs {
		for _, c := range m.ToolCalls {
			tools[c.ID] = c.Name
		}
		if m.IsInternal() && (m.Role != llm.User || m.IsSummary()) || m.Empty() && m.Role != llm.ToolRole {
			continue
		}
		who := map[llm.Role]string{llm.System: "System", llm.User: "User", llm.Assistant: "Assistant", llm.ToolRole: "Tool"}[m.Role]
		if name := tools[m.ToolCallID]; name != "" {
			who += " " + name
		}
		if text := plainText(preview(m).Content); text != "" {
			out = append(out, fmt.Sprintf("[%s]: %s", who, text))
		}
		for _, c := range m.ToolCalls {
			out = append(out, fmt.Sprintf("[Assistant calls %s]: %s", c.Name, MiddleOut(string(c.Arguments), maxTranscriptArgs)))
		}
	}
	return out
}

const maxTranscriptArgs = 2000 // bytes of a call's arguments

// plainText describes the content of a message in words.
func plainText(blocks []llm.Block) string {
	var parts []string
	for i := range blocks {
		switch b := &blocks[i]; b.Type {
		case llm.TextBlock:
			parts = append(parts, b.Text)
		case llm.ImageBlock, llm.AudioBlock, llm.VideoBlock, llm.DocumentBlock:
			name := b.Title
			if name == "" && b.Source != nil {
				name = b.Source.URL + b.Source.MediaType
			}
			parts = append(parts, fmt.Sprintf("(%s: %s)", b.Type, name))
		case llm.ToolResultBlock:
			if b.Tool != nil {
				parts = append(parts, plainText(b.Tool.Content))
			}
		}
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}
