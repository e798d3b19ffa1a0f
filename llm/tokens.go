package llm

import (
	"math"
	"strings"
)

// What counts beyond text. Four bytes are one token.
const (
	messageTokens = 4  // around each message
	toolTokens    = 10 // around each tool
	callBytes     = 40 // around each call
	blockBytes    = 50 // of any other block

	imageBytes   = 4 * 1600
	mediaMin     = 4 * 800  // of audio and video
	documentMin  = 4 * 1600 // of a document that is not text
	mediaShare   = 125      // bytes of audio or video that count as one byte of text
	documentPart = 10       // the same for documents
)

// Tokens estimates how many tokens of a context window the message takes: one for every
// four bytes of text, thinking or arguments, and 1,600 for an image. The estimate does not
// depend on the model; callers that know a provider's count can correct it.
func (m *Message) Tokens() int {
	n := contentBytes(m.Content)
	for i := range m.ToolCalls {
		n += callBytes + len(m.ToolCalls[i].Name) + len(m.ToolCalls[i].Arguments)
	}
	return messageTokens + n/4
}

// Tokens estimates how many tokens of a context window the tool's description takes.
func (t *Tool) Tokens() int {
	return toolTokens + (len(t.Name)+len(t.Description)+len(t.Parameters))/4
}

// Tokens estimates how many tokens of a context window the request takes.
func (r *Request) Tokens() int {
	n := r.FixedTokens()
	for _, m := range r.Messages.All() {
		n += m.Tokens()
	}
	return n
}

// FixedTokens estimates how many tokens the instructions and tools take, without messages.
func (r *Request) FixedTokens() int {
	n := 0
	if len(r.System) > 0 {
		n = messageTokens + contentBytes(r.System)/4
	}
	for i := range r.Tools {
		n += r.Tools[i].Tokens()
	}
	return n
}

func contentBytes(blocks []Block) int {
	n := 0
	for i := range blocks {
		n += blocks[i].bytes()
	}
	return n
}

// bytes returns how many bytes of text a block counts as.
func (b *Block) bytes() int {
	switch b.Type {
	case TextBlock:
		return len(b.Text)
	case ThinkingBlock:
		if b.Text == "" && b.Opaque != nil { // encrypted
			return len(b.Opaque.Data) + len(b.Opaque.Signature)
		}
		return len(b.Text)
	case ImageBlock:
		return imageBytes
	case AudioBlock, VideoBlock:
		return max(mediaMin, b.Source.size()/mediaShare)
	case DocumentBlock:
		if b.Source.size() > 0 && strings.HasPrefix(b.Source.MediaType, "text/") {
			return len(b.Title) + b.Source.size()
		}
		return len(b.Title) + max(documentMin, b.Source.size()/documentPart)
	case ToolUseBlock:
		if b.Tool != nil {
			return callBytes + len(b.Tool.Name) + len(b.Tool.Input)
		}
	case ToolResultBlock:
		if b.Tool != nil {
			return blockBytes + contentBytes(b.Tool.Content)
		}
	}
	return blockBytes
}

// size returns how many bytes the source holds inline or in the store of files.
func (s *Source) size() int {
	switch {
	case s == nil:
		return 0
	case s.Type == "blob":
		return int(min(s.Size, math.MaxInt32))
	}
	return len(s.Data) / 4 * 3
}
