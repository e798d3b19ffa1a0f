package mcp

import (
	"time"

	"github.com/awaken-go/awaken"
)

// MaxLevels is how many levels are kept.
const MaxLevels = maxLevels

// SessionSince returns the id of a session that began at a time.
func SessionSince(key awaken.Secret, at time.Time) string {
	s := newSession(legacy, true)
	s.Since = at.Unix()
	return (&signer{[]byte(key.Expose())}).seal("session", s)
}
