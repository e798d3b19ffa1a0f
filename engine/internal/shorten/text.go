package shorten

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MiddleOut removes the middle of a text so that at most size bytes are left.
func MiddleOut(s string, size int) string {
	if len(s) <= size {
		return s
	}
	note := fmt.Sprintf("\n[… about %d tokens left out …]\n", (len(s)-size)/4+8)
	keep := size - len(note)
	if keep <= 0 {
		return strings.TrimSpace(Prefix(note, max(0, size)))
	}
	tail := keep / 3
	return Prefix(s, keep-tail) + note + suffix(s, tail)
}

// Prefix returns the first n bytes of s, or fewer so as not to split a rune.
func Prefix(s string, n int) string {
	if n >= len(s) {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// suffix returns the last n bytes of s, or fewer so as not to split a rune.
func suffix(s string, n int) string {
	at := max(0, len(s)-n)
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}
