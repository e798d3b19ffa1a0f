package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/server"
)

// Keys of a server process that tenants attack: each tenant has one to run agents and one to read.
const (
	attackerRuns  = "attacker-key-that-runs"
	attackerReads = "attacker-key-that-reads"
	victimRuns    = "victim-key-that-runs"
)

func hostileKeys() (*server.Keys, error) {
	keys := server.NewKeys(nil)
	for secret, key := range map[string]server.Key{
		adminKey:      {Kind: server.AdminKey},
		attackerRuns:  {Kind: server.RunKey, Tenant: "attacker"},
		attackerReads: {Kind: server.ReadKey, Tenant: "attacker"},
		victimRuns:    {Kind: server.RunKey, Tenant: "victim"},
	} {
		key.ID = secret
		if err := keys.Fix(secret, key); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// eager is a model that calls the first tool it has and otherwise answers at once.
type eager struct{}

func (eager) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if len(req.Tools) > 0 {
			_ = yield(llm.Delta{Kind: llm.ToolCallStart, ID: "c", Name: req.Tools[0].Name}, nil) &&
				yield(llm.Delta{Kind: llm.ToolCallDelta, ID: "c", Text: "{}"}, nil) &&
				yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.ToolUse}, nil)
			return
		}
		_ = yield(llm.Delta{Kind: llm.TextDelta, Text: "hello"}, nil) && yield(llm.Delta{Kind: llm.FinishDelta, Finish: llm.EndTurn}, nil)
	}
}

// attacker is a process that attacks a server, with half a core.
type attacker struct {
	addr  string
	http  *http.Client
	begin time.Time     // of the attack
	used  time.Duration // CPU time before it
}

// pace waits until the process has used no more than half of the time since it began.
func (a *attacker) pace() {
	for {
		used, err := cpuOf(os.Getpid())
		if ahead := 2*(used-a.used) - time.Since(a.begin); err == nil && ahead > 0 {
			time.Sleep(max(ahead, 10*time.Millisecond))
			continue
		}
		return
	}
}

// post sends bodies on n connections, one after the other on each, for ever.
func (a *attacker) post(n int, path string, body func() string) {
	for range n {
		go func() {
			for {
				a.pace()
				req, _ := http.NewRequest("POST", "http://"+a.addr+path, strings.NewReader(body()))
				req.Header.Set("Authorization", "Bearer "+attackerRuns)
				req.Header.Set("Content-Type", "application/json")
				if resp, err := a.http.Do(req); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		}()
	}
}

// raw sends the beginning of a request on each of n connections, and then a few bytes now and then. It
// never reads. Connections that the server closes are replaced.
func (a *attacker) raw(n int, begin, more string, every time.Duration) {
	for range n {
		go func() {
			for {
				a.pace()
				conn, err := net.Dial("tcp", a.addr)
				if err != nil {
					time.Sleep(100 * time.Millisecond)
					continue
				}
				_, err = io.WriteString(conn, begin)
				for err == nil {
					time.Sleep(every)
					_, err = io.WriteString(conn, more)
				}
				conn.Close()
			}
		}()
	}
}

// watch opens n streams, or as many as the server permits, and keeps them.
func (a *attacker) watch(n int, thread string) {
	begin := "GET /v1/threads/" + thread + "/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + attackerReads + "\r\n\r\n"
	for range n {
		a.pace()
		conn, err := net.Dial("tcp", a.addr)
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, begin)
		resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
		if err != nil || resp.StatusCode != 200 {
			conn.Close()
			return
		}
		go func() { // the connection stays open
			_, _ = io.Copy(io.Discard, conn)
			conn.Close()
		}()
	}
}

// begun returns the beginning of a request whose body has length bytes.
func begun(path string, length int, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, attackerRuns, length, body)
}

func withTools(tools string) string {
	return `{"agent_id":"default","stream":false,"frontend_tools":` + tools + `,"messages":` + oneMessage + `}`
}

