package deliver_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/store/memory"
)

// told is a request that a receiver has got.
type told struct {
	id, body string
	header   http.Header
}

// receiver gets messages. Its answer decides about the response to each.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []told
	news   chan struct{}
	answer func(n int, w http.ResponseWriter, r *http.Request) // n counts from 1
}

func newReceiver(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *receiver {
	r := &receiver{news: make(chan struct{}, 1000), answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, told{req.Header.Get("Webhook-Id"), string(body), req.Header})
		n := len(r.got)
		r.mu.Unlock()
		r.news <- struct{}{}
		if r.answer != nil {
			r.answer(n, w, req)
		}
	}))
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

// wait returns the first n requests.
func (r *receiver) wait(t *testing.T, n int) []told {
	t.Helper()
	for timeout := time.After(30 * time.Second); ; {
		r.mu.Lock()
		got := slices.Clone(r.got)
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-r.news:
		case <-timeout:
			t.Fatalf("the receiver got %d requests, want %d: %v", len(got), n, got)
		}
	}
}

// states is a kind whose messages are the starts and ends of a run.
var states = deliver.Kind{ContentType: "application/json", Messages: func(_ *webhook.Hook, run *awaken.Run, entries []awaken.Entry) (out [][]byte, err error) {
	for _, e := range entries {
		switch e.Event.(type) {
		case *awaken.RunStart, *awaken.RunFinish:
			out = append(out, fmt.Appendf(nil, `{"type":%q}`, e.Event.Type()))
		}
	}
	return out, nil
}}

// rig is a queue of runs, which are worked on, and a store of hooks.
type rig struct {
	t     *testing.T
	box   *mailbox.Mailbox
	hooks webhook.Store
	gate  chan struct{} // the model waits until it is closed
}

func newRig(t *testing.T) *rig {
	g := &rig{t: t, hooks: new(webhook.Memory), gate: make(chan struct{})}
	rt, err := engine.New(engine.Config{Agents: []*awaken.AgentSpec{{ID: "a", ModelID: "m"}}, Models: []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: "m"}},
		Providers: map[string]llm.Model{"p": gated{llmtest.NewRules(llmtest.Rule{Turn: func(*llm.Request) llmtest.Turn { return llmtest.Say("hello") }}), g.gate}}})
	if err != nil {
		t.Fatal(err)
	}
	if g.box, err = mailbox.New(mailbox.Config{Queue: memory.NewDB(), Poll: 10 * time.Millisecond, Log: eventlog.Options{Poll: 10 * time.Millisecond}, Drain: time.Second}, rt.With); err != nil {
		t.Fatal(err)
	}
	g.background(func(ctx context.Context) {
		if err := g.box.Work(ctx); err != nil {
			t.Errorf("work: %v", err)
		}
	})
	return g
}

// background calls fn until the test ends, or the function that it returns is called.
func (g *rig) background(fn func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); fn(ctx) }()
	stop = func() { cancel(); <-done }
	g.t.Cleanup(stop)
	return stop
}

// sender returns a sender with short times.
func (g *rig) sender(change func(c *deliver.Config)) *deliver.Sender {
	g.t.Helper()
	cfg := deliver.Config{Store: g.hooks, Mailbox: g.box, Kinds: map[string]deliver.Kind{"states": states}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Poll: 5 * time.Millisecond, Retry: time.Millisecond, MaxRetry: 20 * time.Millisecond}
	if change != nil {
		change(&cfg)
	}
	s, err := deliver.New(cfg)
	if err != nil {
		g.t.Fatal(err)
	}
	return s
}

// run submits a run and returns its id.
func (g *rig) run() string { return g.traced("") }

// traced starts a run in a trace.
func (g *rig) traced(at string) string {
	g.t.Helper()
	r, err := g.box.Tenant("").Submit(g.t.Context(), mailbox.Submission{Request: awaken.RunRequest{AgentID: "a", Trace: at, Messages: []*llm.Message{llm.UserText("go")}}})
	if err != nil {
		g.t.Fatal(err)
	}
	return r.RunID
}

