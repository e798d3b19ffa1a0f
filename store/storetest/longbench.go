package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
)

// BenchmarkLong compares threads of 10 and of 10,000 turns: the time of a commit, and the
// time to read the last 50 messages. Measurements are interleaved; ratios are medians over
// pairs.
func BenchmarkLong(b *testing.B, s awaken.Store) {
	const short, turns, bulk = 10, 10_000, 100
	long := NewLong(b, s, "long")
	long.Grow(turns, bulk)
	timed := func(f func()) float64 {
		start := time.Now()
		f()
		return float64(time.Since(start).Nanoseconds()) / 1000
	}
	report := func(b *testing.B, prepare, onShort, onLong func()) {
		var ratios, shorts, longs []float64
		for b.Loop() {
			prepare()
			s, l := timed(onShort), timed(onLong)
			ratios, shorts, longs = append(ratios, l/s), append(shorts, s), append(longs, l)
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(shorts), "µs-short")
		b.ReportMetric(median(longs), "µs-long")
		b.ReportMetric(median(ratios), "ratio")
	}
	n := 0
	b.Run("commit", func(b *testing.B) {
		var young *Long
		report(b, func() {
			n++
			young = NewLong(b, s, fmt.Sprint("short", n))
			young.Grow(short, short)
		}, func() { young.Commit(1) }, func() { long.Commit(1) })
	})
	b.Run("open", func(b *testing.B) {
		open := func(id string) func() {
			return func() {
				recs, err := s.Messages(b.Context(), id, awaken.MessageQuery{Limit: 50, Last: true})
				if err != nil || len(recs) != 50 {
					b.Fatalf("%d records, %v", len(recs), err)
				}
			}
		}
		n++
		fifty := fmt.Sprint("fifty", n)
		other := NewLong(b, s, fifty)
		other.Grow(25, 25)
		report(b, func() {}, open(fifty), open("long"))
	})
}
