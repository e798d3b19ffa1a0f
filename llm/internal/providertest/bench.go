package providertest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
)

// Bare calls a provider without an adapter: it posts a prepared body, decodes each event with
// encoding/json, and counts those with text. It checks nothing. An adapter cannot be faster,
// unless it decodes faster.
type Bare struct {
	URL, Body string
	Text      func(event []byte) (text string, err error)
}

func (r Bare) ask(ctx context.Context, client *http.Client) (pieces int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		event := bytes.TrimPrefix(lines.Bytes(), []byte("data: "))
		if len(event) == 0 || event[0] != '{' {
			continue
		}
		text, err := r.Text(event)
		if err != nil {
			return pieces, err
		}
		if text != "" {
			pieces++
		}
	}
	return pieces, lines.Err()
}

// Overhead measures what an adapter adds to a bare client, per piece of text and per request.
// It alternates between both in one run, without a network, so that the ratio (x) is comparable
// between machines.
func Overhead(b *testing.B, a Adapter, bare Bare) {
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
				timed(&other, func() (int, error) { return bare.ask(b.Context(), client) })
			}
			each := float64(b.N * c.pieces)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(own.Nanoseconds())/each, "ns/"+c.name)
			b.ReportMetric(float64(other.Nanoseconds())/each, "bare-ns/"+c.name)
			b.ReportMetric(float64(own)/float64(other), "x")
		})
	}
}

// Cancel measures the time from a cancel in the middle of a stream until the provider sees the
// closed connection.
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
