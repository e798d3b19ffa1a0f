package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

// usage is the memory of a process, as its clients can ask for it.
type usage struct {
	Heap       uint64 // live bytes
	Stack      uint64
	System     uint64
	RSS        uint64 // 0 without /proc
	Goroutines int
	InModel    int64 // runs that wait for the model
}

// inModel counts the runs of this process that wait for the model.
var inModel atomic.Int64

func serveUsage(w http.ResponseWriter, _ *http.Request) {
	debug.FreeOSMemory()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	u := usage{m.HeapAlloc, m.StackInuse, m.Sys, 0, goruntime.NumGoroutine(), inModel.Load()}
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages, _ := strconv.ParseUint(strings.Fields(string(data))[1], 10, 64)
		u.RSS = pages * uint64(os.Getpagesize())
	}
	_ = json.NewEncoder(w).Encode(u)
}

// serveFanout is the process of the raw twins of W5s and of the watchers, with the same routes. A run
// that is posted waits for the signal, in its handler or in a goroutine of its own. A watcher is a
// channel, whose handler writes and flushes every piece on its own.
func serveFanout() error {
	start := make(chan struct{})
	pieces, pause := numbered(setting("PIECES"), setting("SIZE")), time.Duration(setting("PAUSE_MS"))*time.Millisecond
	var mu sync.Mutex
	var watchers []chan string
	wait := func() {
		inModel.Add(1)
		<-start
		inModel.Add(-1)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /usage", serveUsage)
	mux.HandleFunc("POST /go", func(http.ResponseWriter, *http.Request) {
		close(start)
		go func() {
			mu.Lock()
			defer mu.Unlock()
			for i, p := range pieces {
				time.Sleep(pause)
				frame := fmt.Sprintf("id: 1-%d\ndata: {\"event_type\":\"text_delta\",\"delta\":\"%s\"}\n\n", i+1, p)
				for _, w := range watchers {
					w <- frame
				}
			}
			for _, w := range watchers {
				w <- "data: {\"event_type\":\"run_finish\"}\n\n"
				close(w)
			}
		}()
	})
	mux.HandleFunc("POST /v1/threads/{thread}/mailbox", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		go wait()
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, `{"run_id":"r"}`)
	})
	stream := func(w http.ResponseWriter) *http.ResponseController {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 1-0\ndata: {\"event_type\":\"run_start\"}\n\n")
		control := http.NewResponseController(w)
		_ = control.Flush()
		return control
	}
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		stream(w)
		wait()
	})
	mux.HandleFunc("GET /v1/runs/{run}/events/stream", func(w http.ResponseWriter, _ *http.Request) {
		frames := make(chan string, 16)
		mu.Lock()
		watchers = append(watchers, frames)
		mu.Unlock()
		control := stream(w)
		for frame := range frames {
			_, _ = io.WriteString(w, frame)
			_ = control.Flush()
		}
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: mux}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Close()
	}()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// holdRuns is a client process. It starts RUNS runs on new threads, prints "ready" when all are
