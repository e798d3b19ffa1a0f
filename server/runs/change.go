package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/internal/sse"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// changes has the handler of the feed: what changes in a tenant, and the events of some of its threads, in one stream.
type changes struct {
	streams *server.Streams
	feed    *changelog.Feed
}

func newChanges(log changelog.Store, k *server.Kernel) *changes {
	return &changes{streams: k.Streams, feed: changelog.NewFeed(changelog.FeedConfig{Store: log, Encode: encodeChange, Logger: k.Logger})}
}

func (h *changes) routes() []protocol.Route {
	return []protocol.Route{{Method: "GET", Path: "/v1/events/stream", Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.stream),
		Summary: "Stream the changes in the tenant",
		Query: []protocol.Param{server.Param("cursor", "string", "resume after this frame; same as Last-Event-ID. Without either, the stream begins now"),
			server.Param("kinds", "string", "only changes of these kinds, separated by commas: run, ticket, decision, dispatch, publication; default all"),
			server.Param("thread_id", "string", "add the events of this thread; can be repeated, up to "+strconv.Itoa(maxFollowed)+" times"),
			server.Param("after", "string", "where the events of the threads begin: a cursor for each thread_id, in the same order; default the end of their logs"), server.UserParam},
		Headers: lastEventID, Replies: map[int]any{200: nil}, Failures: []int{404, 410}, Stream: true, Events: "#FeedEvent"}}
}

// maxFollowed is how many threads a feed can follow: each costs a goroutine and its part of the cursor.
const maxFollowed = 8

// changeView is a change in the form that clients get.
type changeView struct {
	Kind     changelog.Kind `json:"kind"`
	At       int64          `json:"at"` // Unix ms
	ThreadID string         `json:"thread_id,omitempty"`
	RunID    string         `json:"run_id,omitempty"`
	Status   string         `json:"status,omitempty"`   // of the run or the dispatch
	UserID   string         `json:"user_id,omitempty"`  // of the thread
	AgentID  string         `json:"agent_id,omitempty"` // of the run, if it has begun
	// Outcome is how a run that is done has ended.
	Outcome    awaken.TerminationType `json:"outcome,omitempty"`
	DispatchID string                 `json:"dispatch_id,omitempty"`
	Tickets    []changedTicket        `json:"tickets,omitempty"`   // that were opened or closed
	TicketID   string                 `json:"ticket_id,omitempty"` // that was decided
	Action     awaken.DecisionAction  `json:"action,omitempty"`    // of the decision
	Actor      *awaken.Actor          `json:"actor,omitempty"`     // of the decision
	Version    string                 `json:"version,omitempty"`   // of the configuration that is live
}

type changedTicket struct {
	TicketID   string `json:"ticket_id"`
	ToolCallID string `json:"tool_call_id"`
	ToolName   string `json:"tool_name"`
	Open       bool   `json:"open"`
}

// encodeChange encodes a change for all streams.
func encodeChange(c *changelog.Change) []byte {
	v := changeView{Kind: c.Kind, At: c.At, ThreadID: c.ThreadID, RunID: c.RunID, Status: c.Status, UserID: c.UserID}
	switch c.Kind {
	case changelog.Run:
		if c.Run != nil {
			v.AgentID = c.Run.AgentID
			if c.Status == string(awaken.RunDone) {
				v.Outcome = c.Run.Termination.Type
			}
		}
	case changelog.Dispatch:
		v.DispatchID = c.ID
	case changelog.Decision:
		if v.TicketID = c.ID; c.Decided != nil {
			v.Action, v.Actor = c.Decided.Action, c.Decided.Actor
		}
	case changelog.Publication:
		v.Version = c.ID
	}
	for _, t := range c.Tickets {
		v.Tickets = append(v.Tickets, changedTicket{TicketID: t.ID, ToolCallID: t.ToolCallID, ToolName: t.ToolName, Open: t.Open})
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // it has no value that cannot be encoded
	}
	return data
}

// changeStream is a feed in progress.
type changeStream struct {
	req   *server.Request
	ctx   context.Context
	out   *sse.Writer
	at    changeCursor
	kinds []changelog.Kind
	owner *string // nil means of all users
	also  []followed
}

// followed is a thread whose events are part of a feed.
type followed struct {
	id     string
	after  awaken.Cursor
	frames server.Framing
}

func (h *changes) stream(req *server.Request) error {
	f, err := h.begin(req)
	if err != nil {
		return err
	}
	if h.streams.HeadersOnly(req) {
		return nil
	}
	ctx, cancel := h.streams.WhileServing(req)
	defer cancel()
	reader, err := h.feed.Follow(ctx, req.Tenant().Name(), f.at.log)
	if err != nil {
		return gone(err)
	}
	defer reader.Close()
	f.at.log = reader.Position()
	out, done := h.streams.Open(req)
	defer done()
	f.ctx, f.out = ctx, out
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	err = f.copy(&wg, reader, h.streams)
	return h.streams.End(req, out, gone(server.Revoked(ctx, err)))
}

