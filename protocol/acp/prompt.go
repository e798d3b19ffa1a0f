package acp

import (
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// messageOf converts a prompt to a message of the user. Models have no word for most resources, so those
// with text, and links, become text.
func messageOf(id string, prompt []block) (*llm.Message, error) {
	msg := &llm.Message{ID: id, Role: llm.User}
	var media protocol.Media
	for i := range prompt {
		field := fmt.Sprintf("prompt[%d]", i)
		b, err := blockOf(&media, field, &prompt[i])
		if err != nil {
			return nil, err
		}
		if strings.ContainsRune(b.Text, 0) || strings.ContainsRune(b.Title, 0) {
			return nil, invalidParams("%s holds the character U+0000", field)
		}
		if b.Type != llm.TextBlock || b.Text != "" {
			msg.Content = append(msg.Content, b)
		}
	}
	if len(msg.Content) == 0 {
		return nil, invalidParams("prompt is empty, want a text, an image, a sound or a resource")
	}
	return msg, nil
}

// blockOf converts a block of a prompt.
func blockOf(media *protocol.Media, field string, b *block) (llm.Block, error) {
	switch b.Type {
	case "text":
		return llm.Text(b.Text), nil
	case "image", "audio":
		if b.MimeType == "" || !strings.HasPrefix(b.MimeType, b.Type+"/") {
			return llm.Block{}, invalidParams("%s.mimeType is %.80q, want %s/*", field, b.MimeType, b.Type)
		}
		if b.Data == "" && b.URI != "" {
			return media.URL(field, b.MimeType, b.URI, "")
		}
		return media.Base64(field+".data", b.MimeType, b.Data, "")
	case "resource_link":
		if b.URI == "" {
			return llm.Block{}, invalidParams("%s.uri is missing", field)
		}
		return llm.Text(fmt.Sprintf("[%s](%s)", b.Name, b.URI)), nil
	case "resource":
		r := b.Resource
		switch {
		case r == nil || r.URI == "":
			return llm.Block{}, invalidParams("%s.resource.uri is missing", field)
		case r.Text != nil:
			return llm.Text(fmt.Sprintf("<resource uri=%q>\n%s\n</resource>", r.URI, *r.Text)), nil
		case r.Blob != nil:
			return media.Base64(field+".resource.blob", r.MimeType, *r.Blob, r.URI)
		}
		return llm.Block{}, invalidParams("%s.resource has neither text nor blob", field)
	}
	return llm.Block{}, invalidParams("%s.type is %.80q, want text, image, audio, resource_link or resource", field, b.Type)
}

// shown converts a block of a message for the client. It is nil if the client has no word for it.
func shown(b *llm.Block) *block {
	switch {
	case b.Type == llm.TextBlock:
		return &block{Type: "text", Text: b.Text}
	case b.Source == nil:
		return nil
	case b.Source.URL != "":
		return &block{Type: "resource_link", URI: b.Source.URL, Name: nameOf(b), MimeType: b.Source.MediaType}
	case b.Type == llm.ImageBlock:
		return &block{Type: "image", Data: b.Source.Data, MimeType: b.Source.MediaType}
	case b.Type == llm.AudioBlock:
		return &block{Type: "audio", Data: b.Source.Data, MimeType: b.Source.MediaType}
	}
	return &block{Type: "resource", Resource: &resource{URI: nameOf(b), MimeType: b.Source.MediaType, Blob: &b.Source.Data}}
}

// nameOf returns the name of a file.
func nameOf(b *llm.Block) string {
	if b.Title != "" {
		return b.Title
	}
	return string(b.Type)
}

// titleOf returns the title of a session that begins with a message: the beginning of its first line.
func titleOf(m *llm.Message) string {
	text, _, _ := strings.Cut(strings.TrimSpace(m.Text()), "\n")
	text = strings.TrimSpace(text)
	const most = 80
	if r := []rune(text); len(r) > most {
		return strings.TrimSpace(string(r[:most])) + "…"
	}
	return text
}
