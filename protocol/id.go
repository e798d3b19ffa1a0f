package protocol

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxID is how many bytes an id can have.
const MaxID = 512

// ValidID reports whether a text that a client sent can be an id.
func ValidID(id string) bool {
	return id != "" && len(id) <= MaxID && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// CheckID returns the failure of a field whose text cannot be an id. A field that is not set
// passes.
func CheckID(field, id string) error {
	if id == "" || ValidID(id) {
		return nil
	}
	return BadRequest("%s is %q, want at most %d bytes of UTF-8 without control characters", field, clip(id), MaxID)
}

// Either returns the value of a field that has several spellings. Spellings that are set to
// different values are a failure.
func Either(field string, spellings ...string) (string, error) {
	out := ""
	for _, v := range spellings {
		v = strings.TrimSpace(v)
		if v != "" && out != "" && v != out {
			return "", BadRequest("%s is set twice, to %q and %q", field, clip(out), clip(v))
		}
		out = cmp.Or(out, v)
	}
	return out, nil
}
