package oauth

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport adds the token of an owner to requests. If the server refuses the token, the request is sent once more with a renewed one; if
// there is none, it fails with [*Needed]. A request that fails with Needed has had no effect.
type Transport struct {
	Broker *Broker
	Server *Server
	Owner  Owner
	Base   http.RoundTripper

	mu     sync.Mutex
	needed *Needed
}

// Needed returns the error of the last unauthorized request, or nil if a later request succeeded.
func (t *Transport) Needed() *Needed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.needed
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.send(r)
	t.mu.Lock()
	defer t.mu.Unlock()
	if needed, ok := err.(*Needed); ok {
		t.needed = needed
	} else if err == nil && resp.StatusCode < 400 { // a client whose first request is refused may try another, which the server does not know
		t.needed = nil
	}
	return resp, err
}

func (t *Transport) send(r *http.Request) (*http.Response, error) {
	token, err := t.Broker.Token(r.Context(), t.Server, t.Owner) // for each request: it may be revoked at any moment
	if err != nil {
		return nil, err
	}
	for again := false; ; again = true {
		own := r.Clone(r.Context())
		if again && r.Body != nil {
			if r.GetBody == nil {
				return nil, fmt.Errorf("MCP server %q refuses the token, and the request cannot be sent again", t.Server.ID)
			}
			if own.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
		own.Header.Set("Authorization", "Bearer "+token.Access.Expose())
		resp, err := t.Base.RoundTrip(own)
		if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			return resp, err
		}
		d := parseDemand(resp.Header.Values("WWW-Authenticate"))
		if resp.StatusCode == http.StatusForbidden && d.reason != "insufficient_scope" {
			return resp, nil
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // so that the connection can be used again
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusForbidden:
			return nil, &Needed{Server: t.Server.ID, Scopes: d.scopes, Refused: true, Reason: "the server needs the scopes " + quoted(d.scopes)}
		case again:
			return nil, &Needed{Server: t.Server.ID, Scopes: d.scopes, Refused: true, Reason: "the server does not accept the token that was issued for it"}
		}
		if token, err = t.Broker.Renew(r.Context(), t.Server, t.Owner, token); err != nil {
			return nil, err
		}
	}
}
