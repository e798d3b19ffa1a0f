package streamtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/fault"
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
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/trace/timeline"
)

// away is a queue whose threads cannot be read while gone is set.
type away struct {
	mailbox.Queue
	gone atomic.Bool
	back chan struct{} // closed when the queue was away and is back
}

// leave makes the queue unreachable for a while.
func (q *away) leave(outage time.Duration) {
	q.gone.Store(true)
	time.AfterFunc(outage, func() {
		q.gone.Store(false)
		close(q.back)
	})
}

func (q *away) Handle(tenant string) mailbox.Handle {
	return awayHandle{q.Queue.Handle(tenant).(store), q}
}

func (q *away) err() error {
	if q.gone.Load() {
		return &fault.Outage{Reason: "the store is not reachable", Err: io.ErrUnexpectedEOF}
	}
	return nil
}

// store is what a server needs of a store.
type store interface {
	mailbox.Handle
	awaken.ThreadEditor
	timeline.Log
}

type awayHandle struct {
	store
	of *away
}

func read[T any](h awayHandle, do func() (T, error)) (v T, err error) {
	if err := h.of.err(); err != nil {
		return v, err
	}
	return do()
}

func (h awayHandle) Entries(ctx context.Context, id string, q awaken.EntryQuery) ([]awaken.Entry, error) {
	return read(h, func() ([]awaken.Entry, error) { return h.store.Entries(ctx, id, q) })
}

func (h awayHandle) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	return read(h, func() (*awaken.Run, error) { return h.store.LoadRun(ctx, id) })
}

func (h awayHandle) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	return read(h, func() (*awaken.Thread, error) { return h.store.Thread(ctx, id) })
}

func (h awayHandle) View(ctx context.Context, id string) (*awaken.View, error) {
	return read(h, func() (*awaken.View, error) { return h.store.View(ctx, id) })
}

func (h awayHandle) Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error) {
	return read(h, func() ([]*mailbox.Dispatch, error) { return h.store.Dispatches(ctx, q) })
}

// stage is a server on which golden runs are played.
type stage struct {
	t     *testing.T
	store mailbox.Handle // never away
	queue *away
	box   *mailbox.Mailbox
	url   string
	// thread is the thread of the played run.
	thread string
	parks  int  // how often the run parks
	ends   bool // the run ends, after it has parked or not
	// readers follow the run, by the protocol.
	readers map[string]*reader
}

// encoders returns the encoder of each protocol, for runs that park: a stream of the protocol's own routes ends there.
// The client of an encoder may start over.
func (s *stage) encoders() map[string]func(over bool) protocol.Encoder {
	return map[string]func(over bool) protocol.Encoder{
		"ai-sdk": func(bool) protocol.Encoder { return &aisdk.Encoder{} },
		"ag-ui": func(over bool) protocol.Encoder {
			opts := agui.Options{Current: true, Conversation: func() ([]*llm.Message, error) {
				return protocol.Patiently(s.t.Context(), func() ([]*llm.Message, error) {
					return protocol.Conversation(s.t.Context(), s.box.Tenant(""), s.thread)
				})
			}}
			if over {
				opts.Before = []*llm.Message{}
			}
			return agui.NewEncoder(opts)
		},
		"a2a":       func(bool) protocol.Encoder { return a2a.NewEncoder(a2a.Options{}) },
		"responses": func(bool) protocol.Encoder { return openai.NewResponseEncoder(openai.Options{}) },
		"chat":      func(bool) protocol.Encoder { return openai.NewChatEncoder(openai.Options{}) },
		"mcp": func(bool) protocol.Encoder {
			return mcp.NewEncoder(mcp.Options{RunID: "run", ThreadID: s.thread, Request: json.RawMessage("1"), Progress: json.RawMessage("2")})
		},
	}
}

// paths returns where a run can be followed, by the protocol.
func (s *stage) paths(runID string, over bool) map[string]string {
	out := map[string]string{}
	for name := range s.encoders() {
		out[name] = "/play/" + name + "/" + runID
	}
	if s.parks > 0 || !over {
		return out
	}
	out["native"] = "/v1/runs/" + runID + "/events/stream"
	out["ai-sdk"] = "/v1/ai-sdk/runs/" + runID + "/stream"
	out["ag-ui"] = "/v1/ag-ui/threads/" + s.thread + "/stream"
	out["a2a"] = "/v1/a2a/tasks/" + runID + ":subscribe"
	out["responses"] = "/openai/v1/responses/resp_" + runID + "?stream=true"
	return out
}

