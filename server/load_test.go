package server_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/server/telemetry"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
	"github.com/awaken-go/awaken/trace/body"
)

// Load tests run the server and its clients as separate processes: this binary, with a role in its
// environment.
const roleVariable = "AWAKEN_TEST_ROLE"

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case "":
		os.Exit(m.Run())
	case "server":
		err = serveLoad()
	case "relay":
		err = serveRelay()
	case "floor":
		err = serveFloor()
	case "watchers":
		err = watchLoad()
	case "fanout":
		err = serveFanout()
	case "turns":
		err = takeTurns()
	case "runners":
		err = runLoad()
	case "holders":
		err = holdRuns()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// process is one of them.
type process struct {
	tb  testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// spawn starts a process with a role. Its settings are NAME=value.
func spawn(tb testing.TB, role string, settings ...string) *process {
	tb.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(append(os.Environ(), roleVariable+"="+role), settings...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	p := &process{tb, cmd, in, bufio.NewReader(out)}
	tb.Cleanup(p.end)
	return p
}

// end ends the process, which ends with its standard input.
func (p *process) end() {
	p.in.Close()
	_ = p.cmd.Wait()
}

// line returns the next line of the process's output.
func (p *process) line() string {
	p.tb.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		p.tb.Fatalf("process %s: %v", p.cmd.Args[0], err)
	}
	return strings.TrimSpace(s)
}

// cpu returns the CPU time that the process has used.
func (p *process) cpu() time.Duration {
	p.tb.Helper()
	used, err := testenv.CPU(p.cmd.Process.Pid)
	if err != nil {
		p.tb.Skip("there is no /proc: ", err)
	}
	return used
}

func setting(name string) int {
	n, _ := strconv.Atoi(os.Getenv(name))
	return n
}

// gated is a model that waits for a signal and then sends numbered pieces.
type gated struct {
	start  <-chan struct{}
	pieces []string
	pause  time.Duration // before each piece
}

func numbered(n, size int) (pieces []string) {
	for i := range n {
		pieces = append(pieces, fmt.Sprintf("%08d|%s", i, strings.Repeat("x", max(0, size-9))))
	}
	return pieces
}

func (g gated) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		inModel.Add(1)
		defer inModel.Add(-1)
		select {
		case <-g.start:
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		for _, p := range g.pieces {
			time.Sleep(g.pause)
			if !yield(llm.Delta{Kind: llm.TextDelta, Text: p}, nil) {
				return
			}
		}
		yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// smallBuffers opens connections with small kernel buffers, so that the server soon notices a client
// that does not read.
type smallBuffers struct{ net.Listener }

func (l smallBuffers) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetWriteBuffer(16 << 10)
	}
	return c, err
}

