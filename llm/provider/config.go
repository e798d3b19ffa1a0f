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
	"github.com/awaken-go/awaken/llm"
)

const (
	// DefaultTimeout limits the wait for the start of a response.
	DefaultTimeout = 5 * time.Minute
	// DefaultIdleTimeout limits how long a response may be silent.
	DefaultIdleTimeout = time.Minute
)

// Config configures the connection to a provider. The zero Config takes the key from the
// adapter's environment variable and uses the adapter's defaults.
type Config struct {
	APIKey  string            // takes precedence over KeyFile, and KeyFile over the environment
	KeyFile string            // a file that contains only the key; read once
	NoEnv   bool              // the key is never taken from the environment
	BaseURL string            // "" means the provider's own
	Headers map[string]string // added to every request; override the adapter's

	Timeout     time.Duration // until the response starts; 0 means DefaultTimeout
	IdleTimeout time.Duration // how long it may be silent; 0 means DefaultIdleTimeout; Request.IdleTimeout overrides it

	// HTTPClient sends the requests. Nil means a client like http.DefaultClient with its own
	// connections. Use [Guarded] for base URLs from untrusted users.
	HTTPClient *http.Client
}

// Key returns the API key: the configured one, the content of the key file, or the first
// environment variable that is set. The error is [llm.ErrNoKey] if there is none, and lists where a
// key can be set.
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
	if c.NoEnv && len(env) > 0 {
		return "", fmt.Errorf("%s: %w: configure a key or a key file; %s is not used for this base URL", provider, llm.ErrNoKey, strings.Join(env, " or "))
	}
	for _, name := range env {
		if key := strings.TrimSpace(os.Getenv(name)); key != "" {
			return key, nil
		}
	}
	if len(env) == 0 {
		return "", fmt.Errorf("%s: %w: configure a key or a key file", provider, llm.ErrNoKey)
	}
	return "", fmt.Errorf("%s: %w: configure a key or a key file, or set %s", provider, llm.ErrNoKey, strings.Join(env, " or "))
}

// Authorized reports whether Headers contains one of headers, so that no key is needed.
func (c Config) Authorized(headers ...string) bool {
	for name := range c.Headers {
		if slices.ContainsFunc(headers, func(h string) bool { return strings.EqualFold(name, h) }) {
			return true
		}
	}
	return false
}

// Guarded returns an HTTP client that connects only to public addresses and to those in allow.
// Use it for base URLs from users. It uses the proxy of the environment, if one is set.
func Guarded(allow ...netip.Prefix) *http.Client {
	o := httpguard.Options{Allow: allow, MaxBytes: -1, Timeout: -1, Headers: -1, Redirects: -1}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if os.Getenv(name) != "" {
			o.Proxy = http.ProxyFromEnvironment
		}
	}
	return httpguard.New(o)
}
