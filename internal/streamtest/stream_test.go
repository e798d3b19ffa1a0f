package streamtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/store/postgres"
	"github.com/awaken-go/awaken/store/sqlite"
)

var databases *testenv.Postgres

func TestMain(m *testing.M) {
	if !testenv.Long() {
		os.Exit(m.Run())
	}
	os.Exit(testenv.WithPostgres(m, &databases))
}

// open opens a new store.
var open = map[string]func(t *testing.T) mailbox.Queue{
	"memory": func(*testing.T) mailbox.Queue { return memory.NewDB() },
	"sqlite": func(t *testing.T) mailbox.Queue {
		db, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "threads.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	},
	"postgres": func(t *testing.T) mailbox.Queue {
		db, err := postgres.Open(context.Background(), databases.Database(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	},
}

// sampled reports whether a golden run is one of those that are played on a store: a sixteenth on one in short tests;
// in long ones all in memory, and an eighth on the others.
func sampled(store, name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	switch {
	case !testenv.Long():
		return store == "memory" && h.Sum32()%16 == 0
	case store == "memory":
		return true
	}
	return h.Sum32()%8 == 0
}

// plays is how many runs are played at a time: they mostly wait.
const plays = 16

// Clients of every protocol that follow a run live, are cut off, and see the store go away, get byte
// for byte what a later reader gets. If the run loses its owner, they have put together the same in the end.
func TestStreamedIsStored(t *testing.T) {
	played := 0
	var all sync.WaitGroup
	turn := make(chan struct{}, plays)
	for _, r := range protocoltest.GoldenRuns(t) {
		if len(r.First()) == 0 || r.First()[0].RunID == "" {
			continue // the run could not start
		}
		for store := range open {
			if !sampled(store, r.Name) {
				continue
			}
			for _, lost := range []bool{false, true} {
				name := r.Name + " in " + store
				if lost {
					name += " with a takeover"
				}
				played++
				all.Go(func() {
					turn <- struct{}{}
					defer func() { <-turn }()
					t.Run(name, func(t *testing.T) {
						s := newStage(t, open[store](t))
						s.test(r.First(), messages(t, &r), lost)
					})
				})
			}
		}
	}
	all.Wait()
	if played < 10 {
		t.Errorf("%d golden runs were played", played)
	}
	t.Logf("%d plays", played)
}

// messages returns the messages that a golden run stores.
func messages(t *testing.T, r *protocoltest.GoldenRun) (out []*llm.Message) {
	t.Helper()
	for _, f := range r.Archive.Files {
		if f.Name != "messages" {
			continue
		}
		ours := true
		for line := range bytes.Lines(f.Data) {
			if name, ok := bytes.CutPrefix(line, []byte("# thread ")); ok {
				ours = string(bytes.TrimSpace(name)) == thread
			}
			if !ours || bytes.HasPrefix(line, []byte("#")) {
				continue
			}
			m := new(llm.Message)
			if err := json.Unmarshal(line, m); err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
	}
	return out
}

func (s *stage) test(entries []awaken.Entry, messages []*llm.Message, lost bool) {
	t := s.t
	var events []awaken.Event
	for _, e := range entries {
		if fin, ok := e.Event.(*awaken.RunFinish); ok && fin.Termination.Type == awaken.Suspended {
			s.parks++
		}
		events = append(events, e.Event)
	}
	o := &owner{stage: s, messages: messages, run: awaken.Run{RunID: entries[0].RunID, ThreadID: thread, AgentID: "default",
		Status: awaken.RunRunning, CreatedAt: 1, StartedAt: 1, UpdatedAt: 1}}
	o.acquire()
	o.commit(o.say(events[:1]))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, over := events[len(events)-1].(*awaken.RunFinish)
	readers := map[string]*reader{}
	for name, path := range s.paths(o.run.RunID, over) {
		r := &reader{path: s.url + path, rnd: rand.New(rand.NewPCG(1, uint64(len(name)))), begun: make(chan struct{}), stays: name == "chat"}
		switch name {
		case "native":
			r.from = "0-0"
		case "chat", "mcp":
		default:
			r.from = fmt.Sprintf("%d-1.0", o.fence)
		}
		readers[name] = r
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	errs := map[string]error{}
	for name, r := range readers {
		begun := r.begun
		all.Go(func() {
			err := r.follow(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
		select {
		case <-begun:
		case <-ctx.Done():
			t.Fatalf("%s: the stream does not begin", name)
		}
	}
	outage := 500 * time.Millisecond
	if testenv.Long() {
		outage = 2 * time.Second
	}
	o.play(parts(events[1:]), outage, lost)
	all.Wait()
	for s.queue.gone.Load() { // a run that the server itself runs need not be read from the store
		time.Sleep(10 * time.Millisecond)
	}
	for name, r := range readers {
		if errs[name] != nil {
			t.Errorf("%s: %v after\n%s", name, errs[name], r.received)
			continue
		}
		s.compare(ctx, name, r, lost)
	}
}

// compare compares what a reader that followed a run has with what a later reader gets.
func (s *stage) compare(ctx context.Context, name string, r *reader, lost bool) {
	t := s.t
	later := &reader{path: r.path}
	want, ended, err := later.some(ctx, r.from, -1)
	if err != nil || !ended {
		t.Errorf("%s: a later reader gets %v after\n%s", name, err, want)
		return
	}
	want = frames(want, "")
	if !lost && r.received != want {
		t.Errorf("%s: a client that followed the run has\n%s\na later reader gets\n%s", name, r.received, want)
		return
	}
	has, err := assemble(name, r.received)
	if err != nil {
		t.Errorf("%s: %v in what a client that followed the run has:\n%s", name, err, r.received)
		return
	}
	gets, err := assemble(name, want)
	if err != nil {
		t.Errorf("%s: %v in what a later reader gets:\n%s", name, err, want)
		return
	}
	if name == "chat" && lost && has == retracted { // its clients cannot take text back: it says that the answer begins again
		return
	}
	if has != gets {
		t.Errorf("%s: a client that followed the run shows\n%s\na later reader\n%s\nafter\n%s\nand\n%s", name, has, gets, r.received, want)
	}
}
