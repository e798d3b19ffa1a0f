package anthropic

import (
	"encoding/base64"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// takesMedia reports whether Claude can be shown a block: an image, a PDF or a text, by
// users and by tools.
func takesMedia(b *llm.Block, role llm.Role) bool {
	switch {
	case role == llm.Assistant:
		return false
	case b.Type == llm.ImageBlock:
		return imageSource(b.Source) != nil
	}
	return b.Type == llm.DocumentBlock && documentSource(b.Source) != nil
}

// imageSource returns where an image is, or nil if it is of a kind that Claude does not take.
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

// documentSource returns where a PDF or a text is, or nil if it is neither.
func documentSource(s *llm.Source) *source {
	switch {
	case s == nil:
		return nil
	case s.Type == "url" && isText(s.MediaType):
		return nil // only PDFs are fetched
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