// finish lets runs end, and waits for one.
func (g *rig) finish(runID string) {
	g.t.Helper()
	close(g.gate)
	for run := (*awaken.Run)(nil); run == nil || run.Status != awaken.RunDone; time.Sleep(time.Millisecond) {
		var err error
		if run, err = g.box.Tenant("").Store.LoadRun(g.t.Context(), runID); err != nil {
			g.t.Fatal(err)
		}
	}
}

func (g *rig) set(s *deliver.Sender, runID string, target webhook.Target) {
	g.t.Helper()
	if err := s.Set(g.t.Context(), &webhook.Hook{RunID: runID, ID: "1", State: webhook.State{Kind: "states", Target: target}}); err != nil {
		g.t.Fatal(err)
	}
}

// ended waits until the hook of a run has ended.
func (g *rig) ended(runID string) *webhook.Hook {
	g.t.Helper()
	for range 30_000 {
		list, err := g.hooks.Hooks(g.t.Context(), webhook.Query{RunID: runID})
		if err != nil || len(list) != 1 {
			g.t.Fatalf("%d hooks, %v", len(list), err)
		}
		if list[0].Ended != "" {
			return list[0]
		}
		time.Sleep(time.Millisecond)
	}
	g.t.Fatal("the hook does not end")
	return nil
}

const start, finish = `{"type":"run_start"}`, `{"type":"run_finish"}`

func bodies(got []told) (out []string) {
	for _, m := range got {
		out = append(out, m.body)
	}
	return out
}

// gated is a model that waits before it answers.
type gated struct {
	llm.Model
	gate <-chan struct{}
}

func (m gated) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	<-m.gate
	return m.Model.Stream(ctx, req)
}

// signature returns the signature that a receiver computes.
func signature(key, id, at, body string) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(id + "." + at + "." + body))
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// A receiver is told what happens while it happens, in order, signed, and with what the hook says.
func TestSender_Delivers(t *testing.T) {
	g := newRig(t)
	s := g.sender(nil)
	g.background(s.Work)
	r := newReceiver(t, nil)
	id := g.run()
	g.set(s, id, webhook.Target{URL: r.URL + "/told?x=1", Secret: "whsec_c2VjcmV0", Headers: map[string]string{"Authorization": "Bearer b", "X-Token": "t"}})
	first := r.wait(t, 1)[0]
	if first.body != start {
		t.Errorf("at first it was told %s", first.body)
	}
	g.finish(id)
	got := r.wait(t, 2)
	for i, m := range got {
		h := m.header
		if m.id != fmt.Sprintf("%s.1.%d", id, i+1) || h.Get("Authorization") != "Bearer b" || h.Get("X-Token") != "t" || h.Get("Content-Type") != "application/json" {
			t.Errorf("message %d has the headers %v", i, h)
		}
		at, err := strconv.ParseInt(h.Get("Webhook-Timestamp"), 10, 64)
		if err != nil || time.Since(time.Unix(at, 0)) > time.Hour {
			t.Errorf("its time is %q", h.Get("Webhook-Timestamp"))
		}
		if want := signature("secret", m.id, h.Get("Webhook-Timestamp"), m.body); h.Get("Webhook-Signature") != want {
			t.Errorf("the signature is %s, want %s", h.Get("Webhook-Signature"), want)
		}
	}
	h := g.ended(id)
	if !slices.Equal(bodies(r.wait(t, 2)), []string{start, finish}) || h.Ended != webhook.Delivered || h.Sent != 2 || len(h.Attempts) != 2 || h.Attempts[1].Status != 200 || h.Holder != "" {
		t.Errorf("told %v, the hook is %+v", bodies(r.wait(t, 2)), h)
	}
}

