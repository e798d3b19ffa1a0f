package protocol

import (
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
