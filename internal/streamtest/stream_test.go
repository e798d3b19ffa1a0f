package streamtest

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/testenv"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/protocol/openai"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/store/memory"
)

const thread = "thread"

// away is a queue whose threads cannot be read while gone is set.
type away struct {
	*memory.DB
	gone atomic.Bool
}

func (q *away) Handle(tenant string) mailbox.Handle { return awayHandle{q.DB.Store(tenant), q} }

func (q *away) err() error {
	if q.gone.Load() {
		return &fault.Outage{Reason: "the store is not reachable", Err: io.ErrUnexpectedEOF}
	}
	return nil
}

type awayHandle struct {
	*memory.Store
	of *away
}

func read[T any](h awayHandle, do func() (T, error)) (v T, err error) {
	if err := h.of.err(); err != nil {
		return v, err
	}
	return do()
}

func (h awayHandle) Entries(ctx context.Context, id string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	return read(h, func() ([]awaken.Entry, error) { return h.Store.Entries(ctx, id, q) })
}

func (h awayHandle) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	return read(h, func() (*awaken.Run, error) { return h.Store.LoadRun(ctx, id) })
}

func (h awayHandle) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	return read(h, func() (*awaken.Thread, error) { return h.Store.Thread(ctx, id) })
}

func (h awayHandle) View(ctx context.Context, id string) (*awaken.View, error) {
	return read(h, func() (*awaken.View, error) { return h.Store.View(ctx, id) })
}

func (h awayHandle) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	return read(h, func() ([]*mailbox.Dispatch, error) { return h.Store.Dispatches(ctx, q) })
}

// stage is a server on which golden runs are played.
type stage struct {
	t     *testing.T
	store mailbox.Handle // never away
	queue *away
	box   *mailbox.Mailbox
	url   string
	parks int // how often the run that is played parks
}

// encoders returns the encoder of each protocol.
func (s *stage) encoders() map[string]func() protocol.Encoder {
	return map[string]func() protocol.Encoder{
		"ai-sdk": func() protocol.Encoder { return &aisdk.Encoder{} },
		"ag-ui": func() protocol.Encoder {
			return agui.NewEncoder(agui.Options{Current: true, Conversation: func() ([]*llm.Message, error) { return []*llm.Message{}, nil }})
		},
		"a2a":    func() protocol.Encoder { return a2a.NewEncoder(a2a.Options{}) },
		"openai": func() protocol.Encoder { return openai.NewResponseEncoder(openai.Options{}) },
		"mcp": func() protocol.Encoder {
			return mcp.NewEncoder(mcp.Options{RunID: "run", ThreadID: thread, Request: json.RawMessage("1"), Progress: json.RawMessage("2")})
		},
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	db := memory.NewDB()
	s := &stage{t: t, store: db.Handle(""), queue: &away{DB: db}}
	routes := []protocol.Route{}
	for name, encoder := range s.encoders() {
		routes = append(routes, protocol.Route{Method: http.MethodGet, Path: "/play/" + name + "/{run_id}", Access: protocol.Readers,
			Scope: protocol.ByCaller, Summary: "Follow a golden run",
			Handle: func(c protocol.Call) error { return s.follow(c, name, encoder) }})
	}
	var err error
	rig := protocoltest.Idle(t, nil)
	log := eventlog.Options{Poll: 5 * time.Millisecond}
	if s.box, err = mailbox.New(mailbox.Config{Queue: s.queue, Log: log}, rig.Runtime().With); err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: s.box, Routes: routes, ManualMailbox: true})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(srv.Handler())
	s.url = web.URL
	t.Cleanup(func() {
		srv.Stop()
		web.CloseClientConnections()
		web.Close()
	})
	return s
}

// follow streams a run to a client.
func (s *stage) follow(c protocol.Call, name string, encoder func() protocol.Encoder) error {
	run, err := c.Tenant().Store.LoadRun(c.Context(), c.Request().PathValue("run_id"))
	if err != nil {
		return err
	}
	th, err := c.Tenant().Store.Thread(c.Context(), run.ThreadID)
	if err != nil {
		return err
	}
	what := &protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, Resumed: true, Encoder: encoder, Format: name}
	if what.After, err = protocol.ResumeAfter(c, th.End); err != nil {
		return err
	}
	parked := 0
	what.Continues = func(*awaken.RunFinish) bool {
		parked++
		return parked < s.parks
	}
	return c.Stream(what)
}

// owner is a process that runs the run.
type owner struct {
	*stage
	run    awaken.Run
	fence  uint64
	number uint64
	sink   *eventlog.Sink
	seq    uint64 // of the last entry that is stored
}