// A receiver learns the trace of the run, so that what it does belongs to it.
func TestSender_NamesTheTrace(t *testing.T) {
	g := newRig(t)
	s := g.sender(nil)
	g.background(s.Work)
	r := newReceiver(t, nil)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	traced, other := g.traced(parent+" a=b"), g.run()
	g.set(s, traced, webhook.Target{URL: r.URL})
	g.set(s, other, webhook.Target{URL: r.URL})
	g.finish(traced)
	for _, m := range r.wait(t, 4) {
		want, state := "", ""
		if strings.HasPrefix(m.id, traced) {
			want, state = parent, "a=b"
		}
		if got := m.header.Get("Traceparent"); got != want || m.header.Get("Tracestate") != state {
			t.Errorf("message %s has the trace %q %q, want %q %q", m.id, got, m.header.Get("Tracestate"), want, state)
		}
	}
}

// What is committed while no process delivers is delivered by the next one: there is nothing to lose between a commit and its delivery.
func TestSender_AnotherContinues(t *testing.T) {
	g := newRig(t)
	stopped := g.sender(nil) // its process dies before it delivers anything
	r := newReceiver(t, nil)
	id := g.run()
	g.set(stopped, id, webhook.Target{URL: r.URL})
	g.finish(id)
	if got := r.wait(t, 0); len(got) > 0 {
		t.Fatalf("told %v", got)
	}
	g.background(g.sender(nil).Work)
	if got := bodies(r.wait(t, 2)); !slices.Equal(got, []string{start, finish}) {
		t.Errorf("told %v", got)
	}
}

// A process that dies between a delivery and its record leaves the hook to another, when its lease is over. The message is sent again with the same id.
func TestSender_DiesAfterARequest(t *testing.T) {
	g := newRig(t)
	dead := make(chan struct{})
	r := newReceiver(t, func(n int, w http.ResponseWriter, _ *http.Request) {
		if n == 1 {
			close(dead)
		}
	})
	id := g.run()
	doomed := g.sender(func(c *deliver.Config) {
		c.Store, c.Timeout, c.Lease = dying{c.Store, dead}, 20*time.Millisecond, 50*time.Millisecond
	})
	g.set(doomed, id, webhook.Target{URL: r.URL})
	g.finish(id)
	g.background(doomed.Work)
	<-dead
	g.background(g.sender(nil).Work)
	got := r.wait(t, 3)
	if want := []string{start, start, finish}; !slices.Equal(bodies(got), want) || got[0].id != got[1].id {
		t.Errorf("told %v, want %v", got, want)
	}
	g.ended(id)
}

// dying is a store that a process does not reach any more once dead is closed.
type dying struct {
	webhook.Store
	dead <-chan struct{}
}

func (d dying) SwapHook(ctx context.Context, h *webhook.Hook) (bool, error) {
	select {
	case <-d.dead:
		return false, context.Canceled
	default:
		return d.Store.SwapHook(ctx, h)
	}
}

func (d dying) Hooks(ctx context.Context, q webhook.Query) ([]*webhook.Hook, error) {
	select {
	case <-d.dead:
		return nil, context.Canceled
	default:
		return d.Store.Hooks(ctx, q)
	}
}

// Of several processes one delivers at a time: a receiver gets each message once, in order, however many there are.
func TestSender_OneAtATime(t *testing.T) {
	g := newRig(t)
	for range 4 {
		g.background(g.sender(nil).Work)
	}
	r := newReceiver(t, nil)
	s := g.sender(nil)
	var ids []string
	for range 20 {
		id := g.run()
		ids = append(ids, id)
		g.set(s, id, webhook.Target{URL: r.URL})
	}
	g.finish(ids[0])
	for _, id := range ids {
		if h := g.ended(id); h.Ended != webhook.Delivered {
			t.Errorf("%+v", h)
		}
	}
	seen := map[string][]string{}
	for _, m := range r.wait(t, 40) {
		id, _, _ := strings.Cut(m.id, ".")
		seen[id] = append(seen[id], m.body)
	}
	for _, id := range ids {
		if !slices.Equal(seen[id], []string{start, finish}) {
			t.Errorf("run %s: %v", id, seen[id])
		}
	}
}

