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
func (s *Streams) translate(req *Request, what *protocol.Stream) error {
	if s.HeadersOnly(req) {
		return nil
	}
	ctx, cancel := s.WhileServing(req)
	defer cancel()
	if what.Entries != nil {
		return s.translateAll(req, what)
	}
	t := &translation{ctx: ctx, log: req.tenant.Log, s: what, has: what.After}
	defer t.leave(s)
	var lost bool
	var err error
	if what.New {
		t.from = what.After.Cursor
	} else if t.from, lost, err = beginning(ctx, req.tenant, what); err != nil {
		return err
	}
	t.enc = what.Encoder()
	t.join(s, req.tenant)
	f := &feed{Streams: s, req: req, ctx: ctx, threadID: what.ThreadID, runID: what.RunID, at: t.from, frames: t.frames, unlogged: t.frames, resumed: what.Resumed, isNew: what.New}
	t.feed = f
	defer f.open()()
	if what.Opening != nil {
		err = t.add(func(f *protocol.Frames) error { what.Opening(f); return nil })
	}
	if err == nil && lost && !what.Keeps {
		err = t.startOver()
	}
	if err == nil && !what.New {
		err = f.out.Flush() // as in streams.follow
	}
	if err == nil {
		err = t.follow(f)
	}
	for errors.Is(err, errOutdated) { // at most once for each owner that is lost meanwhile
		if err = t.startOver(); err == nil {
			err = t.follow(f)
		}
	}
	switch {
	case errors.Is(err, errOver) && what.Limit > 0:
		_ = f.out.End() // the client may be gone
	case errors.Is(err, errOver):
		t.end(f.out, nil)
	case errors.Is(err, os.ErrDeadlineExceeded):
		s.metrics.cutOff.Inc()
		panic(http.ErrAbortHandler)
	case errors.Is(err, errRevoked):
		t.end(f.out, errRevoked)
	case errors.Is(err, errExpired):
		t.end(f.out, errExpired)
	case err == nil || ctx.Err() != nil || errors.Is(err, errLost):
		// The server stops or the client is gone. A stream without an end was cut off.
		_ = f.out.Flush()
		panic(http.ErrAbortHandler)
	case passing(err):
		s.logger.Warn("stream cut off", "route", req.route.Path, "error", err)
		_ = f.out.Flush()
		panic(http.ErrAbortHandler)
	default:
		s.logger.Warn("stream failed", "route", req.route.Path, "error", err)
		t.end(f.out, FailureOf(err))
	}
	return nil
}

