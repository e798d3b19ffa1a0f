//go:build unix

package ratetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/openai"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/postgres"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, work, &postgresServer)) }

// job is the configuration of a worker.
type job struct {
	Database string // its URL
	Provider string // the URL of the provider
}

// work is a worker process. SIGTERM stops it.
func work(j job) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	box, done, err := open(ctx, j)
	if err != nil {
		return err
	}
	defer done()
	return box.Work(ctx)
}

// open returns a queue whose runs call the provider.
func open(ctx context.Context, j job) (*mailbox.Mailbox, func(), error) {
	db, err := postgres.Open(ctx, j.Database, nil)
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	limiter := limit.New(limit.Config{Store: db.Limits(), Logger: log})
	client, err := openai.New(openai.Config{Config: provider.Config{APIKey: "k", BaseURL: j.Provider}, Preset: "compatible"})
	if err != nil {
		return nil, nil, err
	}
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: "default", ModelID: "m"}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "upstream"}},
		Providers: map[string]llm.Model{"p": limiter.Model("p", client)},
	})
	if err != nil {
		return nil, nil, err
	}
	box, err := mailbox.New(mailbox.Config{Queue: db, Drain: time.Second, Logger: log}, rt.With)
	return box, func() { limiter.Close(); db.Close() }, err
}

// bucket is a provider: a token bucket that states its limit in headers and refuses what exceeds it.
type bucket struct {
	perMinute float64

	mu      sync.Mutex
	level   float64
	at      time.Time
	served  map[string]time.Time // by the message of the run
	refused []time.Time
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	chat, err := rigtest.ReadChat(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	now := time.Now()
	b.level = min(b.perMinute, b.level+b.perMinute*now.Sub(b.at).Minutes())
	b.at = now
	ok := b.level >= 1
	if ok {
		b.level--
		b.served[chat.Said] = now
	} else {
		b.refused = append(b.refused, now)
	}
	left := b.level
	b.mu.Unlock()
	h := w.Header()
	h.Set("X-Ratelimit-Limit-Requests", fmt.Sprint(int(b.perMinute)))
	h.Set("X-Ratelimit-Remaining-Requests", fmt.Sprint(int(left)))
	h.Set("X-Ratelimit-Reset-Requests", time.Duration((b.perMinute-left)/b.perMinute*float64(time.Minute)).Round(time.Millisecond).String())
	if !ok {
		h.Set("Retry-After", "1")
		http.Error(w, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, http.StatusTooManyRequests)
		return
	}
	time.Sleep(200 * time.Millisecond) // a model is slow
	reply := rigtest.NewReply(w)
	reply.Text("ok")
	reply.End()
}

// between returns how many requests were served and refused in a time.
func (b *bucket) between(from, to time.Time) (served, refused int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	in := func(at time.Time) bool { return at.After(from) && at.Before(to) }
	for _, at := range b.served {
		if in(at) {
			served++
		}
	}
	for _, at := range b.refused {
		if in(at) {
			refused++
		}
	}
	return served, refused
}

func (b *bucket) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.served)
}

// TestProcessesShareALimitThatTheyLearn runs more than the provider allows, most of it in the
// background, on three processes.
func TestProcessesShareALimitThatTheyLearn(t *testing.T) {
	perMinute, learning, measured, least := 900.0, 6*time.Second, 12*time.Second, 0.8
	if testenv.Long() {
		perMinute, learning, measured, least = 600, time.Minute, 4*time.Minute, 0.95
	}
	p := &bucket{perMinute: perMinute, level: 30, at: time.Now(), served: map[string]time.Time{}}
	srv := httptest.NewServer(p)
	defer srv.Close()
	j := job{Database: postgresServer.Database(), Provider: srv.URL}
	box, done, err := open(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	for range 3 {
		rigtest.Start(t, rigtest.Job(j))
	}
	submitted := map[string]time.Time{}
	submit := func(name string, priority int) {
		submitted[name] = time.Now()
		if _, err := box.Tenant("").Submit(t.Context(), mailbox.Submission{Priority: &priority, Request: awaken.RunRequest{AgentID: "default", Messages: []*llm.Message{llm.UserText(name)}}}); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	from, to := began.Add(learning), began.Add(learning+measured)
	for i, users := 0, 0; time.Now().Before(to); time.Sleep(20 * time.Millisecond) {
		for n := len(submitted) - p.count(); n < 150; n++ { // always more than there is room for
			submit(fmt.Sprint("task ", i), mailbox.DefaultPriority+64)
			i++
		}
		if time.Since(began) > time.Duration(users)*400*time.Millisecond {
			submit(fmt.Sprint("user ", users), mailbox.DefaultPriority)
			users++
		}
	}
	served, refused := p.between(from, to)
	quantile := func(ds []time.Duration, q float64) time.Duration {
		return rigtest.Quantile(ds, q).Round(time.Millisecond)
	}
	room := perMinute * measured.Minutes()
	users, tasks := p.waits(submitted, from, to)
	_, early := p.between(began, from)
	t.Logf("%d of %.0f requests in %s (%.1f %%), %d refused, %d before; users wait %s (median) and %s (95 %%), the background %s and %s", served, room, measured, 100*float64(served)/room,
		refused, early, quantile(users, 0.5), quantile(users, 0.95), quantile(tasks, 0.5), quantile(tasks, 0.95))
	if refused > 0 {
		t.Errorf("the provider refused %d requests after the limit was known", refused)
	}
	if float64(served) < least*room {
		t.Errorf("%d requests were served, there was room for %.0f", served, room)
	}
	if quantile(users, 0.5) > quantile(tasks, 0.5)/2 || quantile(users, 0.95) > quantile(tasks, 0.95) {
		t.Errorf("users wait %s, the background %s", quantile(users, 0.5), quantile(tasks, 0.5))
	}
}

// waits returns how long runs took until the provider had their request.
func (b *bucket) waits(submitted map[string]time.Time, from, to time.Time) (users, tasks []time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, at := range submitted {
		got, ok := b.served[name]
		if !ok || got.Before(from) || got.After(to) {
			continue
		}
		if strings.HasPrefix(name, "user") {
			users = append(users, got.Sub(at))
		} else {
			tasks = append(tasks, got.Sub(at))
		}
	}
	return users, tasks
}