// attack is the process of an attacker. It prints "ready" once it has begun.
func attack() error {
	a := &attacker{addr: os.Getenv("ADDR"), http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}}
	var err error
	start := func() {
		a.used, err = cpuOf(os.Getpid())
		a.begin = time.Now()
	}
	switch os.Getenv("ATTACK") {
	case "schemas":
		wide := `{"type":"object","allOf":` + times(3900, `{"minProperties":%d}`) + `}`
		bodies := []string{
			withTools(times(20, `{"id":"t%d","name":"t","description":"d","parameters":`+tower()+`}`)),
			withTools(`[{"id":"t","name":"t","description":"d","parameters":` + wide + `}]`),
			withTools(times(250, `{"id":"t%d","name":"t","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string","pattern":"(a{1,1000}){1,1000}"}}}}`)),
			withTools(times(250, `{"id":"t%d","name":"t","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string","pattern":"`+strings.Repeat("(a|b)?", 100)+`"}}}}`)),
			`{"agent_id":"default","stream":false,"output_schema":` + wide + `,"messages":` + oneMessage + `}`,
		}
		start()
		a.post(30, "/v1/runs", func() string { return bodies[rand.N(len(bodies))] })
	case "slow bodies":
		start()
		a.raw(100, begun("/v1/runs", 10<<20, `{"agent_id":"`+strings.Repeat("x", 100_000)), "x", 100*time.Millisecond)
		a.raw(100, begun("/v1/runs", 10<<20, `{"agent_id":"`), strings.Repeat("x", 2000), time.Second)
	case "hoards":
		many := withTools(times(100_000, `{"id":"t%d","name":"t","parameters":{}}`))
		half := begun("/v1/runs", 19<<20, `{"agent_id":"`+strings.Repeat("x", 10<<20))
		start()
		a.watch(setting("STREAMS"), os.Getenv("THREAD"))
		title := `{"title":"` + strings.Repeat("x", 4000) + `"}`
		a.post(4, "/v1/threads", func() string { return title })
		a.raw(50, "GET /v1/threads/summaries?limit=200 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+attackerReads+"\r\n\r\n", "", time.Second)
		a.raw(50, half, "", time.Second)
		a.post(4, "/v1/runs", func() string { return many })
	case "labels":
		start()
		a.post(20, "/v1/runs", func() string {
			word := fmt.Sprintf("word%d", rand.Uint64())
			return `{"agent_id":"default","stream":false,"overrides":{"upstream_model":"` + word + `"},"frontend_tools":[{"id":"` + word + `","name":"` + word + `","description":"d","parameters":{"type":"object"}}],"messages":` + oneMessage + `}`
		})
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return err
}

// rss returns a field of the memory of the process, in bytes: VmRSS, or VmHWM for the most it was.
func (p *process) rss(field string) int64 {
	p.tb.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.tb.Skip("there is no /proc: ", err)
	}
	var n int64
	if _, rest, ok := bytes.Cut(data, []byte(field+":")); ok {
		_, _ = fmt.Sscan(string(rest), &n)
	}
	return n << 10
}

