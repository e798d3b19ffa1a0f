//go:build unix

package paidtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/testenv"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, serve, &postgresServer)) }

// account is a provider that counts what it is asked, by case.
type account struct {
	mu    sync.Mutex
	asked map[string]int
	total int
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Messages []struct {
			Role    string `json:"role"`
			Content any    `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.Messages) == 0 {
		http.Error(w, fmt.Sprint(err), http.StatusBadRequest)
		return
	}
	said := fmt.Sprint(body.Messages[len(body.Messages)-1].Content)
	a.mu.Lock()
	a.asked[said]++
	a.total++
	a.mu.Unlock()
	time.Sleep(time.Millisecond) // as long as a server can die in it
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","model":"paid","choices":[{"index":0,"delta":{"role":"assistant","content":"yes"},"finish_reason":"stop"}]}`+"\n\n"+
		`data: {"id":"1","object":"chat.completion.chunk","model":"paid","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`+"\n\ndata: [DONE]\n\n")
}

// sum returns how many cases were asked about, and how often at most.
func (a *account) sum() (cases, most, total int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.asked {
		most = max(most, n)
	}
	return len(a.asked), most, a.total
}

// repeated returns how many cases were asked about, and how many of them more than once.
func (a *account) repeated() (cases, again int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, n := range a.asked {
		if n > 1 {
			again++
		}
	}
	return len(a.asked), again
}

// process is a server that can be killed.
type process struct {
	t   *testing.T
	job job
	cmd *exec.Cmd
	out *bytes.Buffer
}

func (p *process) start() {
	p.t.Helper()
	p.out = &bytes.Buffer{}
	p.cmd = testenv.JobCommand(context.Background(), p.job)
	p.cmd.Stderr = p.out
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
}

// kill kills the process and returns how many MiB of memory it had at most.
func (p *process) kill() int64 {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
	if usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss >> 10
	}
	return 0
}

// freeAddress returns an unused address to which servers come back.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", 10_000+rand.IntN(20_000)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		return l.Addr().String()
	}
}

// call sends a request to one of the servers, until one answers.
func call(t *testing.T, ps []*process, method, path, body string, headers ...string) map[string]any {
	t.Helper()
	var last error
	for deadline, n := time.Now().Add(time.Minute), 0; time.Now().Before(deadline); n++ {
		p := ps[n%len(ps)]
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.job.Address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+adminKey)
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			data, readErr := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			var out map[string]any
			if readErr == nil && resp.StatusCode < 500 {
				if resp.StatusCode >= 400 || json.Unmarshal(data, &out) != nil {
					t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, data)
				}
				return out
			}
			err = fmt.Errorf("%d %s, %w", resp.StatusCode, data, readErr)
		}
		last = err
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s %s: %v\n%s", method, path, last, ps[0].out)
	return nil
}

// progress returns the summary of a run.
func progress(t *testing.T, ps []*process, run string) map[string]any {
	t.Helper()
	for _, r := range call(t, ps, "GET", "/v1/eval/runs", "")["runs"].([]any) {
		if r := r.(map[string]any); r["id"] == run {
			return r
		}
	}
	t.Fatalf("run %s is gone", run)
	return nil
}

func number(v any) int {
	f, _ := v.(float64)
	return int(f)
}

const (
	kills = 5
	// maxDoubts is more than five cells, which a server runs at a time, for each kill: a slow server may lose the run, too.
	maxDoubts = 3 * 5 * kills
)

// TestEval_NoCellIsPaidTwice kills servers with SIGKILL in the middle of an evaluation. One server starts again on SQLite; of two on
// PostgreSQL, the other takes over. With AWAKEN_LONG, it has 10,000 cells.
func TestEval_NoCellIsPaidTwice(t *testing.T) {
	cells, lease := 300, time.Second
	if testenv.Long() {
		cells, lease = 10_000, 2*time.Second
	}
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			paid := &account{asked: map[string]int{}}
			provider := httptest.NewServer(paid)
			defer provider.Close()
			j := job{Store: store, Where: filepath.Join(t.TempDir(), "awaken.db"), Provider: provider.URL, Lease: lease}
			servers := 1
			if store == "postgres" {
				j.Where, servers = postgresServer.Database(), 2
			}
			var ps []*process
			for range servers {
				j.Address = freeAddress(t)
				p := &process{t: t, job: j}
				p.start()
				ps = append(ps, p)
				defer p.kill()
			}
			peak := evaluate(t, ps, paid, cells)
			t.Logf("%d cells on %s, %d servers killed: at most %d MiB of memory in a server", cells, store, kills, peak)
			if most := int64(400); peak > most && !testenv.Race {
				t.Errorf("a server had %d MiB of memory, want at most %d", peak, most)
			}
		})
	}
}

// evaluate runs an evaluation while it kills servers, and returns how many MiB of memory a server had at most.
func evaluate(t *testing.T, ps []*process, paid *account, cells int) (peak int64) {
	t.Helper()
	var fixtures strings.Builder
	for i := range cells {
		fmt.Fprintf(&fixtures, `,{"id":"c%d","user_input":"case %d","expect":{"final_answer_contains":["yes"]}}`, i, i)
	}
	call(t, ps, "POST", "/v1/eval/datasets", fmt.Sprintf(`{"id":"many","spec":{"fixtures":[%s]}}`, fixtures.String()[1:]))
	run := call(t, ps, "POST", "/v1/eval/runs", `{"dataset_id":"many","models":["m"],"max_total_tokens":1000000000}`, "Prefer", "respond-async")["run"].(map[string]any)["id"].(string)
	for i := range kills {
		for _, _, total := paid.sum(); total < (i+1)*cells/(kills+2); _, _, total = paid.sum() {
			if r := progress(t, ps, run); r["status"] != "running" {
				t.Fatalf("the run is %v after %d requests", r["status"], total)
			}
			time.Sleep(5 * time.Millisecond)
		}
		p := ps[i%len(ps)]
		peak = max(peak, p.kill())
		p.start()
	}
	last := settled(t, ps, run)
	items, doubts := number(last["item_count"]), number(last["in_doubt_count"])
	cases, most, _ := paid.sum()
	t.Logf("%d reports, %d in doubt, %d cases asked", items, doubts, cases)
	if most != 1 {
		t.Errorf("a case was paid %d times", most)
	}
	if items+doubts != cells || doubts > maxDoubts || number(last["passed_count"]) != items || cases < items || cases > items+doubts {
		t.Errorf("%d reports and %d cells in doubt of %d, %v passed, %d cases asked", items, doubts, cells, last["passed_count"], cases)
	}
	// On demand, only these are asked again. A slow server may lose the run meanwhile, which leaves some in doubt again.
	for tries := 0; number(last["in_doubt_count"]) > 0 && tries < 20; tries++ {
		call(t, ps, "POST", "/v1/eval/runs/"+run+"/resume", `{"in_doubt":"retry"}`)
		last = settled(t, ps, run)
	}
	if all, again := paid.repeated(); number(last["item_count"]) != cells || number(last["in_doubt_count"]) != 0 || all != cells || again > doubts {
		t.Errorf("after the retry: %v; %d cases asked, %d of them more than once; want at most %d", last, all, again, doubts)
	}
	for _, p := range ps {
		peak = max(peak, p.kill())
	}
	return peak
}

// settled waits until a run is done, and returns its summary.
func settled(t *testing.T, ps []*process, run string) map[string]any {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if r := progress(t, ps, run); r["status"] == "done" {
			return r
		}
	}
	t.Fatalf("the run does not end: %v\n%s", progress(t, ps, run), ps[0].out)
	return nil
}
