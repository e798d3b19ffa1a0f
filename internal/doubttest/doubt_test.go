//go:build unix

package doubttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/claimtest"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/threadfile"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, serve, &postgresServer)) }

// way is a way out of a doubt.
type way struct {
	name    string
	calls   string         // what the model calls; the first one is killed
	outcome awaken.Outcome // of the call in the end
	takes   func(ctx context.Context, e *example) error
}

// ways are those that people and clients can take. Most of them end with a message, so that the model is asked once more.
var ways = []way{
	{"the model is told", "charge", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error { return e.again(ctx) }},
	{"refused", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error { return e.answered(ctx, false) }},
	{"cancelled", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		k, err := e.asked(ctx, e.thread)
		if err != nil {
			return err
		}
		if err := e.heard(e.post(ctx, e.proto.cancel(e.thread, k.Run), object{})); err != nil {
			return err
		}
		return e.again(ctx)
	}},
	{"a new message", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if _, err := e.asked(ctx, e.thread); err != nil {
			return err
		}
		text, err := e.say(ctx, e.thread, e.thread+"-2", e.tag())
		if strings.Contains(text, "interrupt_pending") { // AG-UI wants an answer first; another client does not
			e.said = append(e.said, text)
			other := *e.client
			other.proto = protocols[0]
			text, err = other.say(ctx, e.thread, e.thread+"-2", e.tag())
		}
		return e.heard(text, err)
	}},
	{"expired", "hold", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if err := e.answered(ctx, true); err != nil {
			return err
		}
		return e.again(ctx)
	}},
	{"handed over", "pay+handoff_to_other", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error { return e.answered(ctx, false) }},
	{"forked", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if _, err := e.asked(ctx, e.thread); err != nil {
			return err
		}
		var fork struct {
			ID string `json:"id"`
		}
		text, err := e.post(ctx, "/v1/threads/"+e.thread+"/fork", object{"seq": 2})
		if err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &fork); err != nil {
			return err
		}
		e.copies = append(e.copies, fork.ID)
		return e.heard(e.say(ctx, fork.ID, e.thread+"-2", e.tag()))
	}},
	{"exported", "pay", awaken.OutcomeInDoubt, func(ctx context.Context, e *example) error {
		if _, err := e.asked(ctx, e.thread); err != nil {
			return err
		}
		var file bytes.Buffer
		if err := threadfile.Export(ctx, e.store, e.thread, &file); err != nil {
			return err
		}
		th, err := threadfile.Import(ctx, e.store, &file, e.thread+"-imported")
		if err != nil {
			return err
		}
		e.copies = append(e.copies, th.ID)
		return e.heard(e.say(ctx, th.ID, e.thread+"-2", e.tag()))
	}},
	{"settled as made", "pay", awaken.OutcomeMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "waiting", object{"outcome": "made"})
	}},
	{"settled as made, with a result", "pay", awaken.OutcomeMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "waiting", object{"outcome": "made", "payload": object{"receipt": "r-17"}})
	}},
	{"settled as not made", "pay", awaken.OutcomeNotMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "waiting", object{"outcome": "not_made"})
	}},
	{"settled late as made", "charge", awaken.OutcomeMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "done", object{"outcome": "made"})
	}},
	{"settled late as not made", "charge", awaken.OutcomeNotMade, func(ctx context.Context, e *example) error {
		return e.settled(ctx, "done", object{"outcome": "not_made"})
	}},
}

// example is a call in doubt, on a thread of its own.
type example struct {
	*client
	way    *way
	thread string
	copies []string // of the thread
	store  awaken.Store
	dir    string
	said   []string // what the client of the protocol has heard
	read   int      // texts that were read
}

// tag begins the messages of the example.
func (e *example) tag() string { return "#" + e.thread }

// heard takes an answer of the server.
func (e *example) heard(text string, err error) error {
	e.said = append(e.said, text)
	return err
}

// again says something once the run is over.
func (e *example) again(ctx context.Context) error {
	if _, err := e.latest(ctx, e.thread, "done"); err != nil {
		return err
	}
	return e.heard(e.say(ctx, e.thread, e.thread+"-2", e.tag()))
}

// answered decides whether to make the call again.
func (e *example) answered(ctx context.Context, yes bool) error {
	k, err := e.asked(ctx, e.thread)
	if err != nil {
		return err
	}
	return e.heard(e.answer(ctx, k, yes))
}

// settled settles the call once its run has a status.
func (e *example) settled(ctx context.Context, status string, body object) error {
	r, err := e.latest(ctx, e.thread, status)
	if err != nil {
		return err
	}
	if err := e.open(ctx); err != nil {
		return err
	}
	body["tool_call_id"] = "call-0-0"
	if err := e.heard(e.post(ctx, "/v1/runs/"+r.ID+"/decision", body)); err != nil {
		return err
	}
	return e.again(ctx)
}

