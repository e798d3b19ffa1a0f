package mcp

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/check"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// Server configures an MCP server: a program to start, or a URL.
type Server struct {
	// ID identifies the server: 1 to 64 letters, digits, - and _, without __. Its tools are mcp__<ID>__<tool>.
	ID string

	// Command is the program to start, without a shell.
	Command string
	Args    []string
	// Dir is the program's working folder. If "", the connection creates an empty one and removes it when it is closed.
	Dir string
	// Env holds environment variables of the program. Of the variables of this process, the program gets only those listed in Inherit; nil
	// means DefaultInherit.
	Env     map[string]awaken.Secret
	Inherit []string

	// URL is the URL of a server that is not a program.
	URL     string
	SSE     bool                     // the server uses the HTTP+SSE transport of 2024-11-05
	Headers map[string]awaken.Secret // of every request
	// OAuth configures the authorization of the server. If nil, the server needs none, or Headers contains it.
	OAuth *oauth.Client

	Timeout     time.Duration // of a call; 0 means 30 s
	OpenTimeout time.Duration // for connecting and listing the tools; 0 means 30 s
	MaxResult   int           // maximum bytes of a result's text, which is truncated; 0 means 256 KiB
	MaxMessage  int           // maximum bytes of a message; a longer one closes the connection; 0 means 8 MiB
	// Refresh is how often to list the tools again, in addition to the server's notifications of changes. 0 means never.
	Refresh time.Duration
	Restart Restart
	// TrustChanges accepts changed and added tools. By default they are held until [Connection.Approve].
	TrustChanges bool
	// TrustHints uses the server's hints (readOnlyHint, idempotentHint) as the effects of its tools. By default hints are only displayed,
	// and every tool is effectful.
	TrustHints bool
	// Effects overrides the effects of tools, by the server's name of a tool or by its ID. It takes precedence over hints.
	Effects map[string]awaken.EffectClass
	// InDoubt is the policy for effectful calls in doubt: the process or the connection was lost during the call.
	InDoubt awaken.DoubtPolicy
	// Roots are the URLs (file:///…) announced to the server as its workspace.
	Roots []string
	// Unattended declines the server's questions to users, because there is no person to answer them.
	Unattended bool
	// Sampling, if set, lets an agent answer sampling requests. Otherwise they are refused.
	Sampling *Sampling
}

// DefaultInherit lists the environment variables that programs get from this process by default.
var DefaultInherit = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"}

// Restart is the policy for reconnecting. The zero Restart never gives up. A tool call triggers the next attempt immediately if the last
// one was at least Delay ago.
type Restart struct {
	Never       bool          // do not reconnect
	MaxAttempts int           // in a row; 0 or less means no limit
	Delay       time.Duration // before the first attempt; 0 means 1 s
	Factor      float64       // by which the delay grows with each attempt; 0 means 2
	MaxDelay    time.Duration // 0 means 30 s
}

// jitter is the greatest share of a delay that is randomly subtracted, so that clients that lost a server at the same moment do not all
// reconnect at the same moment.
const jitter = 0.2

// after returns how long to wait after failures in a row, and whether to try again.
func (r Restart) after(failures int) (time.Duration, bool) {
	if r.Never || r.MaxAttempts > 0 && failures > r.MaxAttempts {
		return 0, false
	}
	d := min(float64(r.Delay)*math.Pow(r.Factor, float64(failures-1)), float64(r.MaxDelay))
	return time.Duration(d * (1 - jitter*rand.Float64())), true
}

// stable returns how long a connection must last for the failures before it to be forgotten. A program that crashes whenever
// it is used is started ever more slowly; a server with an address that has answered is there again.
func (s *Server) stable() time.Duration {
	if s.Command != "" {
		return 30 * time.Second
	}
	return 5 * time.Second
}