// begin reads the parameters of a request.
func (h *changes) begin(req *server.Request) (*changeStream, error) {
	err := req.CheckKnown()
	if err != nil {
		return nil, err
	}
	f := &changeStream{req: req, kinds: changelog.Kinds}
	if f.owner, err = req.Owner(); err != nil {
		return nil, err
	}
	if f.at, err = parseChangeCursor(cmp.Or(req.Value("cursor"), req.HTTP().Header.Get("Last-Event-ID"))); err != nil {
		return nil, err
	}
	if text := req.Value("kinds"); text != "" {
		if f.kinds, err = parseKinds(text); err != nil {
			return nil, err
		}
	}
	ids, after := req.Values()["thread_id"], req.Values()["after"]
	if len(ids) > maxFollowed {
		return nil, protocol.BadRequest("%d thread_id are set, want at most %d", len(ids), maxFollowed)
	}
	if len(after) > 0 && len(after) != len(ids) {
		return nil, protocol.BadRequest("%d after are set, want one for each of the %d thread_id", len(after), len(ids))
	}
	for i, id := range ids {
		var at *awaken.Cursor
		if len(after) > 0 {
			c, err := awaken.ParseCursor(after[i])
			if err != nil {
				return nil, protocol.BadRequest("after is %.80q, want epoch-seq, such as 1-42", after[i])
			}
			at = &c
		}
		if c, ok := f.at.threads[threadKey(id)]; ok { // a stream that is resumed
			at = &c
		}
		start, err := h.start(req, id, i, at)
		if err != nil {
			return nil, err
		}
		f.also = append(f.also, followed{id: id, after: start, frames: canonicalFrames(id)})
		f.at.set(id, start)
	}
	for key := range f.at.threads { // of a thread that is not followed any more
		if !slices.ContainsFunc(ids, func(id string) bool { return threadKey(id) == key }) {
			delete(f.at.threads, key)
		}
	}
	return f, nil
}

// start returns where the events of a thread begin, the i-th that the client names: at a cursor, or at the end of its log if that is nil.
func (h *changes) start(req *server.Request, id string, i int, at *awaken.Cursor) (awaken.Cursor, error) {
	if err := protocol.CheckID("thread_id", id); err != nil {
		return awaken.Cursor{}, err
	}
	if slices.Index(req.Values()["thread_id"], id) < i {
		return awaken.Cursor{}, protocol.BadRequest("thread_id is %q twice", id)
	}
	if err := req.Admit(id); err != nil {
		return awaken.Cursor{}, err
	}
	t, err := req.Tenant().Store.Thread(req.Context(), id)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return awaken.Cursor{}, protocol.NotFound("thread", id)
	case err != nil:
		return awaken.Cursor{}, err
	case at == nil:
		return t.End, nil
	case at.Epoch > t.End.Epoch:
		return awaken.Cursor{}, server.Fail(410, "cursor_expired", "cursor %s is not of the log of thread %s, which ends at %s", at, id, t.End)
	}
	return *at, nil
}

// parseKinds parses the parameter kinds.
func parseKinds(text string) (out []changelog.Kind, err error) {
	var known []string
	for _, k := range changelog.Kinds {
		known = append(known, string(k))
	}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			if best := strict.Nearest(name, known); best != "" {
				return nil, protocol.BadRequest("kinds has %.80q, did you mean %q?", name, best)
			}
			return nil, protocol.BadRequest("kinds has %.80q, want %s", name, strings.Join(known, ", "))
		}
		out = append(out, changelog.Kind(name))
	}
	return out, nil
}

// gone returns the failure of a position that the log does not have.
func gone(err error) error {
	if errors.Is(err, changelog.ErrGone) {
		return server.Fail(410, "cursor_expired", "the changes after the cursor are no longer stored; reload, and start without a cursor")
	}
	return err
}

// sees reports whether the caller gets a change.
func (f *changeStream) sees(c *changelog.Change) bool {
	if c.Kind == changelog.Publication {
		return slices.Contains(f.kinds, c.Kind) && f.req.May(permit.ReadConfig)
	}
	return slices.Contains(f.kinds, c.Kind) && (f.owner == nil || !c.Deleted && c.UserID == *f.owner && c.ThreadID != "")
}

// part is what one of the sources of a feed has.
type part struct {
	items []*changelog.Item // changes, up to at
	at    changelog.Position

	thread *followed // or an event of a thread
	cursor awaken.Cursor
	frame  []byte

	err error
}

// copy sends what the sources have until one fails or ctx is done. Each source waits until what it has was sent, so a slow client delays its
// own stream and nothing else.
func (f *changeStream) copy(wg *sync.WaitGroup, reader *changelog.Reader, s *server.Streams) error {
	parts := make(chan part)
	send := func(p part) bool {
		select {
		case parts <- p:
			return p.err == nil
		case <-f.ctx.Done():
			return false
		}
	}
	if err := f.idle(); err != nil { // a client that is lost now can resume here
		return err
	}
	wg.Go(func() {
		for more := true; more; {
			items, err := reader.Next(f.ctx)
			more = send(part{items: items, at: reader.Position(), err: err})
		}
	})
	for i := range f.also {
		wg.Go(func() { f.follow(&f.also[i], s.Collect(), send) })
	}
	beat := time.NewTicker(s.Heartbeat())
	defer beat.Stop()
	for {
		select {
		case p := <-parts:
			if p.err != nil {
				return p.err
			}
			if err := f.send(&p); err != nil {
				return err
			}
		case <-beat.C:
			if f.out.Idle() >= s.Heartbeat() {
				if err := f.idle(); err != nil {
					return err
				}
			}
		case <-f.ctx.Done():
			return nil
		}
	}
}