// open checks that nothing claims to know what became of the call, before it is settled.
func (e *example) open(ctx context.Context) error {
	all, err := e.texts(ctx)
	if err != nil {
		return err
	}
	for _, text := range all {
		if found := claims(text); len(found) > 0 {
			return fmt.Errorf("before it is settled: claims %q in\n%s", found, text)
		}
	}
	e.read += len(all)
	return nil
}

// judged has the claims of strings, by string: most of what is read was read before.
var judged sync.Map

// claims returns the claims in a text. A text in JSON is read string by string.
func claims(text string) (out []string) {
	for part := range strings.SplitSeq(text, `"`) {
		found, ok := judged.Load(part)
		if !ok {
			found = claimtest.Find(part)
			judged.Store(part, found)
		}
		out = append(out, found.([]string)...)
	}
	return out
}

// shown returns what the model was shown in the requests of the example.
func (e *example) shown() ([]string, error) {
	all, err := lines(e.dir, "requests")
	return slices.DeleteFunc(all, func(line string) bool { return !strings.Contains(line, `"user: `+e.tag()+" ") }), err
}

// texts returns everything that the model, clients of every protocol, people and exports are given.
func (e *example) texts(ctx context.Context) (out []string, err error) {
	if out, err = e.shown(); err != nil {
		return nil, err
	}
	out = append(out, e.said...)
	for _, thread := range append([]string{e.thread}, e.copies...) {
		paths := []string{"/v1/threads/" + thread, "/v1/threads/" + thread + "/messages?limit=200", "/v1/threads/" + thread + "/events?limit=200",
			"/v1/ai-sdk/threads/" + thread + "/messages?limit=200", "/v1/ai-sdk/threads/" + thread + "/replay?limit=500",
			"/v1/ag-ui/threads/" + thread + "/messages?limit=200", "/v1/ag-ui/threads/" + thread + "/replay?limit=500", "/v1/approvals?thread_id=" + thread}
		runs, err := e.runs(ctx, thread)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			paths = append(paths, "/v1/runs/"+r.ID, "/v1/runs/"+r.ID+"/events?limit=200", "/v1/runs/"+r.ID+"/timeline", "/v1/decisions?run_id="+r.ID,
				"/v1/a2a/tasks/"+r.ID, "/openai/v1/responses/resp_"+r.ID)
		}
		for _, path := range paths {
			text, err := e.get(ctx, path, nil)
			if err != nil {
				return nil, err
			}
			out = append(out, path+"\n"+text)
		}
		var file bytes.Buffer
		if err := threadfile.Export(ctx, e.store, thread, &file); err != nil {
			return nil, err
		}
		out = append(out, "export\n"+file.String())
	}
	return out, nil
}

// known are the claims that settlements allow, and what the model reads then.
var known = map[awaken.Outcome]struct {
	claims *regexp.Regexp
	told   *regexp.Regexp
}{
	awaken.OutcomeInDoubt: {regexp.MustCompile(`^$`), regexp.MustCompile(`whether it took effect is not known`)},
	awaken.OutcomeMade:    {regexp.MustCompile(`^(took effect)$`), regexp.MustCompile(`took effect, as a person has found out|r-17`)},
	awaken.OutcomeNotMade: {regexp.MustCompile(`^(did not take effect)$`), regexp.MustCompile(`did not take effect, as a person has found out`)},
}

// told waits until the latest run is over, and the model was asked again and shown a text.
func (e *example) told(ctx context.Context, want *regexp.Regexp) error {
	thread := e.thread
	if n := len(e.copies); n > 0 {
		thread = e.copies[n-1]
	}
	for {
		shown, err := e.shown()
		if err != nil {
			return err
		}
		if n := len(shown); n > 1 && want.MatchString(shown[n-1]) {
			_, err := e.latest(ctx, thread, "done")
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("the model is shown %q, want %s", shown, want)
		}
	}
}

// check takes the way out, and reads every text.
func (e *example) check(ctx context.Context, t *testing.T) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Errorf("%s, %s, thread %s: %s", e.way.name, e.proto.name, e.thread, fmt.Sprintf(format, args...))
	}
	want := known[e.way.outcome]
	err := e.way.takes(ctx, e)
	if err == nil {
		err = e.told(ctx, want.told)
	}
	if err != nil {
		fail("%v", err)
		return
	}
	all, err := e.texts(ctx)
	if err != nil {
		fail("%v", err)
		return
	}
	e.read += len(all)
	for _, text := range all {
		for _, claim := range claims(text) {
			if !want.claims.MatchString(claim) {
				fail("claims %q in\n%s", claim, text)
				return
			}
		}
	}
	runs, err := e.runs(ctx, e.thread)
	if err != nil || len(runs) == 0 {
		fail("no runs: %v", err)
		return
	}
	calls, err := e.store.Calls(ctx, runs[len(runs)-1].ID)
	if err != nil || len(calls) == 0 || calls[0].Outcome() != e.way.outcome || calls[0].Doubt == nil {
		fail("the ledger is %+v, want %s; %v", calls, e.way.outcome, err)
	}
}