// acquire makes the owner a new one. What the old one has not stored is lost.
func (o *owner) acquire() {
	o.t.Helper()
	if o.sink != nil {
		o.sink.Close()
	}
	cp, err := o.store.Acquire(o.t.Context(), thread)
	if err != nil {
		o.t.Fatal(err)
	}
	o.fence, o.number, o.sink = cp.Fence, 0, o.box.Tenant("").Log.Sink(nil)
}

// say streams events that are not stored yet.
func (o *owner) say(events []awaken.Event) (out []awaken.Entry) {
	o.t.Helper()
	for i, ev := range events {
		e := awaken.Entry{Cursor: awaken.Cursor{Epoch: o.fence, Seq: o.seq + uint64(i) + 1}, RunID: o.run.RunID, Time: 1, Event: ev}
		out = append(out, e)
		if err := o.sink.Emit(o.t.Context(), e); err != nil {
			o.t.Fatal(err)
		}
	}
	return out
}

// commit stores entries.
func (o *owner) commit(entries []awaken.Entry) {
	o.t.Helper()
	o.number++
	if fin, ok := entries[len(entries)-1].Event.(*awaken.RunFinish); ok && fin.Termination.Type != awaken.Suspended {
		o.run.Status, o.run.FinishedAt, o.run.Termination = awaken.RunDone, 2, fin.Termination
	}
	c := &awaken.Commit{ThreadID: thread, Fence: o.fence, Number: o.number, Time: 1, Run: o.run, Entries: entries}
	if err := o.store.Commit(o.t.Context(), c); err != nil {
		o.t.Fatal(err)
	}
	o.seq = entries[len(entries)-1].Seq
}

// play plays a run: each part is streamed and then stored. In the middle, the store is away for a while
// and, if lost is set, the owner dies with half a part that it has streamed and not stored.
func (o *owner) play(parts [][]awaken.Event, outage time.Duration, lost bool) {
	for i, part := range parts {
		if lost && i == len(parts)/2 {
			o.say(part[:(len(part)+1)/2])
			time.Sleep(50 * time.Millisecond) // clients have it, and some come back before the next owner begins
			o.acquire()
			time.Sleep(50 * time.Millisecond)
			if _, ok := part[0].(*awaken.RunStart); !ok {
				part = append([]awaken.Event{&awaken.RunStart{ThreadID: thread, RunID: o.run.RunID}}, part...)
			}
		}
		if i == len(parts)/3 {
			o.queue.gone.Store(true)
			time.AfterFunc(outage, func() { o.queue.gone.Store(false) })
		}
		o.commit(o.say(part))
		time.Sleep(5 * time.Millisecond)
	}
	o.sink.Close()
}

// parts splits the events of a run into what is stored at once: a step, or what is before and after the steps.
func parts(events []awaken.Event) (out [][]awaken.Event) {
	from := 0
	for i, ev := range events {
		switch ev.(type) {
		case *awaken.StepEnd, *awaken.RunFinish:
			out, from = append(out, events[from:i+1]), i+1
		}
	}
	if from < len(events) {
		out = append(out, events[from:])
	}
	return out
}

// reader follows a run, is cut off again and again, and comes back.
type reader struct {
	path     string
	rnd      *rand.Rand
	from     string // the position before the first frame; "" if a stream begins there by itself
	received string // all whole frames
	begun    chan struct{}
}

// frames removes comments, which say what a stream waits for, and frames that only repeat a position.
func frames(text, id string) string {
	var out strings.Builder
	for _, f := range strings.SplitAfter(text, "\n\n") {
		if !strings.HasPrefix(f, ":") && (id == "" || f != "id: "+id+"\ndata: \n\n") {
			out.WriteString(f)
		}
	}
	return out.String()
}

var errRefused = errors.New("refused")

// some reads up to n bytes of a stream, or all of it. Ended reports that the stream is complete.
func (r *reader) some(ctx context.Context, id string, n int) (got string, ended bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.path, nil)
	if err != nil {
		return "", false, err
	}
	req.Header.Set("Last-Event-ID", id)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", false, errRefused
	}
	if r.begun != nil {
		close(r.begun)
		r.begun = nil
	}
	buf := make([]byte, 512)
	for n < 0 || len(got) < n {
		k, err := resp.Body.Read(buf)
		got += string(buf[:k])
		if errors.Is(err, io.EOF) {
			return got, true, nil
		}
		if err != nil {
			return got, false, err
		}
	}
	return got, false, nil
}

