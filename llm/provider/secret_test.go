package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Credentials that a provider quotes do not appear in errors, neither of a failed request nor
// inside a stream.
func TestAPI_RedactsCredentialsInErrors(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := fmt.Sprintf(`{"error":{"message":"wrong: %s, %s, %s"}}`, r.Header.Get("Authorization"), r.Header.Get("X-Team"), r.URL.Query().Get("key"))
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
		} else {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = io.WriteString(w, said)
	}))
	defer srv.Close()
	c := api(t, provider.Config{Headers: map[string]string{"X-Team": "team-secret"}}, srv.URL, nil)
	for _, path := range []string{"/", "/stream"} {
		var failed error
		for _, err := range c.Stream(t.Context(), &llm.Request{}, func(ctx context.Context, _ *llm.Request, _ provider.Emit) error {
			req, err := http.NewRequestWithContext(ctx, "GET", srv.URL+path+"?key=query-secret", nil)
			if err != nil {
				return err
			}
			req.Header.Set("Authorization", "Bearer bearer-secret")
			resp, err := c.HTTP().Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			return provider.ErrorBody("p", body)
		}) {
			failed = err
		}
		e, ok := errors.AsType[*llm.Error](failed)
		if !ok || e.Message != "wrong: Bearer ***, ***, ***" || strings.Contains(failed.Error(), "secret") {
			t.Errorf("%s: error is %v, want one without the credentials", path, failed)
		}
	}
}
