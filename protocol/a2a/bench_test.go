package a2a_test

import (
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A delta costs no allocation, but for the answer, which grows.
func TestBudget_Delta(t *testing.T) {
	if n := protocoltest.DeltaAllocs(t, a2a.NewEncoder(a2a.Options{})); n > 0 {
		t.Errorf("a delta costs %v allocations", n)
	}
}

func BenchmarkEncode(b *testing.B) {
	var all [][]awaken.Entry
	for _, r := range protocoltest.GoldenRuns(b) {
		all = append(all, r.First())
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, entries := range all {
			n += len(encode(b, entries, a2a.Options{}, protocol.Position{}))
		}
	}
	b.SetBytes(int64(n / b.N))
}
