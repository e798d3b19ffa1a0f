package mcp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// signer signs tokens that clients hand back. All replicas have the same key.
type signer struct{ key []byte }

// maxToken is the maximum length of a token.
const maxToken = 2048

func (s *signer) sum(kind, payload string) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(kind + "\n" + payload))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}

// seal returns v as a token of a kind.
func (s *signer) seal(kind string, v any) string {
	data, _ := json.Marshal(v) // tokens are structs of plain values
	payload := base64.RawURLEncoding.EncodeToString(data)
	return payload + "." + s.sum(kind, payload)
}

// open decodes a token of a kind. It reports whether seal has made it.
func (s *signer) open(kind, token string, v any) bool {
	payload, sum, ok := strings.Cut(token, ".")
	if !ok || len(token) > maxToken || !hmac.Equal([]byte(sum), []byte(s.sum(kind, payload))) {
		return false
	}
	data, err := base64.RawURLEncoding.DecodeString(payload)
	return err == nil && json.Unmarshal(data, v) == nil
}

// sessionAge is how long a session of the older era lasts. The server keeps nothing of one but the level of its log, for
// the same time; it cannot know when a client has used it last without writing that down with each request.
const sessionAge = 30 * 24 * time.Hour

// session is what a client of the older era said at initialize. Its id is the session, sealed.
type session struct {
	Nonce   string `json:"n"`
	Version string `json:"v"`
	Elicits bool   `json:"e,omitempty"`
	Since   int64  `json:"t"` // Unix
}

func newSession(version string, elicits bool) session {
	return session{Nonce: rand.Text(), Version: version, Elicits: elicits, Since: time.Now().Unix()}
}

// expired reports whether the session is over.
func (s *session) expired() bool { return time.Since(time.Unix(s.Since, 0)) > sessionAge }

// runID returns the id of the run of a request in a session.
func (s *session) runID(id json.RawMessage) string {
	sum := sha256.Sum256([]byte("mcp run\n" + s.Nonce + "\n" + string(id)))
	return "mcp-" + hex.EncodeToString(sum[:16])
}
