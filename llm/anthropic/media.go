package anthropic

import (
	"encoding/base64"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// takesMedia reports whether the API accepts a media block: an image, a PDF or a text, in user
// messages and tool results.
func takesMedia(b *llm.Block, role llm.Role) bool {
	switch {
	case role == llm.Assistant:
		return false
	case b.Type == llm.ImageBlock:
		return imageSource(b.Source) != nil
	}
	return b.Type == llm.DocumentBlock && documentSource(b.Source) != nil
}

// imageSource converts the source of an image. It returns nil for types that the API does not
// accept.
func imageSource(s *llm.Source) *source {
	switch {
	case s == nil:
		return nil
	case s.Type == "url":
		return &source{Type: "url", URL: s.URL}
	}
	switch s.MediaType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return &source{Type: "base64", MediaType: s.MediaType, Data: s.Data}
	}
	return nil
}

// documentSource converts the source of a PDF or a text. It returns nil for anything else.
func documentSource(s *llm.Source) *source {
	switch {
	case s == nil:
		return nil
	case s.Type == "url" && isText(s.MediaType):
		return nil // the API fetches only PDFs
	case s.Type == "url":
		return &source{Type: "url", URL: s.URL}
	case s.MediaType == "application/pdf":
		return &source{Type: "base64", MediaType: s.MediaType, Data: s.Data}
	case isText(s.MediaType):
		text, err := base64.StdEncoding.DecodeString(s.Data)
		if err == nil && strings.TrimSpace(string(text)) != "" {
			return &source{Type: "text", MediaType: "text/plain", Data: strings.ToValidUTF8(string(text), "�")}
		}
	}
	return nil
}

func isText(mediaType string) bool {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	switch mediaType {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/javascript":
		return true
	}
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml")
}
