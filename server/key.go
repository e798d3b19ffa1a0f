package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// Kind names the permissions of a key.
type Kind string

const (
	ReadKey  Kind = "read"  // may read threads, runs and events
	RunKey   Kind = "run"   // may also run agents, decide and cancel
	AdminKey Kind = "admin" // may do everything
)

// kinds are all kinds of keys, those with the fewest permissions first.
var kinds = []Kind{ReadKey, RunKey, AdminKey}

// Permissions returns what keys of the kind may do, if they belong to no tenant.
func (k Kind) Permissions() permit.Set {
	switch k {
	case ReadKey:
		return permit.Reader
	case RunKey:
		return permit.Runner
	case AdminKey:
		return permit.Admin
	}
	return 0
}

// kindWith returns the kind of keys with the fewest permissions that has p, or "" if none has.
func kindWith(p permit.Permission) Kind {
	for _, k := range kinds {
		if k.Permissions().Has(p) {
			return k
		}
	}
	return ""
}

// Key is an API key. The server stores a hash of its secret, never the secret.
type Key struct {
	ID        string `json:"id"`
	Kind      Kind   `json:"kind"`
	Tenant    string `json:"tenant"`
	User      string `json:"user,omitempty"`     // the key's owner; runs started with it are for this user
	Operator  bool   `json:"operator,omitempty"` // acts for all users of the tenant; admin keys do too
	Label     string `json:"label,omitempty"`
	CreatedAt int64  `json:"created_at"`      // Unix ms
	Fixed     bool   `json:"fixed,omitempty"` // from the configuration; cannot be revoked
}

// Permissions returns the permissions of the key. A nil key stands for a caller without a key, on an open server.
func (key *Key) Permissions() permit.Set {
	if key == nil {
		return permit.Runner
	}
	may := key.Kind.Permissions()
	if key.Operator {
		may |= permit.Of(permit.ActForUsers)
	}
	if key.Tenant != "" {
		may &^= permit.Server
	}
	return may
}

// Check returns an error if a field of the key is not valid.
func (key *Key) Check() error {
	if !slices.Contains(kinds, key.Kind) {
		return fmt.Errorf("%w: kind is %q, want admin, run or read", awaken.ErrInvalid, key.Kind)
	}
	if len(key.Label) > 200 || len(key.Tenant) > 200 {
		return fmt.Errorf("%w: label has %d bytes and tenant %d, want at most 200 each", awaken.ErrInvalid, len(key.Label), len(key.Tenant))
	}
	if err := protocol.CheckID("user", key.User); err != nil {
		return fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	if strings.HasPrefix(key.Tenant, "awaken.") { // reserved for the server
		return fmt.Errorf("%w: tenant is %q, but names that begin with awaken. are reserved", awaken.ErrInvalid, key.Tenant)
	}
	return nil
}

// Keys knows which key a credential is for. Package access has an implementation.
type Keys interface {
	// Find returns the key that a credential is for, or nil.
	Find(ctx context.Context, c Credential) (*Key, error)
	// Recalls reports whether a credential is known to have been right, without asking a store.
	Recalls(c Credential) bool
	// Watch calls end if the key or the session of a credential ends before stop is called.
	Watch(c Credential, end func()) (stop func())
	// CheckStrength fails if a key is easy to guess.
	CheckStrength() error
}

// Credential authenticates a request: a key's secret or a session's.
type Credential struct {
	Secret  string // "" if the request has none
	Session bool
}

// ends reports whether the credential, which is for a key, can end before the process does.
func (c Credential) ends(key *Key) bool { return c.Session || !key.Fixed }

// ErrSession is the failure of a request whose session has ended, or never began.
var ErrSession = Unauthorized("the session has ended; sign in again")
