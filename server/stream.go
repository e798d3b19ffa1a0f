package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/internal/sse"
	"github.com/awaken-go/awaken/mailbox"
)

// Framing appends an entry to a stream as frames: none, one or several.
type Framing func(buf []byte, e *awaken.Entry) ([]byte, error)

// Format is a framing of entries that depends on nothing else.
type Format struct {
	name   string
	frames Framing
}

// NewFormat returns a format. Streams of a thread in formats of one name share the frames.
func NewFormat(name string, frames Framing) Format { return Format{name, frames} }

// RawFrames appends an event as it is, with its cursor as the id.
func RawFrames(buf []byte, e *awaken.Entry) ([]byte, error) {
	buf = AppendCursor(append(buf, "id: "...), e.Cursor)
	buf, err := awaken.AppendEvent(append(buf, "\ndata: "...), e.Event)
	if err != nil {
		return nil, err
	}
	return append(buf, '\n', '\n'), nil
}

// AppendCursor appends the text of a cursor.
func AppendCursor(buf []byte, c awaken.Cursor) []byte {
	return strconv.AppendUint(append(strconv.AppendUint(buf, c.Epoch, 10), '-'), c.Seq, 10)
}

// Streams replies to requests with streams of events.
type Streams struct {
	serving   context.Context // until Stop
	write     time.Duration   // for a client to read what is flushed
	wait      time.Duration   // for a request that waits for its run
	maxFrames int             // buffered for a client before waiting for it
	heartbeat time.Duration   // interval on an idle stream
	collect   time.Duration   // how long deltas wait for others
	encodings *encodings
	keys      Keys // ends the streams of a key that is revoked; nil if no client has one
	metrics   *httpMetrics
	logger    *slog.Logger
}

// Heartbeat returns the interval of heartbeats on an idle stream; 0 or less means none.
func (s *Streams) Heartbeat() time.Duration { return s.heartbeat }

// Collect returns how long deltas wait for others, to be sent with them; 0 means that they do not.
func (s *Streams) Collect() time.Duration { return s.collect }

// Causes that end a stream: its key was revoked or its session ended, or its token has expired.
var (
	errRevoked = Unauthorized("the key was revoked, or the session has ended")
	errExpired = Unauthorized("the token has expired")
)

// WhileServing returns the request's context, which also ends when the server stops and, with the
// cause errRevoked or errExpired, when the caller's key is revoked, or its session or token ends. A stream takes any time, so the deadline for reading the request is lifted and the body, which may be large, is
// released.
func (s *Streams) WhileServing(req *Request) (context.Context, context.CancelFunc) {
	req.Release()
	_ = http.NewResponseController(req.w).SetReadDeadline(time.Time{})
	ctx, end := context.WithCancelCause(req.r.Context())
	cancel := func() { end(nil) }
	stop, unwatch := context.AfterFunc(s.serving, cancel), func() {}
	if c, err := CredentialOf(req.r); err == nil && req.Key != nil && c.ends(req.Key) {
		unwatch = s.keys.Watch(c, func() { end(errRevoked) })
	}
	if req.expires.IsZero() {
		return ctx, func() { unwatch(); stop(); cancel() }
	}
	expiry := time.AfterFunc(time.Until(req.expires), func() { end(errExpired) })
	return ctx, func() { expiry.Stop(); unwatch(); stop(); cancel() }
}

// Revoked returns errRevoked or errExpired if that is why ctx ended, or else err.
func Revoked(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errRevoked) || errors.Is(cause, errExpired) {
		return cause
	}
	return err
}

// Start begins the response.
func (s *Streams) Start(req *Request) *sse.Writer {
	return sse.Start(req.w, req.r.ProtoMajor > 1, s.write, s.maxFrames)
}

// Open is Start for a stream of another source than the log of one thread. The stream counts as open until done is called.
func (s *Streams) Open(req *Request) (out *sse.Writer, done func()) {
	s.metrics.streams.Inc()
	return s.Start(req), s.metrics.streams.Dec
}

// HeadersOnly answers a HEAD request with the headers of a stream.
func (s *Streams) HeadersOnly(req *Request) bool {
	if req.r.Method == http.MethodHead {
		s.Start(req)
	}
	return req.r.Method == http.MethodHead
}

// Follow streams the events of a thread after a cursor: one run's until it ends, or all until
// the client disconnects or the server stops. IsNew is [protocol.Stream.New].
func (s *Streams) Follow(req *Request, threadID, runID string, after awaken.Cursor, isNew bool, as Format) error {
	if s.HeadersOnly(req) {
		return nil
	}
	f := s.feed(req, threadID, runID, after, isNew, as)
	defer f.close()
	var err error
	if !isNew { // the first event may be a long time off, and writing the headers takes less stack here than below
		err = f.out.Flush()
	}
	if err == nil {
		err = f.last(f.copy(f.follow, f.silent))
	}
	return s.End(req, f.out, err)
}

