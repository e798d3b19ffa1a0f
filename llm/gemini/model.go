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

// Name is the provider's name in errors and in opaque data.
const Name = "gemini"

// Config configures the adapter. Without a key it uses GEMINI_API_KEY or GOOGLE_API_KEY; without a
// base URL, GOOGLE_GEMINI_BASE_URL or GOOGLE_VERTEX_BASE_URL. It needs no key if Headers contains
// Authorization or X-Goog-Api-Key.
//
// For Vertex AI the key, or the content of the key file, is the JSON of a service account. Without
// either, GOOGLE_APPLICATION_CREDENTIALS names the file. A key that is not JSON is a key of Vertex
// AI in express mode.
type Config struct {
	provider.Config
	Vertex   bool     // use Vertex AI instead of the Gemini API
	Project  string   // of Vertex AI; default GOOGLE_CLOUD_PROJECT, then the service account's
	Location string   // of Vertex AI; default GOOGLE_CLOUD_LOCATION, then global
	Scopes   []string // of the service account's tokens; default cloud-platform
}

// Model is an llm.Model of the Gemini API or Vertex AI. It is safe for concurrent use.
type Model struct {
	api     *provider.API
	address address
	account *account // nil with a key or configured credentials
}

var (
	_ llm.Model          = (*Model)(nil)
	_ llm.SchemaEnforcer = (*Model)(nil)
)

// SupportsSchema returns true: the API enforces output schemas, or else a function whose arguments are the
// reply.
func (*Model) SupportsSchema(string) bool { return true }

// New returns a model. It fails without credentials, without a project for Vertex AI, or with an
// invalid base URL.
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
	m.api.Lacks.ParallelTools = new(false)
	m.api.Omits = func(req *llm.Request, emit provider.Emit) { newBuilder(req, emit).params() }
	return m, nil
}

// prepare adds the account's token and the time that the caller waits, so that the server does not
// work longer than that.
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

// Knowledge returns what is known about the parameters that a model accepts.
func (m *Model) Knowledge(model string) llm.ModelKnowledge { return m.api.Knowledge(model) }

// Stream sends the request and yields the reply.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.api.Stream(ctx, req, func(ctx context.Context, req *llm.Request, emit provider.Emit) error {
		path, err := m.address.model(req.Model)
		if err != nil {
			return err
		}
		b := newBuilder(req, emit)
		q, err := b.build()
		if err != nil {
			return err
		}
		a := answer{emit: emit, names: b.names, output: b.output, model: req.Model}
		return m.api.PostEvents(ctx, path+":streamGenerateContent?alt=sse", q, a.take)
	})
}
