package server_test

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
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
// A block starts a server of each kind, which then take turns of a fifth of a second with the same number of runs: what slows the machine down for longer slows all of them down. The
// CPU of a server is that of the whole block, with what it does between its turns: collecting garbage and sending spans. Blocks begin with empty stores, because
// the garbage collector marks all that is in memory. In one that grows the last collection costs as much as all before it, and whether a server has come to it when the block ends is
// a matter of a few runs: so the numbers of runs of the blocks go evenly through a doubling. A figure is the mean of the ratios of the blocks, with its confidence interval of 95 %.
func BenchmarkW6o(b *testing.B) {
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	b.Cleanup(collector.Close)
	for _, store := range []string{"memory", "sqlite"} {
		for _, clients := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/clients=%d", store, clients), func(b *testing.B) {
				ratios := make([][]float64, len(watches))
				for block := range blocks {
					runs := 4096 * math.Pow(2, float64(block)/blocks)
					if store != "memory" { // nothing grows, and a run takes longer
						runs /= 4
					}
					used := observedBlock(b, store, clients, int(runs), collector.URL)
					for i := range used {
						ratios[i] = append(ratios[i], used[i]/used[0])
					}
					b.Logf("µs of CPU for a run: %.0f", used)
				}
				for i := range watches[1:] {
					mean, sure := mean(ratios[i+1])
					b.ReportMetric(mean, watches[i+1].name)
					b.ReportMetric(sure, "±"+watches[i+1].name)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// blocks is how many blocks a figure of W6o has.
const blocks = 16

// observedBlock returns the µs of CPU for a run, of a new server for each of watches, from about total runs.
func observedBlock(b *testing.B, store string, clients, total int, collector string) []float64 {
	b.Helper()
	runs := max(32, 4*clients) // of a turn
	total -= total % runs
	var servers, loads []*process
	for _, w := range watches {
		settings := append(w.settings[:len(w.settings):len(w.settings)], "OTEL_EXPORTER_OTLP_ENDPOINT="+collector, fmt.Sprint("PIECES=", w6Pieces), fmt.Sprint("SIZE=", w6Size))
		load := []string{fmt.Sprint("CLIENTS=", clients)}
		if store != "memory" {
			settings, load = append(settings, "DATABASE="+durable(b, store).at), append(load, "THREADS=new")
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
		used[i] = (used[i] + s.cpu().Seconds()) / float64(total) * 1e6
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

// mean returns the mean of the values of all blocks, and by how much it may be wrong in 95 % of the cases.
func mean(values []float64) (mean, sure float64) {
	for _, v := range values {
		mean += v / blocks
	}
	for _, v := range values {
		sure += (v - mean) * (v - mean)
	}
	const t = 2.1314 // Student's t, for 15 degrees of freedom
	return mean, t * math.Sqrt(sure/(blocks-1)/blocks)
}
