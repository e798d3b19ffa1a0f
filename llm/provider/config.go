package provider

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/httpguard"
)

const (
	// DefaultTimeout is how long a provider may take to begin its answer.
	DefaultTimeout = 5 * time.Minute
	// DefaultIdleTimeout is how long an answer may be silent.
	DefaultIdleTimeout = time.Minute
)

// Config says how a provider is reached. The zero Config takes the key from the adapter's
// environment variable and everything else from the adapter.
type Config struct {
	APIKey  string            // wins over KeyFile, which wins over the environment
	KeyFile string            // a file with nothing but the key; it is read once
	BaseURL string            // "" is the provider's own
	Headers map[string]string // added to every request; they win over the adapter's

	Timeout     time.Duration // until the answer begins; 0 is DefaultTimeout
	IdleTimeout time.Duration // how long the answer may be silent; 0 is DefaultIdleTimeout. A request's own wins

	// HTTPClient makes the requests. Nil is a client like http.DefaultClient with
	// connections of its own. [Guarded] is for addresses that others may choose.
	HTTPClient *http.Client
}

// Key returns the API key: the configured one, the content of the key file, or the first
// of the environment variables that is set. The error says where a key could have been.
func (c Config) Key(provider string, env ...string) (string, error) {
	if key := strings.TrimSpace(c.APIKey); key != "" {
		return key, nil
	}
	if c.KeyFile != "" {
		data, err := os.ReadFile(c.KeyFile)
		if err != nil {
			return "", fmt.Errorf("%s: key file: %w", provider, err)
		}
		key := strings.TrimSpace(string(data))
		if key == "" {
			return "", fmt.Errorf("%s: key file %s is empty", provider, c.KeyFile)
		}
		if strings.ContainsAny(key, "\r\n") {
			return "", fmt.Errorf("%s: key file %s has more than one line", provider, c.KeyFile)
		}
		return key, nil
	}
	for _, name := range env {
		if key := strings.TrimSpace(os.Getenv(name)); key != "" {
			return key, nil
		}
	}
	if len(env) == 0 {
		return "", fmt.Errorf("%s: there is no API key: configure one, or a key file", provider)
	}
	return "", fmt.Errorf("%s: there is no API key: configure one, or a key file, or set %s", provider, strings.Join(env, " or "))
}

// Authorized reports whether Headers has one of these, so that no key is needed.
func (c Config) Authorized(headers ...string) bool {
	for name := range c.Headers {
		if slices.ContainsFunc(headers, func(h string) bool { return strings.EqualFold(name, h) }) {
			return true
		}
	}
	return false
}

// Guarded returns an HTTP client that reaches public addresses only, and those that are
// allowed. It is for base URLs that come from users. It goes through the proxy of the
// environment, if there is one.
func Guarded(allow ...netip.Prefix) *http.Client {
	o := httpguard.Options{Allow: allow, MaxBytes: -1, Timeout: -1, Headers: -1, Redirects: -1}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if os.Getenv(name) != "" {
			o.Proxy = http.ProxyFromEnvironment
		}
	}
	return httpguard.New(o)
}
