package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/protocol"
)

// checkUserHeader validates a [Config.UserHeader]. An empty one is valid.
func checkUserHeader(name string) error {
	if name == "" {
		return nil
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-')
	}) {
		return errors.New("want the name of a header, such as X-User-Id")
	}
	// These have another meaning, and some hold secrets, which a run must not keep.
	if taken := []string{"Authorization", "Cookie", "Host", "Origin", "Content-Type", "Idempotency-Key", "Last-Event-Id"}; slices.Contains(taken, http.CanonicalHeaderKey(name)) {
		return errors.New("want a header without another meaning, such as X-User-Id")
	}
	return nil
}

// user returns the user of a request: the one of its key, or the one that the proxy names. It is ""
// if neither does.
func (a *auth) user(r *http.Request, key *Key) (string, error) {
	own := ""
	if key != nil {
		own = key.User
	}
	name := a.userHeader
	if name == "" {
		return own, nil
	}
	switch values := r.Header.Values(name); {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return own, nil
	case len(values) > 1:
		return "", protocol.BadRequest("multiple %s headers are not allowed", name)
	case !protocol.ValidID(values[0]):
		return "", protocol.CheckID(name, values[0])
	case own != "" && own != values[0]:
		return "", forbidden("%s is %q, but the key belongs to user %q", name, values[0], own)
	default:
		return values[0], nil
	}
}
