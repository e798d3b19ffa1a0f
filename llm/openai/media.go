package openai

import (
	"path"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// dataURL returns the source's URL, or a data URL of its bytes.
func dataURL(s *llm.Source) string {
	if s.Type == "url" {
		return s.URL
	}
	return "data:" + s.MediaType + ";base64," + s.Data
}

// audioFormat returns OpenAI's name for an audio media type, or "".
func audioFormat(s *llm.Source) string {
	if s.Type != "base64" {
		return ""
	}
	switch strings.ToLower(s.MediaType) {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

// fileName returns the file name to send for a document.
func fileName(b *llm.Block) string {
	ext := ".pdf"
	switch mt := b.Source.MediaType; {
	case mt == "" || mt == "application/pdf":
	case strings.HasPrefix(mt, "text/"):
		ext = ".txt"
	default:
		ext = ""
	}
	if b.Title == "" {
		return "document" + ext
	}
	if path.Ext(b.Title) != "" {
		return b.Title
	}
	return b.Title + ext
}
