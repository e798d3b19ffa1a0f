package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// maxAnswer limits the size of a response that is not a stream.
const maxAnswer = 8 << 20

// userAgent identifies this client; [Config.Headers] may override it.
const userAgent = "awaken-go"

// API is the HTTP API of a provider: a base URL and the headers of every request. It is safe
// for concurrent use.
type API struct {
	// Prepare completes each request before it is sent, or rejects it. It may be nil. Set it
	// before the first request.
	Prepare func(r *http.Request) error
	// Lacks says which optional parameters no model of the API accepts. Set it before the first
	// request.
	Lacks llm.ModelCapabilities
	// Omits emits an [llm.OmittedDelta] for each parameter that the adapter would not send as the
	// request has it. It may be nil. Set it before the first request.
	Omits func(req *llm.Request, emit Emit)

	name   string
	base   string // without a query, with a trailing slash
	header http.Header
	http   *http.Client
	t      *transport

	learned learned
}

// Open returns the API at c.BaseURL. Name is the provider's name in errors. Every request gets
// the header.
func Open(name string, c Config, header http.Header) (*API, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: base URL is %q, want an http or https URL", name, c.BaseURL)
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	own := http.Header{"User-Agent": {userAgent}}
	maps.Copy(own, header)
	a := &API{name: name, base: strings.TrimRight(u.String(), "/") + "/", header: own, http: &http.Client{}}
	if c.HTTPClient != nil {
		*a.http = *c.HTTPClient
	}
	base := a.http.Transport
	if base == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64
		base = t
	}
	a.t = &transport{name: name, base: base, headers: c.Headers, timeout: c.Timeout, idle: c.IdleTimeout}
	if a.t.timeout <= 0 {
		a.t.timeout = DefaultTimeout
	}
	if a.t.idle <= 0 {
		a.t.idle = DefaultIdleTimeout
	}
	a.http.Transport = a.t
	a.http.CheckRedirect = sameServer(name, a.http.CheckRedirect)
	return a, nil
}

// HTTP returns the HTTP client. Its errors are *llm.Error, possibly wrapped. A response with a
// status of 400 or more is an error, and within [API.Stream] so is one that is not a stream.
// Errors never contain the credentials of the request.
func (a *API) HTTP() *http.Client { return a.http }

// Send sends a request. The path is relative to the base URL, escaped, and may have a query. A
// body other than nil is sent as JSON. The caller closes the body of the response.
func (a *API) Send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var data io.Reader
	if body != nil {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(body); err != nil {
			return nil, err
		}
		buf.Truncate(buf.Len() - 1) // the newline
		data = &buf
	}
	r, err := http.NewRequestWithContext(ctx, method, a.base+path, data)
	if err != nil {
		return nil, err
	}
	r.Header = a.header.Clone()
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if a.Prepare != nil {
		if err := a.Prepare(r); err != nil {
			return nil, err
		}
	}
	return a.http.Do(r)
}

// PostEvents sends body as JSON and passes each server-sent event of the response to take, until
// the response ends or take reports the last event or an error. It skips comments, fields other
// than event and data, and events without data. A truncated event counts only if its data is
// complete: some servers omit the last empty line.
func (a *API) PostEvents(ctx context.Context, path string, body any, take func(Event) (last bool, err error)) error {
	return post(ctx, a, path, body, readEvents, take)
}

// PostLines sends body as JSON and passes each line of the response, a JSON value, to take, until
// the response ends or take reports the last line or an error. It skips blank lines. A last line
// without a newline counts only if it is complete. Take must not keep the line.
func (a *API) PostLines(ctx context.Context, path string, body any, take func(line []byte) (last bool, err error)) error {
	return post(ctx, a, path, body, readLines, take)
}

// reader reads the parts of a response, each of at most so many bytes.
type reader[T any] func(r io.Reader, most int) iter.Seq2[T, error]

func post[T any](ctx context.Context, a *API, path string, body any, read reader[T], take func(T) (bool, error)) error {
	resp, err := a.Send(ctx, http.MethodPost, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var limits *llm.ReplyLimits
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		limits = c.limits
	}
	for v, err := range read(resp.Body, eventBytes(limits)) {
		if err != nil {
			return err
		}
		if last, err := take(v); last || err != nil {
			return err
		}
	}
	return nil
}

// Fetch sends a request and decodes the JSON response into into. Its errors are *llm.Error.
func (a *API) Fetch(ctx context.Context, method, path string, body, into any) error {
	resp, err := a.Send(ctx, method, path, body)
	if err != nil {
		return a.failure(err, true)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
	case len(data) > maxAnswer:
		err = &llm.Error{Kind: llm.Provider, Message: fmt.Sprintf("the response has more than %d bytes", maxAnswer)}
	default:
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return a.failure(err, true)
	}
	return nil
}

// Models fetches a list of models in the format of OpenAI, of a compatible server, of Anthropic
// or of Gemini.
func (a *API) Models(ctx context.Context, path string) ([]llm.ModelInfo, error) {
	var body json.RawMessage
	if err := a.Fetch(ctx, http.MethodGet, path, nil, &body); err != nil {
		return nil, err
	}
	list, err := readModels(body)
	if err != nil {
		return nil, a.failure(err, true)
	}
	a.Note(list)
	return list, nil
}
