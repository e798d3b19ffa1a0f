package server

import (
	"context"
	"encoding/json"
	"errors"
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

// whileServing is the request's context until the server stops. A stream has no limit of
// time, so the deadline for reading the request is lifted.
func (c *call) whileServing() (context.Context, context.CancelFunc) {
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(c.r.Context())
	stop := context.AfterFunc(c.srv.serving, cancel)
	return ctx, func() { stop(); cancel() }
}

// headersOnly answers HEAD: what a stream would begin with.
func (c *call) headersOnly() bool {
	if c.r.Method == http.MethodHead {
		sse.Start(c.w, c.srv.cfg.Limits.StreamWrite)
	}
	return c.r.Method == http.MethodHead
}

// streamRun streams the events of a run, from a cursor to its end.
func (c *call) streamRun(threadID, runID string, after awaken.Cursor, frames framing) error {
	if c.headersOnly() {
		return nil
	}
	c.body = nil // it may be large, and the stream long
	ctx, cancel := c.whileServing()
	defer cancel()
	c.srv.cfg.Metrics.streams.Inc()
	defer c.srv.cfg.Metrics.streams.Dec()
	out := sse.Start(c.w, c.srv.cfg.Limits.StreamWrite)
	// The run may be over, or end before it starts and have no events. Its record is
	// looked at until the first event comes.
	err := c.copyEvents(ctx, out, threadID, &after, eventlog.Follow{RunID: runID, First: 500 * time.Millisecond, Pause: c.srv.cfg.Limits.Heartbeat}, frames, func() (over bool, err error) {
		return c.ended(ctx, out, threadID, runID, &after, after, frames)
	})
	return c.endStream(out, err)
}

// ended looks, before there is an entry, whether the run is over: it may have ended before
// it started, and then has none: it gets one, at a cursor. If it is over, what there is has
// been sent.
func (c *call) ended(ctx context.Context, out *sse.Writer, threadID, runID string, after *awaken.Cursor, at awaken.Cursor, frames framing) (over bool, err error) {
	run, err := c.tenant.Store.LoadRun(ctx, runID)
	if err != nil || run.Status != awaken.RunDone {
		return false, err
	}
	if run.StartedAt != 0 { // what came between reading the log and the record is there now
		return true, c.copyEvents(ctx, out, threadID, after, eventlog.Follow{RunID: runID, Committed: true}, frames, nil)
	}
	fin := &awaken.Entry{Cursor: at, RunID: runID, Time: run.UpdatedAt * 1000, Event: &awaken.RunFinish{ThreadID: threadID, RunID: runID, Identity: run.Info(),
		Result: &awaken.RunOutput{Status: run.Status, StatusReason: run.StatusReason}, Termination: run.Termination}}
	return true, c.copyEntry(out, fin, frames)
}

// streamThread streams the events of a thread from a cursor on, until somebody has enough.
func (c *call) streamThread(threadID string, after awaken.Cursor, frames framing) error {
	if c.headersOnly() {
		return nil
	}
	ctx, cancel := c.whileServing()
	defer cancel()
	c.srv.cfg.Metrics.streams.Inc()
	defer c.srv.cfg.Metrics.streams.Dec()
	out := sse.Start(c.w, c.srv.cfg.Limits.StreamWrite)
	err := out.Flush() // something may come much later
	if err == nil {
		err = c.copyEvents(ctx, out, threadID, &after, eventlog.Follow{Pause: c.srv.cfg.Limits.Heartbeat}, frames, nil)
	}
	return c.endStream(out, err)
}

// copyEvents sends entries until the run ends or the client leaves. Before the first
// entry, silent is asked whenever there is nothing, if it is set: whether that is all.
func (c *call) copyEvents(ctx context.Context, out *sse.Writer, threadID string, after *awaken.Cursor, f eventlog.Follow, frames framing, silent func() (over bool, err error)) error {
	waited := 0
	for e, err := range c.tenant.Log.Tail(ctx, threadID, *after, f) {
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
			case out.Pending(), waited == 2: // the headers, if nothing else comes soon
				err = out.Flush()
			case out.Idle() >= c.srv.cfg.Limits.Heartbeat:
				if _, err := c.srv.auth.authenticate(c.r, c.route.Access); err != nil {
					return err // its key was revoked
				}
				err = out.Heartbeat()
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := c.copyEntry(out, &e, frames); err != nil {
			return err
		}
		*after, silent = e.Cursor, nil
	}
	return nil
}

// errOver is what a framing returns with frames that are the last.
var errOver = errors.New("the stream is over")

func (c *call) copyEntry(out *sse.Writer, e *awaken.Entry, frames framing) error {
	buf, err := frames(out.Buffer(), e)
	if err != nil && !errors.Is(err, errOver) {
		return err
	}
	if err := out.Take(buf); err != nil {
		return err
	}
	return err
}

// endStream sends what is left. An error that is the client's own needs no words.
func (c *call) endStream(out *sse.Writer, err error) error {
	if err != nil && c.r.Context().Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, context.Canceled) {
		f := failureOf(err)
		c.srv.cfg.Logger.Warn("stream ended by an error", "route", c.route.Path, "error", err)
		body, _ := json.Marshal(errorBody{f.Message, f.Code})
		if err := out.Frame("", "error", body); err != nil {
			return nil
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.srv.cfg.Metrics.cutOff.Inc()
		return nil
	}
	_ = out.Flush() // the client may be gone
	return nil
}
