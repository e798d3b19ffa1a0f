package engine_test

import (
	"context"
	"iter"
	"testing"

	"github.com/awaken-go/awaken"
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
