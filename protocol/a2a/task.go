package a2a

import (
	"encoding/json"
	"time"

	"github.com/awaken-go/awaken"
)

// State is the state of a task.
type State string

const (
	Submitted     State = "TASK_STATE_SUBMITTED"
	Working       State = "TASK_STATE_WORKING"
	Completed     State = "TASK_STATE_COMPLETED"
	Failed        State = "TASK_STATE_FAILED"
	Canceled      State = "TASK_STATE_CANCELED"
	Rejected      State = "TASK_STATE_REJECTED"
	InputRequired State = "TASK_STATE_INPUT_REQUIRED"
	AuthRequired  State = "TASK_STATE_AUTH_REQUIRED"
)

// states are all states but UNSPECIFIED.
var states = []State{Submitted, Working, Completed, Failed, Canceled, Rejected, InputRequired, AuthRequired}

// Terminal reports whether a task in the state is over.
func (s State) Terminal() bool {
	return s == Completed || s == Failed || s == Canceled || s == Rejected
}

// Interrupted reports whether a task in the state waits for its client.
func (s State) Interrupted() bool { return s == InputRequired || s == AuthRequired }

// Task is a run as clients see it.
type Task struct {
	ID        string     `json:"id"`
	ContextID string     `json:"contextId"`
	Status    Status     `json:"status"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
	History   []*Message `json:"history,omitempty"`
}

// Status is the state of a task since a time.
type Status struct {
	State     State    `json:"state"`
	Message   *Message `json:"message,omitempty"`
	Timestamp string   `json:"timestamp,omitempty"`
}

// Artifact is an output of a task.
type Artifact struct {
	ArtifactID string `json:"artifactId"`
	Name       string `json:"name,omitempty"`
	Parts      []Part `json:"parts"`
}

// Part is a piece of a message or an artifact. One of Text, Raw, URL and Data is set.
type Part struct {
	Text      *string         `json:"text,omitempty"`
	Raw       string          `json:"raw,omitempty"` // base64
	URL       string          `json:"url,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Filename  string          `json:"filename,omitempty"`
	MediaType string          `json:"mediaType,omitempty"`
}

// Message is a message of a client or of the agent.
type Message struct {
	MessageID        string          `json:"messageId"`
	ContextID        string          `json:"contextId,omitempty"`
	TaskID           string          `json:"taskId,omitempty"`
	Role             string          `json:"role"` // ROLE_USER or ROLE_AGENT
	Parts            []Part          `json:"parts"`
	Metadata         json.RawMessage `json:"metadata,omitempty"`
	Extensions       []string        `json:"extensions,omitempty"`
	ReferenceTaskIDs []string        `json:"referenceTaskIds,omitempty"`
}

const (
	roleUser  = "ROLE_USER"
	roleAgent = "ROLE_AGENT"
)

// statusUpdate, artifactUpdate and update are the events of a stream.
type statusUpdate struct {
	TaskID    string `json:"taskId"`
	ContextID string `json:"contextId"`
	Status    Status `json:"status"`
}

type artifactUpdate struct {
	TaskID    string   `json:"taskId"`
	ContextID string   `json:"contextId"`
	Artifact  Artifact `json:"artifact"`
	Append    bool     `json:"append,omitempty"`
	LastChunk bool     `json:"lastChunk,omitempty"`
}

// update is one event of a stream, and the response to a message. One field is set.
type update struct {
	Task           *Task           `json:"task,omitempty"`
	StatusUpdate   *statusUpdate   `json:"statusUpdate,omitempty"`
	ArtifactUpdate *artifactUpdate `json:"artifactUpdate,omitempty"`
}

func textPart(s string) Part { return Part{Text: &s} }

// timestamp formats Unix milliseconds; 0 is no time.
func timestamp(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// stateOf returns the state of a run.
func stateOf(run *awaken.Run) State {
	switch run.Status {
	case awaken.RunCreated:
		return Submitted
	case awaken.RunWaiting:
		return waitingState(run.Waiting)
	case awaken.RunDone:
		return endState(run.Termination)
	}
	return Working
}

// endState returns the state of a run that has ended.
func endState(t awaken.Termination) State {
	switch t.Type {
	case awaken.Cancelled:
		return Canceled
	case awaken.Blocked:
		return Rejected
	case awaken.Failed:
		return Failed
	}
	return Completed
}

// settled reports whether a run needs its client, or is over. A run that waits for its own children
// continues by itself.
func settled(run *awaken.Run) bool { return stateOf(run) != Working && run.Status != awaken.RunCreated }
