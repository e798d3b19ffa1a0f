package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// W6 compares the server with a bare relay that sends the same 64 pieces, each written
// and flushed on its own. Server, relay and load are processes of their own.
const w6Pieces, w6Size = 64, 10

// serveRelay is the relay's process.
func serveRelay() error {
	pieces := make([]string, w6Pieces)
	for i := range pieces {
		pieces[i] = fmt.Sprintf("data: {\"event_type\":\"text_delta\",\"delta\":\"%08d|x\"}\n\n", i)
		switch os.Getenv("PROTOCOL") {
		case "aisdk":
			pieces[i] = fmt.Sprintf("data: {\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"%08d|x\"}\n\n", i)
		case "agui":
			pieces[i] = fmt.Sprintf("data: {\"type\":\"TEXT_MESSAGE_CONTENT\",\"messageId\":\"1\",\"delta\":\"%08d|x\"}\n\n", i)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, "bad body", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		for _, p := range pieces {
			if _, err := io.WriteString(w, p); err != nil || control.Flush() != nil {
				return
			}
		}
	})}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = srv.Shutdown(context.Background())
	}()
	if err := srv.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}

// w6Result is what one client process measured.
type w6Result struct {
	Runs        int
	Took        time.Duration
	First, Full time.Duration // p50
	Full99      time.Duration
}

// runLoad is a client process: each client starts a run, reads its stream to the end, and starts the
// next.
func runLoad() error {
	clients, length := setting("CLIENTS"), time.Duration(setting("MS"))*time.Millisecond
	path, body, piece := "/v1/runs", runBody("default", "", "hello"), []byte(`"event_type":"text_delta"`)
	switch os.Getenv("PROTOCOL") {
	case "aisdk":
		path, piece = "/v1/ai-sdk/chat", []byte(`"text-delta"`)
		body = `{"messages":[{"role":"user","parts":[{"type":"text","text":"hello"}]}]}`
	case "agui":
		path, piece = "/v1/ag-ui/run", []byte(`"TEXT_MESSAGE_CONTENT"`)
		body = `{"messages":[{"role":"user","content":"hello"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`
	}
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, len(body), body)
	var mu sync.Mutex
	var first, full []time.Duration
	var failed error
	began := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			var f, u []time.Duration
			conn, err := net.Dial("tcp", os.Getenv("ADDR"))
			if err == nil {
				defer conn.Close()
				r := bufio.NewReaderSize(conn, 32<<10)
				buf := make([]byte, 32<<10)
				for err == nil && time.Since(began) < length {
					var a, b time.Duration
					a, b, err = oneRun(conn, r, request, piece, buf)
					f, u = append(f, a), append(u, b)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			first, full = append(first, f...), append(full, u...)
			if err != nil {
				failed = err
			}
		})
	}
	all.Wait()
	if failed != nil {
		return failed
	}
	out := w6Result{Runs: len(full), Took: time.Since(began)}
	slices.Sort(first)
	slices.Sort(full)
	out.First, out.Full, out.Full99 = first[len(first)/2], full[len(full)/2], full[len(full)*99/100]
	return json.NewEncoder(os.Stdout).Encode(out)
}

// oneRun starts a run and reads its stream. A stream with fewer pieces is an error.
func oneRun(conn net.Conn, r *bufio.Reader, request string, piece, buf []byte) (first, full time.Duration, err error) {
	start := time.Now()
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, 0, err
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	n, pieces := 0, 0
	for {
		got, err := resp.Body.Read(buf[n:])
		if got > 0 && first == 0 {
			first = time.Since(start)
		}
		n += got
		if at := bytes.LastIndexByte(buf[:n], '\n') + 1; at > 0 {
			pieces += bytes.Count(buf[:at], piece)
			n = copy(buf, buf[at:n])
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if resp.StatusCode != 200 || pieces != w6Pieces {
		return 0, 0, fmt.Errorf("%s: the stream has %d pieces, want %d", resp.Status, pieces, w6Pieces)
	}
	return first, time.Since(start), nil
}

// BenchmarkW6 prints, for 1, 64 and 256 clients, how the server compares with the relay:
// medians of rounds in which both had their turn. Use -benchtime=1x.
func BenchmarkW6(b *testing.B) { benchmarkW6(b, "") }

// BenchmarkW6_AISDK is the same with the AI SDK's protocol on both sides.
func BenchmarkW6_AISDK(b *testing.B) { benchmarkW6(b, "aisdk") }

// BenchmarkW6_AGUI is the same with AG-UI on both sides.
func BenchmarkW6_AGUI(b *testing.B) { benchmarkW6(b, "agui") }

func benchmarkW6(b *testing.B, protocol string) {
	const rounds, turn = 3, 1500
	ours := spawn(b, "server", fmt.Sprint("PIECES=", w6Pieces), fmt.Sprint("SIZE=", w6Size))
	relay := spawn(b, "relay", "PROTOCOL="+protocol)
	addr := map[*process]string{ours: ours.line(), relay: relay.line()}
	for _, clients := range []int{1, 64, 256} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			var cpu, rate, first, full99 []float64
			for range rounds {
				var per [2]struct{ cpu, rate, first, full99 float64 }
				for i, p := range []*process{relay, ours} {
					before := p.cpu()
					gen := spawn(b, "runners", "ADDR="+addr[p], "PROTOCOL="+protocol, fmt.Sprint("CLIENTS=", clients), fmt.Sprint("MS=", turn))
					var r w6Result
					if err := json.Unmarshal([]byte(gen.line()), &r); err != nil {
						b.Fatal(err)
					}
					used := p.cpu() - before
					per[i].cpu, per[i].rate = used.Seconds()/float64(r.Runs), float64(r.Runs)/r.Took.Seconds()
					per[i].first, per[i].full99 = r.First.Seconds(), r.Full99.Seconds()
					b.Logf("%s: %.0f runs/s, %.1f µs of CPU each, first event %s, all %s, p99 %s", []string{"relay", "server"}[i], per[i].rate, per[i].cpu*1e6, r.First, r.Full, r.Full99)
				}
				cpu, rate = append(cpu, per[1].cpu/per[0].cpu), append(rate, per[1].rate/per[0].rate)
				first, full99 = append(first, per[1].first/per[0].first), append(full99, per[1].full99/per[0].full99)
			}
			b.ReportMetric(median(cpu), "CPU/relay")
			b.ReportMetric(median(rate), "runs/relay")
			b.ReportMetric(median(first), "first/relay")
			b.ReportMetric(median(full99), "p99/relay")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
