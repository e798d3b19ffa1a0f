package openai

import "encoding/json"

// chatRequest is the body of POST /chat/completions in version 1 of OpenAI's API, with the fields
// that the adapter uses, as openai-go v3.90.0 writes them. How other servers differ is in their
// Preset.
type chatRequest struct {
	Model               string         `json:"model"`
	Messages            []chatMessage  `json:"messages"`
	Tools               []chatTool     `json:"tools,omitempty"`
	ToolChoice          any            `json:"tool_choice,omitempty"` // a string, or a chatChoice
	ParallelToolCalls   *bool          `json:"parallel_tool_calls,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	TopP                *float64       `json:"top_p,omitempty"`
	MaxTokens           *int           `json:"max_tokens,omitempty"` // for older servers
	MaxCompletionTokens *int           `json:"max_completion_tokens,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	Seed                *int64         `json:"seed,omitempty"`
	ReasoningEffort     string         `json:"reasoning_effort,omitempty"`
	PromptCacheKey      string         `json:"prompt_cache_key,omitempty"`
	ResponseFormat      *chatFormat    `json:"response_format,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

// chatMessage is a message of any role.
type chatMessage struct {
	Role       string         `json:"role"`
	Content    any            `json:"content,omitempty"` // a string, or []chatPart; nil if there are only calls
	ToolCalls  []chatToolCall `json:"tool_calls,omitempty"`
	ToolCallID string         `json:"tool_call_id,omitempty"`

	// Earlier reasoning, in the field that Preset.Thoughts names.
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
}

// chatPart is a part of a user message. Type determines which other field is set.
type chatPart struct {
	Type       string      `json:"type"`
	Text       string      `json:"text,omitempty"`
	ImageURL   *chatImage  `json:"image_url,omitempty"`
	InputAudio *inputAudio `json:"input_audio,omitempty"`
	File       *chatFile   `json:"file,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type inputAudio struct {
	Data   string `json:"data"` // base64
	Format string `json:"format"`
}

type chatFile struct {
	Filename string `json:"filename"`
	FileData string `json:"file_data"` // a data URL
}

type chatToolCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
}

type chatTool struct {
	Type     string       `json:"type"`
	Function chatFunction `json:"function"`
}

type chatFunction struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters"`
	Strict      bool           `json:"strict,omitempty"`
}

// chatChoice forces a tool.
type chatChoice struct {
	Type     string     `json:"type"`
	Function chosenTool `json:"function"`
}

type chosenTool struct {
	Name string `json:"name"`
}

// chatFormat is the output format: any JSON, or JSON that satisfies a schema.
type chatFormat struct {
	Type       string      `json:"type"`
	JSONSchema *jsonSchema `json:"json_schema,omitempty"`
}

type jsonSchema struct {
	Name   string         `json:"name"`
	Schema map[string]any `json:"schema"`
	Strict bool           `json:"strict"`
}
