package anthropic

import (
	"context"
	"iter"
	"net/http"
	"os"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

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
type Model struct {
	client *provider.Client
	sdk    sdk.Client
}

var (
	_ llm.Model  = (*Model)(nil)
	_ llm.Former = (*Model)(nil)
)

// Forms reports that answers are held to a schema: by the API, or by a tool that stands for
// the answer.
func (*Model) Forms(string) bool { return true }

// New returns a model. The error says what is missing.
func New(c Config) (*Model, error) {
	m := &Model{client: provider.Open(Name, c.Config)}
	opts := []option.RequestOption{
		option.WithoutEnvironmentDefaults(),
		option.WithoutOpenTelemetry(),
		option.WithMaxRetries(0),
		option.WithHTTPClient(m.client.HTTP()),
	}
	base := c.BaseURL
	if base == "" {
		base = os.Getenv("ANTHROPIC_BASE_URL")
	}
	if base = strings.TrimSuffix(strings.TrimRight(base, "/"), "/v1"); base != "" { // the SDK adds it
		opts = append(opts, option.WithBaseURL(base+"/"))
	}
	auth, err := c.auth()
	if err != nil {
		return nil, err
	}
	m.sdk = sdk.NewClient(append(opts, auth...)...)
	return m, nil
}

// auth returns how requests show who sends them.
func (c *Config) auth() ([]option.RequestOption, error) {
	if c.Authorized("Authorization", "X-Api-Key") {
		return nil, nil
	}
	bearer := c.Bearer || c.APIKey == "" && c.KeyFile == "" && os.Getenv("ANTHROPIC_API_KEY") == ""
	key, err := c.Key(Name, "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
	switch oauth := strings.HasPrefix(key, "sk-ant-oat"); {
	case err != nil:
		return nil, err
	case oauth:
		return []option.RequestOption{option.WithAuthToken(key), option.WithHeaderAdd("anthropic-beta", "oauth-2025-04-20")}, nil
	case bearer:
		return []option.RequestOption{option.WithAuthToken(key)}, nil
	}
	return []option.RequestOption{option.WithAPIKey(key)}, nil
}

// Stream asks the model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.client.Stream(ctx, req, func(ctx context.Context, emit provider.Emit) error {
		b := newBuilder(req)
		params := b.build()
		a := answer{emit: emit, names: b.names, output: b.output}
		var resp *http.Response
		if err := m.sdk.Post(ctx, "v1/messages", params, &resp, option.WithJSONSet("stream", true)); err != nil {
			return err
		}
		defer resp.Body.Close()
		for ev, err := range provider.Events(resp.Body) {
			if err != nil {
				return err
			}
			if done, err := a.take(ev); done || err != nil {
				return err
			}
		}
		return nil
	})
}