// Whatever a receiver does wrong, it gets the messages in order once it does right, and the hook tells what happened.
func TestSender_Failures(t *testing.T) {
	private := newReceiver(t, nil)
	for name, tt := range map[string]struct {
		fail func(w http.ResponseWriter, r *http.Request)
		want string
	}{
		"fails":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, "status 500"},
		"refuses":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) }, "status 404"},
		"hangs":    {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "no answer within 100ms"},
		"hangs up": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
		"redirects": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, private.URL, http.StatusTemporaryRedirect)
		}, "redirects are not followed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			s := g.sender(func(c *deliver.Config) { c.Timeout = 100 * time.Millisecond })
			g.background(s.Work)
			r := newReceiver(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if n <= 3 {
					tt.fail(w, r)
				}
			})
			id := g.run()
			g.set(s, id, webhook.Target{URL: r.URL})
			g.finish(id)
			h := g.ended(id)
			if got, want := bodies(r.wait(t, 5)), []string{start, start, start, start, finish}; !slices.Equal(got, want) {
				t.Errorf("told %v", got)
			}
			if len(h.Attempts) != 5 || h.Failures != 0 || h.Ended != webhook.Delivered {
				t.Errorf("%+v", h)
			}
			for i, a := range h.Attempts {
				if i < 3 && (!strings.Contains(a.Error, tt.want) || a.Message != 1) || i >= 3 && (a.Error != "" || a.Message != i-2) {
					t.Errorf("attempt %d is %+v, want %s", i, a, tt.want)
				}
				if strings.Contains(a.Error, r.URL) {
					t.Errorf("the log contains the URL: %s", a.Error)
				}
			}
		})
	}
	if len(private.wait(t, 0)) > 0 {
		t.Error("a redirect was followed")
	}
}

// The answer is read up to a length and a time; its status counts.
func TestSender_AnswersThatAreLongOrSlow(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, r *http.Request){
		"long": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 4<<20)) },
		"slow": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = w.Write([]byte("."))
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			s := g.sender(func(c *deliver.Config) { c.Timeout = 200 * time.Millisecond })
			g.background(s.Work)
			r := newReceiver(t, func(_ int, w http.ResponseWriter, r *http.Request) { answer(w, r) })
			id := g.run()
			g.set(s, id, webhook.Target{URL: r.URL})
			g.finish(id)
			if h := g.ended(id); h.Ended != webhook.Delivered || len(h.Attempts) != 2 {
				t.Errorf("%+v", h)
			}
			if got := bodies(r.wait(t, 2)); !slices.Equal(got, []string{start, finish}) {
				t.Errorf("told %v", got)
			}
		})
	}
}

// A receiver that has too much to do says how long it is to be left alone.
func TestSender_RetryAfter(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, tt := range []struct {
		status      int
		after       string
		least, most time.Duration
	}{
		{429, "120", 120 * time.Second, 120 * time.Second},
		{503, "120", 120 * time.Second, 120 * time.Second},
		{503, in(10 * time.Minute), 9 * time.Minute, 10 * time.Minute},
		{429, "7200", time.Hour, time.Hour},
		{429, "99999999999999999999", 0, time.Minute},
		{429, "-5", 0, time.Minute},
		{429, in(-time.Hour), 0, time.Minute},
		{429, "soon", 0, time.Minute},
		{500, "120", 0, time.Minute},
	} {
		t.Run(fmt.Sprint(tt.status, " ", tt.after), func(t *testing.T) {
			t.Parallel()
			g := newRig(t)
			s := g.sender(func(c *deliver.Config) { c.Retry = 20 * time.Second })
			r := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", tt.after)
				w.WriteHeader(tt.status)
			})
			id := g.run()
			g.set(s, id, webhook.Target{URL: r.URL})
			g.background(s.Work)
			g.finish(id)
			var h *webhook.Hook
			for tick := time.Tick(time.Millisecond); h == nil || h.Failures == 0 || h.Holder != ""; <-tick {
				found, err := g.hooks.Hooks(t.Context(), webhook.Query{RunID: id})
				if err != nil {
					t.Fatal(err)
				}
				h = found[0]
			}
			if h.Wait < tt.least || h.Wait > tt.most {
				t.Errorf("it rests for %s, want %s to %s", h.Wait, tt.least, tt.most)
			}
		})
	}
}