// translateAll streams what an encoder makes of entries that come from no log.
func (s *Streams) translateAll(req *Request, what *protocol.Stream) error {
	t := &translation{s: what, enc: what.Encoder()}
	for i := range what.Entries {
		if err := t.enc.Encode(&t.out, &what.Entries[i]); err != nil {
			return err
		}
	}
	out := s.Start(req)
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

// errOutdated says that the entries after which a client resumed turned out to be lost, before anything
// was sent: the next owner has just begun to write. The stream then starts over.
var errOutdated = errors.New("the position of the client was lost")

// add sends frames of no entry.
func (t *translation) add(frames func(*protocol.Frames) error) error {
	f := t.feed
	t.out.Into(f.out.Buffer())
	t.out.Unnamed()
	if err := frames(&t.out); err != nil {
		return err
	}
	return f.out.Take(t.out.Bytes())
}

// startOver makes a stream that has sent nothing begin with the run, for a client whose position was lost.
// The stream shares no encoder from then on: the frames of others may not begin as this client's do.
func (t *translation) startOver() error {
	t.has, t.last, t.feed.at = protocol.Position{}, awaken.Cursor{}, t.from
	t.lost = true
	if t.s.Lost != nil {
		if err := t.feed.patiently(func() error { return t.add(t.s.Lost) }); err != nil {
			return err
		}
	}
	t.enc = t.s.Encoder()
	return nil
}

// translation is the state of one stream and its encoder.
type translation struct {
	ctx  context.Context
	log  *eventlog.Log
	s    *protocol.Stream
	from awaken.Cursor     // before the first entry that the encoder must see
	has  protocol.Position // what the client has
	enc  protocol.Encoder  // nil while the stream uses the shared one
	out  protocol.Frames
	sent int           // number of frames
	last awaken.Cursor // of the last entry that was encoded; zero before the first
	// shared is the encoding of all streams of the run, or nil if the stream does not take part.
	shared *encoding
	lost   bool // there was a reset, or the stream started over
	feed   *feed
}

// join makes the stream share its encoding with others, unless it is a page.
func (t *translation) join(s *Streams, tenant *mailbox.Tenant) {
	if t.s.Format == "" || t.s.Limit > 0 {
		return
	}
	key := encodingKey{tenant: tenant, threadID: t.s.ThreadID, format: t.s.Format, runID: t.s.RunID}
	if t.s.RunID == "" {
		key.from = t.from
	}
	t.shared = s.encodings.join(key)
}

// leave ends the sharing.
func (t *translation) leave(s *Streams) {
	if t.shared != nil {
		s.encodings.leave(t.shared)
	}
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
	return f.last(f.copy(eventlog.Follow{RunID: t.s.RunID, First: 500 * time.Millisecond, Pause: pause, Collect: f.collect, AtEnd: t.s.New}, func() (bool, error) {
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
	if t.enc != nil {
		t.enc.End(&t.out, f)
	} else {
		t.shared.end(&t.out, f)
	}
	if out.Take(t.out.Bytes()) == nil {
		_ = out.End() // the client may be gone
	}
}

// frames is a framing. It appends the frames of an entry that the client does not have yet.
func (t *translation) frames(buf []byte, e *awaken.Entry) ([]byte, error) {
	if reset, ok := e.Event.(*awaken.StreamReset); ok && reset.Cursor != "" {
		buf, err := t.reset(buf, e)
		if err != nil {
			return nil, err
		}
		return buf, t.rebuild(e)
	}
	if e.Seq <= t.has.Seq && e.Epoch > t.has.Epoch {
		if !t.s.Keeps {
			return nil, errOutdated
		}
		t.has = protocol.Position{} // nothing of this owner, nor of later ones
	}
	have, all := 0, len(buf)
	switch {
	case e.Seq < t.has.Seq:
		have = -1
	case e.Seq == t.has.Seq:
		have = t.has.Frames
	}
	buf, err := t.encode(buf, e, have)
	if err != nil {
		return nil, err
	}
	t.last = e.Cursor
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

// encode appends the frames of an entry, of which the client has some. A client that has none gets the
// shared ones, once a second stream wants them.
func (t *translation) encode(buf []byte, e *awaken.Entry, have int) ([]byte, error) {
	if t.enc != nil && t.shared != nil && !t.lost && have == 0 && t.shared.several.Load() && t.shared.lend(t.enc, t.last) {
		t.enc = nil
	}
	if t.enc == nil {
		out, ok, err := t.shared.next(buf, t.last, e)
		if ok || err != nil {
			return out, err
		}
		if err := t.separate(); err != nil {
			return nil, err
		}
	}
	t.out.Into(buf)
	t.out.Entry(e.Cursor, max(have, 0))
	err := t.enc.Encode(&t.out, e)
	return t.out.Bytes(), err
}

// reset appends the frames of a stream_reset for entries that were lost.
func (t *translation) reset(buf []byte, e *awaken.Entry) ([]byte, error) {
	if t.enc == nil {
		out, ok, err := t.shared.reset(buf, t.last, e)
		if !ok && err == nil {
			err = errLost
		}
		return out, err
	}
	t.out.Into(buf)
	t.out.Unnamed()
	err := t.enc.Encode(&t.out, e)
	return t.out.Bytes(), err
}

// separate gives the stream an encoder of its own again, which is given all entries up to the last. The
// stream is far behind the others, or follows another owner.
func (t *translation) separate() error {
	t.enc = t.s.Encoder()
	if t.last == (awaken.Cursor{}) {
		return nil
	}
	var discarded protocol.Frames
	for e, err := range t.log.Tail(t.ctx, t.s.ThreadID, t.from, eventlog.Follow{RunID: t.s.RunID}) {
		if err != nil {
			return err
		}
		if reset, ok := e.Event.(*awaken.StreamReset); ok && reset.Cursor != "" || e.Seq == t.last.Seq && e.Epoch != t.last.Epoch {
			return errLost
		}
		if err := t.enc.Encode(&discarded, &e); err != nil {
			return err
		}
		discarded.Into(discarded.Bytes()[:0])
		if e.Seq >= t.last.Seq {
			return nil
		}
	}
	return errLost
}

// rebuild replaces the encoder by one that has seen the log up to a reset, and the reset. The stream
// shares none from then on: others may not have seen the lost entries.
func (t *translation) rebuild(reset *awaken.Entry) error {
	t.has, t.lost = protocol.Position{}, true
	return t.feed.patiently(func() error {
		t.enc = t.s.Encoder()
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
	})
}
