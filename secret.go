package awaken

import (
	"encoding/json"
	"log/slog"
)

// Secret is a credential. It prints and logs as ***. In JSON it is a plain string, because
// documents carry their secrets. Only Expose returns the value.
type Secret struct{ value string }

// NewSecret returns a secret that holds value.
func NewSecret(value string) Secret { return Secret{value} }

// Expose returns the value. Do not print or log it.
func (s Secret) Expose() string { return s.value }

// IsZero reports whether the secret is empty.
func (s Secret) IsZero() bool { return s.value == "" }

// String hides the value from fmt.
func (s Secret) String() string { return "***" }

// GoString hides the value from %#v.
func (s Secret) GoString() string { return "Secret(***)" }

// LogValue hides the value from log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue("***") }

// MarshalJSON encodes the value as a string.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.value) }

// UnmarshalJSON decodes a string or null.
func (s *Secret) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &s.value) }
