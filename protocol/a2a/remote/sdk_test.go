package remote_test

import (
	"context"
	"net/http"
	"sync"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/a2a/a2atest"
)

// newSDK starts an agent on a2a-go's server, behind a front.
func newSDK(t testing.TB) (*front, *a2atest.Peer) {
	t.Helper()
	p := a2atest.Start(t)
	return newFront(t, p.URL), p
}

func TestSDK_StreamsAsksAndIsAnswered(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		f, _ := newSDK(t)
		s := newSide(t)
		s.far("far", f.URL, "", options)
		h := &heard{}
		res, err := s.runtime().Run(t.Context(), say("far", "t", "hi"), h)
		if err != nil || res.Response != "you said hi." || h.text != res.Response || h.pieces != 3 {
			t.Fatalf("got %+v, %v, heard %q in %d pieces", res, err, h.text, h.pieces)
		}
		res, err = s.runtime().Run(t.Context(), say("far", "u", "ask me"), nil)
		if err != nil || res.Status != awaken.RunWaiting || res.Waiting.Tickets[0].Reason != "Which one?" {
			t.Fatalf("got %+v, %v", res, err)
		}
		res, err = s.runtime().Resume(t.Context(), res.RunID, nil, res.Waiting.Tickets[0].Answer([]byte(`"the blue one"`)))
		if err != nil || res.Response != "you said the blue one." {
			t.Fatalf("got %+v, %v", res, err)
		}
	})
}

func TestSDK_TakenOverAndCancelled(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		f, peer := newSDK(t)
		s := newSide(t)
		s.far("far", f.URL, "", options)
		ctx, lose := lost(t)
		var once sync.Once
		h := &heard{each: func(ev awaken.Event) {
			if _, ok := ev.(*awaken.TextDelta); ok {
				once.Do(lose)
			}
		}}
		if _, err := s.runtime().Run(ctx, say("far", "t", "wait for it"), h); err == nil {
			t.Fatal("the first owner did not lose the run")
		}
		th, err := s.db.Store("").Thread(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
		if err := peer.Continue(); err != nil {
			t.Fatal(err)
		}
		res, err := s.runtime().Run(t.Context(), awaken.RunRequest{Continue: th.OpenRunID}, nil)
		if err != nil || res.Response != "you said wait for it." {
			t.Fatalf("got %+v, %v", res, err)
		}
		if sent := f.sent(); len(sent) != 1 {
			t.Errorf("sent %v", sent)
		}
	})
}

func TestSDK_IsCancelledAsADelegate(t *testing.T) {
	both(t, func(t *testing.T, options string) {
		f, _ := newSDK(t)
		var mu sync.Mutex
		var asked []string
		f.on = func(_ *http.Request, method string) bool {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, method)
			return true
		}
		s := newSide(t)
		s.far("far", f.URL, "", options)
		rt := s.runtime()
		var once sync.Once
		h := &heard{each: func(ev awaken.Event) {
			if _, ok := ev.(*awaken.TextDelta); ok {
				once.Do(func() {
					go func() {
						if err := rt.Cancel(context.Background(), "t"); err != nil {
							t.Error(err)
						}
					}()
				})
			}
		}}
		if res, err := rt.Run(t.Context(), say("far", "t", "wait"), h); err != nil || res.Termination.Type != awaken.Cancelled {
			t.Fatalf("got %+v, %v", res, err)
		}
		mu.Lock()
		defer mu.Unlock()
		if last := asked[len(asked)-1]; last != "CancelTask" {
			t.Errorf("the requests are %v, want the last to cancel the task", asked)
		}
	})
}
