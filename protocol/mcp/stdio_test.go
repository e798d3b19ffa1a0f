package mcp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/protocol/mcp"
)

// A message is one line, also if a proxy on the way has formatted it.
func TestBridge_OneLineForEachMessage(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n")
	}))
	defer srv.Close()
	var out strings.Builder
	b := &mcp.Bridge{Client: srv.Client(), URL: srv.URL, Header: http.Header{}}
	if err := b.Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	if want := `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
