package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"testing"
)

// watch is a way in which the servers of W6o are observed.
type watch struct {
	name     string
	settings []string
}

// watches are those of W6o. All are compared with the first. The second is the same again: how far its ratio is from 1 is what a figure may be wrong by.
var watches = []watch{
	{"nothing", nil},
	{"nothing-again", nil},
	{"metrics", []string{"OBSERVE=1", "OTEL_SDK_DISABLED=true"}},
	{"sampling=0", []string{"OBSERVE=1", "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0"}},
	{"sampling=1", []string{"OBSERVE=1", "OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=1"}},
}

// BenchmarkW6o compares the CPU of servers whose requests and runs are observed with one that observes nothing: as it is by default, for /metrics alone, and with a collector
// in another process that gets the metrics, and the spans of none or all of the requests. In memory it is W6, durable it is W6d with new threads. Use -benchtime=1x.
//
// A block starts a server of each kind, which then take turns of some ten milliseconds with the same number of runs: what slows the machine down for longer slows all of them down. The
// CPU of a server is that of the whole block, with what it does between its turns: collecting garbage and sending spans. Blocks begin with empty stores, because
// the garbage collector marks all that is in memory. A figure is the median of the ratios of the blocks, with its confidence interval of 95 %.
func BenchmarkW6o(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	b.Cleanup(collector.Close)
	for _, store := range []string{"memory", "sqlite"} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", store, clients), func(b *testing.B) {
				const blocks = 15
				ratios := make([][]float64, len(watches))
				for range blocks {
					used := observedBlock(b, store, clients, collector.URL)
					for i := range used {
						ratios[i] = append(ratios[i], used[i]/used[0])
					}
					b.Logf("µs of CPU for a run: %.0f", used)
				}
				for i := range watches[1:] {
					slices.Sort(ratios[i+1])
					low, high := interval(ratios[i+1])
					b.ReportMetric(ratios[i+1][blocks/2], watches[i+1].name)
					b.ReportMetric(low, watches[i+1].name+"-low")
					b.ReportMetric(high, watches[i+1].name+"-high")
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// observedBlock returns the µs of CPU for a run, of a new server for each of watches.
func observedBlock(b *testing.B, store string, clients int, collector string) []float64 {
	b.Helper()
	const total = 6144
	runs := max(32, 4*clients) // of a turn
	var servers, loads []*process
	for _, w := range watches {
		settings := append(w.settings[:len(w.settings):len(w.settings)], "OTEL_EXPORTER_OTLP_ENDPOINT="+collector, fmt.Sprint("PIECES=", w6Pieces), fmt.Sprint("SIZE=", w6Size))
		load := []string{fmt.Sprint("CLIENTS=", clients)}
		if store != "memory" {
			settings, load = append(settings, "DATABASE="+durable(b, store)), append(load, "THREADS=new")
		}
		server := spawn(b, "server", settings...)
		defer server.end()
		client := spawn(b, "turns", append(load, "ADDR="+server.line())...)
		defer client.end()
		servers, loads = append(servers, server), append(loads, client)
	}
	turn := func(i, runs int) {
		fmt.Fprintln(loads[i].in, runs)
		loads[i].line()
	}
	used := make([]float64, len(watches))
	for i, s := range servers {
		turn(i, 512) // opens what a server opens once
		used[i] = -s.cpu().Seconds()
	}
	for n := range total / runs {
		for i := range servers {
			turn((i+n)%len(servers), runs)
		}
	}
	for i, s := range servers {
		used[i] = (used[i] + s.cpu().Seconds()) / total * 1e6
	}
	return used
}

// takeTurns is a client process that makes as many runs as a line of its standard input says, and replies with a line. Its clients share them.
func takeTurns() error {
	clients, err := dialLoad()
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			return err
		}
		err = together(clients, func(c *loadClient) (err error) {
			for i := 0; err == nil && i < n/len(clients); i++ {
				err = c.run()
			}
			return err
		})
		if err != nil {
			return err
		}
		fmt.Println("done")
	}
	return nil
}

// interval returns the confidence interval of the median of sorted values, which is wrong in 5 % of the cases at most: the values between which it is.
func interval(sorted []float64) (low, high float64) {
	n := len(sorted)
	outside, ways, all := 0.0, 1.0, float64(uint64(1)<<n)
	k := 0
	for ; k < n/2; k++ { // the median is below the k-th value if at most k-1 values are below the median
		if outside += ways / all; outside > 0.025 {
			break
		}
		ways = ways * float64(n-k) / float64(k+1)
	}
	return sorted[max(k-1, 0)], sorted[min(n-k, n-1)]
}
