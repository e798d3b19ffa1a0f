// Package claimtest finds claims about whether a call took effect in texts for models, people and client protocols.
// A text about a call in doubt makes none.
package claimtest

import (
	"regexp"
	"slices"
	"strings"
)

// open are wordings that leave the outcome open, or are about another attempt. They are no claims.
var open = regexp.MustCompile(`(?i)whether (it|they|the call) (took effect|has taken effect) is not known|` +
	`may have (taken effect|been made|been done|arrived)|` +
	`not made again|was not (repeated|continued)|has made (a call|\d+ calls) of which`)

// claims are wordings that say what became of a call.
var claims = regexp.MustCompile(`(?i)\b(not|never|n't) (been )?(made|called|run|ran|executed|performed|sent|begun|started|done)\b|` +
	`\bdid ?n[o']t (run|execute|happen|begin|start|take effect)|\bhad no effect|\bno effect\b|` +
	`\b(was|were|has been|had been|is) (made|called|executed|performed|run|done|applied|successful)\b|` +
	`\b(took|has taken|had taken) effect\b|\bdenied\b|"output-denied"|` +
	`\btool \S+ completed\b`)

// Find returns the claims in a text.
func Find(text string) []string { return claims.FindAllString(open.ReplaceAllString(text, ""), -1) }

// verdicts are the words with which fields of protocols and records say that a call took effect, that it did not, or that it just
// failed.
var verdicts = []string{"completed", "succeeded", "success", "output-available", "output-denied", "denied", "rejected", "made", "not_made", "tool_error"}

// Verdicts returns the fields in a JSON value that claim to know whether a call took effect, as name=value. It reads the objects
// that name the call by its id, alone or behind a slash.
func Verdicts(v any, call string) (out []string) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			out = append(out, Verdicts(item, call)...)
		}
	case map[string]any:
		named := false
		for _, field := range v {
			id, ok := field.(string)
			named = named || ok && (id == call || strings.HasSuffix(id, "/"+call))
			out = append(out, Verdicts(field, call)...)
		}
		for _, name := range []string{"status", "state", "outcome", "error_type"} {
			if word, ok := v[name].(string); named && ok && slices.Contains(verdicts, word) {
				out = append(out, name+"="+word)
			}
		}
	}
	return out
}
