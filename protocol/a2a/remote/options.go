package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/httpguard"
	"github.com/awaken-go/awaken/internal/strict"
)

// Options configures a backend. The zero Options reach public addresses only.
type Options struct {
	// Allow lists addresses that agents may be at although they are not public.
	Allow []netip.Prefix
	// Now returns the time. Nil means time.Now.
	Now func() time.Time
}

// Limits on what a server sends and on how long it may take.
const (
	maxCard      = 256 << 10        // bytes of a card
	maxResponse  = 16 << 20         // bytes of a response that is not a stream
	maxEvent     = 8 << 20          // bytes of an event
	maxStream    = 256 << 20        // bytes of a stream
	maxAnswer    = 4 << 20          // bytes of the text of an answer
	maxShown     = 4 << 20          // bytes of the activities that an exchange shows
	maxArtifacts = 4096             // of a task
	maxID        = 512              // bytes of an id
	cardTimeout  = 10 * time.Second // for a card
	unaryTime    = time.Minute      // for a request that does not stream
	streamIdle   = time.Minute      // of a stream, before the task is looked at
	cancelTime   = 5 * time.Second  // for cancelling a task
)

// guarded returns the HTTP client for agents. It follows no redirects: they would get the credentials.
func guarded(o Options) *http.Client {
	c := httpguard.New(httpguard.Options{Allow: o.Allow, Redirects: -1, MaxBytes: maxStream, Timeout: -1, Headers: -1}) // requests have limits of their own
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c
}

// settings are the options of an endpoint.
type settings struct {
	PollIntervalMS    int64             `json:"poll_interval_ms"`   // between two looks at a task that cannot be followed; 0 means 2000
	HistoryLength     *int              `json:"history_length"`     // of tasks, in messages; nil leaves it to the server
	ReturnImmediately *bool             `json:"return_immediately"` // of messages to a server that does not stream; nil means true
	Streaming         *bool             `json:"streaming"`          // nil means what the card says
	Binding           string            `json:"binding"`            // HTTP+JSON or JSONRPC; "" means the first of the card
	Context           string            `json:"context"`            // thread or parent; "" means thread
	Headers           map[string]string `json:"headers"`            // sent with every request
	CardTimeoutMS     int64             `json:"card_timeout_ms"`    // for the agent card; 0 means 10000
	ServerID          string            `json:"a2a_server_id"`      // the document that the endpoint is from
}

// The bindings of the protocol.
const (
	bindingREST = "HTTP+JSON"
	bindingRPC  = "JSONRPC"
)

// readSettings decodes and checks the options of an endpoint.
func readSettings(options map[string]json.RawMessage) (*settings, error) {
	data, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	s := new(settings)
	if err := strict.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	switch {
	case s.PollIntervalMS < 0 || s.PollIntervalMS > 3_600_000:
		return nil, fmt.Errorf("options.poll_interval_ms is %d, want 1 to 3600000", s.PollIntervalMS)
	case s.CardTimeoutMS < 0 || s.CardTimeoutMS > 30_000:
		return nil, fmt.Errorf("options.card_timeout_ms is %d, want 1 to 30000", s.CardTimeoutMS)
	case s.HistoryLength != nil && *s.HistoryLength < 0:
		return nil, fmt.Errorf("options.history_length is %d, want 0 or more", *s.HistoryLength)
	case !slices.Contains([]string{"", bindingREST, bindingRPC}, s.Binding):
		return nil, fmt.Errorf("options.binding is %q, want %s or %s", s.Binding, bindingREST, bindingRPC)
	case !slices.Contains([]string{"", "thread", "parent"}, s.Context):
		return nil, fmt.Errorf("options.context is %q, want thread or parent", s.Context)
	}
	for name, value := range s.Headers {
		if err := checkHeader(name, value); err != nil {
			return nil, fmt.Errorf("options.headers: %w", err)
		}
	}
	return s, nil
}

// checkHeader reports a header that cannot be sent, or that the client sets itself.
func checkHeader(name, value string) error {
	switch h := http.CanonicalHeaderKey(name); {
	case name == "" || strings.ContainsAny(name, " \t\r\n:\x00"):
		return fmt.Errorf("name is %q, want the name of a header", name)
	case strings.ContainsAny(value, "\r\n\x00"):
		return fmt.Errorf("%s has a line break or a NUL byte in its value", name)
	case slices.Contains([]string{"Host", "Content-Type", "Content-Length", "A2a-Version", "Transfer-Encoding", "Connection"}, h):
		return fmt.Errorf("%s is set by the client", name)
	}
	return nil
}

// readURL checks the root URL of an interface.
func readURL(field, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s is %q, want a URL", field, text)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("%s is %q, want http:// or https://", field, text)
	case u.Host == "":
		return nil, fmt.Errorf("%s is %q, which has no host", field, text)
	case u.User != nil:
		return nil, fmt.Errorf("%s contains credentials; use auth", field)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%s is %q, want no query and no fragment", field, text)
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

// Server is an A2A server: where it is, and what it wants to see.
type Server struct {
	BaseURL string             // root of the interface
	Auth    *awaken.RemoteAuth // nil means none
	Target  string             // the agent, if the server has several
	Headers map[string]string  // sent with every request
	// CardTimeout limits how long the server may take to return its agent card. 0 means 10 seconds.
	CardTimeout time.Duration
}

// newServer returns the server of an endpoint.
func newServer(e *awaken.RemoteEndpoint, s *settings) Server {
	return Server{BaseURL: e.BaseURL, Auth: e.Auth, Target: e.Target, Headers: s.Headers, CardTimeout: time.Duration(s.CardTimeoutMS) * time.Millisecond}
}

var errNoEndpoint = errors.New("endpoint is missing")
