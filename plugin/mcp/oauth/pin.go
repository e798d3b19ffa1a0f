package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// issuers chooses authorization servers, and pins the one that a client secret is for.
type issuers struct{ *Broker }

// choose returns which of the authorization servers that a server names is used: the configured one or, without, the first.
// If the client has a secret, the first is pinned: a server that names another one later does not get the secret sent there.
func (b issuers) choose(ctx context.Context, s *Server, named []string) (string, error) {
	want := s.Issuer
	if want == "" && !s.Secret.IsZero() {
		var err error
		if want, err = b.pinned(ctx, s, named[0]); err != nil {
			return "", err
		}
	}
	if want == "" {
		return named[0], nil
	}
	if !slices.ContainsFunc(named, func(v string) bool { return sameIssuer(v, want) }) {
		return "", fmt.Errorf("the server names the authorization servers %s, want %s among them", quoted(named), short(want))
	}
	return want, nil
}

// pinned returns the authorization server that the secret of a client was first used with, which is first if it never was.
func (b issuers) pinned(ctx context.Context, s *Server, first string) (string, error) {
	sum := sha256.Sum256([]byte(s.ID + "\x00" + s.URL + "\x00" + s.Client.ID))
	p := place{values: b.cfg.Shared, namespace: "mcp.issuers", key: hex.EncodeToString(sum[:16])}
	p.name = p.namespace + "\x00" + p.key
	for {
		var pin struct {
			Issuer string `json:"issuer"`
		}
		old, found, err := b.read(ctx, p, &pin)
		if err != nil || found {
			return pin.Issuer, err
		}
		pin.Issuer = first
		if _, ok, err := b.write(ctx, p, old, &pin); err != nil {
			return "", err
		} else if ok {
			b.cfg.Logger.Info("pinned the authorization server of a client secret", "mcp_server", s.ID, "issuer", short(first))
			return first, nil
		} // another process has pinned one
	}
}