// follow follows the run until its stream is complete. A stream that breaks off by itself is an error.
func (r *reader) follow(ctx context.Context) error {
	for id, n := r.from, 0; ; n++ {
		most := 1 + r.rnd.IntN(6000)
		if n > 12 {
			most = -1
		}
		got, ended, err := r.some(ctx, id, most)
		if errors.Is(err, errRefused) && n < 100 { // the store is away: come back
			time.Sleep(100 * time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		if ended {
			r.received += frames(got, id)
			return nil
		}
		whole, last := protocoltest.Whole(got)
		if last == "" {
			continue
		}
		r.received += frames(whole, id)
		id = last
	}
}

// sampled reports whether a golden run is one of those that are played in short tests.
func sampled(name string) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return testenv.Long() || h.Sum32()%16 == 0
}

// Clients of every protocol that follow a run live, are cut off, and see the store go away, get byte
// for byte what a later reader gets. If the run loses its owner, they show the same in the end.
func TestStreamedIsStored(t *testing.T) {
	played := 0
	for _, r := range protocoltest.GoldenRuns(t) {
		if !sampled(r.Name) || len(r.First()) == 0 || r.First()[0].RunID == "" {
			continue // or the run could not start
		}
		played++
		for _, lost := range []bool{false, true} {
			name := r.Name
			if lost {
				name += " with a takeover"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				newStage(t).test(r.First(), lost)
			})
		}
	}
	if played < 5 {
		t.Errorf("%d golden runs were played", played)
	}
}

func (s *stage) test(entries []awaken.Entry, lost bool) {
	t := s.t
	var events []awaken.Event
	for _, e := range entries {
		if fin, ok := e.Event.(*awaken.RunFinish); ok && fin.Termination.Type == awaken.Suspended {
			s.parks++
		}
		events = append(events, e.Event)
	}
	o := &owner{stage: s, run: awaken.Run{RunID: entries[0].RunID, ThreadID: thread, AgentID: "default",
		Status: awaken.RunRunning, CreatedAt: 1, StartedAt: 1, UpdatedAt: 1}}
	o.acquire()
	o.commit(o.say(events[:1]))
	readers := map[string]*reader{}
	var begun []chan struct{}
	add := func(name, path string) {
		c := make(chan struct{})
		readers[name] = &reader{path: s.url + path, rnd: rand.New(rand.NewPCG(1, uint64(len(readers)))), begun: c}
		begun = append(begun, c)
	}
	for name := range s.encoders() {
		add(name, "/play/"+name+"/"+o.run.RunID)
	}
	if _, over := events[len(events)-1].(*awaken.RunFinish); over && s.parks == 0 { // it follows a run that parks
		add("native", "/v1/runs/"+o.run.RunID+"/events/stream")
	}
	if r := readers["native"]; r != nil {
		r.from = "0-0"
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var all sync.WaitGroup
	errs := map[string]error{}
	var mu sync.Mutex
	for name, r := range readers {
		all.Go(func() {
			err := r.follow(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs[name] = err
		})
	}
	for _, c := range begun {
		<-c
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
		later := &reader{path: r.path}
		want, ended, err := later.some(ctx, r.from, -1)
		if err != nil || !ended {
			t.Fatalf("%s: a later reader gets %v after\n%s", name, err, want)
		}
		if want = frames(want, ""); !lost && r.received != want {
			t.Errorf("%s: a client that followed the run has\n%s\na later reader gets\n%s", name, r.received, want)
		} else if got, want := meaning(name, r.received), meaning(name, want); !slices.Equal(got, want) {
			t.Errorf("%s: a client that followed the run shows\n%q\na later reader\n%q", name, got, want)
		}
	}
}

// meaning returns what a client shows after frames, some of which take back others.
func meaning(name, text string) (out []string) {
	step := 0 // where the step begins in out
	for _, f := range strings.Split(text, "\n\n") {
		data := ""
		for line := range strings.Lines(f) {
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				data += v
			}
		}
		var event struct{ Type, Delta string }
		if json.Unmarshal([]byte(data), &event) != nil {
			continue
		}
		switch {
		case name != "ai-sdk": // the end is the same; how the rest is taken back, the protocol's own tests check
			if strings.HasPrefix(f, "id: ") {
				out = []string{data}
			}
		case event.Type == "start":
			out, step = nil, 0
		case event.Type == "start-step":
			step = len(out)
		case event.Type == "data-stream-reset":
			out = out[:step]
		case event.Type == "text-delta":
			out = append(out, event.Delta)
		}
	}
	if name == "ai-sdk" {
		return []string{strings.Join(out, "")}
	}
	return out
}
