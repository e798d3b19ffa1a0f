package threads

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/awaken-go/awaken"
)

// pinNote is the beginning of the names of notes that pin runs; see [awaken.Thread].
const pinNote = "pin:"

// Pins returns the runs that notes pin.
func Pins(notes map[string]json.RawMessage) map[string]bool {
	var out map[string]bool
	for name := range notes {
		if run, ok := strings.CutPrefix(name, pinNote); ok {
			if out == nil {
				out = map[string]bool{}
			}
			out[run] = true
		}
	}
	return out
}

// IsPinned reports whether notes pin a run.
func IsPinned(notes map[string]json.RawMessage, runID string) bool {
	_, ok := notes[pinNote+runID]
	return ok
}

// OnlyNotes reports whether a thread differs from what it was in nothing but its notes.
func OnlyNotes(was, now *awaken.Thread) bool {
	return was.UserID == now.UserID && was.ResourceID == now.ResourceID && was.ParentThreadID == now.ParentThreadID &&
		was.Metadata.Title == now.Metadata.Title && SameNotes(was.Metadata.Custom, now.Metadata.Custom) && !SameNotes(was.Notes, now.Notes)
}

// SameNotes reports whether two maps of JSON are equal.
func SameNotes(a, b map[string]json.RawMessage) bool {
	return maps.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// CheckNotes returns an ErrInvalid if a note is not JSON.
func CheckNotes(notes map[string]json.RawMessage) error {
	for name, value := range notes {
		if !json.Valid(value) {
			return fmt.Errorf("%w: note %q is not JSON", awaken.ErrInvalid, name)
		}
	}
	return nil
}
