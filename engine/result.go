package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

var (
	errToolTimeout = errors.New("timed out")
	errToolExit    = errors.New("the tool ended its goroutine without returning")
)

// laidOver returns args with the fields of patch laid over it, or patch when
// either is not an object.
func laidOver(args, patch json.RawMessage) json.RawMessage {
	var base, over map[string]json.RawMessage
	if json.Unmarshal(args, &base) != nil || json.Unmarshal(patch, &over) != nil || base == nil || over == nil {
		return bytes.TrimSpace(patch)
	}
	maps.Copy(base, over)
	out, err := json.Marshal(base)
	if err != nil {
		return patch
	}
	return out
}

// resultOf turns what a tool returned into a result of its own, or into an error that ends
// the run.
func resultOf(tool string, r *awaken.ToolResult, err error) (*awaken.ToolResult, error) {
	res, fatal := awaken.ResultOf(tool, r, err)
	if fatal == nil && errors.Is(err, errToolTimeout) {
		res.Metadata = map[string]any{"timed_out": true}
	}
	return res, fatal
}

// viewOf is what a model is shown of a log.
func viewOf(log []*llm.Message) []*llm.Message {
	var v awaken.View
	v.Append(log...)
	return v.Messages()
}

// resultSize is the number of bytes that count against the cap on results.
func resultSize(r *awaken.ToolResult) int {
	n := len(r.Message)
	if string(r.Data) != "null" {
		n += len(r.Data)
	}
	for _, b := range r.Content {
		n += len(b.Text)
		if b.Source != nil {
			n += len(b.Source.Data)
		}
	}
	return n
}

// resumedValue is the value of tool_call_resumed.result.
func resumedValue(r *awaken.ToolResult) json.RawMessage {
	switch {
	case r.Status == awaken.ToolPending:
		return json.RawMessage("null")
	case r.Status == awaken.ToolError && r.Message != "":
		data, _ := json.Marshal(map[string]string{"error": r.Message})
		return data
	case len(r.Metadata) > 0:
		data, err := json.Marshal(map[string]any{"data": r.Data, "metadata": r.Metadata})
		if err == nil {
			return data
		}
	}
	if len(r.Data) == 0 || bytes.Equal(r.Data, []byte("null")) && r.Message != "" {
		data, _ := json.Marshal(r.Message)
		return data
	}
	return r.Data
}
