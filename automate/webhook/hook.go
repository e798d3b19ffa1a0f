package webhook

import (
	"fmt"
	"strings"
	"time"
)

// Hook is the wish to be told about a run. ID is unique among the hooks of the run.
type Hook struct {
	Tenant   string
	RunID    string
	ID       string
	Revision int64 // counts the changes, from 1; 0 if the hook is not stored
	// Wait is how long the hook rests before a sender may take it, if it is positive, and for good if it is negative. The store counts
	// from when the hook is stored.
	Wait time.Duration

	State
}

// State is what a store keeps of a hook as JSON.
type State struct {
	Kind   string `json:"kind"` // says what the messages are
	Target Target `json:"target,omitzero"`
	// Endpoint is the id of the endpoint that the hook was made for, which has the target; and Events are those that it had selected then.
	Endpoint string  `json:"endpoint,omitempty"`
	Events   []Event `json:"events,omitempty"`

	Sent     int       `json:"sent"`             // how many messages the receiver has accepted
	Holder   string    `json:"holder,omitempty"` // the sender that delivers
	Failures int       `json:"failures,omitempty"`
	Failing  time.Time `json:"failing,omitzero"` // since when
	Idle     int       `json:"idle,omitempty"`   // how often in a row there was nothing to send
	// Ended says why nothing more is sent: Delivered, or what went wrong. It is "" while the hook is in use.
	Ended    string    `json:"ended,omitempty"`
	Attempts []Attempt `json:"attempts,omitempty"` // the latest ones, the newest last
}

// Delivered is why a hook has ended if the run is over and the receiver has accepted everything.
const Delivered = "delivered"

// Target is where messages are sent.
type Target struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"` // sent with every request
	Secret  string            `json:"secret,omitempty"`  // signs the messages; "" leaves them unsigned
	Former  string            `json:"-"`                 // signs them too, unless it is ""
	Sealed  []byte            `json:"sealed,omitempty"`  // Headers and Secret, encrypted, in place of them
}

// Attempt is one attempt to deliver a message.
type Attempt struct {
	Message int       `json:"message"` // its number, counted from 1
	At      time.Time `json:"at"`
	TookMS  int64     `json:"took_ms"`
	Status  int       `json:"status,omitempty"` // of the response; 0 if there was none
	Error   string    `json:"error,omitempty"`  // "" if the receiver has accepted the message
}

// keptAttempts is how many attempts a hook keeps.
const keptAttempts = 20

// Record adds an attempt, and counts what it has delivered.
func (h *Hook) Record(a Attempt) {
	if h.Attempts = append(h.Attempts, a); len(h.Attempts) > keptAttempts {
		h.Attempts = append([]Attempt(nil), h.Attempts[len(h.Attempts)-keptAttempts:]...)
	}
	if a.Error == "" {
		h.Sent, h.Failures, h.Failing = a.Message, 0, time.Time{}
		return
	}
	if h.Failures++; h.Failures == 1 {
		h.Failing = a.At
	}
}

// MessageID is the id of a message, the same for every attempt to deliver it.
func (h *Hook) MessageID(n int) string { return fmt.Sprintf("%s.%s.%d", h.RunID, h.ID, n) }

// Shown returns the URL without what may be secret in it: its query.
func (t *Target) Shown() string {
	shown, _, _ := strings.Cut(t.URL, "?")
	return shown
}