// openQueue opens the database of the server process: the URL of a PostgreSQL database, the path of an
// SQLite file, or "" for memory.
func openQueue(at string) (_ mailbox.Queue, closeQueue func(), err error) {
	switch {
	case at == "":
		return memory.NewDB(), func() {}, nil
	case strings.HasPrefix(at, "postgres:"):
		db, err := postgres.Open(context.Background(), at, nil)
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	db, err := sqlite.Open(context.Background(), at, nil)
	if err != nil {
		return nil, nil, err
	}
	return db, func() { _ = db.Close() }, nil
}

// observed returns what observes the server process, if OBSERVE is set. The variables of OpenTelemetry say what is sent where.
func observed(m *server.Metrics) (*observe.Plugin, error) {
	if os.Getenv("OBSERVE") == "" {
		return nil, nil
	}
	sent, err := telemetry.Open(context.Background(), "", slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	return observe.New(observe.Options{Sinks: []observe.Sink{m.Observer()}, Tracer: sent.Tracer, Meter: sent.Meter, Labels: m.Labels(), Always: true}), nil
}

// serveLoad is the server process.
func serveLoad() error {
	start := make(chan struct{})
	var model llm.Model = gated{start, numbered(setting("PIECES"), setting("SIZE")), time.Duration(setting("PAUSE_MS")) * time.Millisecond}
	queue, closeQueue, err := openQueue(os.Getenv("DATABASE"))
	if err != nil {
		return err
	}
	defer closeQueue()
	var tap engine.Tap
	if w := body.NewWriter(body.Config{Policy: body.Policy(os.Getenv("BODIES")), Store: func(tenant string) body.Store { return body.Of(queue.Handle(tenant)) }}); w != nil {
		tap = w
		go w.Serve(context.Background())
	}
	metrics := server.NewMetrics()
	observer, err := observed(metrics)
	if err != nil {
		return err
	}
	var plugins []awaken.Plugin
	if observer != nil {
		plugins = append(plugins, observer)
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": model},
		Plugins:   plugins,
		Tap:       tap,
	})
	if err != nil {
		return err
	}
	if os.Getenv("GATE") == "" {
		close(start)
	}
	box, err := mailbox.New(mailbox.Config{Queue: queue, Observer: metrics, Sink: metrics.Sink, Concurrency: setting("CONCURRENCY")}, rt.With)
	if err != nil {
		return err
	}
	routes, err := protocolRoutes()
	if err != nil {
		return err
	}
	cfg := server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}, Metrics: metrics, Observer: observer, Routes: routes, Handlers: map[string]http.Handler{
		"POST /go":   http.HandlerFunc(func(http.ResponseWriter, *http.Request) { close(start) }),
		"GET /usage": http.HandlerFunc(serveUsage),
	}}
	cfg.Limits.Streams = -1
	cfg.Limits.StreamCollect = time.Duration(setting("COLLECT_MS")) * time.Millisecond
	cfg.Limits.StreamWrite = time.Duration(setting("STREAM_WRITE_MS")) * time.Millisecond
	srv, err := server.New(cfg)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	if path := os.Getenv("CPU_PROFILE"); path != "" { // of the server
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if path := os.Getenv("ALLOC_PROFILE"); path != "" { // of everything that the server has allocated
		defer func() {
			if f, err := os.Create(path); err == nil {
				_ = pprof.Lookup("allocs").WriteTo(f, 0)
				_ = f.Close()
			}
		}()
	}
	if os.Getenv("SMALL") != "" {
		l = smallBuffers{l}
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return srv.Serve(ctx, l)
}

// watcher is a client that reads a stream, and checks that it is complete.
type watcher struct {
	url, run string
	next     int    // number of the piece that has to come
	last     string // id of the last frame
	over     bool   // it saw the end of the run
}

// watch reads until the stream ends. Opened is called with the first frame; if it returns
// false, watch leaves the connection open and unread until resume is closed.
func (w *watcher) watch(opened func(), resume <-chan struct{}) error {
	conn, err := net.Dial("tcp", w.url)
	if err != nil {
		return err
	}
	defer conn.Close()
	if resume != nil {
		_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	}
	at := w.last
	if at == "" {
		at = "0-0"
	}
	fmt.Fprintf(conn, "GET /v1/runs/%s/events/stream HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: %s\r\nConnection: close\r\n\r\n", w.run, at)
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 2048), nil)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // cut off before it was its turn to read
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != 200 {
		return fmt.Errorf("status is %s", resp.Status)
	}
	lines, id := bufio.NewReaderSize(resp.Body, 2048), ""
	for {
		line, err := lines.ReadSlice('\n')
		if err == bufio.ErrBufferFull { // a long piece: its number comes first
			line = bytes.Clone(line)
			for err == bufio.ErrBufferFull {
				_, err = lines.ReadSlice('\n')
			}
		}
		if err != nil {
			return nil // cut off, or over
		}
		if rest, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
			id = strings.TrimSpace(string(rest))
			continue
		}
		if !bytes.HasPrefix(line, []byte("data: ")) {
			continue
		}
		if _, piece, ok := bytes.Cut(line, []byte(`"event_type":"text_delta","delta":"`)); ok {
			n, err := strconv.Atoi(string(piece[:8]))
			if err != nil || n != w.next {
				return fmt.Errorf("piece %q comes, want %d", piece[:8], w.next)
			}
			w.next++
		}
		w.over = w.over || bytes.Contains(line, []byte(`"event_type":"run_finish"`))
		w.last = id
		if opened != nil {
			opened()
			opened = nil
			if resume != nil {
				<-resume
			}
		}
	}
}

