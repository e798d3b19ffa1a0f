package webhook

import (
	"fmt"
	"strings"
	"time"
)

// Hook is a receiver's subscription to one run. ID is unique among the hooks of the run.
type Hook struct {
	Tenant   string
	RunID    string
	ID       string
	Revision int64 // increases with every change, from 1; 0 if the hook is not stored
	// Wait is how long after the hook is stored a sender may take it. Negative means never.
	Wait time.Duration

	State
}

// State is the part of a hook that stores keep as JSON.
type State struct {
	Kind   string `json:"kind"` // the format of the messages
	Target Target `json:"target,omitzero"`
	// Endpoint is the ID of the endpoint that the hook was created for, which has the target. Events are the events that the endpoint had
	// selected at that time.
	Endpoint string  `json:"endpoint,omitempty"`
	Events   []Event `json:"events,omitempty"`

	Sent     int       `json:"sent"`             // how many messages the receiver has accepted
	Holder   string    `json:"holder,omitempty"` // the sender that holds the lease
	Failures int       `json:"failures,omitempty"`
	Failing  time.Time `json:"failing,omitzero"` // since when
	Idle     int       `json:"idle,omitempty"`   // how many times in a row there was nothing to send
	// Ended says why delivery has stopped: Delivered, or the error. It is "" while the hook is active.
	Ended    string    `json:"ended,omitempty"`
	Attempts []Attempt `json:"attempts,omitempty"` // the latest, newest last
}

// Delivered is [State.Ended] of a hook whose run has finished and whose receiver has accepted all messages.
const Delivered = "delivered"

// Target is the receiver of messages.
type Target struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"` // sent with every request
	Secret  string            `json:"secret,omitempty"`  // signs the messages; "" leaves them unsigned
	Former  string            `json:"-"`                 // signs them too, unless it is ""
	Sealed  []byte            `json:"sealed,omitempty"`  // Headers and Secret, encrypted, in place of them
}

// Attempt records one attempt to deliver a message.
type Attempt struct {
	Message int       `json:"message"` // its number, counted from 1
	At      time.Time `json:"at"`
	TookMS  int64     `json:"took_ms"`
	Status  int       `json:"status,omitempty"` // of the response; 0 if there was none
	Error   string    `json:"error,omitempty"`  // "" if the receiver has accepted the message
}

// keptAttempts is the number of attempts that a hook keeps.
const keptAttempts = 20

// Record appends an attempt and, if it succeeded, counts the message as sent.
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

// MessageID returns the ID of message n. Every attempt to deliver the message has the same ID.
func (h *Hook) MessageID(n int) string { return fmt.Sprintf("%s.%s.%d", h.RunID, h.ID, n) }

// Shown returns the URL without its query, which may contain secrets.
func (t *Target) Shown() string {
	shown, _, _ := strings.Cut(t.URL, "?")
	return shown
}
