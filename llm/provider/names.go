package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// Names maps the names of tools to names that the provider accepts. A name that has to change
// always changes to the same one.
type Names struct {
	safe func(string) string
	back map[string]string // changed name -> own name
}

// NewNames returns the names of the tools of req. Safe converts a name into one that the provider
// accepts; see [SafeName].
func NewNames(req *llm.Request, safe func(string) string) Names {
	n := Names{safe: safe}
	for i := range req.Tools {
		name := req.Tools[i].Name
		if out := safe(name); out != name {
			if n.back == nil {
				n.back = map[string]string{}
			}
			n.back[out] = name
		}
	}
	return n
}

// Out returns the name to send for a tool.
func (n Names) Out(name string) string { return n.safe(name) }

// In returns the tool's own name for a name that was sent.
func (n Names) In(name string) string {
	if in, ok := n.back[name]; ok {
		return in
	}
	return name
}

// SafeName returns a function for [NewNames] that converts names into ones of letters, digits,
// _ and -, at most that many bytes long. It keeps names that already comply.
func SafeName(most int) func(string) string {
	return func(name string) string { return safe(name, most, "tool") }
}

// SafeID returns a function for [Rules] that converts ids into ones of letters, digits, _ and -,
// at most that many bytes long. It keeps ids that already comply.
func SafeID(most int) func(string) string {
	return func(id string) string { return safe(id, most, "call") }
}

// safe returns s if it complies, or else what is left of it with a hash at the end.
func safe(s string, most int, empty string) string {
	if s != "" && len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	tail := "_" + hex.EncodeToString(sum[:])[:min(8, most/2)]
	head := strings.Map(func(r rune) rune {
		if plain(r) {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		head = empty
	}
	return head[:min(len(head), most-len(tail))] + tail
}

func plain(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
