package awaken

import (
	"encoding/json"
	"log/slog"
)

// Secret is a credential. It prints as ***, logs as ***, and is a plain string in
// JSON, because documents that hold secrets have to carry them. Only Expose gives
// the value away.
type Secret struct{ value string }

// NewSecret returns a secret with that value.
func NewSecret(value string) Secret { return Secret{value} }

// Expose returns the value. Do not pass it on to anything that prints or logs.
func (s Secret) Expose() string { return s.value }

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.value == "" }

func (s Secret) String() string { return "***" }

// GoString hides the value from %#v.
func (s Secret) GoString() string { return "Secret(***)" }

// LogValue hides the value from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON writes the value as a string.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.value) }

// UnmarshalJSON reads a string or null.
func (s *Secret) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &s.value) }
