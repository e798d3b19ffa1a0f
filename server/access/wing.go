// Package access controls who may use a server: its keys, the sessions of browsers that sign in with one, and the tenants that have
// keys. [Keys] holds the keys, and is how the server authenticates requests. What the callers of a server may do is the table of
// package permit below this one.
package access

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// Config configures a Wing. The keys are [server.Config.Keys], which must be a [*Keys]. Without keys, their routes and the one of
// tenants are not registered.
type Config struct {
	// SessionTime is how long a browser that signed in has until it must renew its session; default 1 hour. SessionMax is how long it
	// has, however often it renews; default 12 hours. A negative one means no limit.
	SessionTime, SessionMax time.Duration
}

// Wing is the access to a server.
type Wing struct{ cfg Config }

// New returns a wing.
func New(cfg Config) *Wing {
	cfg.SessionTime, cfg.SessionMax = cmp.Or(cfg.SessionTime, time.Hour), cmp.Or(cfg.SessionMax, 12*time.Hour)
	return &Wing{cfg}
}

// Mount returns the routes of the wing.
func (w *Wing) Mount(k *server.Kernel) ([]protocol.Route, error) {
	keys, ok := k.Keys.(*Keys)
	if !ok && k.Keys != nil {
		return nil, fmt.Errorf("Config.Keys is a %T, want an *access.Keys", k.Keys)
	}
	all := newSignIns(&w.cfg, keys, k).routes()
	if keys == nil {
		return all, nil
	}
	return slices.Concat(all, (&tenants{keys}).routes(), (&keyring{keys: keys, mailbox: k.Mailbox, control: k.Control}).routes()), nil
}
