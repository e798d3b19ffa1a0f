package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"
)

// spaces is as much of nothing as anybody wants.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{' '}, len(p))), nil }

// A stream that waits for its run does not keep the body of the request that it answers.
func TestStream_LetsGoOfItsRequest(t *testing.T) {
	const streams, size = 3, 4 << 20
	g := newRig(t)
	heap := func() uint64 {
		var m goruntime.MemStats
		for range 3 { // pools are emptied by the second
			goruntime.GC()
		}
		goruntime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for i := range streams {
		// The client makes up what it sends, so as to have nothing of it itself.
		body := io.MultiReader(io.LimitReader(spaces{}, size), strings.NewReader(runBody("default", fmt.Sprint("t", i), "RUN_TOOL wait {}")))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.http.URL+"/v1/runs", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatal(resp.Status)
		}
	}
	if after := heap(); after > before+size {
		t.Errorf("%d streams keep %d bytes of requests of %d", streams, after-before, size)
	}
}
