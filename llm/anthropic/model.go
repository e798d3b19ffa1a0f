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

// Name is the provider's name in errors and in opaque data.
const Name = "anthropic"

// Config configures the adapter. Without a key it uses ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN
// as a bearer token; without a base URL, ANTHROPIC_BASE_URL. It needs no key if Headers contains
// Authorization or X-Api-Key.
type Config struct {
	provider.Config
	Bearer bool // the key is a bearer token; Anthropic's OAuth tokens are recognised
}

// Model is an llm.Model of the Messages API. It is safe for concurrent use.
type Model struct{ api *provider.API }

var (
	_ llm.Model          = (*Model)(nil)
	_ llm.SchemaEnforcer = (*Model)(nil)
	_ llm.Lister         = (*Model)(nil)
	_ llm.Describer      = (*Model)(nil)
)

// SupportsSchema returns true: the API enforces output schemas, or else a tool whose input is the reply.
func (*Model) SupportsSchema(string) bool { return true }

// New returns a model. It fails without a key or with an invalid base URL.
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
	api.Lacks.Seed = new(false)
	api.Omits = func(req *llm.Request, emit provider.Emit) { newBuilder(req, emit).build() }
	return &Model{api}, nil
}

// authorize adds the credentials.
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

// Knowledge returns what is known about the parameters that a model accepts.
func (m *Model) Knowledge(model string) llm.ModelKnowledge { return m.api.Knowledge(model) }

// Stream sends the request and yields the reply.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.api.Stream(ctx, req, func(ctx context.Context, req *llm.Request, emit provider.Emit) error {
		b := newBuilder(req, emit)
		q := b.build()
		a := answer{emit: emit, names: b.names, output: b.output, open: map[int]*openBlock{}}
		return m.api.PostEvents(ctx, "v1/messages", q, a.take)
	})
}

// ListModels returns the models of the API.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	return m.api.Models(ctx, "v1/models?limit=1000")
}
