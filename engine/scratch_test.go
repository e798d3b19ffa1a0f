package engine_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/ownership"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/memory"
)

// keeper is a model that keeps its consumers, and tells all earlier ones something whenever it answers.
type keeper struct {
	kept     []func(llm.Delta, error) bool
	accepted int // how often an earlier consumer wanted more
}

func (k *keeper) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, old := range k.kept {
			if old(llm.Delta{Kind: llm.TextDelta, Text: "of another run"}, nil) {
				k.accepted++
			}
		}
		k.kept = append(k.kept, yield)
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "mine"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// A run's memory is used again by later runs. A model that keeps the consumer of an answer reaches
// none of them with it.
func TestRun_AModelThatKeepsItsConsumerReachesNoLaterRun(t *testing.T) {
	model := &keeper{}
	rt := benchRuntime(t, model, "", memory.New())
	for range 50 {
		res, err := rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.Response != "mine" {
			t.Fatalf("the answer is %q, want %q", res.Response, "mine")
		}
	}
	if len(model.kept) != 50 || model.accepted > 0 {
		t.Errorf("of %d consumers, %d wanted more after their run, want none of 50", len(model.kept), model.accepted)
	}
}

// asker is a model that keeps its callers, and tells all earlier ones that it waits whenever it answers.
type asker struct{ kept []llm.Caller }

func (a *asker) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, old := range a.kept {
			old.RateWaits(llm.RateWait{Provider: "of another run"})
		}
		a.kept = append(a.kept, req.Caller)
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "mine"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// of is the owner of a tenant's runs.
type of string

func (of) Check() error          { return nil }
func (t of) For() (string, bool) { return string(t), false }

// What keeps the request of a run, as a limit of rates may for a model that was given up, learns
// nothing of a later run by its caller, and tells it nothing.
func TestRun_AModelThatKeepsItsCallerReachesNoLaterRun(t *testing.T) {
	model := &asker{}
	rt := benchRuntime(t, model, "", memory.New())
	sink := awaken.SinkFunc(func(_ context.Context, e awaken.Entry) error {
		if ev, ok := e.Event.(*awaken.ActivitySnapshot); ok {
			t.Errorf("the run shows %s", ev.Content)
		}
		return nil
	})
	for i := range 50 {
		ctx := ownership.With(t.Context(), of(fmt.Sprint("tenant-", i)))
		if _, err := rt.Run(ctx, awaken.RunRequest{Messages: []*llm.Message{llm.UserText("go")}}, sink); err != nil {
			t.Fatal(err)
		}
		for n, c := range model.kept {
			if got, _ := c.Customer(); got != fmt.Sprint("tenant-", n) {
				t.Fatalf("after run %d, the caller of run %d is %q", i, n, got)
			}
		}
	}
	if len(model.kept) != 50 {
		t.Errorf("the model was called %d times, want 50", len(model.kept))
	}
}