// follow passes the events of a thread on.
func (f *changeStream) follow(t *followed, collect time.Duration, send func(p part) bool) {
	owned := t.after.Epoch
	for e, err := range f.req.Tenant().Log.Tail(f.ctx, t.id, t.after, eventlog.Follow{Collect: collect}) {
		if err == nil && e.Event == nil {
			continue
		}
		p := part{thread: t, cursor: e.Cursor, err: err}
		if err == nil && f.req.Confined && e.Epoch != owned { // the thread may have been given away
			p.err = f.req.AdmitThread("thread", t.id, t.id)
			owned = e.Epoch
		}
		if p.err == nil {
			p.frame, p.err = t.frames(nil, &e)
		}
		if !send(p) {
			return
		}
	}
}

// send sends what a source had.
func (f *changeStream) send(p *part) error {
	if p.thread != nil {
		f.at.set(p.thread.id, p.cursor)
		_, frame, _ := strings.Cut(string(p.frame), "\n") // without its id
		buf := f.at.append(append(f.out.Buffer(), "event: event\nid: "...))
		if err := f.out.Take(append(append(buf, '\n'), frame...)); err != nil {
			return err
		}
		return f.out.Flush()
	}
	for _, it := range p.items {
		f.at.log = changelog.Position{Pos: it.Pos, Check: it.At}
		if !f.sees(&it.Change) {
			continue
		}
		buf := append(append(f.out.Buffer(), "event: "...), it.Kind...)
		buf = append(f.at.append(append(buf, "\nid: "...)), "\ndata: "...)
		if err := f.out.Take(append(append(buf, it.Data...), '\n', '\n')); err != nil {
			return err
		}
	}
	f.at.log = p.at
	if !f.out.Pending() {
		return nil
	}
	return f.out.Flush()
}

// idle sends a frame without data, which only tells the client where it is.
func (f *changeStream) idle() error {
	buf := f.at.append(append(f.out.Buffer(), ": heartbeat\nid: "...))
	if err := f.out.Take(append(buf, '\n', '\n')); err != nil {
		return err
	}
	return f.out.Flush()
}

// changeCursor is a position in a feed: in the log of changes, and in the logs of its threads.
type changeCursor struct {
	log     changelog.Position // changelog.Now if it is not set
	threads map[string]awaken.Cursor
}

// threadKey stands for a thread's ID, which may be long, in a cursor.
func threadKey(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

func (c *changeCursor) set(threadID string, at awaken.Cursor) {
	if c.threads == nil {
		c.threads = map[string]awaken.Cursor{}
	}
	c.threads[threadKey(threadID)] = at
}

// append appends the text of the cursor, such as 42.mi2bnwrk or 42.mi2bnwrk~1x9.3-17.
func (c *changeCursor) append(buf []byte) []byte {
	buf = strconv.AppendInt(buf, c.log.Pos, 10)
	if c.log.Check != 0 {
		buf = strconv.AppendInt(append(buf, '.'), c.log.Check, 36)
	}
	keys := make([]string, 0, maxFollowed)
	for key := range c.threads {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		buf = append(append(append(buf, '~'), key...), '.')
		buf = server.AppendCursor(buf, c.threads[key])
	}
	return buf
}

// parseChangeCursor parses the text of a cursor; "" is the end of the log.
func parseChangeCursor(text string) (c changeCursor, err error) {
	if text == "" {
		return changeCursor{log: changelog.Now}, nil
	}
	bad := protocol.BadRequest("cursor is %.80q, want the id of a frame of this stream", text)
	first, rest, more := strings.Cut(text, "~")
	pos, check, checked := strings.Cut(first, ".")
	if c.log.Pos, err = strconv.ParseInt(pos, 10, 64); err != nil || c.log.Pos < 0 || strconv.FormatInt(c.log.Pos, 10) != pos {
		return c, bad
	}
	if checked {
		if c.log.Check, err = strconv.ParseInt(check, 36, 64); err != nil || c.log.Check <= 0 || strconv.FormatInt(c.log.Check, 36) != check {
			return c, bad
		}
	}
	for more {
		var one string
		one, rest, more = strings.Cut(rest, "~")
		key, cursor, _ := strings.Cut(one, ".")
		at, err := awaken.ParseCursor(cursor)
		if err != nil || key == "" || len(key) > 13 || len(c.threads) == maxFollowed || fmt.Sprint(at) != cursor {
			return c, bad
		}
		if c.threads == nil {
			c.threads = map[string]awaken.Cursor{}
		}
		c.threads[key] = at
	}
	return c, nil
}
