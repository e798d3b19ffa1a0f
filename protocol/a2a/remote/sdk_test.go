package remote_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/awaken-go/awaken"
)

// clerk is an agent on a2a-go's server. It answers in three pieces, asks if it is told to, and waits if it is told to.
type clerk struct{ resume chan struct{} }

func (c *clerk) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		if x.StoredTask == nil && !yield(sdk.NewSubmittedTask(x, x.Message), nil) {
			return
		}
		said := ""
		for _, p := range x.Message.Parts {
			said += p.Text()
		}
		if !yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateWorking, nil), nil) {
			return
		}
		if strings.HasPrefix(said, "ask") {
			yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateInputRequired, sdk.NewMessageForTask(sdk.MessageRoleAgent, x, sdk.NewTextPart("Which one?"))), nil)
			return
		}
		first := sdk.NewArtifactEvent(x, sdk.NewTextPart("you said "))
		if !yield(first, nil) {
			return
		}
		if strings.HasPrefix(said, "wait") {
			select {
			case <-c.resume:
			case <-ctx.Done():
				return
			}
		}
		for _, piece := range []string{said, "."} {
			if !yield(sdk.NewArtifactUpdateEvent(x, first.Artifact.ID, sdk.NewTextPart(piece)), nil) {
				return
			}
		}
		yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateCompleted, nil), nil)
	}
}

func (c *clerk) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[sdk.Event, error] {
	return func(yield func(sdk.Event, error) bool) {
		yield(sdk.NewStatusUpdateEvent(x, sdk.TaskStateCanceled, nil), nil)
	}
}

// newSDK starts a2a-go's server, behind a front.
func newSDK(t testing.TB) (*front, *clerk) {
	t.Helper()
	c := &clerk{resume: make(chan struct{})}
	h := a2asrv.NewHandler(c)
	mux := http.NewServeMux()
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(h))
	mux.Handle("/rest/", http.StripPrefix("/rest", a2asrv.NewRESTHandler(h)))
	ts := httptest.NewServer(mux)
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	f := newFront(t, ts.URL)
	mux.Handle("/.well-known/agent-card.json", a2asrv.NewStaticAgentCardHandler(&sdk.AgentCard{Name: "clerk", Capabilities: sdk.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*sdk.AgentInterface{sdk.NewAgentInterface(f.URL+"/rest", sdk.TransportProtocolHTTPJSON), sdk.NewAgentInterface(f.URL+"/rpc", sdk.TransportProtocolJSONRPC)}}))
	return f, c
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
		f, c := newSDK(t)
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
		close(c.resume)
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
		f, c := newSDK(t)
		defer close(c.resume)
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
