package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/internal/appendjson"
	"github.com/awaken-go/awaken/internal/strict"
)

// BlockType is the kind of a content block.
type BlockType string

// The types of blocks. Only assistants have thinking blocks.
const (
	TextBlock       BlockType = "text"
	ImageBlock      BlockType = "image"
	AudioBlock      BlockType = "audio"
	VideoBlock      BlockType = "video"
	DocumentBlock   BlockType = "document"
	ToolUseBlock    BlockType = "tool_use"
	ToolResultBlock BlockType = "tool_result"
	ThinkingBlock   BlockType = "thinking"
)

// Block is one piece of content. Type determines which of the other fields are set.
type Block struct {
	Type   BlockType
	Text   string    // text, thinking
	Source *Source   // image, audio, video, document
	Title  string    // image, audio, video, document: the file's name
	Tool   *ToolPart // tool_use, tool_result
	Opaque *Opaque   // any type; holds the signature of a thinking block
}

// Source locates the bytes of a media block: inline, behind a URL, or in the store of files. The
// runtime gives models the bytes of a stored file: no model sees a source of type "blob".
type Source struct {
	Type      string `json:"type"` // "base64", "url" or "blob"
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"` // base64
	URL       string `json:"url,omitempty"`
	ID        string `json:"id,omitempty"`   // blob
	Size      int64  `json:"size,omitempty"` // blob: the number of bytes
}

// IsPDF reports whether the source is a PDF, judging by its media type or URL. A nil
// source is not.
func (s *Source) IsPDF() bool {
	if s == nil {
		return false
	}
	path, _, _ := strings.Cut(s.URL, "?")
	return s.MediaType == "application/pdf" || strings.HasSuffix(strings.ToLower(path), ".pdf")
}

// ToolPart is the part of a tool_use or tool_result block that only these have.
type ToolPart struct {
	ID      string          // the call's id
	Name    string          // tool_use
	Input   json.RawMessage // tool_use
	Content []Block         // tool_result; no tool blocks
}

// Text returns a text block.
func Text(s string) Block { return Block{Type: TextBlock, Text: s} }

// Thinking returns a thinking block; opaque may be nil.
func Thinking(s string, opaque *Opaque) Block {
	return Block{Type: ThinkingBlock, Text: s, Opaque: opaque}
}

// Base64 returns an inline source; data is already base64-encoded.
func Base64(mediaType, data string) *Source {
	return &Source{Type: "base64", MediaType: mediaType, Data: data}
}

// URL returns a source behind a URL.
func URL(url string) *Source { return &Source{Type: "url", URL: url} }

// Blob returns a source in the store of files; see package blob.
func Blob(id, mediaType string, size int64) *Source {
	return &Source{Type: "blob", ID: id, MediaType: mediaType, Size: size}
}

// Image returns an image block.
func Image(src *Source) Block { return Block{Type: ImageBlock, Source: src} }

// Document returns a document block; title may be empty.
func Document(src *Source, title string) Block {
	return Block{Type: DocumentBlock, Source: src, Title: title}
}

