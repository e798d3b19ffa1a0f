package providertest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Raw returns a function that asks the provider for a stream without the adapter: with the
// provider's own SDK, or with a loop that does nothing but decode. That returns how many
// pieces of text came.
type Raw func(client *http.Client) func(ctx context.Context) (pieces int, err error)

// Overhead measures what an adapter adds to the stream of the SDK: for each piece of text,
// and for each request. Both are measured in turns, in one run, without a network, so that the
// ratio (x) means something on any machine.
func Overhead(b *testing.B, a Adapter, raw Raw) {
	for _, c := range []struct {
		name   string
		pieces int
	}{{"piece", 1000}, {"request", 1}} {
		b.Run(c.name, func(b *testing.B) {
			words := make([]string, c.pieces)
			for i := range words {
				words[i] = fmt.Sprintf("word%d ", i)
			}
			parts, end := a.Speak(says(words...))
			client := &http.Client{Transport: fixed{http.StatusOK, http.Header{"Content-Type": {"text/event-stream"}}, slices.Concat(slices.Concat(parts, end)...)}}
			m := a.Open(b, provider.Config{APIKey: key, BaseURL: "http://provider.invalid", HTTPClient: client})
			ours := func() (n int, err error) {
				for d, err := range m.Stream(b.Context(), a.request()) {
					if err != nil {
						return n, err
					}
					if d.Kind == llm.TextDelta {
						n++
					}
				}
				return n, nil
			}
			theirs := raw(client)
			var own, other time.Duration
			timed := func(sum *time.Duration, f func() (int, error)) {
				start := time.Now()
				n, err := f()
				*sum += time.Since(start)
				if err != nil || n != c.pieces {
					b.Fatalf("%d pieces, want %d: %v", n, c.pieces, err)
				}
			}
			for b.Loop() {
				timed(&own, ours)
				timed(&other, func() (int, error) { return theirs(b.Context()) })
			}
			each := float64(b.N * c.pieces)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(own.Nanoseconds())/each, "ns/"+c.name)
			b.ReportMetric(float64(other.Nanoseconds())/each, "raw-ns/"+c.name)
			b.ReportMetric(float64(own)/float64(other), "x")
		})
	}
}

// Cancel measures how long it takes from a cancel in the middle of a stream until the
// provider sees that the connection is closed.
func Cancel(b *testing.B, a Adapter) {
	parts, _ := a.Speak(says("one"))
	s := newServer(b, script{frames: parts, end: stall})
	m := a.open(b, s)
	var all []time.Duration
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		var at time.Time
		for d, err := range m.Stream(ctx, a.request()) {
			if err == nil && d.Kind == llm.TextDelta {
				at = time.Now()
				cancel()
			}
		}
		cancel()
		all = append(all, (<-s.gone).Sub(at))
	}
	slices.Sort(all)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
}
