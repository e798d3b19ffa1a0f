package gemini

import (
	"context"
	"iter"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Name is the provider's: of errors, and of what is kept for it in messages.
const Name = "gemini"

// Config says how Gemini is reached. A key that is not configured is taken from
// GEMINI_API_KEY or GOOGLE_API_KEY, and a base URL from GOOGLE_GEMINI_BASE_URL or
// GOOGLE_VERTEX_BASE_URL. No key is needed when Headers has an Authorization or an
// X-Goog-Api-Key.
//
// For Vertex AI the key, or the key file, is the JSON of a service account. When there is
// neither, GOOGLE_APPLICATION_CREDENTIALS names the file. A key that is not JSON is one of
// Vertex AI in express mode.
type Config struct {
	provider.Config
	Vertex   bool
	Project  string   // of Vertex AI; "" is GOOGLE_CLOUD_PROJECT, or else the service account's
	Location string   // of Vertex AI; "" is GOOGLE_CLOUD_LOCATION, or else global
	Scopes   []string // of the tokens of a service account; none is cloud-platform
}

// Model asks Gemini. It is safe for concurrent use.
type Model struct {
	api     *provider.API
	address address
	account *account // nil if a key or a header shows who asks
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
	who, err := c.identity()
	if err != nil {
		return nil, err
	}
	m := &Model{account: who.account}
	if m.address, err = c.address(who); err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if who.key != "" {
		header.Set("X-Goog-Api-Key", who.key)
	}
	c.BaseURL = m.address.base
	if m.api, err = provider.Open(Name, c.Config, header); err != nil {
		return nil, err
	}
	m.api.Prepare = m.prepare
	return m, nil
}

// prepare adds the token of an account, and how long the caller waits: then the server does
// not work for longer.
func (m *Model) prepare(r *http.Request) error {
	wait := m.api.HTTP().Timeout
	if deadline, ok := r.Context().Deadline(); ok && (wait == 0 || time.Until(deadline) < wait) {
		wait = time.Until(deadline)
	}
	if wait > 0 {
		r.Header.Set("X-Server-Timeout", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	}
	if m.account == nil {
		return nil
	}
	token, err := m.account.token(r.Context())
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// Stream asks the model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.api.Stream(ctx, req, func(ctx context.Context, emit provider.Emit) error {
		path, err := m.address.model(req.Model)
		if err != nil {
			return err
		}
		b := newBuilder(req)
		q, err := b.build()
		if err != nil {
			return err
		}
		a := answer{emit: emit, names: b.names, output: b.output, model: req.Model}
		return m.api.PostEvents(ctx, path+":streamGenerateContent?alt=sse", q, a.take)
	})
}