// watchLoad is a process of watchers. It prints "ready" when all have their first frame, and then how
// many saw everything. Stalled ones resume reading when a line arrives on standard input. With AGAIN,
// watchers that are cut off reconnect.
func watchLoad() error {
	n, pieces, stall, again := setting("WATCHERS"), setting("PIECES"), os.Getenv("STALL") != "", os.Getenv("AGAIN") != ""
	var resume chan struct{}
	if stall {
		resume = make(chan struct{})
	}
	var opened, done sync.WaitGroup
	opened.Add(n)
	errs := make(chan error, n)
	limit := make(chan struct{}, 100)
	for range n {
		limit <- struct{}{}
		done.Go(func() {
			w := &watcher{url: os.Getenv("ADDR"), run: os.Getenv("RUN")}
			err := w.watch(func() { <-limit; opened.Done() }, resume)
			for try := 0; err == nil && again && !w.over && try < 100; try++ {
				err = w.watch(nil, nil)
			}
			if err == nil && (!w.over || w.next != pieces) {
				err = fmt.Errorf("a watcher saw %d pieces of %d, the end: %v", w.next, pieces, w.over)
			}
			errs <- err
		})
	}
	opened.Wait()
	fmt.Println("ready")
	if stall {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		close(resume)
	}
	done.Wait()
	close(errs)
	good := 0
	for err := range errs {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		good++
	}
	fmt.Println(good)
	return nil
}

// load is a server process that a test uses.
type load struct {
	*process
	addr string
}

func startLoad(tb testing.TB, settings ...string) *load {
	p := spawn(tb, "server", settings...)
	return &load{p, p.line()}
}

func (l *load) ask(method, path, body string) []byte {
	l.tb.Helper()
	req, err := http.NewRequestWithContext(l.tb.Context(), method, "http://"+l.addr+path, strings.NewReader(body))
	if err != nil {
		l.tb.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		l.tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		l.tb.Fatalf("%s %s: %s %s %v", method, path, resp.Status, data, err)
	}
	return data
}

func (l *load) usage() (u usage) {
	l.tb.Helper()
	if err := json.Unmarshal(l.ask("GET", "/usage", ""), &u); err != nil {
		l.tb.Fatal(err)
	}
	return u
}

// run starts a run, which waits for the signal.
func (l *load) run() string {
	l.tb.Helper()
	var out struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(l.ask("POST", "/v1/threads/t/mailbox", `{"payload":"x"}`), &out); err != nil {
		l.tb.Fatal(err)
	}
	return out.RunID
}

// metric returns the value of a line of /metrics.
func (l *load) metric(name string) float64 {
	l.tb.Helper()
	return metricOf(string(l.ask("GET", "/metrics", "")), name)
}

// metricOf returns the value of a line of a page of metrics.
func metricOf(page, name string) float64 {
	for line := range strings.Lines(page) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			v, _ := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			return v
		}
	}
	return 0
}

