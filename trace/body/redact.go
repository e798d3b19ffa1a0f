package body

import (
	"bytes"
	"regexp"
)

// removed takes the place of a credential.
const removed = "REMOVED"

// secretForms are the forms of well-known credentials. Each has a literal that a text without it need not be searched for.
var secretForms = []struct {
	literal string
	form    *regexp.Regexp
}{
	{"sk-", regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`)},
	{"ak_", regexp.MustCompile(`\bak_[a-z]+_[A-Za-z0-9_-]{16,}`)}, // of this server
	{"ghp_", regexp.MustCompile(`\bghp_[A-Za-z0-9]{20,}`)},
	{"gho_", regexp.MustCompile(`\bgho_[A-Za-z0-9]{20,}`)},
	{"ghs_", regexp.MustCompile(`\bghs_[A-Za-z0-9]{20,}`)},
	{"github_pat_", regexp.MustCompile(`\bgithub_pat_[A-Za-z0-9_]{20,}`)},
	{"xox", regexp.MustCompile(`\bxox[abeoprs]-[A-Za-z0-9-]{10,}`)},
	{"AKIA", regexp.MustCompile(`\bAKIA[0-9A-Z]{16}\b`)},
	{"AIza", regexp.MustCompile(`\bAIza[0-9A-Za-z_-]{30,}`)},
	{"eyJ", regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},
	{"earer ", regexp.MustCompile(`\b[Bb]earer [A-Za-z0-9._~+/-]{16,}=*`)},
	{"PRIVATE KEY-----", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-"]*-----END [A-Z ]*PRIVATE KEY-----`)},
}

// secretNames are parts of the names of fields that hold credentials, in lower case.
var secretNames = []string{"password", "passwd", "passphrase", "secret", "apikey", "api_key", "api-key", "access_token", "accesstoken", "refresh_token", "refreshtoken",
	"auth_token", "authtoken", "authorization", "private_key", "privatekey", "credential"}

const namesPattern = `(?i:password|passwd|passphrase|secret|api[_-]?key|access_?token|refresh_?token|auth_?token|authorization|private_?key|credential)`

var (
	secretField = regexp.MustCompile(`"([^"\\]*` + namesPattern + `[^"\\]*)"\s*:\s*"(?:[^"\\]|\\.)+"`)
	// quotedField is a field of JSON within a text of JSON.
	quotedField = regexp.MustCompile(`\\"([^"\\]*` + namesPattern + `[^"\\]*)\\"\s*:\s*\\"[^"\\]+(?:\\\\.[^"\\]*)*\\"`)
)

// Redact returns JSON without what looks like a credential: well-known forms of keys and tokens, and texts of fields whose name
// says so. The form of the JSON stays. It returns data itself if there is nothing to replace.
func Redact(data []byte) []byte {
	for _, s := range secretForms {
		if bytes.Contains(data, []byte(s.literal)) {
			data = s.form.ReplaceAllLiteral(data, []byte(removed))
		}
	}
	if !mentions(data) {
		return data
	}
	data = secretField.ReplaceAll(data, []byte(`"$1":"`+removed+`"`))
	return quotedField.ReplaceAll(data, []byte(`\"$1\":\"`+removed+`\"`))
}

// mentions reports whether a name of a field that holds a credential may be in data.
func mentions(data []byte) bool {
	low := bytes.ToLower(data)
	for _, n := range secretNames {
		if bytes.Contains(low, []byte(n)) {
			return true
		}
	}
	return false
}
