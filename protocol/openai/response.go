package openai

// response is an answer of an agent.
type response struct {
	ID                string         `json:"id"`
	Object            string         `json:"object"`
	CreatedAt         int64          `json:"created_at"`
	Status            string         `json:"status"` // queued, in_progress, completed, incomplete, failed or cancelled
	Background        bool           `json:"background"`
	Error             *responseError `json:"error"`
	IncompleteDetails *incomplete    `json:"incomplete_details"`
	Instructions      *string        `json:"instructions"` // always null
	MaxOutputTokens   *int           `json:"max_output_tokens"`
	Model             string         `json:"model"`
	Output            []*item        `json:"output"`
	ParallelToolCalls bool           `json:"parallel_tool_calls"`
	PreviousID        *string        `json:"previous_response_id"`
	Conversation      conversation   `json:"conversation"`
	Store             bool           `json:"store"`
	Temperature       *float64       `json:"temperature"`
	Text              textConfig     `json:"text"`
	ToolChoice        any            `json:"tool_choice"` // a text, or an object that names a function
	Tools             []tool         `json:"tools"`
	TopP              *float64       `json:"top_p"`
	Truncation        string         `json:"truncation"`
	Usage             *responseUsage `json:"usage"`
	Metadata          struct{}       `json:"metadata"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type incomplete struct {
	Reason string `json:"reason"` // max_output_tokens or content_filter
}

// conversation is the thread of a response.
type conversation struct {
	ID string `json:"id"`
}

type textConfig struct {
	Format format `json:"format"`
}

// item is one item of a response's output. It has the fields of all types; those that a type does not
// have are nil.
type item struct {
	Type        string     `json:"type"` // message, reasoning, function_call, mcp_call or mcp_approval_request
	ID          string     `json:"id"`
	Status      string     `json:"status,omitempty"`
	Role        string     `json:"role,omitempty"`
	Content     []itemPart `json:"content,omitzero"`
	Summary     []itemPart `json:"summary,omitzero"`
	CallID      string     `json:"call_id,omitempty"`
	ServerLabel string     `json:"server_label,omitempty"`
	Name        string     `json:"name,omitempty"`
	Arguments   *string    `json:"arguments,omitempty"`
	RequestID   string     `json:"approval_request_id,omitempty"`
	Output      *string    `json:"output,omitempty"`
	Error       *string    `json:"error,omitempty"`

	index int    // of the item in the stream
	step  string // id of the step that it belongs to
	text  []byte // of an open message or reasoning item
}

// itemPart is a part of a message or of a reasoning item.
type itemPart struct {
	Type        string     `json:"type"` // output_text, refusal or summary_text
	Text        string     `json:"text"`
	Annotations []struct{} `json:"annotations,omitzero"`
	Logprobs    []struct{} `json:"logprobs,omitzero"`
}

// textPart returns the part of a message.
func textPart(text string) itemPart {
	return itemPart{Type: "output_text", Text: text, Annotations: []struct{}{}, Logprobs: []struct{}{}}
}