func newStage(t *testing.T, queue mailbox.Queue, thread string) *stage {
	t.Helper()
	s := &stage{t: t, thread: thread, store: queue.Handle(""), queue: &away{Queue: queue, back: make(chan struct{})}}
	tasks, err := a2a.Routes(a2a.Config{})
	if err != nil {
		t.Fatal(err)
	}
	routes := slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes(), tasks)
	for name, encoder := range s.encoders() {
		routes = append(routes, protocol.Route{Method: http.MethodGet, Path: "/play/" + name + "/{run_id}", Needs: permit.ReadThreads,
			Scope: protocol.ByCaller, Summary: "Follow a golden run",
			Handle: func(c protocol.Call) error { return s.follow(c, name, encoder) }})
	}
	rig := protocoltest.Idle(t, nil)
	log := eventlog.Options{Poll: 5 * time.Millisecond}
	if s.box, err = mailbox.New(mailbox.Config{Queue: s.queue, Log: log}, rig.Runtime().With); err != nil {
		t.Fatal(err)
	}
	srv, err := server.New(server.Config{Mailbox: s.box, Wings: []server.Wing{runs.New(runs.Config{})}, Routes: routes, ManualMailbox: true})
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

// follow streams a run to a client, also where it parks.
func (s *stage) follow(c protocol.Call, name string, encoder func(over bool) protocol.Encoder) error {
	run, err := c.Tenant().Store.LoadRun(c.Context(), c.Request().PathValue("run_id"))
	if err != nil {
		return err
	}
	th, err := c.Tenant().Store.Thread(c.Context(), run.ThreadID)
	if err != nil {
		return err
	}
	over := false
	what := &protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, Resumed: true, Format: name, Keeps: name == "mcp",
		Encoder: func() protocol.Encoder { return encoder(over) },
		Lost: func(f *protocol.Frames) error {
			if over = true; name == "ai-sdk" {
				f.Data([]byte(`{"type":"data-stream-reset","data":{"reason":"lost"}}`))
			}
			return nil
		}}
	if what.After, err = protocol.ResumeAfter(c, th.End); err != nil {
		return err
	}
	parked := 0
	what.Continues = func(*awaken.RunFinish) bool {
		parked++
		return parked < s.parks || s.ends
	}
	return c.Stream(what)
}

// witness follows the log of a run, as streams do.
type witness struct {
	mu   sync.Mutex
	at   awaken.Cursor
	more chan struct{} // closed when at changes
}

func (w *witness) follow(ctx context.Context, log *eventlog.Log, run *awaken.Run) {
	for e, err := range log.Tail(ctx, run.ThreadID, awaken.Cursor{}, eventlog.Follow{RunID: run.RunID}) {
		if err != nil {
			return
		}
		w.mu.Lock()
		w.at = e.Cursor
		close(w.more)
		w.more = make(chan struct{})
		w.mu.Unlock()
	}
}

// await waits until streams get an entry.
func (w *witness) await(ctx context.Context, e awaken.Cursor) error {
	for {
		w.mu.Lock()
		at, more := w.at, w.more
		w.mu.Unlock()
		if at.Epoch > e.Epoch || at.Epoch == e.Epoch && at.Seq >= e.Seq {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("%s does not come after %s: %w", e, at, ctx.Err())
		}
	}
}

// owner is a process that runs the run.
type owner struct {
	*stage
	run      awaken.Run
	fence    uint64
	number   uint64
	sink     *eventlog.Sink
	seq      uint64         // of the last entry that is stored
	messages []*llm.Message // of the golden run that are not stored yet
	stored   int            // number of messages that are stored
	witness  witness
}

// acquire makes the owner a new one. What the old one has not stored is lost.
func (o *owner) acquire() {
	o.t.Helper()
	if o.sink != nil {
		o.sink.Close()
	}
	cp, err := o.store.Acquire(o.t.Context(), o.thread)
	if err != nil {
		o.t.Fatal(err)
	}
	o.fence, o.number, o.sink = cp.Fence, 0, o.box.Tenant("").Log.Sink(nil)
}

// afterCommit reports whether an event is streamed only when it is stored.
func afterCommit(ev awaken.Event) bool {
	switch ev.(type) {
	case *awaken.RunStart, *awaken.StepEnd, *awaken.RunFinish:
		return true
	}
	return false
}

