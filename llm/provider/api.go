package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/awaken-go/awaken/llm"
)

// maxAnswer is how large an answer may be that is not a stream.
const maxAnswer = 32 << 20

// userAgent is the name of this client. [Config.Headers] may set another.
const userAgent = "awaken-go"

// API is the HTTP API of a provider: an address, and the headers that every request to it has.
// It is safe for concurrent use.
type API struct {
	*Client
	// Prepare completes each request before it is sent, or refuses it. It may be nil.
	Prepare func(r *http.Request) error

	base   string // without a query, and with a slash at its end
	header http.Header
}

// At returns the API at a base URL. Header is added to every request.
func (c *Client) At(base string, header http.Header) (*API, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: base URL %q is not an http or https URL", c.name, base)
	}
	u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
	own := http.Header{"User-Agent": {userAgent}}
	maps.Copy(own, header)
	return &API{Client: c, base: strings.TrimRight(u.String(), "/") + "/", header: own}, nil
}

// Send makes a request. The path is below the base URL, escaped, and may have a query. A body
// that is not nil is sent as JSON. The caller closes the body of the answer.
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

// Fetch makes a request that is answered with one JSON value. Its errors are *llm.Error.
func (a *API) Fetch(ctx context.Context, method, path string, body, into any) error {
	resp, err := a.Send(ctx, method, path, body)
	if err != nil {
		return a.failure(err, true)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return a.failure(err, true)
	}
	return nil
}

// Models fetches a list of models that [ReadModels] can read.
func (a *API) Models(ctx context.Context, path string) ([]llm.ModelInfo, error) {
	var body json.RawMessage
	if err := a.Fetch(ctx, http.MethodGet, path, nil, &body); err != nil {
		return nil, err
	}
	list, err := ReadModels(body)
	if err != nil {
		return nil, a.failure(err, true)
	}
	return list, nil
}
