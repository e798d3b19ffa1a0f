package providertest

import (
	"io"
	"net/http"
	"testing"
)

// A client may disconnect before the server has written what it will wait behind.
func TestServer_SeesAClientThatLeavesWhileItWrites(t *testing.T) {
	t.Parallel()
	s := newServer(t, script{frames: [][]byte{make([]byte, 32<<20)}, end: stall}) // more than connections buffer
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, resp.Body, 1); err != nil {
		t.Error(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	seenGone(t, s)
}
