package access

import (
	"fmt"
	"strings"
)

// minSecret is how long a chosen secret must be if other machines can reach the server.
const minSecret = 16

// commonWords are parts of secrets that a guess tries first.
var commonWords = []string{"password", "passwort", "passw0rd", "changeme", "change", "choose", "secret", "admin", "token", "awaken", "bearer", "default", "example", "qwerty", "letmein",
	"welcome", "test", "long", "your", "key", "one", "me", "my"}

// weakness returns why a secret is easy to guess, or "". It counts the characters that do not follow
// from what is before them: repetitions, sequences such as 1234 and common words do not count.
func weakness(secret string) string {
	if len(secret) < minSecret {
		return fmt.Sprintf("it has %d characters, want %d or more", len(secret), minSecret)
	}
	s := strings.ToLower(secret)
	for _, w := range commonWords {
		s = strings.ReplaceAll(s, w, "\x00")
	}
	count, distinct := 0, map[byte]bool{}
	for i := range len(s) {
		distinct[s[i]] = true
		switch {
		case s[i] == 0 || s[i] == '-' || s[i] == '_':
		case i > 0 && (s[i] == s[i-1] || s[i] == s[i-1]+1 || s[i]+1 == s[i-1]):
		case i > 2 && strings.Contains(s[:i], s[i-2:i+1]):
		default:
			count++
		}
	}
	if count < 10 || len(distinct) < 6 {
		return "it consists of repetitions, sequences or common words"
	}
	return ""
}
