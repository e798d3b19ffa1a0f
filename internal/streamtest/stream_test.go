package streamtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
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
						thread := r.First()[0].Event.(*awaken.RunStart).ThreadID
						newStage(t, open[store](t), thread).test(r.First(), messages(t, &r, thread), lost)
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

// messages returns the messages that a golden run stores on a thread.
func messages(t *testing.T, r *protocoltest.GoldenRun, thread string) (out []*llm.Message) {
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
		if fin, ok := e.Event.(*awaken.RunFinish); ok {
			if s.ends = fin.Termination.Type != awaken.Suspended; !s.ends {
				s.parks++
			}
		}
		if _, ok := e.Event.(*awaken.Error); !ok { // of a request that was refused: it is in no log
			events = append(events, e.Event)
		}
	}
	o := &owner{stage: s, messages: messages, run: awaken.Run{RunID: entries[0].RunID, ThreadID: s.thread, AgentID: "default",
		Status: awaken.RunRunning, CreatedAt: 1, StartedAt: 1, UpdatedAt: 1}}
	o.acquire()
	o.commit(o.say(events[:1]))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, over := events[len(events)-1].(*awaken.RunFinish)
	s.readers = map[string]*reader{}
	for name, path := range s.paths(o.run.RunID, over) {
		r := newReader(s.url + path)
		r.rnd, r.stays = rand.New(rand.NewPCG(seed(t.Name()), seed(name))), name == "chat"
		switch name {
		case "native":
			r.from = "0-0"
		case "chat", "mcp":
		default:
			r.from = fmt.Sprintf("%d-1.0", o.fence)
		}
		s.readers[name] = r
	}
	o.witness.more = make(chan struct{})
	watch, enough := context.WithCancel(ctx)
	var watching, all sync.WaitGroup
	watching.Go(func() { o.witness.follow(watch, s.box.Tenant("").Log, &o.run) })
	defer watching.Wait()
	defer enough()
	var mu sync.Mutex
	errs := map[string]error{}
	for name, r := range s.readers {
		begun := r.back
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
	if err := o.play(ctx, parts(events[1:]), outage, lost); err != nil {
		t.Error(err)
	}
	all.Wait()
	<-s.queue.back // a run that the server itself runs need not be read from the store
	for name, r := range s.readers {
		if errs[name] != nil {
			t.Errorf("%s: %v after\n%s", name, errs[name], r.received)
			continue
		}
		s.compare(ctx, o.run.RunID, name, r, lost)
	}
}

// seed returns a number for a name.
func seed(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// compare compares what a reader that followed a run has with what a later reader gets.
func (s *stage) compare(ctx context.Context, runID, name string, r *reader, lost bool) {
	t := s.t
	later := newReader(r.path)
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
	live, err := assemble(name, r.received)
	if err != nil {
		t.Errorf("%s: %v in what a client that followed the run has:\n%s", name, err, r.received)
		return
	}
	afterwards, err := assemble(name, want)
	if err != nil {
		t.Errorf("%s: %v in what a later reader gets:\n%s", name, err, want)
		return
	}
	has, gets := shown(live), shown(afterwards)
	if name == "chat" && lost && has == retracted { // its clients cannot take text back: it says that the answer begins again
		return
	}
	if has != gets {
		t.Errorf("%s: a client that followed the run shows\n%s\na later reader\n%s\nafter\n%s\nand\n%s", name, has, gets, r.received, want)
	}
	if m, ok := live.(*message); ok {
		s.compareStored(ctx, runID, m, r.received)
	}
}

// compareStored compares the texts on a page that followed the run with the stored messages, if the run is over.
func (s *stage) compareStored(ctx context.Context, runID string, m *message, received string) {
	run, err := s.store.LoadRun(ctx, runID)
	if err != nil || run.Status != awaken.RunDone {
		return
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/ai-sdk/threads/"+s.thread+"/messages", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	var page struct {
		Messages []struct {
			Role  string
			Parts []struct{ Type, Text string }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		s.t.Fatal(err)
	}
	stored := ""
	for _, m := range page.Messages {
		for _, p := range m.Parts {
			if m.Role == "assistant" && p.Type == "text" {
				stored += p.Text
			}
		}
	}
	if says := m.says(); says != stored {
		s.t.Errorf("a page that followed the run shows %q, after a reload %q:\n%s", says, stored, received)
	}
}
