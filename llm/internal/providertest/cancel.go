package providertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// cancelCases test callers that cancel. The server must see a closed connection.
func cancelCases() []testCase {
	return []testCase{
		{"BeforeTheRequest", nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			equal(t, "kind", askCtx(t, ctx, a.open(t, s), a.request()).kind(), llm.Cancelled)
			equal(t, "requests", len(s.requests()), 0)
		}},
		{"WhileWaitingForAnAnswer", nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{silence: true})
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			equal(t, "kind", askCtx(t, ctx, a.open(t, s), a.request()).kind(), llm.Cancelled)
			seenGone(t, s)
		}},
		{"InTheStream", nil, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(says("one"))
			s := newServer(t, script{frames: parts, end: stall})
			why := errors.New("the user left")
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var last error
			for d, err := range a.open(t, s).Stream(ctx, a.request()) {
				if last = err; d.Kind == llm.TextDelta {
					cancel(why)
				}
			}
			equal(t, "kind", llm.KindOf(last), llm.Cancelled)
			if !errors.Is(last, why) {
				t.Errorf("the reason is lost: %v", last)
			}
			seenGone(t, s)
		}},
		{"NothingIsReadAfterwards", nil, func(t *testing.T, a *Adapter) {
			parts, end := a.Speak(says("one", "two", "three", "four"))
			all := cut(append(parts, end...), 1<<20) // the rest is already here
			s := newServer(t, script{frames: all, end: stall})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []string
			var last error
			for d, err := range a.open(t, s).Stream(ctx, a.request()) {
				if last = err; d.Kind == llm.TextDelta {
					got = append(got, d.Text)
					cancel()
				}
			}
			equal(t, "kind", llm.KindOf(last), llm.Cancelled)
			equal(t, "text", got, []string{"one"})
			seenGone(t, s)
		}},
		{"LeavingTheLoop", nil, func(t *testing.T, a *Adapter) {
			parts, _ := a.Speak(says("one", "two"))
			s := newServer(t, script{frames: parts, end: stall})
			for d, err := range a.open(t, s).Stream(t.Context(), a.request()) {
				if err != nil {
					t.Fatal(err)
				}
				if d.Kind == llm.TextDelta {
					break
				}
			}
			seenGone(t, s)
		}},
		{"NoRequestBeforeTheLoop", nil, func(t *testing.T, a *Adapter) {
			s := newServer(t, script{})
			_ = a.open(t, s).Stream(t.Context(), a.request())
			equal(t, "requests", len(s.requests()), 0)
		}},
	}
}

// seenGone fails the test if the server does not soon see its client disconnect.
func seenGone(t testing.TB, s *server) {
	t.Helper()
	start := time.Now()
	select {
	case at := <-s.gone:
		t.Logf("the server saw it after %s", max(0, at.Sub(start)).Round(time.Microsecond))
	case <-time.After(5 * time.Second):
		t.Error("the connection is still open")
	}
}
