package awaken

import (
	"bytes"
	"encoding/json"
	"errors"

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
	for k, v := range over {
		base[k] = v
	}
	out, err := json.Marshal(base)
	if err != nil {
		return patch
	}
	return out
}

// resultOf turns what a tool returned into a result of its own, or into an error that ends
// the run.
func resultOf(tool string, r *ToolResult, err error) (*ToolResult, error) {
	res, fatal := ResultOf(tool, r, err)
	if fatal == nil && errors.Is(err, errToolTimeout) {
		res.Metadata = map[string]any{"timed_out": true}
	}
	return res, fatal
}

// viewOf is what a model is shown of a log.
func viewOf(log []*llm.Message) []*llm.Message {
	var v View
	v.Append(log...)
	return v.Messages()
}
