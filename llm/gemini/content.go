package gemini

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// skipSignature replaces the signature of a call that another model made. It is base64 for
// "skip_thought_signature_validator", which the API documents for this.
const skipSignature = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

// contents converts a conversation: the results of the calls of one message form one turn,
// directly after it.
func (b *builder) contents(msgs []*llm.Message) []content {
	out := make([]content, 0, len(msgs))
	names := map[string]string{} // call id -> name of the function
	answers := false             // the last turn has tool results
	for _, m := range msgs {
		switch m.Role {
		case llm.Assistant:
			if parts := b.modelParts(m, names); len(parts) > 0 {
				out = append(out, content{Role: "model", Parts: parts})
			}
		case llm.ToolRole:
			if !answers {
				out = append(out, content{Role: "user"})
			}
			last := &out[len(out)-1]
			last.Parts = append(last.Parts, part{FunctionResponse: response(m, names[m.ToolCallID])})
		default:
			out = append(out, content{Role: "user", Parts: userParts(m.Content)})
		}
		answers = m.Role == llm.ToolRole
	}
	return out
}

// modelParts converts an assistant message. The signature of its text is in the message's opaque
// data.
func (b *builder) modelParts(m *llm.Message, names map[string]string) []part {
	parts := make([]part, 0, len(m.Content)+len(m.ToolCalls))
	text := -1
	for i := range m.Content {
		switch blk := &m.Content[i]; blk.Type {
		case llm.TextBlock:
			text = len(parts)
			parts = append(parts, part{Text: blk.Text})
		case llm.ThinkingBlock:
			if s := b.signature(blk.Opaque); s != "" {
				parts = append(parts, part{Text: blk.Text, Thought: true, ThoughtSignature: s})
			}
		}
	}
	if text >= 0 {
		parts[text].ThoughtSignature = b.signature(m.Opaque)
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		names[c.ID] = b.names.Out(c.Name)
		p := part{FunctionCall: &functionCall{ID: c.ID, Name: names[c.ID], Args: c.Arguments}, ThoughtSignature: b.signature(c.Opaque)}
		if i == 0 && p.ThoughtSignature == "" && b.traits.signs() { // of parallel calls only the first is signed
			p.ThoughtSignature = skipSignature
		}
		parts = append(parts, p)
	}
	return parts
}

// signer is the opaque data beside a signature: the model that can read it.
type signer struct {
	Model string `json:"model"`
}

func signed(signature, model string) *llm.Opaque {
	data, err := json.Marshal(signer{model})
	if err != nil {
		panic(err) // a string
	}
	return &llm.Opaque{Provider: Name, Signature: signature, Data: data}
}

// signature returns a signature that the model can read, or "".
func (b *builder) signature(o *llm.Opaque) string {
	var by signer
	if o == nil || json.Unmarshal(o.Data, &by) != nil || by.Model != b.req.Model {
		return ""
	}
	return o.Signature
}

// userParts converts the content of a user message.
func userParts(blocks []llm.Block) []part {
	out := make([]part, 0, len(blocks))
	for i := range blocks {
		switch blk := &blocks[i]; blk.Type {
		case llm.TextBlock:
			out = append(out, part{Text: blk.Text})
		default:
			out = append(out, media(blk.Source, blk.Type))
		}
	}
	return out
}

// response converts a tool result. Text goes into one field; a JSON object is sent unchanged.
func response(m *llm.Message, name string) *functionResponse {
	r := &functionResponse{ID: m.ToolCallID, Name: name}
	var texts []string
	for i := range m.Content {
		switch blk := &m.Content[i]; blk.Type {
		case llm.TextBlock:
			texts = append(texts, blk.Text)
		default:
			r.Parts = append(r.Parts, media(blk.Source, blk.Type))
		}
	}
	text := strings.Join(texts, "\n")
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		r.Response = json.RawMessage(trimmed)
		return r
	}
	r.Response, _ = json.Marshal(map[string]string{"result": text}) // which cannot fail
	return r
}

func media(s *llm.Source, kind llm.BlockType) part {
	if s.Type == "url" {
		return part{FileData: &fileData{MIMEType: mediaType(s, kind), FileURI: s.URL}}
	}
	return part{InlineData: &inlineData{MIMEType: s.MediaType, Data: s.Data}}
}

// mediaType returns the media type of a source: its own, or one derived from the extension of its
// URL or the type of its block.
func mediaType(s *llm.Source, kind llm.BlockType) string {
	if s.MediaType != "" {
		return s.MediaType
	}
	address, _, _ := strings.Cut(s.URL, "?")
	if t := extensions[strings.ToLower(path.Ext(address))]; t != "" {
		return t
	}
	return map[llm.BlockType]string{llm.ImageBlock: "image/jpeg", llm.AudioBlock: "audio/mpeg", llm.VideoBlock: "video/mp4", llm.DocumentBlock: "application/pdf"}[kind]
}

var extensions = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".gif": "image/gif", ".heic": "image/heic",
	".mp3": "audio/mpeg", ".wav": "audio/wav", ".flac": "audio/flac", ".ogg": "audio/ogg", ".m4a": "audio/mp4",
	".mp4": "video/mp4", ".mov": "video/quicktime", ".webm": "video/webm", ".mpeg": "video/mpeg",
	".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html", ".json": "application/json",
}

// takesMedia returns the media rule: users may send any media, tools inline images and PDFs if the
// model supports it.
func takesMedia(t traits) func(*llm.Block, llm.Role) bool {
	return func(b *llm.Block, role llm.Role) bool {
		switch role {
		case llm.User:
			return true
		case llm.ToolRole:
			return t.toolMedia() && b.Source.Type == "base64" && (b.Type == llm.ImageBlock || b.Source.MediaType == "application/pdf")
		}
		return false
	}
}

// decode decodes a schema.
func decode(what string, schema json.RawMessage) (any, error) {
	var v any
	if err := json.Unmarshal(schema, &v); err != nil {
		return nil, fmt.Errorf("%s is not valid JSON: %w", what, err)
	}
	return v, nil
}
