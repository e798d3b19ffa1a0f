package server_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

// probedDB is a queue that can tell whether it accepts writes. Reads always succeed.
type probedDB struct {
	*memory.DB
	probes atomic.Int64
	away   atomic.Pointer[fault.Outage] // of writes; nil while there is none
	hangs  chan struct{}                // if not nil, a probe waits for it and ignores its context
}

func (d *probedDB) Probe(context.Context) error {
	d.probes.Add(1)
	if d.hangs != nil {
		<-d.hangs
	}
	if o := d.away.Load(); o != nil {
		return o
	}
	return nil
}

func (d *probedDB) Handle(tenant string) mailbox.Handle { return probedStore{d.Store(tenant), d} }

type probedStore struct {
	*memory.Store
	db *probedDB
}

func (s probedStore) Enqueue(ctx context.Context, terms mailbox.Terms, ds ...*mailbox.Dispatch) ([]int, error) {
	if o := s.db.away.Load(); o != nil {
		return nil, o
	}
	return s.Store.Enqueue(ctx, terms, ds...)
}

func (s probedStore) Change(ctx context.Context, threadID string, fn func(t *mailbox.Thread) error) error {
	if o := s.db.away.Load(); o != nil {
		return o
	}
	return s.Store.Change(ctx, threadID, fn)
}

func TestHealth_SaysWhatIsWrongWithAStoreThatOnlyReadsAndRecovers(t *testing.T) {
	t.Parallel()
	db := &probedDB{DB: memory.NewDB()}
	g := &rig{t: t, db: db, keys: adminKeys(t), idle: true}
	g.start()
	if _, err := db.Store("").Acquire(t.Context(), "t"); err != nil { // creates it
		t.Fatal(err)
	}
	g.want(200, "GET", "/health", "")
	db.away.Store(&fault.Outage{Reason: "the store is out of disk space", Err: errors.New("write /secret/path: no space left on device")})
	resp := g.do("POST", "/v1/threads/t/messages", `{"messages":[{"role":"user","content":"hello"}]}`)
	resp.Body.Close()
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("a run was answered with %d, Retry-After %q; want 503", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	if out := g.want(503, "POST", "/v1/threads/t/messages", `{"messages":[{"role":"user","content":"hello"}]}`); out["code"] != "store_unavailable" || out["error"] != "the store is out of disk space" {
		t.Errorf("got %v", out)
	}
	g.eventually("what is wrong", func() bool {
		status, text := g.ask("GET", "/health", "")
		return status == 503 && text == `{"status":"unhealthy","components":{"runtime":"ok","store":"the store is out of disk space"}}`
	})
	g.want(200, "GET", "/health/live", "")
	db.away.Store(nil)
	g.eventually("the recovery", func() bool {
		status, _ := g.ask("GET", "/health", "")
		return status == 200
	})
	g.want(202, "POST", "/v1/threads/t/messages", `{"messages":[{"role":"user","content":"hello"}]}`)
}

// A store that hangs has one probe in flight however many clients ask, and each of them gets an
// answer.
func TestHealth_AProbeThatHangsIsATimeoutAndIsNotRepeated(t *testing.T) {
	t.Parallel()
	db := &probedDB{DB: memory.NewDB(), hangs: make(chan struct{})}
	g := &rig{t: t, db: db, keys: adminKeys(t), idle: true}
	g.start()
	var clients sync.WaitGroup
	for range 20 {
		clients.Go(func() {
			if status, text := g.ask("GET", "/health", ""); status != 503 || !strings.Contains(text, `"store":"timeout"`) {
				t.Errorf("/health is %d: %s", status, text)
			}
		})
	}
	clients.Wait()
	time.Sleep(1100 * time.Millisecond) // the result is no longer recent
	clients.Go(func() {
		if status, text := g.ask("GET", "/health", ""); status != 200 {
			t.Errorf("after the store has returned, /health is %d: %s", status, text)
		}
	})
	time.Sleep(200 * time.Millisecond)
	if n := db.probes.Load(); n != 1 {
		t.Errorf("%d probes are in flight, want 1", n)
	}
	close(db.hangs)
	clients.Wait()
}
