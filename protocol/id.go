package protocol

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxID is how many bytes an id can have.
const maxID = 512

// ValidID reports whether a text that a client sent can be an id.
func ValidID(id string) bool {
	return id != "" && len(id) <= maxID && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}