// accepted, and keeps their streams open; with DETACHED they have none.
func holdRuns() error {
	detached := os.Getenv("DETACHED") != ""
	limit := make(chan struct{}, 32)
	var all sync.WaitGroup
	failed := make(chan error, setting("RUNS"))
	open := make([]net.Conn, setting("RUNS")) // the garbage collector closes connections that are not kept
	for i := range setting("RUNS") {
		all.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			thread := fmt.Sprintf("%d-%d", os.Getpid(), i)
			path, body := "/v1/runs", runBody("default", thread, "hello")
			if detached {
				path, body = "/v1/threads/"+thread+"/mailbox", `{"payload":"hello"}`
			}
			conn, err := net.Dial("tcp", os.Getenv("ADDR"))
			if err != nil {
				failed <- err
				return
			}
			open[i] = conn
			fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			switch {
			case err != nil:
				failed <- err
			case resp.StatusCode >= 300:
				failed <- fmt.Errorf("%s: %s", path, resp.Status)
			case detached:
				conn.Close()
			default: // the stream stays open until this process ends
				_, err := resp.Body.Read(make([]byte, 1))
				failed <- err
			}
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	goruntime.KeepAlive(open)
	return err
}

// hold starts n runs and waits until all of them wait for the model.
func (l *load) hold(n, before int, settings ...string) usage {
	l.tb.Helper()
	c := spawn(l.tb, "holders", append(settings, "ADDR="+l.addr, fmt.Sprint("RUNS=", n))...)
	if s := c.line(); s != "ready" {
		l.tb.Fatalf("a client says %q", s)
	}
	for range 600 {
		if u := l.usage(); u.InModel == int64(n+before) {
			time.Sleep(300 * time.Millisecond) // what the start of a run leaves to do
			return l.usage()
		}
		time.Sleep(50 * time.Millisecond)
	}
	l.tb.Fatalf("%d runs wait for the model, want %d", l.usage().InModel, n+before)
	return usage{}
}

// BenchmarkW5s is W5 in the server: what each of 1,000 runs that wait for their model takes, after 200
// others. Runs have a streaming client each, or none. The twin keeps a handler or a goroutine for
// each.
func BenchmarkW5s(b *testing.B) {
	const rounds, first, more = 5, 200, 1000
	for _, store := range []string{"memory", "sqlite"} {
		for _, client := range []string{"streaming", "detached"} {
			b.Run(store+"/"+client, func(b *testing.B) {
				var settings []string
				if client == "detached" {
					settings = []string{"DETACHED=1"}
				}
				var rss, heap, stack, goroutines, rawRSS, ratio []float64
				for range rounds {
					var grown [2]usage
					for i, role := range []string{"fanout", "server"} {
						database := ""
						if store == "sqlite" {
							database = durable(b, store).at
						}
						l := startProcess(b, role, "GATE=1", "PIECES=64", "SIZE=10", "DATABASE="+database, fmt.Sprint("CONCURRENCY=", 2*more))
						u := l.hold(first, 0, settings...)
						v := l.hold(more, first, settings...)
						grown[i] = usage{v.Heap - u.Heap, v.Stack - u.Stack, 0, v.RSS - u.RSS, v.Goroutines - u.Goroutines, 0}
						l.stop()
					}
					kb := func(n uint64) float64 { return float64(int64(n)) / 1000 / more }
					rss, heap, stack = append(rss, kb(grown[1].RSS)), append(heap, kb(grown[1].Heap)), append(stack, kb(grown[1].Stack))
					goroutines, rawRSS = append(goroutines, float64(grown[1].Goroutines)/more), append(rawRSS, kb(grown[0].RSS))
					ratio = append(ratio, float64(grown[1].RSS)/float64(grown[0].RSS))
				}
				testenv.Report(b, "x-raw", ratio)
				testenv.Report(b, "KB-RSS", rss)
				b.ReportMetric(median(rawRSS), "raw-KB-RSS")
				b.ReportMetric(median(heap), "KB-heap")
				b.ReportMetric(median(stack), "KB-stack")
				b.ReportMetric(median(goroutines), "goroutines")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// The goroutines of a run that waits for its model: today's as upper bounds, to be lowered.
func TestLoad_GoroutinesOfARun(t *testing.T) {
	const first, more = 20, 200
	for client, most := range map[string]int{"DETACHED=": 3, "DETACHED=1": 1} {
		l := startLoad(t, "GATE=1", "PIECES=64", "SIZE=10", fmt.Sprint("CONCURRENCY=", 2*more))
		u := l.hold(first, 0, client)
		grown := l.hold(more, first, client).Goroutines - u.Goroutines
		t.Logf("%s: %.2f goroutines each", client, float64(grown)/more)
		if grown > most*more+10 {
			t.Errorf("%s: %d runs take %d goroutines, want at most %d each", client, more, grown, most)
		}
		l.stop()
	}
}

// A run that waits for its model keeps a stack of 8 KB, also if it went through a store with deep calls
// before: the frames below it are small enough for that. So does its stream, whose connection has 2 KB more. One large frame more makes
// either 16 KB.
func TestBudget_ARunThatWaitsForItsModelKeepsASmallStack(t *testing.T) {
	if testing.Short() || testenv.Race {
		t.Skip("frames are larger with the race detector")
	}
	const first, more = 50, 300
	for client, most := range map[string]float64{"DETACHED=": 23_500, "DETACHED=1": 13_500} {
		l := startProcess(t, "server", "GATE=1", "PIECES=64", "SIZE=10", "DATABASE="+filepath.Join(t.TempDir(), "awaken.db"), fmt.Sprint("CONCURRENCY=", 2*more))
		u := l.hold(first, 0, client)
		v := l.hold(more, first, client)
		l.stop()
		each := float64(int64(v.Stack-u.Stack)) / more
		t.Logf("%s: %.0f bytes each", client, each)
		if each > most {
			t.Errorf("%s: a run that waits for its model has stacks of %.0f bytes, want at most %.0f", client, each, most)
		}
	}
}

// startProcess starts a server or a twin of it.
func startProcess(tb testing.TB, role string, settings ...string) *load {
	tb.Helper()
	p := spawn(tb, role, settings...)
	return &load{p, p.line()}
}

// stop ends the process without waiting for its runs.
func (l *load) stop() {
	l.tb.Helper()
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
}

// BenchmarkWatchers compares 1,000 watchers of a run whose pieces are 100 ms apart, so that each is
// written on its own, with those of a bare fan-out.
func BenchmarkWatchers(b *testing.B) {
	const rounds, watchers, processes, pieces = 5, 1000, 2, 40
	var cpus, sizes, ours, raw, rss, rawRSS []float64
	for range rounds {
		var cpu, size [2]float64
		for i, role := range []string{"fanout", "server"} {
			l := startProcess(b, role, "GATE=1", fmt.Sprint("PIECES=", pieces), "SIZE=40", "PAUSE_MS=100")
			run := l.run()
			idle := l.usage()
			var clients []*process
			for range processes {
				clients = append(clients, spawn(b, "watchers", "ADDR="+l.addr, "RUN="+run, fmt.Sprint("WATCHERS=", watchers/processes), fmt.Sprint("PIECES=", pieces)))
			}
			for _, c := range clients {
				if s := c.line(); s != "ready" {
					b.Fatalf("a client says %q", s)
				}
			}
			size[i] = float64(int64(l.usage().RSS-idle.RSS)) / 1000 / watchers
			before := l.process.cpu()
			l.ask("POST", "/go", "")
			for _, c := range clients {
				if s := c.line(); s != fmt.Sprint(watchers/processes) {
					b.Errorf("%s of %d watchers saw everything", s, watchers/processes)
				}
			}
			cpu[i] = float64((l.process.cpu() - before).Microseconds()) / watchers / pieces
			l.stop()
		}
		cpus, sizes = append(cpus, cpu[1]/cpu[0]), append(sizes, size[1]/size[0])
		ours, raw, rss, rawRSS = append(ours, cpu[1]), append(raw, cpu[0]), append(rss, size[1]), append(rawRSS, size[0])
	}
	testenv.Report(b, "x-raw-CPU", cpus)
	testenv.Report(b, "x-raw-RSS", sizes)
	b.ReportMetric(median(ours), "µs/delta")
	b.ReportMetric(median(raw), "raw-µs/delta")
	b.ReportMetric(median(rss), "KB-RSS")
	b.ReportMetric(median(rawRSS), "raw-KB-RSS")
	b.ReportMetric(0, "ns/op")
}