// process is a server that is killed.
type process struct {
	t   *testing.T
	job job
	cmd *exec.Cmd
	out *bytes.Buffer
}

func (p *process) start(ctx context.Context) {
	p.t.Helper()
	p.out = &bytes.Buffer{}
	p.cmd = testenv.JobCommand(context.Background(), p.job)
	p.cmd.Stderr = p.out
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	c := &client{base: "http://" + p.job.Address, http: http.DefaultClient}
	for {
		if _, err := c.get(ctx, "/health", nil); err == nil {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			p.t.Fatalf("the server does not answer\n%s", p.out)
		}
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	_ = p.cmd.Wait()
	if strings.Contains(p.out.String(), "DATA RACE") {
		p.t.Errorf("a race:\n%s", p.out)
	}
}

// begun waits until n calls have begun.
func (p *process) begun(ctx context.Context, n int) {
	p.t.Helper()
	for {
		all, err := lines(p.job.Dir, "attempts")
		if err != nil {
			p.t.Fatal(err)
		}
		if len(all) >= n && all[0] != "" {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			p.t.Fatalf("%d of %d calls have begun\n%s", len(all), n, p.out)
		}
	}
}

func newJob(t *testing.T, store string) job {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dir := t.TempDir()
	j := job{Store: store, Where: filepath.Join(dir, "awaken.db"), Dir: dir, Address: l.Addr().String()}
	if store == "postgres" {
		j.Where = postgresServer.Database()
	}
	return j
}

// examples returns n combinations of ways and protocols, all of them in turn.
func examples(n int) (out [][2]int) {
	for i := range n {
		out = append(out, [2]int{i % len(ways), (i/len(ways) + i) % len(protocols)})
	}
	return out
}

// A server is killed inside effectful calls, again and again. Whatever way out of the doubt is taken through whatever protocol, no
// text claims what is not known. By default there is one kill on each store; with AWAKEN_LONG there are 260 calls in doubt on each.
func TestDoubt_IsNeverAClaim(t *testing.T) {
	const each = 13 // calls in doubt by one kill
	for _, store := range []string{"sqlite", "postgres"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			kills := 1
			if testenv.Long() {
				kills = 20
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(kills)*20*time.Second+time.Minute)
			defer cancel()
			p := &process{t: t, job: newJob(t, store)}
			p.start(ctx)
			defer func() { p.kill() }()
			queue, done, err := open(ctx, p.job)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			attempts, inDoubt, read := 0, 0, 0
			for kill := range kills {
				var round []*example
				var clients sync.WaitGroup
				for i, of := range examples(each * (kill + 1))[each*kill:] {
					e := &example{client: &client{base: "http://" + p.job.Address, http: &http.Client{}, proto: protocols[of[1]]}, way: &ways[of[0]],
						thread: fmt.Sprintf("t-%d-%d", kill, i), store: queue.Handle(""), dir: p.job.Dir}
					round = append(round, e)
					clients.Go(func() {
						text, err := e.say(ctx, e.thread, e.thread+"-1", e.tag()+" "+e.way.calls)
						if err == nil || !lost(err) {
							t.Errorf("%s: the first run is %s, %v", e.proto.name, text, err)
						}
						e.said = append(e.said, text)
					})
				}
				p.begun(ctx, attempts+each)
				p.kill()
				clients.Wait()
				p.start(ctx)
				var wg sync.WaitGroup
				for _, e := range round {
					wg.Go(func() {
						ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
						defer cancel()
						e.check(ctx, t)
					})
				}
				wg.Wait()
				for _, e := range round {
					read += e.read
				}
				inDoubt += len(round)
				all, err := lines(p.job.Dir, "attempts")
				if err != nil {
					t.Fatal(err)
				}
				attempts = len(all)
			}
			t.Logf("%s: %d kills, %d calls in doubt, %d ways by %d protocols, %d texts read", store, kills, inDoubt, len(ways), len(protocols), read)
		})
	}
}

// lost reports whether a client has lost its server.
func lost(err error) bool {
	_, refused := errors.AsType[*net.OpError](err)
	return refused || strings.Contains(err.Error(), "EOF") || strings.Contains(err.Error(), "connection reset")
}
