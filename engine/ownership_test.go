package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm/llmtest"
)

// ownerFunc is an owner that only checks.
type ownerFunc func() error

func (f ownerFunc) Check() error { return f() }

// A process that was paused learns right before a call that it may have lost the run, although
// nothing has cancelled the run yet.
func TestRun_MakesNoCallOfARunThatItMayHaveLost(t *testing.T) {
	made := 0
	tool := awaken.NewTool(awaken.ToolSpec{ID: "pay"}, func(context.Context, *awaken.ToolCall, struct{}) (string, error) {
		made++
		return "paid", nil
	})
	g := newRig(t, []llmtest.Turn{uses("pay"), llmtest.Say("ok")}, withTools(tool))
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	lost := errors.Join(awaken.ErrFenced, errors.New("paused"))
	req := say("pay")
	req.RunID = "r"
	res, err := g.rt.Run(ownership.With(ctx, ownerFunc(func() error {
		cancel(lost)
		return lost
	})), req, nil)
	if res != nil || !errors.Is(err, awaken.ErrFenced) || made != 0 {
		t.Errorf("got %+v, %v after %d calls, want ErrFenced and no call", res, err, made)
	}
	for _, c := range g.calls("r") {
		if c.Status != awaken.CallRunning || c.Result != nil {
			t.Errorf("the owner that was lost wrote %+v", c)
		}
	}
}
