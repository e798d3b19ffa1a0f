package trigger

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Trigger lets another system start runs. ID is unique among the triggers of the tenant.
type Trigger struct {
	Tenant   string
	ID       string
	Revision int64 // increases with every change, from 1; 0 if the trigger is not stored
	Spec     Spec
	State    State
}

// Spec is the part of a trigger that its owner sets.
type Spec struct {
	Description string `json:"description,omitempty"`
	// Run describes the run that a request starts. In its messages, {{payload}} is replaced by the body of the request. Without
	// {{payload}}, the body is appended to the last message.
	Run json.RawMessage `json:"run"`
	// ThreadFrom is a JSON Pointer into the body, such as /issue/id. Requests with the same value there continue the same thread.
	ThreadFrom string `json:"thread_from,omitempty"`
	// RequireSignature refuses requests without a signature header, even if their URL is signed.
	RequireSignature bool `json:"require_signature,omitempty"`
	// TrustPayload says that the author of the body may instruct the agent. Otherwise the run is tainted from the start, so that rules can
	// demand approval before it does more than read.
	TrustPayload bool `json:"trust_payload,omitempty"`
	// PerMinute is the maximum number of runs started per minute; default 60.
	PerMinute int `json:"per_minute,omitempty"`
	// MaxBytes is the maximum size of a body; default 64 KiB.
	MaxBytes int  `json:"max_bytes,omitempty"`
	Paused   bool `json:"paused,omitempty"`
}

// State is the part of a trigger that the server sets.
type State struct {
	// Secret signs URLs and requests. After a rotation, Former is the previous secret, which is accepted until FormerUntil. Both are
	// encrypted.
	Secret      []byte    `json:"secret"`
	Former      []byte    `json:"former,omitempty"`
	FormerUntil time.Time `json:"former_until,omitzero"`
}

// Limits of a spec.
const (
	DefaultPerMinute, MostPerMinute = 60, 600 // fewer than KeptFirings, which are counted
	DefaultBytes, MostBytes         = 64 << 10, 1 << 20
	mostDescription                 = 1024
)

// Normalize validates the spec, except for Run, and sets its defaults. Errors name the field.
func (s *Spec) Normalize() error {
	s.PerMinute, s.MaxBytes = cmp.Or(s.PerMinute, DefaultPerMinute), cmp.Or(s.MaxBytes, DefaultBytes)
	switch {
	case len(s.Run) == 0 || string(s.Run) == "null":
		return fmt.Errorf("run is missing; want the run that a request starts")
	case len(s.Description) > mostDescription:
		return fmt.Errorf("description has %d bytes; want at most %d", len(s.Description), mostDescription)
	case s.PerMinute < 1 || s.PerMinute > MostPerMinute:
		return fmt.Errorf("per_minute is %d; want 1 to %d", s.PerMinute, MostPerMinute)
	case s.MaxBytes < 1 || s.MaxBytes > MostBytes:
		return fmt.Errorf("max_bytes is %d; want 1 to %d", s.MaxBytes, MostBytes)
	case s.ThreadFrom != "" && s.ThreadFrom[0] != '/':
		return fmt.Errorf("thread_from is %.80q; want a JSON Pointer such as /issue/id", s.ThreadFrom)
	case len(s.ThreadFrom) > 256:
		return fmt.Errorf("thread_from has %d bytes; want at most 256", len(s.ThreadFrom))
	}
	return nil
}

// RunID returns the ID of the run that the request with the given ID starts. A repeated request gets the same run ID.
func (t *Trigger) RunID(request string) string { return t.digest("run", request) }

// ThreadID returns the ID of the thread shared by requests with the given value at [Spec.ThreadFrom].
func (t *Trigger) ThreadID(common string) string { return t.digest("thread", common) }

func (t *Trigger) digest(kind, of string) string {
	h := sha256.New()
	for _, part := range []string{"awaken trigger", kind, t.Tenant, t.ID, of} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Common returns the string, number or boolean that [Spec.ThreadFrom] points to in a body.
func (s *Spec) Common(body []byte) (string, error) {
	at := json.RawMessage(bytes.TrimSpace(body))
	for part := range strings.SplitSeq(s.ThreadFrom[1:], "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next, err := member(at, name)
		if err != nil {
			return "", fmt.Errorf("thread_from of the trigger is %q, but the body has no %q there", s.ThreadFrom, name)
		}
		at = next
	}
	switch at[0] {
	case '{', '[', 'n':
		return "", fmt.Errorf("thread_from of the trigger is %q, and the body has %.40q there; want a text, a number, true or false", s.ThreadFrom, at)
	case '"':
		var text string
		err := json.Unmarshal(at, &text)
		return text, err
	}
	return string(at), nil // as it is written: a number may have many digits
}

// member returns a member of an object or an array.
func member(of json.RawMessage, name string) (json.RawMessage, error) {
	if len(of) > 0 && of[0] == '[' {
		var all []json.RawMessage
		var i int
		if err := json.Unmarshal(of, &all); err != nil {
			return nil, err
		}
		if n, err := fmt.Sscanf(name, "%d", &i); n != 1 || err != nil || i < 0 || i >= len(all) || fmt.Sprint(i) != name {
			return nil, fmt.Errorf("no element %q", name)
		}
		return all[i], nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(of, &all); err != nil {
		return nil, err
	}
	v, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("no member %q", name)
	}
	return v, nil
}
