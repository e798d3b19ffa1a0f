package remote

import "encoding/json"

// The objects of the protocol, as far as a client reads or writes them. They are decoded tolerantly: unknown fields are
// ignored, and [decodeEvent] checks what is relied on.

// state is the state of a task.
type state string

const (
	submitted     state = "TASK_STATE_SUBMITTED"
	working       state = "TASK_STATE_WORKING"
	completed     state = "TASK_STATE_COMPLETED"
	failed        state = "TASK_STATE_FAILED"
	canceled      state = "TASK_STATE_CANCELED"
	rejected      state = "TASK_STATE_REJECTED"
	inputRequired state = "TASK_STATE_INPUT_REQUIRED"
	authRequired  state = "TASK_STATE_AUTH_REQUIRED"
)

// terminal reports whether a task in the state is over.
func (s state) terminal() bool {
	return s == completed || s == failed || s == canceled || s == rejected
}

// interrupted reports whether a task in the state waits for its client.
func (s state) interrupted() bool { return s == inputRequired || s == authRequired }

type task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    status     `json:"status"`
	Artifacts []artifact `json:"artifacts"`
	History   []*message `json:"history"`
}

type status struct {
	State   state    `json:"state"`
	Message *message `json:"message"`
}

type artifact struct {
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name,omitempty"`
	Parts      []part `json:"parts"`
}

// part is a piece of a message or an artifact. One of Text, Raw, URL and Data is set.
type part struct {
	Text      *string         `json:"text,omitempty"`
	Raw       string          `json:"raw,omitempty"` // base64
	URL       string          `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
}

type message struct {
	MessageID string `json:"messageId"`
	ContextID string `json:"contextId,omitempty"`
	TaskID    string `json:"taskId,omitempty"`
	Role      string `json:"role"`
	Parts     []part `json:"parts"`
}

const (
	roleUser  = "ROLE_USER"
	roleAgent = "ROLE_AGENT"
)
