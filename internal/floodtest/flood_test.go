//go:build linux

package floodtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

// mostMiB is how much more memory than before a flood may take. Replies have a quarter of their default size in short tests.
func mostMiB() float64 { return float64(testenv.Times(48, 64)) }

// A reply without an end costs its own run, and little memory.
func TestFlood(t *testing.T) {
	stores, adapters := rigtest.Kinds[:1], dialects[:1]
	if testenv.Long() {
		stores, adapters = rigtest.Kinds, dialects
	}
	for _, store := range stores {
		for i := range adapters {
			d := &adapters[i]
			t.Run(store+"/"+d.adapter, func(t *testing.T) {
				p := start(t, store)
				for _, agent := range []string{d.adapter, "compatible"} {
					if out, err := p.run(t.Context(), agent, "first-"+agent, "hello"); err != nil || !strings.Contains(out, "hello there") {
						t.Fatalf("%s: %v %s", agent, err, out)
					}
				}
				idle := p.settled()
				t.Logf("%-12s %-10s %9s %9s %8s %9s %9s %8s", "adapter", "flood", "idle MiB", "most MiB", "took", "sent MiB", "others", "slowest")
				for j := range floods {
					t.Run(floods[j].name, func(t *testing.T) { p.flood(t, d, &floods[j], idle) })
				}
				t.Run("cancel", func(t *testing.T) { p.cancelFlood(t, d) })
			})
		}
	}
}

// flood runs an agent whose model floods it, beside runs of another one. Idle is the memory of the program before the first flood.
func (p *program) flood(t *testing.T, d *dialect, f *flood, idle float64) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := p.watch()
	var served, slowest atomic.Int64
	quit, quiet := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(quiet)
		for n := 0; ; n++ {
			select {
			case <-quit:
				return
			default:
			}
			began := time.Now()
			out, err := p.run(ctx, "compatible", fmt.Sprintf("other-%s-%s-%d", d.adapter, f.name, n), "hello")
			if err != nil || !strings.Contains(out, "hello there") {
				t.Errorf("another run got %v %.300s", err, out)
				return
			}
			served.Add(1)
			slowest.Store(max(slowest.Load(), int64(time.Since(began))))
		}
	}()
	p.providers[d.adapter].begin()
	began := time.Now()
	out, err := p.run(ctx, d.adapter, "flood-"+d.adapter+"-"+f.name, "flood "+f.name)
	took := time.Since(began)
	close(quit)
	<-quiet
	most := stop()
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(out, "reply too large")
	if at < 0 || !strings.Contains(out, f.limit) {
		t.Errorf("the run ended with %.300s…%.600s, want an error that names %s", out, out[max(0, len(out)-600):], f.limit)
	}
	t.Logf("%-12s %-10s %9.1f %9.1f %8s %9.1f %9d %8s", d.adapter, f.name, idle, most, took.Round(time.Millisecond),
		p.providers[d.adapter].size(), served.Load(), time.Duration(slowest.Load()).Round(time.Millisecond))
	if most-idle > mostMiB() {
		t.Errorf("the program took %.1f MiB more than the %.1f before, want at most %.0f", most-idle, idle, mostMiB())
	}
}

// cancelFlood cancels a run in the middle of a flood.
func (p *program) cancelFlood(t *testing.T, d *dialect) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	deep := p.providers[d.adapter].begin()
	resp, err := p.Open(ctx, http.MethodPost, "/v1/runs", rigtest.RunBody(d.adapter, "cancel-"+d.adapter, "flood tokens"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	select {
	case <-deep:
	case <-ctx.Done():
		t.Fatal("the flood does not begin")
	}
	began := time.Now()
	if err := p.Ask(ctx, http.MethodPost, "/v1/runs/"+resp.Header.Get("X-Run-Id")+"/cancel", "", nil); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(resp.Body)
	took := time.Since(began)
	if err != nil || !strings.Contains(string(data[max(0, len(data)-2000):]), `"termination":{"type":"cancelled"`) {
		t.Errorf("the stream ended with %v …%s, want that the run was cancelled", err, data[max(0, len(data)-2000):])
	}
	t.Logf("%-12s cancelled after %s", d.adapter, took.Round(time.Millisecond))
	if took > time.Second {
		t.Errorf("the cancel took %s, want at most a second", took)
	}
}
