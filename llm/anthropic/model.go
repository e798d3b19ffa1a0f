package anthropic

import (
	"cmp"
	"context"
	"iter"
	"net/http"
	"os"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Name is the provider's: of errors, and of what is kept for it in messages.
const Name = "anthropic"

// Config says how the API is reached. A key that is not configured is taken from
// ANTHROPIC_API_KEY, or as a bearer token from ANTHROPIC_AUTH_TOKEN, and a base URL from
// ANTHROPIC_BASE_URL. No key is needed when Headers has an Authorization or an X-Api-Key.
type Config struct {
	provider.Config
	Bearer bool // the key is a bearer token; OAuth tokens of Anthropic are known as such
}

// Model asks the Messages API. It is safe for concurrent use.
type Model struct{ api *provider.API }

var (
	_ llm.Model  = (*Model)(nil)
	_ llm.Former = (*Model)(nil)
	_ llm.Lister = (*Model)(nil)
)

// Forms reports that answers are held to a schema: by the API, or by a tool that stands for
// the answer.
func (*Model) Forms(string) bool { return true }

// New returns a model. The error says what is missing.
func New(c Config) (*Model, error) {
	c.BaseURL = strings.TrimRight(cmp.Or(c.BaseURL, os.Getenv("ANTHROPIC_BASE_URL")), "/")
	c.BaseURL = cmp.Or(strings.TrimSuffix(c.BaseURL, "/v1"), "https://api.anthropic.com")
	header := http.Header{"Accept": {"application/json"}, "Anthropic-Version": {version}}
	if err := c.authorize(header); err != nil {
		return nil, err
	}
	api, err := provider.Open(Name, c.Config, header)
	if err != nil {
		return nil, err
	}
	return &Model{api}, nil
}

// authorize adds what shows who sends a request.
func (c *Config) authorize(h http.Header) error {
	if c.Authorized("Authorization", "X-Api-Key") {
		return nil
	}
	bearer := c.Bearer || c.APIKey == "" && c.KeyFile == "" && os.Getenv("ANTHROPIC_API_KEY") == ""
	key, err := c.Key(Name, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
	if err != nil {
		return err
	}
	oauth := strings.HasPrefix(key, "sk-ant-oat")
	if oauth {
		h.Set("Anthropic-Beta", "oauth-2025-04-20")
	}
	if oauth || bearer {
		h.Set("Authorization", "Bearer "+key)
	} else {
		h.Set("X-Api-Key", key)
	}
	return nil
}

// Stream asks the model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.api.Stream(ctx, req, func(ctx context.Context, emit provider.Emit) error {
		b := newBuilder(req)
		q := b.build()
		a := answer{emit: emit, names: b.names, output: b.output, open: map[int]*openBlock{}}
		return m.api.PostEvents(ctx, "v1/messages", q, a.take)
	})
}

// ListModels asks which models there are.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	return m.api.Models(ctx, "v1/models?limit=1000")
}
