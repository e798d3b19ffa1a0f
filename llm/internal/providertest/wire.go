package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

var updateWire = flag.Bool("update", false, "write the requests that are sent into testdata/requests, instead of comparing")

// WireCase is one request of [Wire].
type WireCase struct {
	Name string
	// Open returns the model. It may add to the configuration, but must not change its HTTP client.
	Open func(c provider.Config) (llm.Model, error)
	// Request is the request to send. Nil lists the provider's models.
	Request *llm.Request
	// Context is the context of the request; nil means the test's.
	Context context.Context
}

// Wire compares the requests that an adapter sends with those in testdata/requests/name.txtar,
// which -update writes. A request is its method and URL, its headers, and its body as JSON with
// sorted keys. The key is masked. Headers that describe the client and not the request are
// omitted. For a request that the adapter rejects, the file has the error.
func Wire(t *testing.T, name string, cases []WireCase) {
	t.Helper()
	got := &txtar.Archive{}
	for _, c := range cases {
		got.Files = append(got.Files, txtar.File{Name: c.Name, Data: sentBy(t, c)})
	}
	file := filepath.Join("testdata", "requests", name+".txtar")
	if *updateWire {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections := func(a *txtar.Archive) map[string]string {
		m := map[string]string{}
		for _, f := range a.Files {
			m[f.Name] = string(f.Data)
		}
		return m
	}
	if d := cmp.Diff(sections(want), sections(got)); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// sentBy returns the request that a case sends.
func sentBy(t *testing.T, c WireCase) []byte {
	t.Helper()
	var sent sniffer
	m, err := c.Open(provider.Config{APIKey: key, HTTPClient: &http.Client{Transport: &sent}})
	if err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	ctx := c.Context
	if ctx == nil {
		ctx = t.Context()
	}
	if c.Request == nil {
		_, err = m.(llm.Lister).ListModels(ctx)
	} else {
		_, err = llm.Generate(ctx, m, c.Request)
	}
	if sent.text.Len() > 0 {
		return sent.text.Bytes()
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("%s: nothing was sent: %v", c.Name, err)
	}
	return fmt.Appendf(nil, "%s: %s\n", e.Kind, e.Message)
}

// sniffer records requests and responds with not found.
type sniffer struct{ text bytes.Buffer }

// ofClient lists headers, or prefixes of headers, that describe the client.
var ofClient = []string{"User-Agent", "X-Stainless-", "X-Goog-Api-Client"}

func (s *sniffer) RoundTrip(r *http.Request) (*http.Response, error) {
	fmt.Fprintf(&s.text, "%s %s\n", r.Method, r.URL)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		if slices.ContainsFunc(ofClient, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		for _, v := range r.Header[name] {
			fmt.Fprintf(&s.text, "%s: %s\n", name, strings.ReplaceAll(v, key, "***"))
		}
	}
	h, reply := http.Header{"Content-Type": {"text/event-stream"}}, ""
	if r.Method == http.MethodGet {
		h, reply = http.Header{"Content-Type": {"application/json"}}, "{}"
	}
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if len(data) > 0 {
			s.text.WriteString("\n")
			if err := sorted(&s.text, data); err != nil {
				return nil, fmt.Errorf("the body %q: %w", data, err)
			}
		}
	}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(reply)), Request: r}, nil
}

// sorted writes JSON with sorted keys.
func sorted(w io.Writer, data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(v)
}
