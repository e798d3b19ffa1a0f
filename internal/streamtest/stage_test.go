package streamtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
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
	"github.com/awaken-go/awaken/server/runs"
	"github.com/awaken-go/awaken/timeline"
)

const thread = "t" // as in the golden runs

// away is a queue whose threads cannot be read while gone is set.
type away struct {
	mailbox.Queue
	gone atomic.Bool
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
	parks int // how often the run that is played parks
}

// encoders returns the encoder of each protocol, for runs that park: a stream of the protocol's own routes ends there.
// The client of an encoder may start over.
func (s *stage) encoders() map[string]func(over bool) protocol.Encoder {
	return map[string]func(over bool) protocol.Encoder{
		"ai-sdk": func(bool) protocol.Encoder { return &aisdk.Encoder{} },
		"ag-ui": func(over bool) protocol.Encoder {
			opts := agui.Options{Current: true, Conversation: func() ([]*llm.Message, error) {
				return protocol.Patiently(s.t.Context(), func() ([]*llm.Message, error) {
					return protocol.Conversation(s.t.Context(), s.box.Tenant(""), thread)
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
			return mcp.NewEncoder(mcp.Options{RunID: "run", ThreadID: thread, Request: json.RawMessage("1"), Progress: json.RawMessage("2")})
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
	out["ag-ui"] = "/v1/ag-ui/threads/" + thread + "/stream"
	out["a2a"] = "/v1/a2a/tasks/" + runID + ":subscribe"
	out["responses"] = "/openai/v1/responses/resp_" + runID + "?stream=true"
	return out
}

func newStage(t *testing.T, queue mailbox.Queue) *stage {
	t.Helper()
	s := &stage{t: t, store: queue.Handle(""), queue: &away{Queue: queue}}
	tasks, err := a2a.Routes(a2a.Config{})
	if err != nil {
		t.Fatal(err)
	}
	routes := slices.Concat(aisdk.Routes(), agui.Routes(), openai.Routes(), tasks)
	for name, encoder := range s.encoders() {
		routes = append(routes, protocol.Route{Method: http.MethodGet, Path: "/play/" + name + "/{run_id}", Access: protocol.Readers,
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
	what := &protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, Resumed: true, Format: name,
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
		return parked < s.parks
	}
	return c.Stream(what)
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

// commit stores entries, and the messages that they are about.
func (o *owner) commit(entries []awaken.Entry) {
	o.t.Helper()
	o.number++
	if fin, ok := entries[len(entries)-1].Event.(*awaken.RunFinish); ok && fin.Termination.Type != awaken.Suspended {
		o.run.Status, o.run.FinishedAt, o.run.Termination = awaken.RunDone, 2, fin.Termination
	}
	c := &awaken.Commit{ThreadID: thread, Fence: o.fence, Number: o.number, Time: 1, Run: o.run, Entries: entries, Expect: o.stored, Messages: o.said(entries)}
	if err := o.store.Commit(o.t.Context(), c); err != nil {
		o.t.Fatal(err)
	}
	o.seq = entries[len(entries)-1].Seq
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
