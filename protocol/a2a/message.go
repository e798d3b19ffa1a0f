package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// clientData is what is kept with a stored message: which of its blocks are data.
type clientData struct {
	A2A struct {
		Data []int `json:"data,omitempty"`
	} `json:"a2a"`
}

// check validates a message of a client.
func (m *Message) check() error {
	switch {
	case m.MessageID == "":
		return protocol.BadRequest("message.messageId is missing")
	case m.Role != roleUser:
		return protocol.BadRequest("message.role is %.80q, want %s", m.Role, roleUser)
	case len(m.Parts) == 0:
		return protocol.BadRequest("message.parts is empty, want at least one part")
	}
	for name, id := range map[string]string{"message.messageId": m.MessageID, "message.contextId": m.ContextID, "message.taskId": m.TaskID} {
		if err := protocol.CheckID(name, id); err != nil {
			return err
		}
	}
	for i := range m.Parts {
		if err := m.Parts[i].check(fmt.Sprintf("message.parts[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// check reports a part that does not have exactly one content.
func (p *Part) check(field string) error {
	n := 0
	for _, set := range []bool{p.Text != nil, p.Raw != "", p.URL != "", len(p.Data) > 0} {
		if set {
			n++
		}
	}
	if n != 1 {
		return protocol.BadRequest("%s has %d of text, raw, url and data, want one", field, n)
	}
	return nil
}

// message converts a client's message to one of a conversation.
func (m *Message) message() (*llm.Message, error) {
	out := &llm.Message{ID: m.MessageID, Role: llm.User, Content: make([]llm.Block, 0, len(m.Parts))}
	var media protocol.Media
	var kept clientData
	for i := range m.Parts {
		p, field := &m.Parts[i], fmt.Sprintf("message.parts[%d]", i)
		switch {
		case p.Text != nil:
			out.Content = append(out.Content, llm.Text(*p.Text))
		case len(p.Data) > 0:
			kept.A2A.Data = append(kept.A2A.Data, len(out.Content))
			out.Content = append(out.Content, llm.Text(compact(p.Data)))
		default:
			b, err := p.file(field, &media)
			if err != nil {
				return nil, err
			}
			out.Content = append(out.Content, b)
		}
	}
	if len(kept.A2A.Data) > 0 {
		data, err := json.Marshal(kept)
		if err != nil {
			return nil, err
		}
		out.Metadata = &llm.Metadata{Client: data}
	}
	return out, nil
}

// file converts a part with a file.
func (p *Part) file(field string, media *protocol.Media) (llm.Block, error) {
	if base, _, err := mime.ParseMediaType(p.MediaType); err != nil || !acceptsFile(base) {
		return llm.Block{}, failure(http.StatusUnsupportedMediaType, contentTypeUnknown, "%s.mediaType is %.80q, want one of %s", field, p.MediaType, strings.Join(inputModes[2:], ", "))
	}
	if p.URL != "" {
		return media.URL(field, p.MediaType, p.URL, p.Filename)
	}
	return media.Base64(field+".raw", p.MediaType, strings.NewReplacer("-", "+", "_", "/").Replace(p.Raw), p.Filename)
}

// Media types of messages and of answers.
var (
	inputModes  = []string{"text/plain", "application/json", "image/*", "audio/*", "video/*", "text/*", "application/pdf"}
	outputModes = []string{"text/plain", "application/json"}
)

func acceptsFile(mediaType string) bool { return slices.ContainsFunc(inputModes, covers(mediaType)) }

// covers reports whether a media type is one of a range such as image/*.
func covers(mediaType string) func(among string) bool {
	return func(among string) bool {
		kind, all := strings.CutSuffix(among, "*")
		return among == mediaType || all && strings.HasPrefix(mediaType, kind)
	}
}

// compact returns valid JSON in one line.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// shown converts a stored message for clients. It is nil if there is nothing to show.
func shown(m *llm.Message, contextID, taskID string) *Message {
	if m.IsInternal() || m.IsSummary() || m.Role != llm.User && m.Role != llm.Assistant {
		return nil
	}
	out := &Message{MessageID: m.ID, ContextID: contextID, TaskID: taskID, Role: roleUser}
	if m.Role == llm.Assistant {
		out.Role = roleAgent
	}
	var kept clientData
	if m.Metadata != nil && m.Metadata.Client != nil && strict.UnmarshalKnown(m.Metadata.Client, &kept) != nil {
		kept = clientData{} // of another protocol
	}
	for i := range m.Content {
		b := &m.Content[i]
		switch {
		case b.Type == llm.TextBlock && slices.Contains(kept.A2A.Data, i) && json.Valid([]byte(b.Text)):
			out.Parts = append(out.Parts, Part{Data: json.RawMessage(b.Text), MediaType: "application/json"})
		case b.Type == llm.TextBlock && (b.Text != "" || m.Role == llm.User):
			out.Parts = append(out.Parts, textPart(b.Text))
		case b.Source != nil:
			p := Part{Raw: b.Source.Data, MediaType: b.Source.MediaType, Filename: b.Title}
			if b.Source.Type != "base64" {
				p.URL = protocol.FileURL(b.Source, "")
			}
			out.Parts = append(out.Parts, p)
		}
	}
	if len(out.Parts) == 0 {
		return nil
	}
	return out
}