var serverID = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$`)

// Validate reports all problems, joined.
func (s *Server) Validate() error {
	var p check.Problems
	p.When(!serverID.MatchString(s.ID) || strings.Contains(s.ID, "__"), "ID is %q, want 1 to 64 letters, digits, - and _, without __", s.ID)
	switch {
	case s.Command == "" && s.URL == "":
		p.Add("Command and URL are empty, want one of them")
	case s.Command != "" && s.URL != "":
		p.Add("Command is %q and URL is %q, want one of them", s.Command, s.URL)
	case s.URL != "":
		u, err := url.Parse(s.URL)
		p.When(err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "", "URL is %q, want one that begins with https:// or http://", s.URL)
		if s.OAuth != nil {
			p.Include(s.OAuth.Validate())
			for name := range s.Headers {
				p.When(strings.EqualFold(name, "Authorization"), "OAuth is set, but Headers has Authorization, too")
			}
		}
		p.When(len(s.Args) > 0 || s.Dir != "" || len(s.Env) > 0, "Args, Dir or Env are set, but a server with a URL has no program")
	default:
		p.When(s.SSE || len(s.Headers) > 0 || s.OAuth != nil, "SSE, Headers or OAuth are set, but a program has no address")
		for name := range s.Env {
			p.When(name == "" || strings.ContainsAny(name, "=\x00"), "Env has the variable name %q, want one without =", name)
		}
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Timeout", s.Timeout}, {"OpenTimeout", s.OpenTimeout}, {"Refresh", s.Refresh}, {"Restart.Delay", s.Restart.Delay}, {"Restart.MaxDelay", s.Restart.MaxDelay}} {
		p.When(d.value < 0, "%s is %s, want 0 or more", d.name, d.value)
	}
	p.When(s.InDoubt != awaken.DoubtTell && s.InDoubt != awaken.DoubtSuspend, "InDoubt is %q, want suspend or empty", s.InDoubt)
	for _, name := range slices.Sorted(maps.Keys(s.Effects)) {
		switch e := s.Effects[name]; e {
		case awaken.Effectful, awaken.Idempotent, awaken.ReadOnly:
		default:
			p.Add("Effects[%q] is %q, want idempotent, read_only or empty", name, e)
		}
	}
	p.When(s.MaxResult < 0, "MaxResult is %d, want 0 or more", s.MaxResult)
	p.When(s.MaxMessage < 0, "MaxMessage is %d, want 0 or more", s.MaxMessage)
	p.When(s.Restart.Factor != 0 && s.Restart.Factor < 1, "Restart.Factor is %g, want 1 or more", s.Restart.Factor)
	for _, r := range s.Roots {
		p.When(!strings.HasPrefix(r, "file:///"), "Roots has %q, want an address such as file:///srv/docs", r)
	}
	if s.Sampling != nil {
		p.NotBlank("Sampling.Agent", s.Sampling.Agent)
		p.NotNegative("Sampling.MaxPerCall", s.Sampling.MaxPerCall)
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("MCP server %q: %w", s.ID, err)
	}
	return nil
}

// withDefaults returns s with the defaults of all fields that have one.
func (s Server) withDefaults() Server {
	s.Timeout = cmp.Or(s.Timeout, 30*time.Second)
	s.OpenTimeout = cmp.Or(s.OpenTimeout, 30*time.Second)
	s.MaxResult = cmp.Or(s.MaxResult, 256<<10)
	s.MaxMessage = cmp.Or(s.MaxMessage, 8<<20)
	s.Restart.Delay = cmp.Or(s.Restart.Delay, time.Second)
	s.Restart.Factor = cmp.Or(s.Restart.Factor, 2)
	s.Restart.MaxDelay = cmp.Or(s.Restart.MaxDelay, max(30*time.Second, s.Restart.Delay))
	if s.Inherit == nil {
		s.Inherit = DefaultInherit
	}
	if s.Sampling != nil {
		s.Sampling = s.Sampling.withDefaults()
	}
	return s
}

// transport names how the server is reached.
func (s *Server) transport() string {
	if s.Command != "" {
		return "stdio"
	}
	return "http"
}

// egress returns where calls carry data to: to the server, which is one host, or a program that may reach any.
func (s *Server) egress() awaken.Egress { return awaken.EgressTo(s.URL) }

// address identifies the server behind the ID: a document that names another program or address
// means another server, whose tools were never approved.
func (s *Server) address() string {
	return strings.Join(slices.Concat([]string{s.URL, s.Command}, s.Args), "\x00")
}

// secrets returns what texts must not show, the longest first: the values of the server's variables and headers, and
// the user and the query of its address, which hold keys.
func (s *Server) secrets() []string {
	var secrets []string
	for _, values := range []map[string]awaken.Secret{s.Env, s.Headers} {
		for _, v := range values {
			secrets = append(secrets, v.Expose())
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		secrets = append(secrets, u.RawQuery, u.User.String())
	}
	secrets = slices.DeleteFunc(secrets, func(v string) bool { return len(v) <= 3 })
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	return secrets
}

// hide removes the server's secrets from a text.
func (s *Server) hide(text string) string { return without(s.secrets(), text) }

// without removes secrets from a text.
func without(secrets []string, text string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}
