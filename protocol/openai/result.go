package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken"
)

// textOfJSON returns JSON in one line.
func textOfJSON(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return strings.TrimSpace(string(data))
	}
	return b.String()
}

// argumentsOf returns the arguments of a call as clients expect them.
func argumentsOf(data json.RawMessage) string {
	if absent(data) {
		return "{}"
	}
	return textOfJSON(data)
}

// plain returns a JSON value as a text: a string as it is.
func plain(data json.RawMessage) string {
	var s string
	if json.Unmarshal(data, &s) == nil {
		return s
	}
	return textOfJSON(data)
}

// outputOf returns the result of a call as a text.
func outputOf(r *awaken.ToolResult) string {
	if absent(r.Data) {
		return r.Message
	}
	return plain(r.Data)
}
