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
	"github.com/awaken-go/awaken/internal/sse"
)

// framing appends an entry to a stream, as a frame or several.
type framing func(buf []byte, e *awaken.Entry) ([]byte, error)

// rawFrames sends events as they are, each under its cursor.
func rawFrames(buf []byte, e *awaken.Entry) ([]byte, error) {
	buf = append(buf, "id: "...)
	buf = strconv.AppendUint(buf, e.Epoch, 10)
	buf = append(buf, '-')
	buf = strconv.AppendUint(buf, e.Seq, 10)
	buf, err := awaken.AppendEvent(append(buf, "\ndata: "...), e.Event)
	if err != nil {
		return nil, err
	}
	return append(buf, '\n', '\n'), nil
}

// streams answers requests with events.
type streams struct {
	serving   context.Context // until streams have to end
	write     time.Duration   // for a client to take what is flushed
	maxFrames int             // collected for a client before it has to take them
	heartbeat time.Duration   // of a stream on which nothing happens
	auth      *auth
	metrics   *httpMetrics
	logger    *slog.Logger
}

// whileServing is the request's context until the server stops. A stream has no limit of
// time, so the deadline for reading the request is lifted, and its body, which may be large, is
// let go.
func (s *streams) whileServing(req *request) (context.Context, context.CancelFunc) {
	req.body = nil
	_ = http.NewResponseController(req.w).SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(req.r.Context())
	stop := context.AfterFunc(s.serving, cancel)
	return ctx, func() { stop(); cancel() }
}

// start begins the response.
func (s *streams) start(req *request) *sse.Writer { return sse.Start(req.w, s.write, s.maxFrames) }

// headersOnly answers HEAD: what a stream would begin with.
func (s *streams) headersOnly(req *request) bool {
	if req.r.Method == http.MethodHead {
		s.start(req)
	}
	return req.r.Method == http.MethodHead
}

// follow streams the events of a thread from a cursor on: those of a run to its end, or all until
// the client disconnects or the server stops.
func (s *streams) follow(req *request, threadID, runID string, after awaken.Cursor, frames framing) error {
	if s.headersOnly(req) {
		return nil
	}
	ctx, cancel := s.whileServing(req)
	defer cancel()
	f := &feed{streams: s, req: req, ctx: ctx, threadID: threadID, runID: runID, at: after, frames: frames}
	defer f.open()()
	if runID != "" {
		// The run may be over, or end before it starts and have no events. Its record is
		// looked at until the first event comes.
		return f.end(f.copy(eventlog.Follow{RunID: runID, First: 500 * time.Millisecond, Pause: s.heartbeat}, func() (over bool, err error) {
			return f.ended(f.at)
		}))
	}
	err := f.out.Flush() // something may come much later
	if err == nil {
		err = f.copy(eventlog.Follow{Pause: s.heartbeat}, nil)
	}
	return f.end(err)
}

// feed is one stream that is being sent.
type feed struct {
	*streams
	req      *request
	ctx      context.Context
	out      *sse.Writer
	threadID string
	runID    string        // "" is the whole thread
	at       awaken.Cursor // of the last entry that was sent
	frames   framing
}

// open begins the response, and counts the stream until it is closed.
func (f *feed) open() (close func()) {
	f.metrics.streams.Inc()
	f.out = f.start(f.req)
	return f.metrics.streams.Dec
}

// copy sends entries until the run ends or the client leaves. Before the first entry,
// silent is asked whenever there is nothing, if it is set: whether that is all.
func (f *feed) copy(follow eventlog.Follow, silent func() (over bool, err error)) error {
	waited := 0
	for e, err := range f.req.tenant.Log.Tail(f.ctx, f.threadID, f.at, follow) {
		if err != nil {
			return err
		}
		if e.Event == nil {
			if silent != nil {
				if over, err := silent(); over || err != nil {
					return err
				}
			}
			switch waited++; {
			case f.out.Pending(), waited == 2: // the headers, if nothing else comes soon
				err = f.out.Flush()
			case f.out.Idle() >= f.heartbeat:
				if _, err := f.auth.authenticate(f.req.r, f.req.route.Access); err != nil {
					return err // its key was revoked
				}
				err = f.out.Heartbeat()
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := f.send(&e); err != nil {
			return err
		}
		f.at, silent = e.Cursor, nil
	}
	return nil
}

// ended looks, before there is an entry, whether the run is over. One that was cancelled
// while it was queued has no entries, and gets a run_finish here, at a cursor. If the run is
// over, what there is has been sent.
func (f *feed) ended(at awaken.Cursor) (over bool, err error) {
	run, err := f.req.tenant.Store.LoadRun(f.ctx, f.runID)
	if err != nil || run.Status != awaken.RunDone {
		return false, err
	}
	if run.StartedAt != 0 { // what came between reading the log and the record is there now
		return true, f.copy(eventlog.Follow{RunID: f.runID, Committed: true}, nil)
	}
	return true, f.send(&awaken.Entry{Cursor: at, RunID: f.runID, Time: run.UpdatedAt * 1000, Event: &awaken.RunFinish{ThreadID: f.threadID, RunID: f.runID, Identity: run.Info(),
		Result: &awaken.RunOutput{Status: run.Status, StatusReason: run.StatusReason}, Termination: run.Termination}})
}

// errOver is what a framing returns with frames that are the last.
var errOver = errors.New("the stream is over")

// send sends one entry.
func (f *feed) send(e *awaken.Entry) error {
	buf, err := f.frames(f.out.Buffer(), e)
	if err != nil && !errors.Is(err, errOver) {
		return err
	}
	if lost := f.out.Take(buf); lost != nil {
		return lost
	}
	return err
}

// end sends what is left. An error that is the client's own needs no words.
func (f *feed) end(err error) error {
	if err != nil && f.req.r.Context().Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.Canceled) {
		told := failureOf(err)
		f.logger.Warn("stream ended by an error", "route", f.req.route.Path, "error", err)
		body, _ := json.Marshal(errorBody{told.Message, told.Code})
		if err := f.out.Frame("", "error", body); err != nil {
			return nil
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		f.metrics.cutOff.Inc()
		return nil
	}
	_ = f.out.Flush() // the client may be gone
	return nil
}
