package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// result turns the answer of a server into a result. Text alone is the result's data, and so is a
// structured answer; an answer with files has content.
func (t *tool) result(a *sdk.CallToolResult) *awaken.ToolResult {
	blocks := contentBlocks(a.Content)
	text, files := split(blocks)
	limit := t.conn.server.MaxResult
	res := &awaken.ToolResult{Metadata: t.metadata()}
	if a.IsError {
		res.Status, res.Message = awaken.ToolError, cut(text, limit)
		if res.Message == "" {
			res.Message = "the tool failed without a message"
		}
		return res
	}
	var note string
	if a.StructuredContent != nil {
		data, err := json.Marshal(a.StructuredContent)
		switch {
		case err != nil:
			note = fmt.Sprintf("The structured result could not be read: %v", err)
		case len(data) > limit:
			note = fmt.Sprintf("The structured result is left out: it has %d bytes, and the limit is %d.", len(data), limit)
		default:
			res.Data = data
			if t.output != nil {
				if err := t.output.Check(data); err != nil {
					note = "The structured result does not fit the schema that the server gives for it: " + cut(oneLine(err.Error()), maxLine)
				}
			}
		}
	}
	if len(files) == 0 {
		if res.Data == nil {
			res.Data, _ = json.Marshal(cut(text, limit)) // text has a JSON form
		}
		res.Message = note
		return res
	}
	if note != "" {
		blocks = append(blocks, llm.Text(note))
	}
	res.Content = shorten(blocks, limit)
	return res
}

// oneLine returns a text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// split returns the text of blocks, and the others.
func split(blocks []llm.Block) (text string, files []llm.Block) {
	var lines []string
	for _, b := range blocks {
		if b.Type == llm.TextBlock {
			lines = append(lines, b.Text)
		} else {
			files = append(files, b)
		}
	}
	return strings.Join(lines, "\n"), files
}

// shorten cuts the text in blocks off at limit bytes.
func shorten(blocks []llm.Block, limit int) []llm.Block {
	for i := range blocks {
		if b := &blocks[i]; b.Type == llm.TextBlock {
			b.Text = cut(b.Text, limit)
			limit = max(limit-len(b.Text), 0)
		}
	}
	return blocks
}

// maxBlocks limits the parts of a result.
const maxBlocks = 100

// contentBlocks turns the content of an answer into what models understand.
func contentBlocks(content []sdk.Content) []llm.Block {
	var out []llm.Block
	for i, c := range content {
		if i == maxBlocks {
			return append(out, llm.Text(fmt.Sprintf("[%d further parts are left out]", len(content)-i)))
		}
		switch c := c.(type) {
		case *sdk.TextContent:
			out = append(out, llm.Text(c.Text))
		case *sdk.ImageContent:
			out = append(out, file(c.MIMEType, c.Data, ""))
		case *sdk.AudioContent:
			out = append(out, file(c.MIMEType, c.Data, ""))
		case *sdk.ResourceLink:
			out = append(out, llm.Text(link(c)))
		case *sdk.EmbeddedResource:
			if c.Resource != nil {
				out = append(out, resource(c.Resource))
			}
		default:
			out = append(out, llm.Text(fmt.Sprintf("[a part of the type %T is left out]", c)))
		}
	}
	return out
}

// link describes a resource that the server refers to.
func link(l *sdk.ResourceLink) string {
	parts := slices.DeleteFunc([]string{l.Title, l.Name, l.Description, l.MIMEType}, func(s string) bool { return s == "" })
	return "Resource " + l.URI + ": " + strings.Join(slices.Compact(parts), ", ")
}

// resource returns the content of a resource.
func resource(r *sdk.ResourceContents) llm.Block {
	if len(r.Blob) > 0 {
		return file(r.MIMEType, r.Blob, r.URI)
	}
	return llm.Text(r.Text)
}

// imageTypes are the types of images that providers accept.
var imageTypes = []string{"image/gif", "image/jpeg", "image/png", "image/webp"}

// file returns a file as a block of its type. Of a type that no provider accepts, models are told only
// that it is there.
func file(mediaType string, data []byte, name string) llm.Block {
	kind, _, _ := strings.Cut(mediaType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	source := func() *llm.Source { return llm.Base64(kind, base64.StdEncoding.EncodeToString(data)) }
	switch {
	case len(data) == 0:
		return llm.Text(strings.TrimSpace("[an empty file " + name + "]"))
	case slices.Contains(imageTypes, kind):
		return llm.Image(source())
	case strings.HasPrefix(kind, "audio/"):
		return llm.Block{Type: llm.AudioBlock, Source: source()}
	case kind == "application/pdf":
		return llm.Document(source(), name)
	case strings.HasPrefix(kind, "text/") && utf8.Valid(data):
		return llm.Text(string(data))
	}
	return llm.Text(strings.TrimSpace(fmt.Sprintf("[a file of type %q with %d bytes is left out] %s", cut(kind, 100), len(data), name)))
}

// cut shortens a text to limit bytes and says by how much.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	keep := limit
	for keep > 0 && !utf8.RuneStart(text[keep]) {
		keep--
	}
	return fmt.Sprintf("%s\n[%d further bytes are cut off]", text[:keep], len(text)-keep)
}
