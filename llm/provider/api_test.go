package provider_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

func api(t *testing.T, c provider.Config, base string, h http.Header) *provider.API {
	t.Helper()
	c.BaseURL = base
	a, err := provider.Open("p", c, h)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAPI_SendsJSONBelowItsBaseURL(t *testing.T) {
	t.Parallel()
	var got string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = strings.Join([]string{r.Method, r.RequestURI, r.Header.Get("X-Key"), r.Header.Get("User-Agent"), r.Header.Get("Content-Type"), string(body)}, "|")
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	}))
	defer srv.Close()
	for base, want := range map[string]string{"": "/", "/": "/", "/v1": "/v1/", "/v1//": "/v1/", "/to/https://x/v1": "/to/https://x/v1/", "/a%2Fb?q=1#f": "/a%2Fb/"} {
		a := api(t, provider.Config{}, srv.URL+base, http.Header{"X-Key": {"k"}})
		if err := a.Fetch(t.Context(), http.MethodPost, "chat?x=%20", map[string]string{"s": "<&>"}, new(any)); err != nil {
			t.Fatal(err)
		}
		if want := "POST|" + want + `chat?x=%20|k|awaken-go|application/json|{"s":"<&>"}`; got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
	a := api(t, provider.Config{Headers: map[string]string{"user-agent": "mine"}}, srv.URL, nil)
	if list, err := a.Models(t.Context(), "models"); err != nil || len(list) != 1 || got != "GET|/models||mine||" {
		t.Errorf("%v, %v: %s", list, err, got)
	}
	for _, base := range []string{"", "localhost:80", "ftp://x", "/v1", "http://"} {
		if _, err := provider.Open("p", provider.Config{BaseURL: base}, nil); err == nil {
			t.Errorf("%q is taken for a base URL", base)
		}
	}
}

// Redirects are followed only on the same server. No other server sees the key, even in a header
// that net/http does not treat as a credential.
func TestAPI_SendsCredentialsOnlyToItsServer(t *testing.T) {
	t.Parallel()
	leaked := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { leaked = true }))
	defer other.Close()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/x", http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		default:
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, `"`+r.Header.Get("X-Api-Key")+string(body)+`"`)
		}
	}))
	defer srv.Close()
	a := api(t, provider.Config{}, srv.URL, http.Header{"X-Api-Key": {"secret"}})
	var got string
	if err := a.Fetch(t.Context(), http.MethodPost, "here", 7, &got); err != nil || got != "secret7" {
		t.Errorf("%q, %v", got, err)
	}
	err := a.Fetch(t.Context(), http.MethodPost, "away", 7, &got)
	if llm.KindOf(err) != llm.InvalidRequest || leaked || !strings.Contains(err.Error(), other.URL) {
		t.Errorf("%v, leaked %v", err, leaked)
	}
}

func TestAPI_PrepareCanRejectARequest(t *testing.T) {
	t.Parallel()
	asked := false
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked = true }))
	defer srv.Close()
	a := api(t, provider.Config{}, srv.URL, nil)
	no := errors.New("no")
	a.Prepare = func(*http.Request) error { return no }
	if _, err := a.Send(context.Background(), http.MethodGet, "", nil); !errors.Is(err, no) || asked {
		t.Errorf("%v, asked %v", err, asked)
	}
}

func TestAPI_ReportsTheLimitsThatAResponseStates(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Ratelimit-Limit-Requests", "60")
		w.Header().Set("X-Ratelimit-Remaining-Requests", "7")
		w.Header().Set("X-Ratelimit-Reset-Requests", "53s")
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(status)
	}))
	defer srv.Close()
	a := api(t, provider.Config{}, srv.URL, nil)
	for _, status = range []int{http.StatusOK, http.StatusTooManyRequests} {
		var got []llm.RateReport
		req := &llm.Request{Model: "m", Reported: func(r llm.RateReport) { got = append(got, r) }}
		for range a.Stream(t.Context(), req, func(ctx context.Context, _ *llm.Request, _ provider.Emit) error {
			return a.PostEvents(ctx, "chat", 1, func(provider.Event) (bool, error) { return false, nil })
		}) {
		}
		want := llm.RateReport{Requests: llm.RateState{Limit: 60, Remaining: 7, Reset: 53 * time.Second}}
		if len(got) != 1 || got[0] != want {
			t.Errorf("status %d: reported %+v, want %+v", status, got, want)
		}
	}
}
