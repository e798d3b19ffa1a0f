package anthropic

import "encoding/json"

// version is the API version that these structs follow; sent in the header Anthropic-Version.
const version = "2023-06-01"

// request is the body of POST /v1/messages, with the fields that the adapter uses.
type request struct {
	Model         string         `json:"model"`
	MaxTokens     int            `json:"max_tokens"`
	System        []contentBlock `json:"system,omitempty"`
	Messages      []turn         `json:"messages"`
	Tools         []tool         `json:"tools,omitempty"`
	ToolChoice    *toolChoice    `json:"tool_choice,omitempty"`
	Thinking      *thinking      `json:"thinking,omitempty"`
	OutputConfig  *outputConfig  `json:"output_config,omitempty"`
	Temperature   *float64       `json:"temperature,omitempty"`
	TopP          *float64       `json:"top_p,omitempty"`
	StopSequences []string       `json:"stop_sequences,omitempty"`
	Stream        bool           `json:"stream"`
}

// turn is a message of the user or the assistant.
type turn struct {
	Role    string         `json:"role"`
	Content []contentBlock `json:"content"`
}

// contentBlock is a block of a turn. Type determines which of the other fields are set.
type contentBlock struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`        // text
	Source       *source         `json:"source,omitempty"`      // image, document
	Title        string          `json:"title,omitempty"`       // document
	ID           string          `json:"id,omitempty"`          // tool_use
	Name         string          `json:"name,omitempty"`        // tool_use
	Input        json.RawMessage `json:"input,omitempty"`       // tool_use
	ToolUseID    string          `json:"tool_use_id,omitempty"` // tool_result
	Content      []contentBlock  `json:"content,omitempty"`     // tool_result
	Thinking     *string         `json:"thinking,omitempty"`    // thinking; may be empty
	Signature    string          `json:"signature,omitempty"`   // thinking
	Data         string          `json:"data,omitempty"`        // redacted_thinking
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

// isThinking reports whether the block is thinking, encrypted or not.
func (c *contentBlock) isThinking() bool {
	return c.Type == "thinking" || c.Type == "redacted_thinking"
}

// source is the source of an image or a document: base64, text or url.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// cacheControl marks the end of a prefix that the API caches.
type cacheControl struct {
	Type string `json:"type"`
}

type tool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	CacheControl *cacheControl   `json:"cache_control,omitempty"`
}

// toolChoice is auto, any, tool or none.
type toolChoice struct {
	Type                   string `json:"type"`
	Name                   string `json:"name,omitempty"` // tool
	DisableParallelToolUse *bool  `json:"disable_parallel_tool_use,omitempty"`
}

// thinking is enabled, with a budget; adaptive; or disabled.
type thinking struct {
	Type         string `json:"type"`
	BudgetTokens int    `json:"budget_tokens,omitempty"`
	Display      string `json:"display,omitempty"`
}

// outputConfig sets the effort and the format of the reply.
type outputConfig struct {
	Effort string        `json:"effort,omitempty"`
	Format *outputFormat `json:"format,omitempty"`
}

type outputFormat struct {
	Type   string `json:"type"`
	Schema any    `json:"schema"`
}
