package oauth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
)

// Grant says whose authorization a server is used with.
type Grant string

const (
	// PerUser uses the authorization of the user that a run acts for. Runs without a user share one, within
	// their tenant.
	PerUser Grant = "user"
	// Shared uses one authorization, which an administrator gives, for all runs.
	Shared Grant = "server"
	// ClientCredentials uses the client's own rights. No person authorizes anything.
	ClientCredentials Grant = "client_credentials"
)

// Client says how to authorize a server. The zero Client authorizes each user, and registers itself where
// the authorization server offers that.
type Client struct {
	Grant Grant // "" means PerUser
	// ID and Secret are what the authorization server knows the program by. Without an ID, the program uses
	// its client ID metadata document or registers itself, whichever the authorization server supports.
	ID     string
	Secret awaken.Secret
	// Scopes are what to ask for. Without any, it is what the server says that it needs.
	Scopes []string
	// Issuer is the authorization server to use. "" is the first that the server names, and with a Secret the one that was
	// first when the secret was first used; another one must be among those that it names.
	Issuer string
}

// Validate reports every mistake at once.
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

// Server is an MCP server that has to be authorized.
type Server struct {
	ID  string // names the server to the program
	URL string // is the resource that tokens are for
	Client
}

// grant returns the kind of authorization.
func (s *Server) grant() Grant {
	if s.Grant == "" {
		return PerUser
	}
	return s.Grant
}

// Needed is the error of a request that is not authorized: its owner has to authorize the server first.
type Needed struct {
	Server  string
	Scopes  []string // that the server asks for beside those it was asked for before
	Reason  string   // why there is no authorization that can be used
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
