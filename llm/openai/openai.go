package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// The two OpenAI APIs, for [Config.API].
const (
	Responses = "responses"
	Chat      = "chat"
)

// Config configures the adapter. The zero Config uses OpenAI with the key from the environment.
type Config struct {
	provider.Config

	// Preset names the server; see [Presets]. "" means openai, or compatible with a base URL that
	// is not OpenAI's.
	Preset string
	// API is Responses or Chat. "" chooses for each request.
	API string

	Organization, Project string // of the OpenAI account

	// Summary is how reasoning is summarised in requests with an effort: auto (the default),
	// concise, detailed, or none.
	Summary string
	// StrictTools makes the server enforce the schemas of tools that strict mode can express.
	StrictTools bool
	// Extra are fields to add to each request or to replace in it.
	Extra map[string]any
}

// Model is an llm.Model of one server; Request.Model selects among the server's models. It is safe
// for concurrent use.
type Model struct {
	config Config
	preset Preset
	api    *provider.API
}

// SupportsSchema reports whether the server enforces output schemas.
func (m *Model) SupportsSchema(string) bool { return !m.preset.NoSchema }

// New returns a model. It fails without a key that the server requires, without a base URL, or with
// an unknown preset.
func New(c Config) (*Model, error) {
	preset, err := c.preset()
	if err != nil {
		return nil, err
	}
	base := cmp.Or(strings.TrimSpace(c.BaseURL), strings.TrimSpace(os.Getenv(preset.BaseEnv)), preset.BaseURL)
	if c.BaseURL, err = preset.base(base); err != nil {
		return nil, err
	}
	if preset.Name == "openai" && !isOpenAI(c.BaseURL) {
		preset.Responses = false // few proxies of OpenAI have it
	}
	switch c.API {
	case "", Chat, Responses:
	default:
		return nil, fmt.Errorf("%s: api is %q, want %s or %s", preset.Name, c.API, Responses, Chat)
	}
	key := ""
	if !c.Authorized("Authorization", preset.KeyHeader) {
		key, err = c.Key(preset.Name, preset.KeyEnv...)
		if err != nil && (!preset.KeyOptional || c.KeyFile != "") {
			return nil, err
		}
	}
	header := http.Header{"Accept": {"application/json"}}
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	if preset.KeyHeader != "" {
		set(preset.KeyHeader, key)
	} else if key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	set("OpenAI-Organization", c.Organization)
	set("OpenAI-Project", c.Project)
	api, err := provider.Open(preset.Name, c.Config, header)
	if err != nil {
		return nil, err
	}
	api.Prepare = func(r *http.Request) error {
		if r.Method == http.MethodPost {
			r.Header.Set("Accept", "text/event-stream")
		}
		return nil
	}
	if preset.Effort == "none" {
		api.Lacks.Reasoning = llm.NoReasoning
	}
	if preset.NoParallel {
		api.Lacks.ParallelTools = new(false)
	}
	return &Model{config: c, preset: preset, api: api}, nil
}

func (c *Config) preset() (Preset, error) {
	name := c.Preset
	if name == "" {
		name = "openai"
		if base := cmp.Or(c.BaseURL, os.Getenv("OPENAI_BASE_URL")); base != "" && !isOpenAI(base) {
			name = "compatible"
		}
	}
	var names []string
	for _, p := range Presets {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Preset{}, fmt.Errorf("openai: preset %q not found; available: %s", name, strings.Join(names, ", "))
}

func isOpenAI(base string) bool {
	u, err := url.Parse(strings.TrimSpace(base))
	return err == nil && (u.Hostname() == "api.openai.com" || strings.HasSuffix(u.Hostname(), ".api.openai.com"))
}

// Knowledge returns what is known about the parameters that a model accepts.
func (m *Model) Knowledge(model string) llm.ModelKnowledge { return m.api.Knowledge(model) }

// Stream sends the request and yields the reply.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.api.Stream(ctx, req, func(ctx context.Context, req *llm.Request, emit provider.Emit) error {
		if m.apiFor(req) == Responses {
			return m.responses(ctx, req, emit)
		}
		return m.chat(ctx, req, emit)
	})
}

// apiFor returns the API for a request.
func (m *Model) apiFor(req *llm.Request) string {
	switch {
	case m.config.API != "":
		return m.config.API
	case !m.preset.Responses, len(req.StopSequences) > 0, req.Seed != nil, hasAudio(req):
		return Chat
	}
	return Responses
}

func hasAudio(req *llm.Request) bool {
	for _, msg := range req.Messages.All() {
		if msg == nil {
			continue
		}
		if slices.ContainsFunc(msg.Content, func(b llm.Block) bool { return b.Type == llm.AudioBlock }) {
			return true
		}
	}
	return false
}

// post sends a request with the extra fields added or replaced, and passes the events of the
// response to take.
func (m *Model) post(ctx context.Context, path string, request any, extra map[string]any, take func(provider.Event) (bool, error)) error {
	if len(extra)+len(m.config.Extra) > 0 {
		data, err := json.Marshal(request)
		if err != nil {
			return err
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(data, &fields); err != nil {
			return err
		}
		all := make(map[string]any, len(fields)+len(extra))
		for name, value := range fields {
			all[name] = value
		}
		maps.Copy(all, extra)
		maps.Copy(all, m.config.Extra)
		request = all
	}
	return m.api.PostEvents(ctx, path, request, take)
}

// invalid returns an error of kind InvalidRequest.
func (m *Model) invalid(format string, args ...any) error {
	return &llm.Error{Kind: llm.InvalidRequest, Provider: m.preset.Name, Message: fmt.Sprintf(format, args...)}
}

// cacheKey returns the prompt cache key, which the requests of a thread share, or "".
func (m *Model) cacheKey(req *llm.Request) string {
	if !m.preset.CacheKey || req.Routing.ThreadID == "" {
		return ""
	}
	return safeID64(req.Routing.ThreadID)
}

var (
	safeID64   = provider.SafeID(64)
	safeName64 = provider.SafeName(64)
)

// ListModels returns the server's models. Many servers list only names.
func (m *Model) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	return m.api.Models(ctx, "models")
}

var (
	_ llm.Model          = (*Model)(nil)
	_ llm.SchemaEnforcer = (*Model)(nil)
	_ llm.Lister         = (*Model)(nil)
	_ llm.Describer      = (*Model)(nil)
)
