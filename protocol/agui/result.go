package agui

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// resultText returns the text of a result, as the conversation has it.
func resultText(r *awaken.ToolResult) string {
	if r == nil {
		return ""
	}
	return r.Text()
}

// resumedText returns the result text of a call that was suspended.
func resumedText(ev *awaken.ToolCallResumed) string {
	var failure struct {
		Error *string `json:"error"`
	}
	if ev.Outcome != awaken.CallSucceeded && json.Unmarshal(ev.Result, &failure) == nil && failure.Error != nil {
		return *failure.Error
	}
	return protocol.TextOf(ev.Result)
}