// feed begins a stream.
func (s *Streams) feed(req *Request, threadID, runID string, after awaken.Cursor, isNew bool, as Format) *feed {
	ctx, cancel := s.WhileServing(req)
	shared := s.encodings.join(encodingKey{tenant: req.tenant, threadID: threadID, format: as.name})
	f := &feed{Streams: s, req: req, ctx: ctx, threadID: threadID, runID: runID, at: after, isNew: isNew, unlogged: as.frames,
		frames: func(buf []byte, e *awaken.Entry) ([]byte, error) { return shared.frames(buf, e, as.frames) },
		follow: eventlog.Follow{Pause: s.heartbeat, Collect: s.collect, AtEnd: isNew}, silent: func() (over bool, err error) { return false, nil }}
	done := f.open()
	f.close = func() {
		done()
		s.encodings.leave(shared)
		cancel()
	}
	if runID != "" {
		// The run may be over, or be cancelled while queued and log no events. Its record is polled
		// until the first event arrives.
		record := newPoll()
		f.follow.RunID, f.follow.First, f.silent = runID, pollFirst, func() (bool, error) {
			if !record.due() {
				return false, nil
			}
			return f.ended(f.at)
		}
	}
	return f
}

// feed is one stream in progress.
type feed struct {
	*Streams
	req      *Request
	ctx      context.Context
	out      *sse.Writer
	threadID string
	runID    string        // "" means all runs of the thread
	at       awaken.Cursor // of the last entry sent
	entry    awaken.Entry  // that is sent: not a variable of the loop, which would be allocated for each
	frames   Framing       // of entries of the log
	unlogged Framing       // of others
	resumed  bool          // see protocol.Stream
	isNew    bool          // see protocol.Stream

	follow eventlog.Follow               // of a stream of [Streams.Follow]
	silent func() (over bool, err error) // see copy
	close  func()                        // releases what the stream holds
}

// open begins the response and counts the stream until close is called.
func (f *feed) open() (close func()) {
	f.out, close = f.Open(f.req)
	return close
}

// copy sends entries until the run ends or the client disconnects. Until the first entry, silent is
// called whenever there is nothing to send, if it is set; it reports whether the stream is over.
func (f *feed) copy(follow eventlog.Follow, silent func() (over bool, err error)) error {
	waited, began, checked := 0, time.Now(), time.Time{}
	owned := f.at.Epoch // the last epoch that was checked
	for e, err := range f.req.tenant.Log.Tail(f.ctx, f.threadID, f.at, follow) {
		if err != nil || f.ctx.Err() != nil {
			if err = Revoked(f.ctx, err); err != nil {
				return err
			}
		}
		f.entry = e
		if e.Event == nil {
			if silent != nil {
				if over, err := silent(); over || err != nil && fault.OutageOf(err) == nil {
					return err
				}
			}
			switch waited++; {
			case f.resumed && (waited == 1 || time.Since(checked) >= resumeCheck && time.Since(began) < resumeTime):
				checked = time.Now()
				err = f.idle()
			case f.out.Pending():
				err = f.out.Flush()
			case f.out.Idle() >= f.heartbeat:
				err = f.idle()
			case waited == 2: // at least the headers, if nothing else comes soon
				err = f.out.Flush()
			}
			if err != nil {
				return err
			}
			continue
		}
		if f.isNew && silent != nil { // its first owner has the thread as it was when the run was accepted
			owned = e.Epoch
		}
		if f.req.Confined && e.Epoch != owned { // the thread may have been given away, or deleted and created anew
			if err := f.patiently(func() error { return f.req.AdmitThread("thread", f.threadID, f.threadID) }); err != nil {
				return err
			}
			owned = e.Epoch
		}
		if err := f.send(&f.entry, f.frames); err != nil {
			return err
		}
		f.at, silent = e.Cursor, nil
	}
	return Revoked(f.ctx, nil)
}

// A stream that a client resumes looks repeatedly, at first, whether its run has lost its owner: the
// client may be back before the loss is noticed. After that it looks with every heartbeat.
const (
	resumeCheck = time.Second
	resumeTime  = 10 * time.Second
)