// A message that a receiver never accepts holds back those that follow it, until an operator leaves it out.
func TestSender_LeavesOutAMessage(t *testing.T) {
	g := newRig(t)
	s := g.sender(nil)
	g.background(s.Work)
	r := newReceiver(t, nil)
	r.answer = func(n int, w http.ResponseWriter, _ *http.Request) {
		if r.wait(t, n)[n-1].body == start {
			w.WriteHeader(400)
		}
	}
	id := g.run()
	g.set(s, id, webhook.Target{URL: r.URL})
	g.finish(id)
	r.wait(t, 3)
	for err := s.Redeliver(t.Context(), "", id, "1", 2); err != nil; err = s.Redeliver(t.Context(), "", id, "1", 2) { // while an attempt is made
		if !errors.Is(err, awaken.ErrConflict) && !errors.Is(err, awaken.ErrInvalid) {
			t.Fatal(err)
		}
	}
	if h := g.ended(id); h.Ended != webhook.Delivered || h.Sent != 2 {
		t.Errorf("%+v", h)
	}
	got := bodies(r.wait(t, 4))
	if i := slices.Index(got, finish); i != len(got)-1 {
		t.Errorf("told %v", got)
	}
	if err := s.Redeliver(t.Context(), "", id, "1", 4); err == nil || !strings.Contains(err.Error(), "want 1 to 3, the messages that were delivered and the next one") {
		t.Errorf("error %v", err)
	}
}

// A receiver that answers 410 gets nothing more, and neither does one that accepts nothing for too long.
func TestSender_GivesUp(t *testing.T) {
	for status, want := range map[int]string{410: "the receiver answered 410", 503: "the receiver has accepted nothing since"} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			g := newRig(t)
			s := g.sender(func(c *deliver.Config) { c.GiveUp = 50 * time.Millisecond })
			g.background(s.Work)
			var mu sync.Mutex
			accepts := false
			r := newReceiver(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if !accepts {
					w.WriteHeader(status)
				}
			})
			id := g.run()
			g.set(s, id, webhook.Target{URL: r.URL})
			g.finish(id)
			h := g.ended(id)
			if !strings.HasPrefix(h.Ended, want) || h.Sent != 0 || status == 410 && len(h.Attempts) != 1 {
				t.Errorf("%+v", h)
			}
			// A client that sets it again gets what it has not accepted.
			mu.Lock()
			accepts = true
			mu.Unlock()
			g.set(s, id, webhook.Target{URL: r.URL})
			for h.Ended != webhook.Delivered {
				h = g.ended(id)
			}
			if got := bodies(r.wait(t, 0)); !slices.Equal(got[len(got)-2:], []string{start, finish}) {
				t.Errorf("told %v", got)
			}
		})
	}
}

// A hook of a run that was deleted is removed, and one that is removed gets nothing.
func TestSender_Removed(t *testing.T) {
	g := newRig(t)
	s := g.sender(nil)
	r := newReceiver(t, nil)
	g.set(s, "no-such-run", webhook.Target{URL: r.URL})
	id := g.run()
	g.set(s, id, webhook.Target{URL: r.URL})
	if err := s.Remove(t.Context(), "", id, "1"); err != nil {
		t.Fatal(err)
	}
	g.background(s.Work)
	g.finish(id)
	for list := []*webhook.Hook{nil}; len(list) > 0; {
		var err error
		if list, err = g.hooks.Hooks(t.Context(), webhook.Query{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.wait(t, 0); len(got) > 0 {
		t.Errorf("told %v", got)
	}
}

func TestSender_Config(t *testing.T) {
	if _, err := deliver.New(deliver.Config{}); err == nil {
		t.Error("a sender without a store")
	}
	g := newRig(t)
	if _, err := deliver.New(deliver.Config{Store: g.hooks, Mailbox: g.box, Timeout: time.Minute}); err == nil || !strings.Contains(err.Error(), "Lease is 40s") {
		t.Errorf("a lease that is too short: %v", err)
	}
}