// as sends a request with a key, and returns the status and the body.
func (l *load) as(key, method, path, body string) (int, string) {
	l.tb.Helper()
	req, err := http.NewRequestWithContext(l.tb.Context(), method, "http://"+l.addr+path, strings.NewReader(body))
	if err != nil {
		l.tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// TestBudget_AHostileTenantHarmsNoOther: while a tenant does what it can with half a core, the server
// stays small, serves other tenants soon, and stops in time. The limits are the default ones but for
// the streams, and the Go runtime knows, as docs/operations.md recommends, how much memory there is.
func TestBudget_AHostileTenantHarmsNoOther(t *testing.T) {
	const (
		mostMemory = 512 << 20 // over idle
		mostWait   = time.Second
		mostStop   = 35 * time.Second
		mostPage   = 256 << 10 // of metrics
		maxStreams = 5000      // a stream takes up to 100 KiB, which the operator has to allow for
	)
	span, streams := 2*time.Second, 500
	if testenv.Long() {
		span, streams = 30*time.Second, maxStreams // the attacker gets 4,000
	}
	if testenv.Race {
		t.Skip("the race detector takes the memory and the time that this test bounds; the budgets are tested without it")
	}
	for _, name := range []string{"schemas", "slow bodies", "hoards", "labels"} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			l := startLoad(t, "KEYS=1", "GOMEMLIMIT=450MiB", fmt.Sprint("MAX_STREAMS=", maxStreams), "DATABASE="+filepath.Join(t.TempDir(), "awaken.db"))
			hello := `{"agent_id":"default","stream":false,"thread_id":"%s","messages":` + oneMessage + `}`
			for _, key := range []string{attackerRuns, victimRuns} { // the thread that is watched, and a first run
				if status, text := l.as(key, "POST", "/v1/runs", fmt.Sprintf(hello, "first")); status != 200 {
					t.Fatalf("the first run: %d %s", status, text)
				}
			}
			// The ordinary run may have other work beside it. Then what others may wait grows with what
			// a run takes without an attacker.
			most := mostWait
			if !testenv.Long() {
				from := time.Now()
				for range 10 {
					if status, text := l.as(victimRuns, "POST", "/v1/runs", fmt.Sprintf(hello, "calm")); status != 200 {
						t.Fatalf("a run without an attacker: %d %s", status, text)
					}
				}
				most = max(most, 20*time.Since(from)/10)
			}
			idle := l.rss("VmRSS")
			bad := spawn(t, "attacker", "ADDR="+l.addr, "ATTACK="+name, "THREAD=first", fmt.Sprint("STREAMS=", streams))
			if s := bad.line(); s != "ready" {
				t.Fatalf("the attacker says %q", s)
			}
			cpu := bad.cpu()
			var mu sync.Mutex
			var took []time.Duration
			var victims sync.WaitGroup
			began := time.Now()
			for v := range 2 {
				victims.Go(func() {
					for n := 0; time.Since(began) < span; n++ {
						from := time.Now()
						status, text := l.as(victimRuns, "POST", "/v1/runs", fmt.Sprintf(hello, fmt.Sprintf("v%d-%d", v, n)))
						mu.Lock()
						if took = append(took, time.Since(from)); status != 200 {
							t.Errorf("a run of another tenant: %d %s", status, text)
						}
						mu.Unlock()
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			victims.Wait()
			used := float64(bad.cpu()-cpu) / float64(time.Since(began))
			_, page := l.as(adminKey, "GET", "/metrics", "")
			open := metricOf(page, "awaken_sse_connections")
			slices.Sort(took)
			p99 := took[len(took)*99/100]
			if p99 > most {
				t.Errorf("other tenants wait %s at the 99th percentile, want at most %s", p99, most)
			}
			if len(page) > mostPage || len(page) == 0 {
				t.Errorf("the page of metrics has %d bytes, want at most %d", len(page), mostPage)
			}
			stop := time.Now()
			if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			gone := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, l.out) // ends with the process
				close(gone)
			}()
			grown := l.rss("VmHWM") - idle
			select {
			case <-gone:
			case <-time.After(mostStop):
				t.Errorf("the server is not gone %s after SIGTERM", mostStop)
				_ = l.cmd.Process.Kill()
			}
			if grown > mostMemory {
				t.Errorf("the server took %d MiB more than idle, want at most %d", grown>>20, mostMemory>>20)
			}
			t.Logf("the attacker had %.2f of a core and %v streams; memory %d MiB over %d idle; %d runs of others: 50th percentile %s, 99th %s, most %s; %d bytes of metrics; stopped after %s",
				used, open, grown>>20, idle>>20, len(took), took[len(took)/2].Round(time.Microsecond), p99.Round(time.Microsecond), took[len(took)-1].Round(time.Microsecond), len(page), time.Since(stop).Round(time.Millisecond))
		})
	}
}
