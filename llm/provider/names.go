package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// Names are the names under which a model knows its tools. A name that the provider does not
// accept gets another, always the same one.
type Names struct {
	safe func(string) string
	back map[string]string // of those that are changed
}

// NewNames returns the names of the tools of req. Safe makes a name acceptable; see [SafeName].
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

// Out is the name to send.
func (n Names) Out(name string) string { return n.safe(name) }

// In is the name of the tool that the provider calls so.
func (n Names) In(name string) string {
	if in, ok := n.back[name]; ok {
		return in
	}
	return name
}

// SafeName returns a function for [NewNames] that keeps names of letters, digits, _ and - with
// most bytes at most, and makes others into such.
func SafeName(most int) func(string) string {
	return func(name string) string { return safe(name, most, "tool") }
}

// SafeID returns a function for [Rules] that keeps ids of letters, digits, _ and - with most
// bytes at most, and makes others into such.
func SafeID(most int) func(string) string {
	return func(id string) string { return safe(id, most, "call") }
}

// safe returns s, or what is left of it with a hash at its end.
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
