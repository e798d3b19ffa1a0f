//go:build unix

package doubttest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/otlptest"
	"github.com/awaken-go/awaken/internal/rigtest"
	"github.com/awaken-go/awaken/internal/testenv"
)

var postgresServer *testenv.Postgres

func TestMain(m *testing.M) { os.Exit(testenv.WithJobs(m, serve, &postgresServer)) }

// size says how often servers are killed on a store.
type size struct {
	lanes int // servers, each with a database of its own
	kills int // of each
	calls int // of a model that a kill cuts off, beside one that MCP makes without a model
}

// Servers are killed inside effectful calls, again and again. Whatever way out of the doubt is taken through whatever protocol, no
// text claims what is not known. By default there is one kill on each store, and each takes half of the ways; with AWAKEN_LONG
// there are 200, of four servers.
func TestDoubt_IsNeverAClaim(t *testing.T) {
	n := size{1, 1, (len(ways) + 1) / 2}
	if testenv.Long() {
		n = size{4, testenv.Times(1, 50), 3}
	}
	for first, store := range rigtest.Kinds {
		t.Run(store, func(t *testing.T) {
			if !testenv.Long() { // otherwise one store after the other
				t.Parallel()
			}
			var lanes sync.WaitGroup
			var kills, calls, read atomic.Int64
			for i := range n.lanes {
				l := newLane(t, store)
				lanes.Go(func() {
					var all []doubtful
					for kill := range n.kills {
						round, r, err := l.round(t, n.calls, first+i+n.lanes*kill)
						if err != nil {
							t.Errorf("%v\n%s", err, l.log())
							return
						}
						kills.Add(1)
						calls.Add(int64(len(round)))
						read.Add(int64(r))
						all = append(all, round...)
					}
					r, err := l.deliveries(t.Context(), all)
					if err != nil {
						t.Errorf("%v\n%s", err, l.log())
					}
					read.Add(int64(r))
				})
			}
			lanes.Wait()
			t.Logf("%s: %d kills, %d calls in doubt, %d ways by %d protocols, %d texts read", store, kills.Load(), calls.Load(), len(ways),
				len(protocols), read.Load())
		})
	}
}

// doubtful is a call that the end of its process cuts off.
type doubtful interface {
	fmt.Stringer
	// begin begins the call, and returns when the client has lost the server.
	begin(ctx context.Context) error
	// check ends the doubt or keeps it, and reads every text about the call. It returns how many there are.
	check(ctx context.Context) (read int, err error)
	// delivered reads what receivers and collectors have got about the call, once all of it has arrived.
	delivered(ctx context.Context) (read int, err error)
}

// lane is a server that is killed and started again, with all that it reaches.
type lane struct {
	*client
	job      job
	process  *rigtest.Process
	store    awaken.Store
	receiver *receiver
	spans    *otlptest.Collector
}

func newLane(t *testing.T, kind string) *lane {
	t.Helper()
	j := job{Store: rigtest.NewStore(t, kind, postgresServer), Effects: rigtest.NewLedger(t), Dir: t.TempDir(), Address: rigtest.FreeAddress(t),
		Editors: rigtest.FreeAddress(t)}
	l := &lane{client: &client{base: "http://" + j.Address, http: &http.Client{}}, job: j, receiver: newReceiver(t), spans: otlptest.Start(t)}
	l.process = rigtest.Start(t, rigtest.Job(j, "OTEL_EXPORTER_OTLP_ENDPOINT="+l.spans.URL, "OTEL_METRICS_EXPORTER=none", "OTEL_BSP_SCHEDULE_DELAY=50"))
	l.process.Serves()
	l.store = j.Store.Use(t).Handle("")
	ctx, cancel := context.WithTimeout(t.Context(), rigtest.Patience)
	defer cancel()
	if _, err := l.post(ctx, "/v1/webhooks", object{"url": l.receiver.URL}); err != nil {
		t.Fatal(err)
	}
	return l
}

// poll calls try until it returns nil.
func poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// round begins calls, kills the server, starts it again, and takes a way out of each doubt. It returns the calls, and how many
// texts were read. N counts the rounds of all lanes.
func (l *lane) round(t *testing.T, calls, n int) (round []doubtful, read int, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	before := l.job.Effects.Effects(t)
	round = append(round, l.newPlanned(n))
	for i := range calls {
		round = append(round, l.newExample(n*calls+i))
	}
	var clients sync.WaitGroup
	for _, d := range round {
		clients.Go(func() {
			if err := d.begin(ctx); err == nil || !lost(err) {
				t.Errorf("%s: the first run has ended, with error %v", d, err)
			}
		})
	}
	if err := poll(ctx, func() error { return l.begun(len(before) + len(round)) }); err != nil {
		return nil, 0, err
	}
	l.process.Kill()
	clients.Wait()
	l.process.Again()
	l.process.Serves()
	texts := make([]int, len(round))
	for i, d := range round {
		clients.Go(func() {
			var err error
			if texts[i], err = d.check(ctx); err != nil {
				t.Errorf("%s: %v\n%s", d, err, l.log())
			}
		})
	}
	clients.Wait()
	for _, n := range texts {
		read += n
	}
	return round, read, nil
}

// deliveries reads what receivers of webhooks and collectors have got about calls.
func (l *lane) deliveries(ctx context.Context, all []doubtful) (read int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for _, d := range all {
		n, err := d.delivered(ctx)
		if err != nil {
			return read, fmt.Errorf("%s: %w", d, err)
		}
		read += n
	}
	return read, nil
}

// log returns the warnings of the server.
func (l *lane) log() string {
	var out strings.Builder
	for line := range strings.Lines(l.process.Log()) {
		if !strings.Contains(line, "level=INFO") {
			out.WriteString(line)
		}
	}
	return out.String()
}

// begun reports an error until n calls have begun.
func (l *lane) begun(n int) error {
	all, err := l.job.Effects.Read()
	if err == nil && len(all) < n {
		err = fmt.Errorf("%d of %d calls have begun", len(all), n)
	}
	return err
}

// newExample returns an example of the nth combination of a way and a protocol, all of them in turn.
func (l *lane) newExample(n int) *example {
	i := n % len(ways)
	proto := &protocols[(n/len(ways)+i)%len(protocols)]
	name := fmt.Sprintf("t-%d", n)
	return &example{lane: l, proto: proto, talks: proto.talk(l.client, l.job.Editors, l.receiver.URL), way: &ways[i], name: name, thread: name}
}

// ledger returns an error unless the record of a run's first call has an outcome, and its doubt.
func (l *lane) ledger(ctx context.Context, run string, want awaken.Outcome) error {
	calls, err := l.store.Calls(ctx, run)
	if err != nil || len(calls) == 0 || calls[0].Outcome() != want || calls[0].Doubt == nil {
		return fmt.Errorf("the ledger of run %s is %+v, want %s; %w", run, calls, want, err)
	}
	return nil
}

// lost reports whether a client has lost its server.
func lost(err error) bool {
	_, refused := errors.AsType[*net.OpError](err)
	return refused || strings.Contains(err.Error(), "EOF") || strings.Contains(err.Error(), "connection reset")
}