// say streams events that are not stored yet, and returns the entries of all.
func (o *owner) say(events []awaken.Event) (out []awaken.Entry) {
	o.t.Helper()
	for i, ev := range events {
		e := awaken.Entry{Cursor: awaken.Cursor{Epoch: o.fence, Seq: o.seq + uint64(i) + 1}, RunID: o.run.RunID, Time: 1, Event: ev}
		if out = append(out, e); !afterCommit(ev) {
			o.emit(e)
		}
	}
	return out
}

func (o *owner) emit(e awaken.Entry) {
	o.t.Helper()
	if err := o.sink.Emit(o.t.Context(), e); err != nil {
		o.t.Fatal(err)
	}
}

// commit stores entries, and the messages that they are about. The last entry may be one that is streamed afterwards.
func (o *owner) commit(entries []awaken.Entry) {
	o.t.Helper()
	o.number++
	last := entries[len(entries)-1]
	if fin, ok := last.Event.(*awaken.RunFinish); ok && fin.Termination.Type != awaken.Suspended {
		o.run.Status, o.run.FinishedAt, o.run.Termination = awaken.RunDone, 2, fin.Termination
	}
	c := &awaken.Commit{ThreadID: o.thread, Fence: o.fence, Number: o.number, Time: 1, Run: o.run, Entries: entries, Expect: o.stored, Messages: o.said(entries)}
	if err := o.store.Commit(o.t.Context(), c); err != nil {
		o.t.Fatal(err)
	}
	if afterCommit(last.Event) {
		o.emit(last)
	}
	o.seq = last.Seq
	o.stored += len(c.Messages)
}

// said takes the messages up to the last one that entries are about. Those that the run was asked with are stored first.
func (o *owner) said(entries []awaken.Entry) (out []*llm.Message) {
	upTo := 0
	for o.seq == 0 && upTo < len(o.messages) && (o.messages[upTo].Role == llm.User || o.messages[upTo].Role == llm.System) {
		upTo++
	}
	for _, e := range entries {
		id := ""
		switch ev := e.Event.(type) {
		case *awaken.StepStart:
			id = ev.MessageID
		case *awaken.ToolCallDone:
			id = ev.MessageID
		case *awaken.ToolCallResumed:
			id = ev.MessageID
		}
		if i := slices.IndexFunc(o.messages, func(m *llm.Message) bool { return m.ID == id }); id != "" && i >= upTo {
			upTo = i + 1
		}
	}
	out, o.messages = o.messages[:upTo], o.messages[upTo:]
	return out
}

// play plays a run: each part is streamed and then stored. In the middle, the store is away for a while
// and, if lost is set, the owner dies with half a part that it has streamed and not stored.
func (o *owner) play(ctx context.Context, parts [][]awaken.Event, outage time.Duration, lost bool) error {
	for i, part := range parts {
		if lost && i == len(parts)/2 {
			if err := o.die(ctx, part[:(len(part)+1)/2]); err != nil {
				return err
			}
			if _, ok := part[0].(*awaken.RunStart); !ok {
				o.commit(o.say([]awaken.Event{&awaken.RunStart{ThreadID: o.thread, RunID: o.run.RunID}}))
			}
		}
		if i == len(parts)/3 {
			o.queue.leave(outage)
		}
		entries := o.say(part)
		o.commit(entries)
		if err := o.witness.await(ctx, entries[len(entries)-1].Cursor); err != nil {
			return err
		}
	}
	o.sink.Close()
	return nil
}

// die streams events, which are lost with the owner: another one takes over. Half of the clients are cut off then, and come
// back before the next owner begins.
func (o *owner) die(ctx context.Context, events []awaken.Event) error {
	for _, e := range slices.Backward(o.say(events)) {
		if afterCommit(e.Event) {
			continue
		}
		if err := o.witness.await(ctx, e.Cursor); err != nil {
			return err
		}
		break
	}
	o.acquire()
	back := map[*reader]<-chan struct{}{}
	for name, r := range o.readers {
		if !r.stays && seed(o.t.Name()+name)%2 == 0 {
			back[r] = r.interrupt()
		}
	}
	for r, back := range back {
		r.await(back)
	}
	return nil
}

// parts splits the events of a run into what is stored at once: a run_start, a step, or what is before and after the steps.
func parts(events []awaken.Event) (out [][]awaken.Event) {
	from := 0
	for i, ev := range events {
		switch ev.(type) {
		case *awaken.RunStart, *awaken.StepEnd, *awaken.RunFinish:
			out, from = append(out, events[from:i+1]), i+1
		}
	}
	if from < len(events) {
		out = append(out, events[from:])
	}
	return out
}
