package server

import (
	"context"
	"errors"
	"net/http"
	"os"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/sse"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// A call is what the routes of protocols get.
var _ protocol.Call = (*call)(nil)

func (c *call) Context() context.Context { return c.ctx }
func (c *call) Request() *http.Request   { return c.r }
func (c *call) Header() http.Header      { return c.w.Header() }
func (c *call) Tenant() *mailbox.Tenant  { return c.tenant }

func (c *call) Submit(s *mailbox.Submission) (*mailbox.Receipt, error) {
	if err := c.sign(s); err != nil {
		return nil, err
	}
	if c.route.Own {
		if err := c.signOwn(s); err != nil {
			return nil, err
		}
	}
	if len(s.Request.Decisions) > 0 {
		if err := c.vet(s.Request.ThreadID, true, s.Request.Decisions); err != nil {
			return nil, err
		}
	}
	return c.submit(s)
}

// Stream streams what an encoder makes of a run's entries.
func (c *call) Stream(s *protocol.Stream) error {
	if c.headersOnly() {
		return nil
	}
	c.body = nil // it may be large, and the stream long
	ctx, cancel := c.whileServing()
	defer cancel()
	if s.Entries != nil {
		return c.streamEntries(s)
	}
	after := s.After
	from, lost, err := c.beginning(ctx, s)
	if err != nil {
		return err
	}
	if lost {
		after = protocol.Position{}
	}
	c.srv.cfg.Metrics.streams.Inc()
	defer c.srv.cfg.Metrics.streams.Dec()
	out := sse.Start(c.w, c.srv.cfg.Limits.StreamWrite)
	t := &translation{call: c, ctx: ctx, s: s, from: from, has: after, enc: s.Encoder()}
	at := from
	if s.Limit > 0 {
		if err = c.copyEvents(ctx, out, s.ThreadID, &at, eventlog.Follow{RunID: s.RunID, Committed: true}, t.frames, nil); err == nil {
			err = errOver
		}
	} else {
		err = c.copyEvents(ctx, out, s.ThreadID, &at, eventlog.Follow{RunID: s.RunID, First: 500 * time.Millisecond, Pause: c.srv.cfg.Limits.Heartbeat}, t.frames, func() (bool, error) {
			if s.RunID == "" {
				return false, nil
			}
			over, err := c.ended(ctx, out, s.ThreadID, s.RunID, &at, awaken.Cursor{Epoch: at.Epoch, Seq: at.Seq + 1}, t.frames)
			if over && err == nil {
				err = errOver
			}
			return over, err
		})
	}
	switch {
	case errors.Is(err, errOver) && s.Limit > 0:
		_ = out.Flush() // the client may be gone
	case errors.Is(err, errOver):
		t.end(out, nil)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.srv.cfg.Metrics.cutOff.Inc()
		panic(http.ErrAbortHandler)
	case err == nil || ctx.Err() != nil || errors.Is(err, errLost):
		// The server stops, or the client is gone. What ends without an end was cut off.
		_ = out.Flush()
		panic(http.ErrAbortHandler)
	default:
		c.srv.cfg.Logger.Warn("stream ended by an error", "route", c.route.Path, "error", err)
		t.end(out, failureOf(err))
	}
	return nil
}

// streamEntries streams what an encoder makes of entries that are no log's.
func (c *call) streamEntries(s *protocol.Stream) error {
	t := &translation{s: s, enc: s.Encoder()}
	for i := range s.Entries {
		if err := t.enc.Encode(&t.out, &s.Entries[i]); err != nil {
			return err
		}
	}
	out := sse.Start(c.w, c.srv.cfg.Limits.StreamWrite)
	if out.Take(append(out.Buffer(), t.out.Bytes()...)) == nil {
		t.end(out, nil)
	}
	return nil
}

// beginning is the place before the first entry that an encoder has to see, and whether
// what the client has was lost, so that it has to begin there too.
func (c *call) beginning(ctx context.Context, s *protocol.Stream) (from awaken.Cursor, lost bool, err error) {
	runID := s.RunID
	if runID == "" {
		if s.After.Seq == 0 {
			return awaken.Cursor{}, false, nil
		}
		at, err := c.tenant.Store.Entries(ctx, s.ThreadID, awaken.EntryQuery{After: s.After.Seq - 1, Limit: 1})
		if err != nil || len(at) == 0 {
			return s.After.Cursor, false, err
		}
		runID = at[0].RunID
	}
	first, err := c.tenant.Store.Entries(ctx, s.ThreadID, awaken.EntryQuery{RunID: runID, Limit: 1})
	if errors.Is(err, awaken.ErrNotFound) || err == nil && len(first) == 0 {
		return s.After.Cursor, false, nil // it has not begun
	}
	if err != nil {
		return awaken.Cursor{}, false, err
	}
	lost, err = protocol.Lost(ctx, c.tenant, s.ThreadID, s.After)
	return awaken.Cursor{Epoch: first[0].Epoch, Seq: first[0].Seq - 1}, lost, err
}

// errLost breaks off the stream of a client that has seen what was lost only now. When it
// comes again, it gets the run from its beginning.
var errLost = errors.New("what the client has was lost")

// translation is one stream on its way through its encoder.
type translation struct {
	call *call
	ctx  context.Context
	s    *protocol.Stream
	from awaken.Cursor
	has  protocol.Position // what the client has
	enc  protocol.Encoder
	out  protocol.Frames
	sent int // frames
}

// end ends a response.
func (t *translation) end(out *sse.Writer, f *protocol.Failure) {
	t.out.Into(out.Buffer())
	t.out.Unnamed()
	t.enc.End(&t.out, f)
	if out.Take(t.out.Bytes()) == nil {
		_ = out.Flush() // the client may be gone
	}
}

// frames is a framing: it appends what of an entry the client does not have.
func (t *translation) frames(buf []byte, e *awaken.Entry) ([]byte, error) {
	t.out.Into(buf)
	if reset, ok := e.Event.(*awaken.StreamReset); ok && reset.Cursor != "" {
		t.out.Unnamed()
		if err := t.enc.Encode(&t.out, e); err != nil {
			return nil, err
		}
		return t.out.Bytes(), t.rebuild(e)
	}
	if e.Seq <= t.has.Seq && e.Epoch > t.has.Epoch {
		return nil, errLost
	}
	have, all := 0, len(buf)
	switch {
	case e.Seq < t.has.Seq:
		have = -1
	case e.Seq == t.has.Seq:
		have = t.has.Frames
	}
	t.out.Entry(e.Cursor, max(have, 0))
	if err := t.enc.Encode(&t.out, e); err != nil {
		return nil, err
	}
	buf = t.out.Bytes()
	if have < 0 {
		buf = buf[:all]
	} else {
		t.sent += t.out.Added()
	}
	if t.s.Limit > 0 {
		if t.sent >= t.s.Limit {
			return buf, errOver
		}
		return buf, nil
	}
	if fin, ok := e.Event.(*awaken.RunFinish); ok {
		final := t.s.RunID != "" && fin.Termination.Type != awaken.Suspended
		if final || e.Seq >= t.s.Through.Seq && protocol.AfterAll(e.Cursor) != t.has && have >= 0 {
			return buf, errOver
		}
	}
	return buf, nil
}

// rebuild makes an encoder that has seen what there is up to a reset, and the reset.
func (t *translation) rebuild(reset *awaken.Entry) error {
	t.enc, t.has = t.s.Encoder(), protocol.Position{}
	var nobody protocol.Frames
	for e, err := range t.call.tenant.Log.Tail(t.ctx, t.s.ThreadID, t.from, eventlog.Follow{RunID: t.s.RunID, Committed: true}) {
		if err != nil {
			return err
		}
		if e.Seq > reset.Seq {
			break
		}
		if err := t.enc.Encode(&nobody, &e); err != nil {
			return err
		}
		nobody.Into(nil)
	}
	return t.enc.Encode(&nobody, reset)
}
