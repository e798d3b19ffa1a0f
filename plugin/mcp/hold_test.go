package mcp

import (
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
)

// A call whose question no person answers waits for 15 minutes. Then the server that asked gets an error, and
// nothing of the call is left.
func TestHold_ACallThatIsNotResumedIsForgotten(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		c, err := Connect(Server{ID: "s", Command: "x"}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(c)
		call := &awaken.ToolCall{ID: "c1", Key: "r/0/0"}
		x := s.enter(t.Context(), call, "t")
		told := make(chan error, 1)
		go func() {
			_, err := s.put(t.Context(), "", newQuestion(&sdk.ElicitParams{Message: "Which day?"}, nil))
			told <- err
		}()
		s.hold(x, <-x.asks)
		time.Sleep(holdFor - time.Second)
		synctest.Wait()
		if s.held[call.Key] != x || !s.busy() || len(told) > 0 {
			t.Fatal("the call is forgotten before 15 minutes have passed")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(s.held) > 0 || s.busy() || x.ctx.Err() == nil {
			t.Errorf("%d calls are held, the session is busy: %t, the call is over: %v", len(s.held), s.busy(), x.ctx.Err())
		}
		select {
		case err := <-told:
			if err == nil {
				t.Error("the server gets an answer")
			}
		default:
			t.Error("the server still waits")
		}
		if s.retake(t.Context(), call, "t") != nil {
			t.Error("the call is continued")
		}
		s.cancel(nil)
	})
}
