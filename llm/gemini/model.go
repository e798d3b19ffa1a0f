package gemini

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"strings"

	"google.golang.org/genai"

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
	client *provider.Client
	sdk    *genai.Client
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
	a, err := c.auth()
	if err != nil {
		return nil, err
	}
	a.next = m.client.HTTP().Transport
	own := *m.client.HTTP()
	own.Transport = &keeper{next: a}
	cc := &genai.ClientConfig{Backend: genai.BackendGeminiAPI, APIKey: a.key, HTTPClient: &own}
	cc.HTTPOptions.BaseURL = baseURL(c.BaseURL)
	switch {
	case c.Vertex && a.account == nil && a.key != unused: // express mode has no project
		cc.Backend = genai.BackendVertexAI
	case c.Vertex:
		cc.Backend, cc.APIKey = genai.BackendVertexAI, ""
		cc.Project, cc.Location = first(c.Project, os.Getenv("GOOGLE_CLOUD_PROJECT"), a.project), first(c.Location, os.Getenv("GOOGLE_CLOUD_LOCATION"), "global")
		if cc.Project == "" {
			return nil, errors.New("gemini: there is no project for Vertex AI: configure one, or set GOOGLE_CLOUD_PROJECT")
		}
	}
	if m.sdk, err = genai.NewClient(context.Background(), cc); err != nil {
		return nil, fmt.Errorf("gemini: %s", strings.ReplaceAll(err.Error(), a.key, "…")) // it prints the configuration
	}
	return m, nil
}

// baseURL is the address without the version, which the SDK adds.
func baseURL(s string) string {
	s = strings.TrimRight(s, "/")
	for _, version := range []string{"/v1beta1", "/v1beta", "/v1"} {
		s = strings.TrimSuffix(s, version)
	}
	if s == "" {
		return ""
	}
	return s + "/"
}

func first(values ...string) string {
	for _, s := range values {
		if s != "" {
			return s
		}
	}
	return ""
}

// Stream asks the model.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.client.Stream(ctx, req, func(ctx context.Context, emit provider.Emit) error {
		b := newBuilder(req)
		config, err := b.build()
		if err != nil {
			return err
		}
		a := answer{emit: emit, names: b.names, output: b.output, model: req.Model}
		resp, err := m.ask(ctx, req.Model, config)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		for ev, err := range provider.Events(resp.Body) {
			if err != nil {
				return err
			}
			if done, err := a.take(ev.Data); done || err != nil {
				return err
			}
		}
		return nil
	})
}

// ask makes the request and returns the answer as it came.
func (m *Model) ask(ctx context.Context, model string, config *genai.GenerateContentConfig) (*http.Response, error) {
	var kept *http.Response
	ctx = context.WithValue(ctx, keptKey{}, &kept)
	for _, err := range m.sdk.Models.GenerateContentStream(ctx, model, nil, config) {
		if err != nil {
			return nil, err
		}
	}
	if kept == nil {
		return nil, errors.New("the SDK made no request")
	}
	return kept, nil
}

// keeper keeps the answer for ask. The SDK gets one with nothing in it.
type keeper struct{ next http.RoundTripper }

type keptKey struct{}

func (k *keeper) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := k.next.RoundTrip(r)
	kept, ok := r.Context().Value(keptKey{}).(**http.Response)
	if err != nil || !ok || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	*kept = resp
	return &http.Response{Status: resp.Status, StatusCode: resp.StatusCode, Proto: resp.Proto, ProtoMajor: resp.ProtoMajor, ProtoMinor: resp.ProtoMinor,
		Header: resp.Header, Body: http.NoBody, Request: r}, nil
}
