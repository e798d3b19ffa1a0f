package replicatest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/internal/testenv"
)

// told is a receiver of webhooks, which checks every message, and refuses some.
type told struct {
	*httptest.Server
	testing.TB
	secret string
	fails  func(n int) int // the status of its n-th answer; 0 accepts

	mu       sync.Mutex
	requests int
	twice    int                 // messages that came although they were accepted
	accepted map[string]bool     // by id
	events   map[string][]string // by run, in the order in which they were accepted first
}

func newTold(t *testing.T, fails func(n int) int) *told {
	r := &told{TB: t, fails: fails, accepted: map[string]bool{}, events: map[string][]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *told) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the replica was killed
	}
	id, err := webhook.Verify(req.Header.Get, body, time.Now(), r.secret)
	if err != nil {
		r.Errorf("%s: %v", body, err)
	}
	var message struct {
		Type string `json:"type"`
		Data struct {
			RunID string `json:"run_id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		r.Error(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if status := r.fails(r.requests); status != 0 {
		w.Header().Set("Location", r.URL+"/elsewhere")
		w.WriteHeader(status)
		return
	}
	if r.accepted[id] {
		r.twice++
		return
	}
	r.accepted[id] = true
	r.events[message.Data.RunID] = append(r.events[message.Data.RunID], message.Type)
}

// runs returns about how many runs it was told everything.
func (r *told) runs() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, events := range r.events {
		if slices.Contains(events, "run.finished") {
			n++
		}
	}
	return n
}

// Another system sends each of its requests until it has an answer, twice then, and each starts one run. Two receivers, of which one fails and redirects often, are told of each run what happened to it, in its order and with the same ids, while the replicas are
// killed one after the other. A message comes twice only if the replica that had sent it, or the receiver, was cut off.
func TestPrograms_WebhooksTellEverythingWhileReplicasAreKilled(t *testing.T) {
	if !testenv.Long() {
		t.Skip("what a replica that was killed had begun to send, another sends 40 seconds later; AWAKEN_LONG=1 tests it")
	}
	const runs, every = 600, 100 * time.Millisecond
	p := startPrograms(t, "AWAKEN_OUTBOUND_TENANTS_ALLOW=127.0.0.0/8", "AWAKEN_SECRETS_KEY="+strings.Repeat("0a", 32))
	good := newTold(t, func(int) int { return 0 })
	bad := newTold(t, func(n int) int { return []int{500, 0, 0, 302, 0, 0, 429, 0, 0}[n%9] })
	for name, r := range map[string]*told{"good": good, "bad": bad} {
		var made struct{ Secret string }
		p.decode(p.want(201, "", "POST", "/v1/webhooks", adminToken, fmt.Sprintf(`{"id":%q,"url":%q}`, name, r.URL+"/told")), &made)
		r.mu.Lock()
		r.secret = made.Secret
		r.mu.Unlock()
	}
	var door struct{ URL string }
	p.decode(p.want(201, "", "POST", "/v1/triggers", adminToken, `{"id":"orders","per_minute":600,"run":{"agent_id":"scenario","messages":[{"role":"user","content":"scenario:text"}]}}`), &door)
	_, query, _ := strings.Cut(door.URL, "?")
	started, kills := map[string]bool{}, 0
	for i := range runs {
		started[p.order("/v1/triggers/orders/fire?"+query, fmt.Sprint("order-", i))] = true
		if time.Sleep(every); i%(runs/6) == runs/12 {
			p.kill(kills % 3)
			kills++
		}
	}
	if len(started) != runs {
		t.Errorf("%d requests have started %d runs", runs, len(started))
	}
	for late := time.Now().Add(10 * patience); good.runs() < runs || bad.runs() < runs; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("of %d runs, one receiver was told of %d and the other of %d", runs, good.runs(), bad.runs())
		}
	}
	for name, r := range map[string]*told{"good": good, "bad": bad} {
		r.mu.Lock()
		for run, events := range r.events {
			if !started[run] || !slices.Equal(events, []string{"run.started", "run.finished"}) {
				t.Errorf("the %s receiver was told of run %s (known: %t): %v", name, run, started[run], events)
			}
		}
		if len(r.events) != runs || r.twice > 6*kills {
			t.Errorf("the %s receiver was told of %d runs, and of %d messages again", name, len(r.events), r.twice)
		}
		t.Logf("the %s receiver had %d requests about %d runs, %d of them again", name, r.requests, len(r.events), r.twice)
		r.mu.Unlock()
	}
	p.replay()
}

// order sends a request until it is answered, and then once more: both must be about the same run, whose id it returns.
func (p *programs) order(path, name string) string {
	p.Helper()
	var ids []string
	for late := time.Now().Add(patience); len(ids) < 2; {
		status, text := p.ask("POST", path, "", `{"order":"`+name+`"}`, "Idempotency-Key", name)
		if status == http.StatusAccepted {
			var reply struct {
				RunID string `json:"run_id"`
			}
			p.decode(text, &reply)
			ids = append(ids, reply.RunID)
			continue
		}
		if time.Sleep(50 * time.Millisecond); time.Now().After(late) {
			p.Fatalf("%s is not accepted: %d %s", name, status, text)
		}
	}
	if ids[0] != ids[1] {
		p.Errorf("%s has started the runs %v", name, ids)
	}
	return ids[0]
}
