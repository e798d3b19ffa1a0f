package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// contentPart is one part of a message. It has the fields of both APIs; those that the server does not
// use are ignored.
type contentPart struct {
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"`
	Refusal    string          `json:"refusal,omitempty"`
	ImageURL   json.RawMessage `json:"image_url,omitempty"` // Chat Completions: an object with the URL
	InputAudio *audioPart      `json:"input_audio,omitempty"`
	File       *filePart       `json:"file,omitempty"`
	filePart                   // Responses
}

type audioPart struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type filePart struct {
	FileID   string `json:"file_id,omitempty"`
	FileData string `json:"file_data,omitempty"` // a data: URL
	FileURL  string `json:"file_url,omitempty"`
	Filename string `json:"filename,omitempty"`
}

// partsOf decodes content: a string, or a list of parts.
func partsOf(field string, data json.RawMessage) ([]contentPart, error) {
	data = bytes.TrimSpace(data)
	if absent(data) {
		return nil, nil
	}
	if data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return nil, misfit(field, err)
		}
		return []contentPart{{Type: "text", Text: text}}, nil
	}
	var parts []contentPart
	if err := strict.UnmarshalKnown(data, &parts); err != nil {
		return nil, misfit(field, err)
	}
	return parts, nil
}

// blocksOf converts content. Field names it in errors.
func blocksOf(field string, data json.RawMessage, role llm.Role, media *protocol.Media) ([]llm.Block, error) {
	parts, err := partsOf(field, data)
	if err != nil {
		return nil, err
	}
	var out []llm.Block
	for i := range parts {
		p, at := &parts[i], field+"["+strconv.Itoa(i)+"]"
		switch p.Type {
		case "text", "input_text", "output_text":
			if p.Text != "" {
				out = append(out, llm.Text(p.Text))
			}
			continue
		case "refusal":
			if p.Refusal != "" {
				out = append(out, llm.Text(p.Refusal))
			}
			continue
		case "image_url", "input_image", "input_audio", "file", "input_file":
		case "":
			return nil, misfit(at+".type", fmt.Errorf("it is missing"))
		default:
			return nil, refused(at+".type", "%s.type is %s, want text, image_url, input_audio or file, or input_text, output_text, input_image or input_file", at, quoted(p.Type))
		}
		if role != llm.User {
			return nil, refused(at+".type", "%s.type is %s, which a message with role %s cannot have; want text", at, quoted(p.Type), role)
		}
		b, err := p.file(at, media)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

// file converts an attachment.
func (p *contentPart) file(at string, media *protocol.Media) (llm.Block, error) {
	switch p.Type {
	case "image_url", "input_image":
		var u struct {
			URL string `json:"url"`
		}
		if absent(p.ImageURL) && p.FileID != "" {
			return llm.Block{}, unsupported(at+".file_id", "the server keeps no files; send a URL or data")
		}
		if json.Unmarshal(p.ImageURL, &u.URL) != nil && json.Unmarshal(p.ImageURL, &u) != nil || u.URL == "" {
			return llm.Block{}, misfit(at+".image_url", fmt.Errorf("want a URL"))
		}
		return media.URL(at, kindOf(u.URL, "image/*"), u.URL, "")
	case "input_audio":
		if p.InputAudio == nil {
			return llm.Block{}, misfit(at+".input_audio", fmt.Errorf("it is missing"))
		}
		kind := map[string]string{"wav": "audio/wav", "mp3": "audio/mpeg"}[p.InputAudio.Format]
		if kind == "" {
			return llm.Block{}, refused(at+".input_audio.format", "%s.input_audio.format is %s, want wav or mp3", at, quoted(p.InputAudio.Format))
		}
		return media.Base64(at, kind, p.InputAudio.Data, "")
	}
	f := p.filePart
	if p.File != nil {
		f = *p.File
	}
	address := cmp.Or(f.FileData, f.FileURL)
	switch {
	case address == "" && f.FileID != "":
		return llm.Block{}, unsupported(at+".file_id", "the server keeps no files; send file_data")
	case address == "":
		return llm.Block{}, misfit(at, fmt.Errorf("want file_data or file_url"))
	}
	return media.URL(at, kindOf(address, "application/pdf"), address, f.Filename)
}

// kindOf returns the media type of a file at an address that does not say it.
func kindOf(address, def string) string {
	if strings.HasPrefix(address, "data:") {
		return ""
	}
	return def
}

// textOf returns content that must be text.
func textOf(field string, data json.RawMessage) (string, error) {
	parts, err := partsOf(field, data)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range parts {
		switch parts[i].Type {
		case "text", "input_text", "output_text":
			b.WriteString(parts[i].Text)
		default:
			return "", refused(field, "%s[%d].type is %s, want text", field, i, quoted(parts[i].Type))
		}
	}
	return b.String(), nil
}

// misfit returns the failure of a field that does not fit its schema.
func misfit(field string, err error) error {
	f := protocol.InvalidBody("%s: %v", field, err)
	f.Param = field
	return f
}

// absent reports whether a value is missing or null.
func absent(data json.RawMessage) bool { return len(data) == 0 || string(data) == "null" }

// quoted returns a text for an error, quoted and shortened.
func quoted(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strconv.Quote(s)
}
