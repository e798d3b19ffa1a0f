package aisdk_test

import (
	"testing"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A delta costs no allocation.
func TestBudget_Delta(t *testing.T) {
	if n := protocoltest.DeltaAllocs(t, &aisdk.Encoder{}); n > 0 {
		t.Errorf("a delta costs %v allocations", n)
	}
}

func BenchmarkEncode(b *testing.B) {
	var all []protocoltest.Segment
	for _, r := range protocoltest.GoldenRuns(b) {
		all = append(all, r.Segments...)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for i := range all {
			n += len(all[i].Encode(b, &aisdk.Encoder{}, protocol.Position{}))
		}
	}
	b.SetBytes(int64(n / b.N))
}