// The JSON shapes, one per family of types, so that fields of other types are rejected.
type (
	wire struct {
		Type   BlockType `json:"type"`
		Opaque *Opaque   `json:"opaque"`
	}
	textWire struct {
		wire
		Text *string `json:"text"`
	}
	thinkingWire struct {
		wire
		Thinking *string `json:"thinking"`
	}
	mediaWire struct {
		wire
		Source *Source `json:"source"`
		Title  string  `json:"title"`
	}
	toolUseWire struct {
		wire
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	toolResultWire struct {
		wire
		ToolUseID string            `json:"tool_use_id"`
		Content   []json.RawMessage `json:"content"`
	}
)

// MarshalJSON writes the JSON shape of the block's type.
func (b Block) MarshalJSON() ([]byte, error) { return b.AppendJSON(make([]byte, 0, 128)) }

// AppendJSON appends the block's JSON, as MarshalJSON returns it, to buf. On an error
// it returns buf unchanged.
func (b *Block) AppendJSON(buf []byte) ([]byte, error) {
	out, err := b.appendFields(appendjson.Text(buf, `{"type":`, b.Type))
	if err == nil {
		out, err = b.Opaque.appendField(out)
	}
	if err != nil {
		return buf, err
	}
	return append(out, '}'), nil
}

func (b *Block) appendFields(buf []byte) ([]byte, error) {
	switch b.Type {
	case TextBlock:
		return appendjson.Text(buf, `,"text":`, b.Text), nil
	case ThinkingBlock:
		return appendjson.Text(buf, `,"thinking":`, b.Text), nil
	case ImageBlock, AudioBlock, VideoBlock, DocumentBlock:
		buf = b.Source.append(append(buf, `,"source":`...))
		return appendjson.TextIf(buf, `,"title":`, b.Title), nil
	case ToolUseBlock:
		t := b.tool()
		buf = appendjson.Text(buf, `,"id":`, t.ID)
		buf = appendjson.Text(buf, `,"name":`, t.Name)
		return appendjson.Raw(buf, `,"input":`, orNull(t.Input))
	case ToolResultBlock:
		t := b.tool()
		for i := range t.Content {
			if err := t.Content[i].Type.inResult(); err != nil {
				return nil, err
			}
		}
		buf = appendjson.Text(buf, `,"tool_use_id":`, t.ID)
		return appendjson.List(buf, `,"content":`, t.Content, (*Block).AppendJSON)
	}
	return nil, fmt.Errorf("content block: type is %q, want %s", b.Type, blockTypes)
}

func (s *Source) append(buf []byte) []byte {
	if s == nil {
		return append(buf, "null"...)
	}
	buf = appendjson.Text(buf, `{"type":`, s.Type)
	buf = appendjson.TextIf(buf, `,"media_type":`, s.MediaType)
	buf = appendjson.TextIf(buf, `,"data":`, s.Data)
	buf = appendjson.TextIf(buf, `,"url":`, s.URL)
	buf = appendjson.TextIf(buf, `,"id":`, s.ID)
	return append(appendjson.IntIf(buf, `,"size":`, s.Size), '}')
}

func (b Block) tool() ToolPart {
	if b.Tool == nil {
		return ToolPart{}
	}
	return *b.Tool
}

const blockTypes = "text, image, audio, video, document, tool_use, tool_result or thinking"

// UnmarshalJSON reads a block and rejects fields that its type does not have.
func (b *Block) UnmarshalJSON(data []byte) error {
	t, err := blockType(data)
	if err != nil {
		return err
	}
	if err := b.decode(t, data); err != nil {
		return fmt.Errorf("%s block: %w", t, err)
	}
	return nil
}

// blockType reads the type of a block and nothing else.
func blockType(data []byte) (BlockType, error) {
	var head struct {
		Type BlockType `json:"type"`
	}
	if err := strict.UnmarshalKnown(data, &head); err != nil {
		return "", fmt.Errorf("content block: %w", err)
	}
	switch head.Type {
	case TextBlock, ImageBlock, AudioBlock, VideoBlock, DocumentBlock, ToolUseBlock, ToolResultBlock, ThinkingBlock:
		return head.Type, nil
	case "":
		return "", fmt.Errorf("content block: type is missing, want %s", blockTypes)
	}
	return "", fmt.Errorf("content block: type is %q, want %s", head.Type, blockTypes)
}

// inResult returns an error for types that a tool_result block cannot contain.
// Without this rule a small message could nest so deeply that decoding it takes
// seconds, because every level is scanned again by the next.
func (t BlockType) inResult() error {
	if t == ToolUseBlock || t == ToolResultBlock {
		return fmt.Errorf("a %s block cannot be in a tool_result block", t)
	}
	return nil
}

func (b *Block) decode(t BlockType, data []byte) error {
	switch t {
	case TextBlock:
		var w textWire
		if err := strict.Unmarshal(data, &w); err != nil {
			return err
		}
		if w.Text == nil {
			return errors.New(`field "text" is missing`)
		}
		*b = Block{Type: t, Text: *w.Text, Opaque: w.Opaque}
	case ThinkingBlock:
		var w thinkingWire
		if err := strict.Unmarshal(data, &w); err != nil {
			return err
		}
		if w.Thinking == nil {
			return errors.New(`field "thinking" is missing`)
		}
		*b = Block{Type: t, Text: *w.Thinking, Opaque: w.Opaque}
	case ImageBlock, AudioBlock, VideoBlock, DocumentBlock:
		var w mediaWire
		if err := strict.Unmarshal(data, &w); err != nil {
			return err
		}
		if err := w.Source.check(); err != nil {
			return err
		}
		*b = Block{Type: t, Source: w.Source, Title: w.Title, Opaque: w.Opaque}
	case ToolUseBlock:
		var w toolUseWire
		if err := strict.Unmarshal(data, &w); err != nil {
			return err
		}
		*b = Block{Type: t, Tool: &ToolPart{ID: w.ID, Name: w.Name, Input: orNil(w.Input)}, Opaque: w.Opaque}
	case ToolResultBlock:
		var w toolResultWire
		if err := strict.Unmarshal(data, &w); err != nil {
			return err
		}
		tool := &ToolPart{ID: w.ToolUseID}
		for _, raw := range w.Content {
			inner, err := resultBlock(raw)
			if err != nil {
				return err
			}
			tool.Content = append(tool.Content, inner)
		}
		*b = Block{Type: t, Tool: tool, Opaque: w.Opaque}
	}
	return nil
}

// resultBlock reads a block inside a tool_result. It checks the type before it
// decodes the rest.
func resultBlock(data []byte) (b Block, err error) {
	t, err := blockType(data)
	if err != nil {
		return b, err
	}
	if err := t.inResult(); err != nil {
		return b, err
	}
	if err := b.decode(t, data); err != nil {
		return b, fmt.Errorf("%s block: %w", t, err)
	}
	return b, nil
}

func (s *Source) check() error {
	switch {
	case s == nil:
		return errors.New(`field "source" is missing`)
	case s.Type == "base64" && s.URL != "":
		return errors.New(`source of type base64 must not have field "url"`)
	case s.Type == "base64" && (s.MediaType == "" || s.Data == ""):
		return errors.New(`source of type base64 requires "media_type" and "data"`)
	case s.Type == "url" && s.Data != "":
		return errors.New(`source of type url must not have field "data"`)
	case s.Type == "url" && s.URL == "":
		return errors.New(`source of type url requires "url"`)
	case s.Type == "blob" && (s.Data != "" || s.URL != ""):
		return errors.New(`source of type blob must not have fields "data" and "url"`)
	case s.Type == "blob" && (s.ID == "" || s.MediaType == ""):
		return errors.New(`source of type blob requires "id" and "media_type"`)
	case s.Type == "blob" && s.Size < 0:
		return fmt.Errorf("source.size is %d, want 0 or more", s.Size)
	case s.Type != "blob" && (s.ID != "" || s.Size != 0):
		return fmt.Errorf(`source of type %.80s must not have fields "id" and "size"`, s.Type)
	case s.Type != "base64" && s.Type != "url" && s.Type != "blob":
		return fmt.Errorf("source.type is %q, want base64, url or blob", s.Type)
	}
	return nil
}
