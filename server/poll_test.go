package server_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/store/memory"
)

// recordReads counts the reads of runs' records.
type recordReads struct {
	*memory.DB
	n *atomic.Int64
}

func (d recordReads) Handle(tenant string) mailbox.Handle { return recordReader{d.Store(tenant), d.n} }

type recordReader struct {
	*memory.Store
	n *atomic.Int64
}

func (r recordReader) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	r.n.Add(1)
	return r.Store.LoadRun(ctx, id)
}

// Clients that wait for runs which do not begin cost little: a run's record is read less and less often.
func TestRuns_AWaitingRequestSeldomReadsTheRecord(t *testing.T) {
	t.Parallel()
	for name, accept := range map[string]string{"waits": "application/json", "follows": "text/event-stream"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			g := &rig{t: t, db: recordReads{memory.NewDB(), &n}, keys: access.NewKeys(memory.NewProfile()), idle: true}
			g.start()
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			req, err := http.NewRequestWithContext(ctx, "POST", g.http.URL+"/v1/runs", strings.NewReader(runBody("default", "t", "hello")))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", accept)
			if resp, err := http.DefaultClient.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if got := n.Load(); got == 0 || got > 3 {
				t.Errorf("the record was read %d times in 3 seconds, want 1 to 3", got)
			}
		})
	}
}
