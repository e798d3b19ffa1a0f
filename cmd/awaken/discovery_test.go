package main

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
)

// lister is a provider that counts how often it is asked for its models.
type lister struct {
	asked int
	down  bool
}

func (l *lister) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] { return nil }

func (l *lister) ListModels(ctx context.Context) ([]llm.ModelInfo, error) {
	l.asked++
	if l.down {
		return nil, errors.New("it is down")
	}
	return []llm.ModelInfo{{ID: "odd-model", ContextWindow: 123}}, ctx.Err()
}

func TestDiscovery_AsksEachProviderOnceAndForgetsReplacedOnes(t *testing.T) {
	bubbletest.Test(t, func(t *testing.T) {
		d := &discovery{log: slog.New(slog.DiscardHandler)}
		window := func(ctx context.Context, l *lister) int {
			spec := &awaken.ModelSpec{ID: "m", ProviderID: "p", UpstreamModel: "odd-model"}
			d.complete(ctx, spec, l)
			return spec.ContextWindow
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		one, two := &lister{}, &lister{down: true}
		if got := window(gone, one); got != 123 {
			t.Errorf("the window is %d: the client is gone, and others are not", got)
		}
		if window(t.Context(), one); one.asked != 1 {
			t.Errorf("it was asked %d times, want once", one.asked)
		}
		window(t.Context(), two)
		if len(d.asked) != 1 {
			t.Errorf("%d providers are remembered, want the current one", len(d.asked))
		}
		two.down = false
		if got := window(t.Context(), two); got != 0 || two.asked != 1 {
			t.Errorf("the window is %d, and it was asked %d times: one that is down is left alone", got, two.asked)
		}
		time.Sleep(2 * time.Minute)
		if got := window(t.Context(), two); got != 123 {
			t.Errorf("the window is %d, want that of a provider that is up again", got)
		}
	})
}
