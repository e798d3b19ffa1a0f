package openai

// responsesRequest is the body of POST /responses in version 1 of OpenAI's API, with the fields that
// the adapter uses, as openai-go v3.90.0 writes them.
type responsesRequest struct {
	Model             string          `json:"model"`
	Instructions      string          `json:"instructions,omitempty"`
	Input             []any           `json:"input"` // inputMessage, reasoningItem, functionCall, functionOutput
	Tools             []responsesTool `json:"tools,omitempty"`
	ToolChoice        any             `json:"tool_choice,omitempty"` // a string, or a responsesChoice
	ParallelToolCalls *bool           `json:"parallel_tool_calls,omitempty"`
	Temperature       *float64        `json:"temperature,omitempty"`
	TopP              *float64        `json:"top_p,omitempty"`
	MaxOutputTokens   *int            `json:"max_output_tokens,omitempty"`
	PromptCacheKey    string          `json:"prompt_cache_key,omitempty"`
	Reasoning         *reasoning      `json:"reasoning,omitempty"`
	Include           []string        `json:"include,omitempty"`
	Text              *responsesText  `json:"text,omitempty"`
	Store             bool            `json:"store"`
	Stream            bool            `json:"stream"`
}

type reasoning struct {
	Effort  string `json:"effort"`
	Summary string `json:"summary,omitempty"`
}

type responsesText struct {
	Format responsesFormat `json:"format"`
}

// responsesFormat enforces an output schema.
type responsesFormat struct {
	Type string `json:"type"`
	jsonSchema
}

type responsesTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters"`
	Strict      bool           `json:"strict"`
}

// responsesChoice forces a tool.
type responsesChoice struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// inputMessage is a message. It is the only item of the input without a type.
type inputMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a string, or []inputPart
}

// inputPart is a part of a user message or a tool result. Type determines which other fields are
// set.
type inputPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Detail   string `json:"detail,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	FileURL  string `json:"file_url,omitempty"`
	Filename string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"` // a data URL
}

// reasoningItem is earlier reasoning, encrypted.
type reasoningItem struct {
	Type             string        `json:"type"`
	ID               string        `json:"id"`
	Summary          []summaryPart `json:"summary"` // [], not null
	EncryptedContent string        `json:"encrypted_content"`
}

type summaryPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type functionCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

type functionOutput struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output any    `json:"output"` // a string, or []inputPart
}
