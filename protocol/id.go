package protocol

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxID is the maximum length of an id, in bytes.
const MaxID = 512

// ValidID reports whether a text from a client can be an id. Routes have ids in their paths, where . and
// .. mean something else.
func ValidID(id string) bool {
	return id != "" && id != "." && id != ".." && len(id) <= MaxID && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// CheckID returns a failure if the value of a field cannot be an id. An empty value passes.
func CheckID(field, id string) error {
	if id == "" || ValidID(id) {
		return nil
	}
	if id == "." || id == ".." {
		return BadRequest("%s is %q, which no path can name", field, id)
	}
	return BadRequest("%s is %q, want at most %d bytes of UTF-8 without control characters", field, clip(id), MaxID)
}

// Either returns the value of a field that has several spellings, or a failure if they are set to
// different values.
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
