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

// translate streams what an encoder makes of a run's entries.
func (s *streams) translate(req *request, what *protocol.Stream) error {
	if s.headersOnly(req) {
		return nil
	}
	ctx, cancel := s.whileServing(req)
	defer cancel()
	if what.Entries != nil {
		return s.translateAll(req, what)
	}
	t := &translation{ctx: ctx, log: req.tenant.Log, s: what, has: what.After}
	var lost bool
	var err error
	if what.New {
		t.from = what.After.Cursor
	} else if t.from, lost, err = beginning(ctx, req.tenant, what); err != nil {
		return err
	}
	if lost {
		t.has = protocol.Position{}
	}
	t.enc = what.Encoder()
	f := &feed{streams: s, req: req, ctx: ctx, threadID: what.ThreadID, runID: what.RunID, at: t.from, frames: t.frames, resumed: what.Resumed, isNew: what.New}
	defer f.open()()
	if what.Opening != nil {
		t.out.Into(f.out.Buffer())
		t.out.Unnamed()
		what.Opening(&t.out)
		err = f.out.Take(t.out.Bytes())
	}
	if err == nil {
		err = t.follow(f)
	}
	switch {
	case errors.Is(err, errOver) && what.Limit > 0:
		_ = f.out.Flush() // the client may be gone
	case errors.Is(err, errOver):
		t.end(f.out, nil)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.metrics.cutOff.Inc()
		panic(http.ErrAbortHandler)
	case errors.Is(err, errRevoked):
		t.end(f.out, errRevoked)
	case err == nil || ctx.Err() != nil || errors.Is(err, errLost):
		// The server stops or the client is gone. A stream without an end was cut off.
		_ = f.out.Flush()
		panic(http.ErrAbortHandler)
	default:
		s.logger.Warn("stream failed", "route", req.route.Path, "error", err)
		t.end(f.out, failureOf(err))
	}
	return nil
}

// translateAll streams what an encoder makes of entries that come from no log.
func (s *streams) translateAll(req *request, what *protocol.Stream) error {
	t := &translation{s: what, enc: what.Encoder()}
	for i := range what.Entries {
		if err := t.enc.Encode(&t.out, &what.Entries[i]); err != nil {
			return err
		}
	}
	out := s.start(req)
	if out.Take(append(out.Buffer(), t.out.Bytes()...)) == nil {
		t.end(out, nil)
	}
	return nil
}

// beginning returns the position before the first entry that the encoder must see. Lost reports that
// the entries that the client has were lost, so that it must start there too.
func beginning(ctx context.Context, t *mailbox.Tenant, s *protocol.Stream) (from awaken.Cursor, lost bool, err error) {
	runID := s.RunID
	if runID == "" {
		if s.After.Seq == 0 {
			return awaken.Cursor{}, false, nil
		}
		at, err := t.Store.Entries(ctx, s.ThreadID, awaken.EntryQuery{After: s.After.Seq - 1, Limit: 1})
		if err != nil || len(at) == 0 {
			return s.After.Cursor, false, err
		}
		runID = at[0].RunID
	}
	first, err := t.Store.Entries(ctx, s.ThreadID, awaken.EntryQuery{RunID: runID, Limit: 1})
	if errors.Is(err, awaken.ErrNotFound) || err == nil && len(first) == 0 {
		return s.After.Cursor, false, nil // the run has no entries yet
	}
	if err != nil {
		return awaken.Cursor{}, false, err
	}
	lost, err = protocol.PositionLost(ctx, t, s.ThreadID, s.After)
	return awaken.Cursor{Epoch: first[0].Epoch, Seq: first[0].Seq - 1}, lost, err
}

// errLost cuts off a client that has just turned out to have lost entries. When it reconnects, it
// gets the run from the start.
var errLost = errors.New("the client's entries were lost")

// translation is the state of one stream and its encoder.
type translation struct {
	ctx  context.Context
	log  *eventlog.Log
	s    *protocol.Stream
	from awaken.Cursor     // before the first entry that the encoder must see
	has  protocol.Position // what the client has
	enc  protocol.Encoder
	out  protocol.Frames
	sent int // number of frames
}

// follow feeds the encoder until the stream is over (errOver), the server stops or the client
// disconnects.
func (t *translation) follow(f *feed) error {
	if t.s.Limit > 0 {
		if err := f.copy(eventlog.Follow{RunID: t.s.RunID, Committed: true}, nil); err != nil {
			return err
		}
		return errOver
	}
	pause := f.heartbeat
	if f.resumed {
		pause = min(pause, resumeCheck)
	}
	record := newPoll()
	return f.last(f.copy(eventlog.Follow{RunID: t.s.RunID, First: 500 * time.Millisecond, Pause: pause, AtEnd: t.s.New}, func() (bool, error) {
		if t.s.RunID == "" || t.s.New && !record.due() {
			return false, nil
		}
		over, err := f.ended(awaken.Cursor{Epoch: f.at.Epoch, Seq: f.at.Seq + 1})
		if over && err == nil {
			err = errOver
		}
		return over, err
	}))
}

// end ends the response.
func (t *translation) end(out *sse.Writer, f *protocol.Failure) {
	t.out.Into(out.Buffer())
	t.out.Unnamed()
	t.enc.End(&t.out, f)
	if out.Take(t.out.Bytes()) == nil {
		_ = out.Flush() // the client may be gone
	}
}

// frames is a framing. It appends the frames of an entry that the client does not have yet.
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
		if fin.Termination.Type == awaken.Suspended && t.s.Continues != nil && t.s.Continues(fin) {
			return buf, nil
		}
		final := t.s.RunID != "" && fin.Termination.Type != awaken.Suspended
		if final || e.Seq >= t.s.Through.Seq && protocol.AfterAll(e.Cursor) != t.has && have >= 0 {
			return buf, errOver
		}
	}
	return buf, nil
}

// rebuild replaces the encoder by one that has seen the log up to a reset, and the reset.
func (t *translation) rebuild(reset *awaken.Entry) error {
	t.enc, t.has = t.s.Encoder(), protocol.Position{}
	var discarded protocol.Frames
	for e, err := range t.log.Tail(t.ctx, t.s.ThreadID, t.from, eventlog.Follow{RunID: t.s.RunID, Committed: true}) {
		if err != nil {
			return err
		}
		if e.Seq > reset.Seq {
			break
		}
		if err := t.enc.Encode(&discarded, &e); err != nil {
			return err
		}
		discarded.Into(nil)
	}
	return t.enc.Encode(&discarded, reset)
}
