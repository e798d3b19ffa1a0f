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
	enc := a2a.NewEncoder(a2a.Options{})
	var f protocol.Frames
	buf := make([]byte, 0, 4096)
	seq := uint64(0)
	encode := func(ev awaken.Event) {
		seq++
		f.Into(buf)
		f.Entry(awaken.Cursor{Epoch: 1, Seq: seq}, 0)
		if err := enc.Encode(&f, &awaken.Entry{Cursor: awaken.Cursor{Epoch: 1, Seq: seq}, Event: ev}); err != nil {
			t.Fatal(err)
		}
	}
	encode(&awaken.RunStart{ThreadID: "t", RunID: "r"})
	encode(&awaken.StepStart{MessageID: "m"})
	delta := &awaken.TextDelta{Delta: "a piece"}
	encode(delta)
	if n := testing.AllocsPerRun(1000, func() { encode(delta) }); n > 0 {
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
