package aisdk_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/store/memory"
)

// awayDB is a store whose logs cannot be read while gone is set.
type awayDB struct {
	*memory.DB
	gone    atomic.Bool
	refused chan struct{} // gets a value for each refusal, unless it is full
}

func (d *awayDB) Handle(tenant string) mailbox.Handle { return awayStore{d.Store(tenant), d} }

type awayStore struct {
	*memory.Store
	of *awayDB
}

func (s awayStore) Entries(ctx context.Context, id string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	if s.of.gone.Load() {
		select {
		case s.of.refused <- struct{}{}:
		default:
		}
		return nil, &fault.Outage{Reason: "the store is not reachable", Err: io.ErrUnexpectedEOF}
	}
	return s.Store.Entries(ctx, id, q)
}

// A store that is away for a while does not end the stream of a run, which goes on: the page shows the whole answer.
func TestStream_OutlastsAnOutage(t *testing.T) {
	goOn := make(chan struct{})
	g := protocoltest.Idle(t, aisdk.Routes())
	stored := memory.NewDB()
	g.DB, g.Slow = stored, goOn
	g.Box, g.URL = g.Start(true)
	first := g.Send(http.MethodPost, g.URL+"/v1/ai-sdk/chat", `{"id":"t","agentId":"slow","messages":[{"role":"user","content":"go"}]}`)
	defer first.Body.Close()
	db := &awayDB{DB: stored, refused: make(chan struct{}, 1)}
	g.DB = db
	_, another := g.Start(false) // follows the run by reading the store
	page := g.Send(http.MethodGet, another+"/v1/ai-sdk/runs/"+first.Header.Get("X-Run-Id")+"/stream", "")
	defer page.Body.Close()
	db.gone.Store(true)
	<-db.refused
	db.gone.Store(false)
	close(goOn)
	got, err := io.ReadAll(page.Body)
	if err != nil {
		t.Fatalf("%v after %s", err, got)
	}
	if list := chunksOf(t, string(got)); shown(list) != protocoltest.SlowText || !strings.HasSuffix(string(got), "data: [DONE]\n\n") {
		t.Errorf("the page shows %q, want %q: %s", shown(list), protocoltest.SlowText, got)
	}
}
