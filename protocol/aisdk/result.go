package aisdk

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/protocol"
)

// resultData returns the output that a client is shown for a successful result.
func resultData(r *awaken.ToolResult) json.RawMessage {
	data := orNull(r.Data)
	if bytes.Equal(data, null) && r.Message != "" {
		data, _ = json.Marshal(r.Message)
	}
	if len(r.Metadata) == 0 {
		return data
	}
	both, err := json.Marshal(struct {
		Data     json.RawMessage `json:"data"`
		Metadata map[string]any  `json:"metadata"`
	}{data, r.Metadata})
	if err != nil {
		return data
	}
	return both
}

var null = json.RawMessage("null")

func orNull(data json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(data)) == 0 {
		return null
	}
	return data
}

// isError reports whether a tool that the page executed returned an error.
func isError(result json.RawMessage) bool {
	var v map[string]json.RawMessage
	return json.Unmarshal(result, &v) == nil && len(v) == 1 && len(v["error"]) > 0 && v["error"][0] == '"'
}

// errorText returns the error message in the result of a resumed call.
func errorText(result json.RawMessage) string {
	var v struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(result, &v) == nil && v.Error != "" {
		return v.Error
	}
	var s string
	if json.Unmarshal(result, &s) == nil {
		return s
	}
	return string(result)
}

// files shows the media of a result.
func (e *Encoder) files(blocks []llm.Block) {
	for i := range blocks {
		if address, mediaType, ok := fileURL(&blocks[i]); ok {
			e.file(address, mediaType)
		}
	}
}

// fileURL returns the URL and media type of a block, if it has media.
func fileURL(b *llm.Block) (address, mediaType string, ok bool) {
	if b.Source == nil {
		return "", "", false
	}
	mediaType = cmp.Or(b.Source.MediaType,
		map[llm.BlockType]string{llm.ImageBlock: "image/*", llm.AudioBlock: "audio/*", llm.VideoBlock: "video/*"}[b.Type], "application/octet-stream")
	return protocol.FileURL(b.Source, mediaType), mediaType, true
}
