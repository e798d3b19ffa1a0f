//go:build unix

package paidtest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
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
	chat, err := rigtest.ReadChat(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.asked[chat.Said]++
	a.total++
	a.mu.Unlock()
	time.Sleep(time.Millisecond) // as long as a server can die in it
	reply := rigtest.NewReply(w)
	reply.Text("yes")
	reply.End()
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

// servers are the servers of an evaluation, and a client that asks any of them.
type servers struct {
	*testing.T
	*rigtest.Client
	all []*rigtest.Process
}

// kill kills a server, and returns how many MiB of memory it had at most.
func (s *servers) kill(i int) int64 {
	s.all[i].Kill()
	return s.all[i].Peak()
}

// call sends a request to one of the servers, until one answers.
func (s *servers) call(method, path, body string, headers ...string) (out map[string]any) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), rigtest.Patience)
	defer cancel()
	if err := s.Ask(ctx, method, path, body, &out, headers...); err != nil {
		s.Fatal(err)
	}
	return out
}

// progress returns the summary of a run.
func (s *servers) progress(run string) map[string]any {
	s.Helper()
	for _, r := range s.call("GET", "/v1/eval/runs", "")["runs"].([]any) {
		if r := r.(map[string]any); r["id"] == run {
			return r
		}
	}
	s.Fatalf("run %s is gone", run)
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
	for _, kind := range rigtest.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			paid := &account{asked: map[string]int{}}
			provider := httptest.NewServer(paid)
			defer provider.Close()
			j := job{Store: rigtest.NewStore(t, kind, postgresServer), Provider: provider.URL, Lease: lease}
			s := &servers{T: t, Client: &rigtest.Client{Key: adminKey, Retry: failing}}
			for range map[string]int{rigtest.SQLite: 1, rigtest.Postgres: 2}[kind] {
				j.Address = rigtest.FreeAddress(t)
				s.URLs, s.all = append(s.URLs, "http://"+j.Address), append(s.all, rigtest.Start(t, rigtest.Job(j)))
			}
			peak := s.evaluate(paid, cells)
			t.Logf("%d cells on %s, %d servers killed: at most %d MiB of memory in a server", cells, kind, kills, peak)
			if most := int64(400); peak > most && !testenv.Race {
				t.Errorf("a server had %d MiB of memory, want at most %d", peak, most)
			}
		})
	}
}

// failing says to send a request again that no server answered, as one that dies does.
func failing(status int, err error) bool { return err != nil || status >= 500 }

// evaluate runs an evaluation while it kills servers, and returns how many MiB of memory a server had at most.
func (s *servers) evaluate(paid *account, cells int) (peak int64) {
	s.Helper()
	var fixtures strings.Builder
	for i := range cells {
		fmt.Fprintf(&fixtures, `,{"id":"c%d","user_input":"case %d","expect":{"final_answer_contains":["yes"]}}`, i, i)
	}
	s.call("POST", "/v1/eval/datasets", fmt.Sprintf(`{"id":"many","spec":{"fixtures":[%s]}}`, fixtures.String()[1:]))
	started := s.call("POST", "/v1/eval/runs", `{"dataset_id":"many","models":["m"],"max_total_tokens":1000000000}`, "Prefer", "respond-async")
	run := started["run"].(map[string]any)["id"].(string)
	for i := range kills {
		rigtest.Until(s, "a share of the cells is asked for", 10*time.Minute, func() bool {
			_, _, total := paid.sum()
			if r := s.progress(run); r["status"] != "running" {
				s.Fatalf("the run is %v after %d requests", r["status"], total)
			}
			return total >= (i+1)*cells/(kills+2)
		})
		peak = max(peak, s.kill(i%len(s.all)))
		s.all[i%len(s.all)].Again()
	}
	last := s.settled(run)
	items, doubts := number(last["item_count"]), number(last["in_doubt_count"])
	cases, most, _ := paid.sum()
	s.Logf("%d reports, %d in doubt, %d cases asked", items, doubts, cases)
	if most != 1 {
		s.Errorf("a case was paid %d times", most)
	}
	if items+doubts != cells || doubts > maxDoubts || number(last["passed_count"]) != items || cases < items || cases > items+doubts {
		s.Errorf("%d reports and %d cells in doubt of %d, %v passed, %d cases asked", items, doubts, cells, last["passed_count"], cases)
	}
	// On demand, only these are asked again. A slow server may lose the run meanwhile, which leaves some in doubt again.
	for tries := 0; number(last["in_doubt_count"]) > 0 && tries < 20; tries++ {
		s.call("POST", "/v1/eval/runs/"+run+"/resume", `{"in_doubt":"retry"}`)
		last = s.settled(run)
	}
	if all, again := paid.repeated(); number(last["item_count"]) != cells || number(last["in_doubt_count"]) != 0 || all != cells || again > doubts {
		s.Errorf("after the retry: %v; %d cases asked, %d of them more than once; want at most %d", last, all, again, doubts)
	}
	for i := range s.all {
		peak = max(peak, s.kill(i))
	}
	return peak
}

// settled waits until a run is done, and returns its summary.
func (s *servers) settled(run string) (last map[string]any) {
	s.Helper()
	rigtest.Until(s, "the run is done", 10*time.Minute, func() bool {
		last = s.progress(run)
		return last["status"] == "done"
	})
	return last
}
