package deliver_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/plugin/mcp/oauth"
)

// setBack is a log of changes that is shorter for a moment, as a replica that is behind shows it.
type setBack struct {
	changelog.Memory
	shorter atomic.Bool
	seen    chan struct{} // closed when a reader was shown the shorter one
}

func (s *setBack) Horizon(ctx context.Context) (int64, error) {
	end, err := s.Memory.Horizon(ctx)
	if s.shorter.CompareAndSwap(true, false) {
		end--
		close(s.seen)
	}
	return end, err
}

// announced announces the runs for which hooks are made.
type announced struct {
	webhook.Memory
	runs chan string
}

func (a *announced) SwapHook(ctx context.Context, h *webhook.Hook) (bool, error) {
	made, err := a.Memory.SwapHook(ctx, h)
	if made {
		a.runs <- h.RunID
	}
	return made, err
}

// lockedText is a log that several goroutines write.
type lockedText struct {
	mu sync.Mutex
	strings.Builder
}

func (l *lockedText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(p)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.String()
}

// An endpoint whose reader has lost the log of changes gets another one, and continues where it was.
func TestRouter_OpensALogAgainThatDidNotContinue(t *testing.T) {
	g := newRig(t)
	log, hooks, said := &setBack{seen: make(chan struct{})}, &announced{runs: make(chan string, 10)}, &lockedText{}
	sealer, err := oauth.NewSealer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	r, err := deliver.NewRouter(deliver.RouterConfig{Endpoints: new(webhook.MemoryEndpoints), Hooks: hooks, Changes: log, Sealer: sealer,
		Poll: 5 * time.Millisecond, Lease: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r.Use(g.sender(nil))
	if _, err := r.Add(t.Context(), &webhook.Endpoint{ID: "e", Spec: webhook.EndpointSpec{URL: "https://example.com"}}); err != nil {
		t.Fatal(err)
	}
	g.background(r.Work)
	finished := func(run string) {
		t.Helper()
		log.Add("", changelog.Change{Kind: changelog.Run, RunID: run, Status: string(awaken.RunDone), Run: &awaken.Run{RunID: run, Status: awaken.RunDone}})
		select {
		case got := <-hooks.runs:
			if got != run {
				t.Errorf("a hook is made for run %q, want %q", got, run)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no hook is made for run %q; the router says\n%s", run, said)
		}
	}
	finished("first")
	log.shorter.Store(true)
	<-log.seen
	finished("second")
	if want := "cannot read the log of changes for an endpoint"; !strings.Contains(said.String(), want) {
		t.Errorf("the router says\n%s\nwant %q", said, want)
	}
}