// TestLoad_Watchers: every watcher of a run sees all of it.
func TestLoad_Watchers(t *testing.T) {
	watchers, processes, pieces := 100, 2, 100
	if testenv.Long() {
		watchers, processes = 10_000, 4
	}
	l := startLoad(t, "GATE=1", fmt.Sprint("PIECES=", pieces), "SIZE=40")
	run := l.run()
	idle := l.usage()
	var clients []*process
	for range processes {
		clients = append(clients, spawn(t, "watchers", "ADDR="+l.addr, "RUN="+run, fmt.Sprint("WATCHERS=", watchers/processes), fmt.Sprint("PIECES=", pieces)))
	}
	for _, c := range clients {
		if s := c.line(); s != "ready" {
			t.Fatalf("a client says %q", s)
		}
	}
	full := l.usage()
	if n := l.metric("awaken_sse_connections"); int(n) != watchers {
		t.Errorf("%v streams are open, want %d", n, watchers)
	}
	cpu, began := l.cpu(), time.Now()
	l.ask("POST", "/go", "")
	for _, c := range clients {
		if s := c.line(); s != fmt.Sprint(watchers/processes) {
			t.Errorf("%s of %d watchers saw everything", s, watchers/processes)
		}
	}
	t.Logf("%d watchers: %.1f KiB of heap and %.1f KiB of memory and %.1f goroutines each; %d pieces to all of them in %s, with %s of CPU",
		watchers, float64(full.Heap-idle.Heap)/1024/float64(watchers), float64(full.System-idle.System)/1024/float64(watchers), float64(full.Goroutines-idle.Goroutines)/float64(watchers),
		pieces, time.Since(began).Round(time.Millisecond), l.cpu()-cpu)
}

// TestLoad_StalledWatchers: a client that stops reading costs little, is cut off soon, delays no
// other client and can resume exactly where it was.
func TestLoad_StalledWatchers(t *testing.T) {
	const size = 1500
	stalled, healthy, pieces := 50, 10, 400
	if testenv.Long() {
		stalled = 1000
	}
	l := startLoad(t, "GATE=1", fmt.Sprint("PIECES=", pieces), fmt.Sprint("SIZE=", size), "SMALL=1", "STREAM_WRITE_MS=3000")
	run := l.run()
	bad := spawn(t, "watchers", "ADDR="+l.addr, "RUN="+run, fmt.Sprint("WATCHERS=", stalled), fmt.Sprint("PIECES=", pieces), "STALL=1", "AGAIN=1")
	// On a machine with too much to do, a healthy one may be cut off too. It comes back at once.
	good := spawn(t, "watchers", "ADDR="+l.addr, "RUN="+run, fmt.Sprint("WATCHERS=", healthy), fmt.Sprint("PIECES=", pieces), "AGAIN=1")
	for _, c := range []*process{bad, good} {
		if s := c.line(); s != "ready" {
			t.Fatalf("a client says %q", s)
		}
	}
	before := l.usage()
	finished := make(chan string, 1)
	go func() {
		s, _ := good.out.ReadString('\n')
		finished <- strings.TrimSpace(s)
	}()
	began := time.Now()
	l.ask("POST", "/go", "")
	var most uint64
	var healthyTook time.Duration
	open := float64(stalled + healthy)
	for deadline := began.Add(5 * time.Minute); (open > 0 || healthyTook == 0) && time.Now().Before(deadline); {
		most = max(most, l.usage().Heap)
		open = l.metric("awaken_sse_connections")
		select {
		case s := <-finished:
			if healthyTook = time.Since(began); s != fmt.Sprint(healthy) {
				t.Errorf("%s of %d healthy watchers saw everything", s, healthy)
			}
		case <-time.After(50 * time.Millisecond):
		}
	}
	if healthyTook == 0 {
		t.Error("the healthy watchers are held up")
	}
	if open > 0 {
		t.Errorf("%v streams are still open", open)
	}
	if cut := l.metric("awaken_sse_cut_off_total"); int(cut) < stalled {
		t.Errorf("%v of %d stalled watchers were cut off", cut, stalled)
	}
	growth := int64(most) - int64(before.Heap)
	if all := int64(stalled * pieces * size); growth > all/2 {
		t.Errorf("the heap grew by %d MiB, and all that was not read is %d", growth>>20, all>>20)
	}
	fmt.Fprintln(bad.in)
	if s := bad.line(); s != fmt.Sprint(stalled) {
		t.Errorf("%s of %d stalled watchers saw everything in the end", s, stalled)
	}
	t.Logf("%d stalled watchers: the heap grew by %.1f MiB at most; healthy ones had everything after %s", stalled, float64(growth)/(1<<20), healthyTook.Round(time.Millisecond))
}
