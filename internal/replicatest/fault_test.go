package replicatest

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken/bus"
	"github.com/awaken-go/awaken/bus/bustest"
	"github.com/awaken-go/awaken/bus/nats"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/store/postgres"
)

// load is runs with clients at other replicas, while faults happen.
type load struct {
	runs   int
	deltas int
	every  time.Duration
}

func faultLoad() load {
	return load{runs: testenv.Times(10, 60), deltas: testenv.Times(120, 1200), every: 50 * time.Millisecond} // up to a minute
}

// model makes the answers of a load.
func (l load) model() paced { return paced{l.deltas, l.every} }

// bear starts the runs of a load, each with a client at either remote replica, calls harm until the
// answers should be over, and checks that every client has what the log has, and that nothing is left.
func (l load) bear(t *testing.T, f *fleet, harm func(round int)) {
	t.Helper()
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	for i := range l.runs {
		s := f.open(1+i%2, "/v1/runs", fmt.Sprintf(`{"agent_id":"default","thread_id":"t%d","messages":[{"role":"user","content":"go"}]}`, i))
		s.body.Close() // the run continues
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	var clients sync.WaitGroup
	got := make([]*transcript, 2*l.runs)
	for i := range got {
		clients.Go(func() { got[i] = f.follow(ctx, 1+i%2, fmt.Sprint("t", i/2)) })
	}
	most := uint64(0)
	for round := 0; time.Since(began) < time.Duration(l.deltas)*l.every; round++ {
		harm(round)
		runtime.ReadMemStats(&after)
		most = max(most, after.HeapInuse)
	}
	clients.Wait()
	opened, resets := 0, 0
	for i, tr := range got {
		want := f.logged(fmt.Sprint("t", i/2))
		if !tr.done || tr.text() != want || want == "" {
			t.Errorf("client %d: over %t, %d bytes, the log has %d; its last event arrived after %s, the test has lasted %s",
				i, tr.done, len(tr.text()), len(want), tr.heard.Sub(began).Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
		}
		opened, resets = opened+tr.opened, resets+tr.resets
	}
	http.DefaultClient.CloseIdleConnections()
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d runs of %d deltas with %d clients in %s: %d connections, %d resets; heap %d MiB before, at most %d, %d after; %d goroutines", l.runs, l.deltas, len(got), time.Since(began).Round(time.Millisecond),
		opened, resets, before.HeapInuse>>20, most>>20, after.HeapInuse>>20, runtime.NumGoroutine())
	if limit := before.HeapInuse + 64<<20; after.HeapInuse > limit {
		t.Errorf("the heap has grown from %d to %d MiB", before.HeapInuse>>20, after.HeapInuse>>20)
	}
}

// together runs short tests at the same time. The figures of long ones are their own.
func together(t *testing.T) {
	if !testenv.Long() {
		t.Parallel()
	}
}

// natsProcess is a NATS server of a test, which can be restarted.
type natsProcess struct {
	t testing.TB
	*testenv.Program
}

// newNATS starts a NATS server.
func newNATS(t testing.TB) *natsProcess { return &natsProcess{t, testenv.Run(t, "nats", "-p", "-1")} }

// restart ends the server, and starts another at its address. Clients find none there for a moment.
func (p *natsProcess) restart() {
	p.t.Helper()
	if err := p.Stop(); err != nil {
		p.t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond)
	p.Program = testenv.Run(p.t, "nats", "-p", p.Address[strings.LastIndexByte(p.Address, ':')+1:])
}

// natsAt returns how replicas join the bus of a server.
func natsAt(address string) func(t testing.TB, _ *postgres.DB) bus.Bus {
	return func(t testing.TB, _ *postgres.DB) bus.Bus {
		b, err := nats.Open("nats://"+address, "awaken.test", &nats.Options{Ping: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b
	}
}

// socket returns the address of the server of a database URL, and the URL for another socket.
func socket(url string) (address string, through func(p *bustest.Proxy) string) {
	at := strings.Index(url, "host=") + len("host=")
	return url[at:] + "/.s.PGSQL.5432", func(p *bustest.Proxy) string { return url[:at] + filepath.Dir(p.Address()) }
}

// postgresAt returns how replicas join the bus of a database by another URL than their own.
func postgresAt(url string) func(t testing.TB, _ *postgres.DB) bus.Bus {
	return func(t testing.TB, _ *postgres.DB) bus.Bus {
		db, err := postgres.Open(t.Context(), url+"&pool_max_conns=2", &postgres.Options{Ping: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		return db.Bus()
	}
}

// harms are faults of a network, one after the other, with time to recover between them.
func harms(p *bustest.Proxy) func(round int) {
	return func(round int) {
		switch round % 4 {
		case 0:
			p.Cut()
		case 1:
			p.Delay(50 * time.Millisecond)
			time.Sleep(time.Second)
			p.Delay(0)
		case 2:
			p.Silence(true)
			time.Sleep(700 * time.Millisecond)
			p.Silence(false)
		}
		time.Sleep(500 * time.Millisecond)
	}
}

// A network that cuts, delays and swallows what the replicas tell each other, and a bus that loses,
// repeats and reorders it, change nothing that clients see.
func TestFaults_OfTheNetworkBetweenReplicas(t *testing.T) {
	faults := bustest.Faults{Seed: 1, Lose: 20, Repeat: 50, Delay: 50}
	t.Run("nats", func(t *testing.T) {
		together(t)
		p := bustest.NewProxy(t, "tcp", newNATS(t).Address)
		l, join := faultLoad(), natsAt(p.Address())
		f := newFleet(t, 3, l.model(), func(t testing.TB, db *postgres.DB) bus.Bus { return bustest.Faulty(join(t, db), faults) })
		l.bear(t, f, harms(p))
	})
	t.Run("postgres", func(t *testing.T) {
		together(t)
		url := postgresServer.Database()
		address, through := socket(url)
		p := bustest.NewProxy(t, "unix", address)
		l := faultLoad()
		f := newFleetAt(t, url, 3, l.model(), func(t testing.TB, db *postgres.DB) bus.Bus {
			return bustest.Faulty(postgresAt(through(p))(t, db), faults)
		})
		l.bear(t, f, harms(p))
	})
}

// Servers that are restarted while runs and clients use them change nothing that clients see, except
// that a step may be made again.
func TestFaults_ServersAreRestarted(t *testing.T) {
	t.Run("nats", func(t *testing.T) {
		together(t)
		n := newNATS(t)
		l := faultLoad()
		f := newFleet(t, 3, l.model(), natsAt(n.Address))
		l.bear(t, f, func(int) {
			time.Sleep(1500 * time.Millisecond)
			n.restart()
		})
	})
	t.Run("postgres", func(t *testing.T) {
		together(t)
		p, err := testenv.StartPostgres("synchronous_commit=on") // a restart must not lose what was committed
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Stop() })
		l := faultLoad()
		f := newFleetAt(t, p.Database(), 3, l.model(), engines[0].join)
		pause := 2500 * time.Millisecond
		if testenv.Long() {
			pause = 10 * time.Second
		}
		l.bear(t, f, func(int) {
			time.Sleep(pause)
			if err := p.Restart(); err != nil {
				t.Error(err)
			}
		})
	})
}

// A bus whose connections have died without a word delays clients until that is noticed, and nothing
// else.
func TestFaults_ADeadBusIsReplaced(t *testing.T) {
	p := bustest.NewProxy(t, "tcp", newNATS(t).Address)
	model := newGated()
	f := newFleet(t, 2, model, natsAt(p.Address()))
	first := f.open(1, "/v1/runs", say)
	<-model.begun
	first.until("the first half, ")
	p.Silence(true)
	close(model.pass)
	first.until("run_finish") // by polling
	p.Silence(false)
	model.pass = make(chan struct{})
	second := f.open(1, "/v1/runs", strings.Replace(say, `"t"`, `"u"`, 1))
	<-model.begun
	second.until("the first half, ") // the step cannot be committed before it is seen
	close(model.pass)
	second.until("run_finish")
}
