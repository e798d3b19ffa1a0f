package ollama

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Name is the provider's name in errors and in opaque data.
const Name = "ollama"

// Config configures the adapter. The zero Config uses the server at OLLAMA_HOST, or the one on this
// machine. A key, if configured, in the key file or in OLLAMA_API_KEY, is sent as a bearer token.
type Config struct {
	provider.Config

	// Cloud uses the models at ollama.com, which need a key, in place of a server of one's own.
	Cloud bool
	// KeepAlive is how long a model stays loaded after a request: a duration such as "30m", or
	// "-1s" for ever. "" means the server's default.
	KeepAlive string
	// ContextTokens is the size of the context that models are loaded with (num_ctx). 0 means
	// the server's default, which is often much smaller than the model's.
	ContextTokens int
	// Options are additional model parameters, such as top_k. They override the request's.
	Options map[string]any
}

// Model is an llm.Model of an Ollama server. It is safe for concurrent use.
type Model struct {
	config Config
	api    *provider.API
}

var (
	_ llm.Model     = (*Model)(nil)
	_ llm.Lister    = (*Model)(nil)
	_ llm.Describer = (*Model)(nil)
)

// New returns a model. It fails with an invalid base URL, key file or context size, and without a
// key for ollama.com.
func New(c Config) (*Model, error) {
	var err error
	if c.Cloud && strings.TrimSpace(c.BaseURL) == "" {
		c.BaseURL = "https://ollama.com"
	}
	if c.BaseURL, err = baseURL(c.BaseURL); err != nil {
		return nil, err
	}
	if c.ContextTokens < 0 {
		return nil, fmt.Errorf("ollama: context is %d tokens, want 0 or more", c.ContextTokens)
	}
	header := http.Header{"Accept": {"application/x-ndjson, application/json"}}
	if !c.Authorized("Authorization") {
		key, err := c.Key(Name, "OLLAMA_API_KEY")
		if err != nil && (c.Cloud || c.KeyFile != "") {
			return nil, err
		}
		if key != "" {
			header.Set("Authorization", "Bearer "+key)
		}
	}
	api, err := provider.Open(Name, c.Config, header)
	if err != nil {
		return nil, err
	}
	api.Lacks.ParallelTools = new(false)
	return &Model{config: c, api: api}, nil
}

// baseURL returns the base URL of the server, without the path of an API. OLLAMA_HOST may be a URL,
// or a host with or without a port; an address for listening on all interfaces means this machine.
func baseURL(s string) (string, error) {
	what := "base URL"
	if s = strings.TrimSpace(s); s == "" {
		s, what = strings.TrimSpace(os.Getenv("OLLAMA_HOST")), "OLLAMA_HOST"
	}
	if s == "" {
		s = "localhost"
	}
	given := s
	bare := !strings.Contains(s, "://")
	if bare {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("ollama: %s is %q, want an http or https URL", what, given)
	}
	if bare && u.Port() == "" {
		u.Host += ":11434"
	}
	if h := u.Hostname(); h == "0.0.0.0" || h == "::" {
		u.Host = "localhost:" + u.Port()
	}
	u.Path = strings.TrimRight(u.Path, "/")
	for _, api := range []string{"/v1", "/api"} {
		u.Path = strings.TrimSuffix(u.Path, api)
	}
	return u.String(), nil
}

// Knowledge returns what is known about the parameters that a model accepts.
func (m *Model) Knowledge(model string) llm.ModelKnowledge { return m.api.Knowledge(model) }

// Stream sends the request and yields the reply.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.api.Stream(ctx, req, func(ctx context.Context, req *llm.Request, emit provider.Emit) error {
		names := provider.NewNames(req, safeName)
		q, err := m.request(req, names)
		if err != nil {
			return err
		}
		a := answer{emit: emit, names: names}
		return m.api.PostLines(ctx, "api/chat", q, a.take)
	})
}
