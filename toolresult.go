package awaken

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken/llm"
)

// ToolStatus is how a tool call came out.
type ToolStatus string

const (
	ToolSuccess ToolStatus = "success"
	ToolPending ToolStatus = "pending" // suspended
	ToolError   ToolStatus = "error"
)

// ToolResult is what a tool call came to. A tool may leave ToolName and Status
// out: they are filled in, success being the default.
type ToolResult struct {
	ToolName   string          `json:"tool_name"`
	Status     ToolStatus      `json:"status"`
	Data       json.RawMessage `json:"data"`
	Message    string          `json:"message,omitempty"`
	Suspension *Ticket         `json:"suspension,omitempty"`
	Metadata   map[string]any  `json:"metadata,omitempty"` // not shown to models
	// Content is what the model is shown instead of Message and Data: text,
	// images, documents.
	Content []llm.Block `json:"content,omitempty"`
}

// TextResult returns a successful result that says text.
func TextResult(text string) *ToolResult {
	return &ToolResult{Status: ToolSuccess, Message: text, Data: json.RawMessage("null")}
}

// ErrorResult returns a failed result. The code may be empty.
func ErrorResult(code, message string) *ToolResult {
	r := &ToolResult{Status: ToolError, Message: message, Data: json.RawMessage("null")}
	if code != "" {
		r.Message = "[" + code + "] " + message
		r.Data, _ = json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	}
	return r
}

// MarshalJSON writes absent data as null.
func (r ToolResult) MarshalJSON() ([]byte, error) {
	type plain ToolResult
	if len(r.Data) == 0 {
		r.Data = json.RawMessage("null")
	}
	r.Status = cmp.Or(r.Status, ToolSuccess)
	return json.Marshal(plain(r))
}

// Text is what the result says, in words: the text of its answer in the conversation.
func (r *ToolResult) Text() string {
	if len(r.Content) == 0 {
		return r.Plain()
	}
	return (&llm.Message{Content: r.Content}).Text()
}

// Plain is what the model is shown when there is no content: the message and the
// data, whichever are there.
func (r *ToolResult) Plain() string {
	data := dataText(r.Data)
	switch {
	case r.Message == "":
		return data
	case data == "" || data == "null":
		return r.Message
	case r.Status == ToolError && bytes.Contains(r.Data, []byte(`"error"`)):
		return r.Message // the data says the same in JSON
	}
	return r.Message + "\n" + data
}

// dataText is the JSON text of data, or the bare text when data is a string.
func dataText(data json.RawMessage) string {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if json.Unmarshal(data, &s) == nil {
			return s
		}
	}
	return string(data)
}

// Fatal wraps an error of a tool so that it ends the run instead of being shown
// to the model.
func Fatal(err error) error { return &fatalError{err} }

type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// Suspend is the error a tool returns to wait for a person. The call goes on as
// the ticket's resume mode says once a [Decision] arrives.
func Suspend(t Ticket) error { return &suspendError{t} }

type suspendError struct{ ticket Ticket }

func (e *suspendError) Error() string {
	return "suspended: " + e.ticket.Suspension.Message
}

// ResultOf turns what a tool returned into a result of its own, or into an error that ends
// the run; see [Fatal] and [Suspend]. What the tool returned stays the tool's. It is for
// those that make calls: a runtime, or the test of a tool.
func ResultOf(tool string, r *ToolResult, err error) (*ToolResult, error) {
	if err != nil {
		if s, ok := errors.AsType[*suspendError](err); ok {
			t := s.ticket
			return &ToolResult{ToolName: tool, Status: ToolPending, Data: json.RawMessage("null"), Suspension: &t}, nil
		}
		if f, ok := errors.AsType[*fatalError](err); ok {
			return nil, fmt.Errorf("tool %q: %w", tool, f.err)
		}
		r = ErrorResult("", err.Error())
	}
	res := &ToolResult{}
	if r != nil {
		*res = *r
	}
	res.ToolName = tool
	if res.Status == "" {
		res.Status = ToolSuccess
		if res.Suspension != nil {
			res.Status = ToolPending
		}
	}
	if bad := res.check(); bad != "" {
		return ErrorResult("internal", fmt.Sprintf("tool %q returned %s", tool, bad)), nil
	}
	if res.Status == ToolPending && res.Suspension == nil {
		res.Suspension = &Ticket{}
	}
	return res, nil
}

// check says what no store could keep of a result.
func (r *ToolResult) check() string {
	switch r.Status {
	case ToolSuccess, ToolPending, ToolError:
	default:
		return fmt.Sprintf("the status %q, want success, pending or error", r.Status)
	}
	if len(r.Data) > 0 && !json.Valid(r.Data) {
		return "data that is not JSON"
	}
	if len(r.Metadata) > 0 {
		if _, err := json.Marshal(r.Metadata); err != nil {
			return fmt.Sprintf("metadata that has no JSON: %v", err)
		}
	}
	return ""
}
