package llm_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/awaken-go/awaken/llm"
)

// stream returns a model that yields deltas and then err, if there is one.
func stream(err error, deltas ...llm.Delta) llm.Model {
	return llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
		return func(yield func(llm.Delta, error) bool) {
			for _, d := range deltas {
				if !yield(d, nil) {
					return
				}
			}
			if err != nil {
				yield(llm.Delta{}, err)
			}
		}
	})
}

func TestGenerate_CollectsTheReply(t *testing.T) {
	t.Parallel()
	got, err := llm.Generate(t.Context(), stream(nil, text("Hel"), text("lo"), usage(1, 2), finish(llm.EndTurn)), &llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	want := &llm.Reply{
		Message: llm.NewText(llm.Assistant, "Hello"),
		Usage:   llm.Usage{PromptTokens: 1, CompletionTokens: 2},
		Finish:  llm.EndTurn,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

func TestGenerate_WithoutAFinishIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]llm.Model{"text": stream(nil, text("Hel")), "nothing": stream(nil)} {
		reply, err := llm.Generate(t.Context(), m, &llm.Request{})
		if llm.KindOf(err) != llm.Interrupted || reply != nil {
			t.Errorf("%s: got %v and error %v, want an error of kind interrupted", name, reply, err)
		}
	}
}

func TestGenerate_ReturnsTheModelsError(t *testing.T) {
	t.Parallel()
	broken := &llm.Error{Kind: llm.RateLimited}
	reply, err := llm.Generate(t.Context(), stream(broken, text("Hel")), &llm.Request{})
	if !errors.Is(err, broken) || reply != nil {
		t.Errorf("got %v and error %v, want %v", reply, err, broken)
	}
}

func TestGenerate_PassesTheRequestOn(t *testing.T) {
	t.Parallel()
	req := &llm.Request{Model: "m"}
	m := llm.ModelFunc(func(ctx context.Context, got *llm.Request) iter.Seq2[llm.Delta, error] {
		if got != req || ctx != t.Context() {
			t.Errorf("model was given %+v, want %+v", got, req)
		}
		return stream(nil, finish(llm.EndTurn)).Stream(ctx, got)
	})
	if _, err := llm.Generate(t.Context(), m, req); err != nil {
		t.Error(err)
	}
}
