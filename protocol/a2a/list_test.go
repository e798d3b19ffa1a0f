package a2a

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// listing is a request for a list.
type listing struct {
	protocol.Call
	store *slowRuns
}

// slowRuns is a store that lists no runs, and takes its time.
type slowRuns struct {
	mailbox.Handle
	asked chan struct{}
	over  <-chan struct{}
}

func (l *listing) Context() context.Context { return context.Background() }
func (l *listing) Tenant() *mailbox.Tenant  { return &mailbox.Tenant{Store: l.store} }
func (l *listing) Owner() (*string, error)  { return nil, nil }
func (l *listing) Reply(int, any) error     { return nil }
func (l *listing) Release()                 {}

func (s *slowRuns) ListRuns(context.Context, awaken.RunQuery) ([]*awaken.Run, error) {
	s.asked <- struct{}{}
	<-s.over
	return nil, nil
}

// However many lists clients ask for, a few are made at once: one may look at thousands of runs.
func TestList_FewAtOnce(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		const all, few = 10, 2
		asked, over := make(chan struct{}, all), make(chan struct{})
		cfg := &Config{pages: make(chan struct{}, few)}
		var wg sync.WaitGroup
		for range all {
			wg.Go(func() {
				if err := (&exchange{Call: &listing{store: &slowRuns{asked: asked, over: over}}, cfg: cfg}).list(&listRequest{}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(asked); n != few {
			t.Errorf("%d lists are made at once, want %d", n, few)
		}
		close(over)
		wg.Wait()
		if n := len(asked); n != all {
			t.Errorf("%d lists were made, want %d", n, all)
		}
	})
}
