package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm/llmtest"
)

func TestTool_EachCallHasATimeLimitOfItsOwn(t *testing.T) {
	t.Parallel()
	bubbletest.Test(t, func(t *testing.T) {
		n := 0
		slow := awaken.NewTool(awaken.ToolSpec{ID: "slow", Timeout: 3 * time.Second}, func(ctx context.Context, _ *awaken.ToolCall, _ args) (string, error) {
			if n++; n == 3 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			select {
			case <-time.After(2 * time.Second):
				return "done", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		g := newRig(t, []llmtest.Turn{uses("slow"), uses("slow"), uses("slow"), uses("slow"), llmtest.Say("ok")}, withTools(slow))
		began := time.Now()
		_, p := g.run(say("hi"))
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("it took %s, want 9s", took)
		}
		done := eventsOf[awaken.ToolCallDone](p)
		if len(done) != 4 {
			t.Fatalf("%d calls ended, want 4", len(done))
		}
		for i, want := range []awaken.CallStatus{awaken.CallSucceeded, awaken.CallSucceeded, awaken.CallFailed, awaken.CallSucceeded} {
			if done[i].Outcome != want {
				t.Errorf("call %d ended as %s, want %s: %s", i+1, done[i].Outcome, want, toJSON(t, done[i]))
			}
		}
	})
}
