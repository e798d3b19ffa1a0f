package agui

import (
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// showMessages sends a MESSAGES_SNAPSHOT. A client keeps reasoning that a snapshot lacks,
// unless the snapshot has other reasoning: emptied is the id of a reasoning message to send
// without content, or "".
func showMessages(w *protocol.Writer, msgs []*llm.Message, emptied string) {
	w.Object("MESSAGES_SNAPSHOT").Append(`,"messages":[`, func(buf []byte) ([]byte, error) {
		buf, err := appendMessages(buf, msgs)
		if err != nil || emptied == "" {
			return buf, err
		}
		if buf[len(buf)-1] != '[' {
			buf = append(buf, ',')
		}
		return append(appendjson.Text(buf, `{"id":`, emptied), `,"role":"reasoning","content":""}`...), nil
	}).Add("]").Close()
}

// appendMessages appends messages in the AG-UI form. Internal messages are left out.
func appendMessages(buf []byte, msgs []*llm.Message) (_ []byte, err error) {
	start := len(buf)
	for _, m := range msgs {
		if m.IsInternal() {
			continue
		}
		if buf, err = appendMessage(buf, start, protocol.AsSent(m)); err != nil {
			return nil, err
		}
	}
	return buf, nil
}

// appendMessage appends a message, preceded by its reasoning.
func appendMessage(buf []byte, start int, m *llm.Message) ([]byte, error) {
	between := func() {
		if len(buf) > start {
			buf = append(buf, ',')
		}
	}
	if thinking, secret := reasoningOf(m); m.Role == llm.Assistant && (thinking != "" || secret != "") {
		between()
		buf = appendjson.Text(buf, `{"id":`, reasoningID(m.ID))
		buf = appendjson.Text(buf, `,"role":"reasoning","content":`, thinking)
		buf = append(appendjson.TextIf(buf, `,"encryptedValue":`, secret), '}')
	}
	between()
	buf = appendjson.Text(buf, `{"id":`, m.ID)
	buf = appendjson.Text(buf, `,"role":`, m.Role)
	switch m.Role {
	case llm.Assistant:
		buf = appendjson.TextIf(buf, `,"content":`, m.Text())
		if len(m.ToolCalls) > 0 {
			buf = append(buf, `,"toolCalls":[`...)
			for i, c := range m.ToolCalls {
				if i > 0 {
					buf = append(buf, ',')
				}
				args := "{}"
				if len(c.Arguments) > 0 {
					args = string(c.Arguments)
				}
				buf = appendjson.Text(buf, `{"id":`, c.ID)
				buf = appendjson.Text(buf, `,"type":"function","function":{"name":`, c.Name)
				buf = append(appendjson.Text(buf, `,"arguments":`, args), `}}`...)
			}
			buf = append(buf, ']')
		}
	case llm.ToolRole:
		buf = appendjson.Text(buf, `,"toolCallId":`, m.ToolCallID)
		buf = appendjson.Text(buf, `,"content":`, m.Text())
	case llm.User:
		var err error
		if buf, err = appendContent(buf, m); err != nil {
			return nil, err
		}
	default:
		buf = appendjson.Text(buf, `,"content":`, m.Text())
	}
	return append(buf, '}'), nil
}

// reasoningOf returns the model's reasoning, and the part of it that only the provider can
// read.
func reasoningOf(m *llm.Message) (thinking, secret string) {
	var sb strings.Builder
	for _, b := range m.Content {
		if b.Type != llm.ThinkingBlock {
			continue
		}
		sb.WriteString(b.Text)
		if b.Opaque != nil && b.Opaque.Signature != "" {
			secret = b.Opaque.Signature
		}
	}
	return sb.String(), secret
}

// appendContent appends the content of a user message: a string, or parts if it has media.
func appendContent(buf []byte, m *llm.Message) ([]byte, error) {
	media := false
	for _, b := range m.Content {
		media = media || b.Source != nil
	}
	if !media {
		return appendjson.Text(buf, `,"content":`, m.Text()), nil
	}
	parts := make([]part, 0, len(m.Content))
	for _, b := range m.Content {
		switch {
		case b.Type == llm.TextBlock:
			parts = append(parts, part{Type: "text", Text: new(b.Text)})
		case b.Source != nil:
			p := part{Type: string(b.Type), Source: &source{Type: "url", Value: protocol.FileURL(b.Source, b.Source.MediaType), MimeType: b.Source.MediaType}}
			if b.Source.Type == "base64" {
				p.Source.Type, p.Source.Value = "data", b.Source.Data
			}
			if b.Title != "" {
				name, err := json.Marshal(map[string]string{"filename": b.Title})
				if err != nil {
					return nil, err
				}
				p.Metadata = name
			}
			parts = append(parts, p)
		}
	}
	return appendjson.Value(buf, `,"content":`, parts)
}
