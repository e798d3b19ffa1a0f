package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Handler returns a handler for [Config.RedirectURL], for programs that do not use package server. Signed returns the owner that a request
// acts for; a response to another user's authorization is refused. Resume is called with every completed authorization and resumes its
// waiters; if it fails, [Broker.Sweep] retries.
func (b *Broker) Handler(signed func(r *http.Request) (Owner, error), resume func(ctx context.Context, c *Completed) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := b.Complete(r.Context(), r.URL.Query(), func(c *Completed) error {
			o, err := signed(r)
			if err != nil || c.Grant == PerUser && (o.Tenant != c.Owner.Tenant || o.User != c.Owner.User) {
				return errOther
			}
			return nil
		})
		if c != nil {
			ctx := context.WithoutCancel(r.Context())
			rerr := resume(ctx, c)
			if rerr == nil {
				rerr = b.Settle(ctx, c.ID)
			}
			if rerr != nil {
				b.cfg.Logger.Error("cannot resume the calls that waited for an authorization", "mcp_server", c.Server, "error", rerr)
			}
		}
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		switch {
		case errors.Is(err, errOther):
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "Sign in as the user who began this authorization, and load this page again.\n")
		case err != nil:
			b.cfg.Logger.Warn("an authorization failed", "error", err)
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, "The authorization failed. Begin it again.\n")
		case c.Denied != "":
			_, _ = io.WriteString(w, "The authorization was refused. You can close this page.\n")
		default:
			_, _ = io.WriteString(w, "The server is authorized. You can close this page.\n")
		}
	})
}

var errOther = errors.New("the authorization was begun by another user")
