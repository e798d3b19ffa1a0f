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

// Name is the provider's, in errors.
const Name = "ollama"

// Config says how a server is reached. The zero Config is the one of OLLAMA_HOST, or the one
// on this machine. A key is sent as a bearer token if there is one: configured, in the key
// file, or in OLLAMA_API_KEY.
type Config struct {
	provider.Config

	// KeepAlive is how long a model stays loaded after a request, such as "30m", or "-1s" for
	// ever. "" leaves it to the server.
	KeepAlive string
	// ContextTokens is how large a context models are loaded with (num_ctx). 0 leaves it to
	// the server, whose default is often much less than the model's.
	ContextTokens int
	// Options are more parameters of the model, such as top_k. They win over the request's.
	Options map[string]any
}

// Model asks a server. It is safe for concurrent use.
type Model struct {
	config Config
	api    *provider.API
}

var (
	_ llm.Model  = (*Model)(nil)
	_ llm.Lister = (*Model)(nil)
)

// New returns a model. The error says what is wrong.
func New(c Config) (*Model, error) {
	var err error
	if c.BaseURL, err = baseURL(c.BaseURL); err != nil {
		return nil, err
	}
	if c.ContextTokens < 0 {
		return nil, fmt.Errorf("ollama: the context is %d tokens, want 0 or more", c.ContextTokens)
	}
	header := http.Header{"Accept": {"application/x-ndjson, application/json"}}
	if !c.Authorized("Authorization") {
		key, err := c.Key(Name, "OLLAMA_API_KEY")
		if err != nil && c.KeyFile != "" {
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
	return &Model{config: c, api: api}, nil
}

// baseURL is where the server is, without the path of an API. OLLAMA_HOST may be a URL, or
// a host with or without a port; one that is for listening on all addresses means this machine.
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
		return "", fmt.Errorf("ollama: %s %q is not an http or https URL", what, given)
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

// Stream asks the model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.api.Stream(ctx, req, func(ctx context.Context, emit provider.Emit) error {
		names := provider.NewNames(req, safeName)
		q, err := m.request(req, names)
		if err != nil {
			return err
		}
		a := answer{emit: emit, names: names}
		return m.api.PostLines(ctx, "api/chat", q, a.take)
	})
}
