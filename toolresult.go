package awaken

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// ToolStatus is the status of a tool result.
type ToolStatus string

const (
	ToolSuccess ToolStatus = "success" // the default
	ToolPending ToolStatus = "pending" // the call is suspended
	ToolError   ToolStatus = "error"   // the call failed
)

// ToolResult is the result of a tool call. The model sees Content or, if that is empty, Message
// followed by Data. A tool may leave out ToolName and Status: the runtime sets them, to success
// by default.
type ToolResult struct {
	ToolName   string          `json:"tool_name"`
	Status     ToolStatus      `json:"status"`
	Data       json.RawMessage `json:"data"`                 // nil means null
	Message    string          `json:"message,omitempty"`    // text for the model; the error of a failed call
	Suspension *Ticket         `json:"suspension,omitempty"` // if Status is ToolPending
	Metadata   map[string]any  `json:"metadata,omitempty"`   // not shown to models
	// Content is shown to the model instead of Message and Data: text, images, documents.
	Content []llm.Block `json:"content,omitempty"`
	// Replaces records what the result stands for, if the runtime made it in place of the tool's. Tools do not set it.
	Replaces *Replacement `json:"replaces,omitempty"`
}

// Replacement records why the result of a call is the runtime's, and what cannot be known from the result.
type Replacement struct {
	// Size is the number of bytes of a result that was too large, and Begins how many of them end the message.
	Size   int `json:"size,omitempty"`
	Begins int `json:"begins,omitempty"`
	// Fatal is the error with which the tool ended the run; see [Fatal].
	Fatal string `json:"fatal,omitempty"`
	// Interrupted says what the call had come to when its run ended: not_made, stopped if its tool returned when it was told to, or
	// abandoned if it did not.
	Interrupted string `json:"interrupted,omitempty"`
}

// The values of [Replacement.Interrupted].
const (
	notMade   = "not_made"
	abandoned = "abandoned"
)

// TextResult returns a successful result with that text.
func TextResult(text string) *ToolResult {
	return &ToolResult{Status: ToolSuccess, Message: text, Data: json.RawMessage("null")}
}

// ErrorResult returns a failed result: the model sees the message, and the run continues. A code
// that is not "" is put in front of the message, in brackets, and into Data.
func ErrorResult(code, message string) *ToolResult {
	r := &ToolResult{Status: ToolError, Message: message, Data: json.RawMessage("null")}
	if code != "" {
		r.Message = "[" + code + "] " + message
		r.Data, _ = json.Marshal(map[string]any{"error": map[string]string{"code": code, "message": message}})
	}
	return r
}

// MarshalJSON encodes absent data as null, and an absent status as success.
func (r ToolResult) MarshalJSON() ([]byte, error) {
	type plain ToolResult
	if len(r.Data) == 0 {
		r.Data = json.RawMessage("null")
	}
	r.Status = cmp.Or(r.Status, ToolSuccess)
	return json.Marshal(plain(r))
}

// Text returns the text of the result as it appears in the conversation: the text blocks of
// Content or, if Content is empty, Plain.
func (r *ToolResult) Text() string {
	if len(r.Content) == 0 {
		return r.Plain()
	}
	return (&llm.Message{Content: r.Content}).Text()
}

// Plain returns the result as text, without Content: the message, the data, or both.
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

// dataText returns data as JSON, or the unquoted text if data is a JSON string. Characters that
// encoding/json escapes only for HTML are not escaped, and white space between values is left out: a result that
// was stored and read again has the same text.
func dataText(data json.RawMessage) string {
	if len(data) > 0 && data[0] == '"' {
		var s string
		if json.Unmarshal(data, &s) == nil {
			return s
		}
	}
	if bytes.ContainsAny(data, " \t\r\n") {
		var b bytes.Buffer
		if json.Compact(&b, data) == nil {
			data = b.Bytes()
		}
	}
	return unescapeHTML(string(data))
}

// unescapeHTML undoes the escapes that encoding/json adds to <, > and & in JSON.
func unescapeHTML(s string) string {
	if !strings.Contains(s, `\u00`) {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		n := 2 // a backslash and what it escapes
		switch {
		case len(s) < 6:
			b.WriteString(s[:n])
		case strings.EqualFold(s[:6], `\u003c`):
			n = 6
			b.WriteByte('<')
		case strings.EqualFold(s[:6], `\u003e`):
			n = 6
			b.WriteByte('>')
		case s[:6] == `\u0026`:
			n = 6
			b.WriteByte('&')
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
}

// Fatal wraps an error that a tool returns, so that it ends the run instead of being shown to
// the model.
func Fatal(err error) error { return &fatalError{err} }

type fatalError struct{ err error }

func (e *fatalError) Error() string { return e.err.Error() }
func (e *fatalError) Unwrap() error { return e.err }

// Suspend returns the error with which a tool suspends its call. When a [Decision] arrives,
// the ticket's resume mode says how the call continues.
func Suspend(t Ticket) error { return &suspendError{t} }

type suspendError struct{ ticket Ticket }

func (e *suspendError) Error() string {
	return "suspended: " + e.ticket.Suspension.Message
}

// ResultOf converts the return values of [Tool.Call] to a complete result, or to an error that
// ends the run; see [Fatal] and [Suspend]. It does not change r. It is for code that calls
// tools: the runtime, or the test of a tool.
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
	res.ToolName, res.Replaces = tool, nil
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

// check describes what makes a result impossible to store, or returns "".
func (r *ToolResult) check() string {
	switch r.Status {
	case ToolSuccess, ToolPending, ToolError:
	default:
		return fmt.Sprintf("status %q, want success, pending or error", r.Status)
	}
	if len(r.Data) > 0 && !json.Valid(r.Data) {
		return "data that is not JSON"
	}
	if len(r.Metadata) > 0 {
		if _, err := json.Marshal(r.Metadata); err != nil {
			return fmt.Sprintf("metadata that cannot be encoded as JSON: %v", err)
		}
	}
	return ""
}
