package agui

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
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
	var s string
	if json.Unmarshal(ev.Result, &s) == nil {
		return s
	}
	return string(ev.Result)
}
