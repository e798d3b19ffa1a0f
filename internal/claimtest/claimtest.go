// Package claimtest finds claims about whether a call took effect in texts for models, people and client protocols.
// A text about a call in doubt makes none.
package claimtest

import "regexp"

// open are wordings that leave the outcome open, or are about another attempt. They are no claims.
var open = regexp.MustCompile(`(?i)whether (it|they|the call) (took effect|has taken effect) is not known|` +
	`may have (taken effect|been made|been done|arrived)|` +
	`not made again|was not (repeated|continued)|has made (a call|\d+ calls) of which`)

// claims are wordings that say what became of a call.
var claims = regexp.MustCompile(`(?i)\b(not|never|n't) (been )?(made|called|run|ran|executed|performed|sent|begun|started|done)\b|` +
	`\bdid ?n[o']t (run|execute|happen|begin|start|take effect)|\bhad no effect|\bno effect\b|` +
	`\b(was|were|has been|had been|is) (made|called|executed|performed|run|done|applied|successful)\b|` +
	`\b(took|has taken|had taken) effect\b|\bdenied\b|"output-denied"`)

// Find returns the claims in a text.
func Find(text string) []string { return claims.FindAllString(open.ReplaceAllString(text, ""), -1) }
