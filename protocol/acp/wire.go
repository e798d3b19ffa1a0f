package acp

import (
	"bytes"
	"encoding/json"
)

// Version is the version of the protocol.
const Version = 1

// Methods of agents, which clients call, and of clients.
const (
	methodInitialize   = "initialize"
	methodAuthenticate = "authenticate"
	methodNew          = "session/new"
	methodLoad         = "session/load"
	methodResume       = "session/resume"
	methodList         = "session/list"
	methodClose        = "session/close"
	methodDelete       = "session/delete"
	methodPrompt       = "session/prompt"
	methodCancel       = "session/cancel"
	methodSetMode      = "session/set_mode"
	methodSetOption    = "session/set_config_option"
	methodCancelCall   = "$/cancel_request"

	methodUpdate     = "session/update"
	methodPermission = "session/request_permission"
	methodReadFile   = "fs/read_text_file"
	methodWriteFile  = "fs/write_text_file"
	methodTerminal   = "terminal/create"
	methodOutput     = "terminal/output"
	methodExit       = "terminal/wait_for_exit"
	methodKill       = "terminal/kill"
	methodRelease    = "terminal/release"
)

type initializeParams struct {
	ProtocolVersion *int               `json:"protocolVersion"`
	Capabilities    clientCapabilities `json:"clientCapabilities"`
	Info            *implementation    `json:"clientInfo"`
}

type clientCapabilities struct {
	FS struct {
		Read  bool `json:"readTextFile"`
		Write bool `json:"writeTextFile"`
	} `json:"fs"`
	Terminal bool `json:"terminal"`
	Session  *struct {
		Notices *struct{} `json:"notices"`
	} `json:"session"`
}

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	AuthMethods       []struct{}        `json:"authMethods"`
	AgentInfo         implementation    `json:"agentInfo"`
}

type agentCapabilities struct {
	LoadSession bool               `json:"loadSession"`
	Prompt      promptCapabilities `json:"promptCapabilities"`
	MCP         mcpCapabilities    `json:"mcpCapabilities"`
	Session     map[string]empty   `json:"sessionCapabilities"`
}

type promptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

type mcpCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

// empty is an object without fields.
type empty struct{}

// sessionParams are the parameters of the methods about one session.
type sessionParams struct {
	SessionID  string      `json:"sessionId"`
	Cwd        string      `json:"cwd"`
	MCPServers []mcpServer `json:"mcpServers"`
}

// mcpServer is an MCP server of the editor. One without a type is a program.
type mcpServer struct {
	Type    string       `json:"type"` // http or sse; "" for a program
	Name    string       `json:"name"`
	Command string       `json:"command"`
	Args    []string     `json:"args"`
	Env     []namedValue `json:"env"`
	URL     string       `json:"url"`
	Headers []namedValue `json:"headers"`
}

type namedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type listParams struct {
	Cwd    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

type listResult struct {
	Sessions   []sessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// sessionResult replies to methods that begin a session. It has the id only if the session is new.
type sessionResult struct {
	SessionID     string         `json:"sessionId,omitempty"`
	Modes         *modeState     `json:"modes,omitempty"`
	ConfigOptions []configOption `json:"configOptions,omitempty"`
}

type modeState struct {
	Current   string `json:"currentModeId"`
	Available []mode `json:"availableModes"`
}

type mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type configOption struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Category string         `json:"category,omitempty"`
	Type     string         `json:"type"`
	Current  string         `json:"currentValue"`
	Options  []optionChoice `json:"options"`
}

type optionChoice struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type setModeParams struct {
	SessionID string `json:"sessionId"`
	ModeID    string `json:"modeId"`
}

type setOptionParams struct {
	SessionID string          `json:"sessionId"`
	ConfigID  string          `json:"configId"`
	Value     json.RawMessage `json:"value"`
}

type optionsResult struct {
	ConfigOptions []configOption `json:"configOptions"`
}

type promptParams struct {
	SessionID string  `json:"sessionId"`
	Prompt    []block `json:"prompt"`
}

type promptResult struct {
	StopReason StopReason  `json:"stopReason"`
	Usage      *usage      `json:"usage,omitempty"`
	Meta       *promptMeta `json:"_meta,omitempty"`
}

// promptMeta names the run that answered.
type promptMeta struct {
	RunID string `json:"awaken.runId"`
}

// usage is what a prompt has used.
type usage struct {
	Total       int64 `json:"totalTokens"`
	Input       int64 `json:"inputTokens"`
	Output      int64 `json:"outputTokens"`
	Thought     int64 `json:"thoughtTokens,omitempty"`
	CachedRead  int64 `json:"cachedReadTokens,omitempty"`
	CachedWrite int64 `json:"cachedWriteTokens,omitempty"`
}

// StopReason says why a prompt is answered.
type StopReason string

// The reasons.
const (
	EndTurn         StopReason = "end_turn"
	MaxTokens       StopReason = "max_tokens"
	MaxTurnRequests StopReason = "max_turn_requests"
	Refusal         StopReason = "refusal"
	Cancelled       StopReason = "cancelled"
)

// block is a piece of content: of a prompt, a message, or the result of a call.
type block struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	Data     string    `json:"data,omitempty"`
	MimeType string    `json:"mimeType,omitempty"`
	URI      string    `json:"uri,omitempty"`
	Name     string    `json:"name,omitempty"`
	Resource *resource `json:"resource,omitempty"`
}

// MarshalJSON encodes the fields that a block of its type has.
func (b block) MarshalJSON() ([]byte, error) {
	if b.Type == "text" {
		return json.Marshal(struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}{b.Type, b.Text})
	}
	type plain block
	return json.Marshal(plain(b))
}

type resource struct {
	URI      string  `json:"uri"`
	MimeType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *string `json:"blob,omitempty"`
}

// Update is a change of a session, as clients get it. SessionUpdate says which fields it has.
type Update struct {
	SessionUpdate string `json:"sessionUpdate"`

	Content   any    `json:"content,omitempty"` // a block, or the content of a call
	MessageID string `json:"messageId,omitempty"`

	CallID    string          `json:"toolCallId,omitempty"`
	Title     string          `json:"title,omitempty"` // of a call, a session or a notice
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
	RawOutput json.RawMessage `json:"rawOutput,omitempty"`

	Entries   []planEntry    `json:"entries,omitzero"`
	Mode      string         `json:"currentModeId,omitempty"`
	Options   []configOption `json:"configOptions,omitempty"`
	UpdatedAt string         `json:"updatedAt,omitempty"`
	Used      *int64         `json:"used,omitempty"`
	Size      *int64         `json:"size,omitempty"`
	Cost      *cost          `json:"cost,omitempty"`
	Severity  string         `json:"severity,omitempty"`
}

type updateParams struct {
	SessionID string  `json:"sessionId"`
	Update    *Update `json:"update"`
}

// callContent is one item of what a call shows.
type callContent struct {
	Type       string  `json:"type"`
	Content    *block  `json:"content,omitempty"`
	Path       string  `json:"path,omitempty"`
	OldText    *string `json:"oldText,omitempty"`
	NewText    *string `json:"newText,omitempty"`
	TerminalID string  `json:"terminalId,omitempty"`
}

type location struct {
	Path string `json:"path"`
	Line *int   `json:"line,omitempty"`
}

type planEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type permissionParams struct {
	SessionID string             `json:"sessionId"`
	Call      *callUpdate        `json:"toolCall"`
	Options   []permissionOption `json:"options"`
}

// callUpdate is the call that a permission request is about.
type callUpdate struct {
	CallID    string          `json:"toolCallId"`
	Title     string          `json:"title,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Status    string          `json:"status,omitempty"`
	Content   []callContent   `json:"content,omitempty"`
	Locations []location      `json:"locations,omitempty"`
	RawInput  json.RawMessage `json:"rawInput,omitempty"`
}

type permissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

type permissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId"`
	} `json:"outcome"`
}

// isNull reports whether a field is missing or null.
func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}
