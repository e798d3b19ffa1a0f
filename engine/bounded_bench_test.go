package engine

import (
	"context"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
)

// BenchmarkHook measures what it costs to call a hook that does nothing.
func BenchmarkHook(b *testing.B) {
	r := newParts(b)
	hook := &registry.Hook{Plugin: "p", Hook: func(context.Context, *awaken.HookCall) error { return nil }}
	h := &awaken.HookCall{Phase: awaken.PhaseStepStart, Run: r.info}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.runHook(r.ctx, hook, h); err != nil {
			b.Fatal(err)
		}
	}
}
