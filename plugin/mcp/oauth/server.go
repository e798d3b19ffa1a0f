package oauth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

// Grant is the kind of authorization that a server is used with.
type Grant string

const (
	// PerUser uses the authorization of the run's user. Runs without a user share one per tenant.
	PerUser Grant = "user"
	// Shared uses one authorization, granted by an administrator, for all runs.
	Shared Grant = "server"
	// ClientCredentials uses the client's own rights, without a person.
	ClientCredentials Grant = "client_credentials"
)

// Client configures the authorization of a server. The zero Client asks each user for authorization and registers itself, if the
// authorization server supports that.
type Client struct {
	Grant Grant // "" means PerUser
	// ID and Secret are the client's credentials at the authorization server. Without an ID, the program uses its client ID metadata
	// document or registers itself, whichever the authorization server supports.
	ID     string
	Secret awaken.Secret
	// Scopes are the scopes to request; default: those that the server says it needs.
	Scopes []string
	// Issuer is the authorization server to use, which must be one that the MCP server names. "" means the first one it names or, with a
	// Secret, the one that was first when the secret was first used.
	Issuer string
}

// Validate reports all problems, joined.
func (c *Client) Validate() error {
	var p check.Problems
	switch c.Grant {
	case "", PerUser, Shared:
	case ClientCredentials:
		p.When(c.ID == "" || c.Secret.IsZero(), "the grant is client_credentials, but the client ID or the client secret is empty")
	default:
		p.Add("the grant is %q, want user, server or client_credentials", c.Grant)
	}
	p.When(c.ID == "" && !c.Secret.IsZero(), "there is a client secret, but no client ID")
	for _, s := range c.Scopes {
		p.When(s == "" || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }), "the scopes have %q, want a word without spaces and quotes", s)
	}
	if c.Issuer != "" {
		u, err := url.Parse(c.Issuer)
		p.When(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "", "the issuer is %q, want a URL that begins with https://", c.Issuer)
	}
	return p.Err()
}

// Server is an MCP server that requires authorization.
type Server struct {
	ID  string // identifies the server within the program
	URL string // the resource that tokens are for
	Client
}

// grant returns the kind of authorization.
func (s *Server) grant() Grant {
	if s.Grant == "" {
		return PerUser
	}
	return s.Grant
}

// Needed is the error of an unauthorized request: its owner must authorize the server first.
type Needed struct {
	Server  string
	Scopes  []string // demanded by the server in addition to those requested before
	Reason  string   // why there is no usable authorization
	Refused bool     // there is one, but the server refused it
}

func (e *Needed) Error() string {
	return fmt.Sprintf("MCP server %q needs to be authorized: %s", e.Server, e.Reason)
}

// union returns the scopes of both lists, each once, in order.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