// idle sends what is buffered and, if the stream waits for a worker to take over from an owner that was
// lost or has stopped, a comment that says so; otherwise a heartbeat if one is due.
func (f *feed) idle() error {
	due := f.out.Idle() >= f.heartbeat
	queued, err := f.req.tenant.Store.Dispatches(f.ctx, mailbox.Query{ThreadID: f.threadID, RunID: f.runID, Statuses: []mailbox.Status{mailbox.Queued}, Limit: 1})
	switch {
	case fault.OutageOf(err) != nil && due:
		return f.out.Comment("waiting for the store")
	case fault.OutageOf(err) != nil:
		return f.out.Flush()
	case err != nil:
		return err
	}
	if len(queued) > 0 {
		if since, ok := queued[0].Between(); ok {
			return f.out.Comment("waiting for a worker; the previous owner of the run was lost at " + time.UnixMilli(since).UTC().Format(time.RFC3339))
		}
		if run, err := f.req.tenant.Store.LoadRun(f.ctx, queued[0].RunID); err == nil && run.Status == awaken.RunRunning {
			return f.out.Comment("waiting for a worker; the previous owner of the run has stopped")
		}
	}
	if due {
		return f.out.Comment("heartbeat")
	}
	return f.out.Flush()
}

// storePause is how long a stream waits before it asks a store again that cannot serve now.
const storePause = 250 * time.Millisecond

// patiently calls do until it does not fail because of an outage of the store, or the stream ends. A run
// goes on after an outage, so its streams do not end because of one.
func (f *feed) patiently(do func() error) error {
	for {
		err := do()
		if fault.OutageOf(err) == nil {
			return err
		}
		if f.out.Idle() >= f.heartbeat {
			if err := f.out.Comment("waiting for the store"); err != nil {
				return err
			}
		}
		select {
		case <-f.ctx.Done():
			return context.Cause(f.ctx)
		case <-time.After(storePause):
		}
	}
}

// stopTime is how long a stream may take to send what was stored before the server stopped.
const stopTime = 2 * time.Second

// last sends what was stored before the server stopped, if that is why copy returned err: streams end
// after the runs have, and a client should have all that they did. What cannot be read in that time, the
// client gets where it comes back to.
func (f *feed) last(err error) error {
	if f.serving.Err() == nil || f.req.r.Context().Err() != nil || err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	ctx, cancel := context.WithTimeout(f.req.r.Context(), stopTime)
	defer cancel()
	f.ctx = ctx
	if err = f.copy(eventlog.Follow{RunID: f.runID, Committed: true}, nil); passing(err) {
		return nil
	}
	return err
}

// passing reports that err says nothing about the run, which goes on: the store could not be read, or not in time. A
// stream that has begun then ends as one that is cut off, and its client comes back to it.
func passing(err error) bool {
	return fault.OutageOf(err) != nil || errors.Is(err, context.DeadlineExceeded)
}

// ended reports whether the run is over although no entry has arrived. A run cancelled while queued
// logs no events until its turn: ended sends a synthetic run_finish at a cursor. Otherwise it has
// sent what there is.
func (f *feed) ended(at awaken.Cursor) (over bool, err error) {
	run, err := f.req.tenant.Store.LoadRun(f.ctx, f.runID)
	if err != nil || run.Status != awaken.RunDone {
		return false, err
	}
	if run.StartedAt != 0 { // entries that came between reading the log and the record are stored by now
		return true, f.patiently(func() error { return f.copy(eventlog.Follow{RunID: f.runID, Committed: true}, nil) })
	}
	return true, f.send(&awaken.Entry{Cursor: at, RunID: f.runID, Time: run.UpdatedAt, Event: &awaken.RunFinish{ThreadID: f.threadID, RunID: f.runID, Identity: run.Info(),
		Result: &awaken.RunOutput{Status: run.Status, StatusReason: run.StatusReason}, Termination: run.Termination}}, f.unlogged)
}

// errOver is returned by a framing with its last frames.
var errOver = errors.New("the stream has ended")

// send sends one entry.
func (f *feed) send(e *awaken.Entry, frames Framing) error {
	buf, err := frames(f.out.Buffer(), e)
	if err != nil && !errors.Is(err, errOver) {
		return err
	}
	if lost := f.out.Take(buf); lost != nil {
		return lost
	}
	return err
}

// End sends the buffered frames and, unless the client caused it or the store could not be read, an error.
func (s *Streams) End(req *Request, out *sse.Writer, err error) error {
	if passing(err) {
		s.logger.Warn("stream cut off", "route", req.route.Path, "error", err)
		_ = out.Flush() // the client may be gone
		panic(http.ErrAbortHandler)
	}
	if err != nil && req.r.Context().Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.Canceled) {
		failure := FailureOf(err)
		s.logger.Warn("stream failed", "route", req.route.Path, "error", err)
		body, _ := json.Marshal(ErrorBody{Error: failure.Message, Code: failure.Code})
		if err := out.Frame("", "error", body); err != nil {
			return nil
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		s.metrics.cutOff.Inc()
		return nil
	}
	_ = out.End() // the client may be gone
	return nil
}
