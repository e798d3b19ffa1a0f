package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// NumberParam returns an integer parameter of a route, clamped to low and high. A missing
// parameter is def; the server refuses one that is not a number.
func NumberParam(query url.Values, name string, def, low, high int) int {
	n, err := strconv.Atoi(strings.TrimSpace(query.Get(name)))
	if err != nil {
		return def
	}
	return max(low, min(n, high))
}

// ResumeAfter returns the position that the client has reached, from the query parameter
// cursor or else the header Last-Event-ID. The zero Position means that the client has
// nothing. End is the end of the log: a cursor of a later epoch fails with status 410.
func ResumeAfter(c Call, end awaken.Cursor) (Position, error) {
	text := cmp.Or(c.Request().URL.Query().Get("cursor"), c.Request().Header.Get("Last-Event-ID"))
	if text == "" {
		return Position{}, nil
	}
	at, err := ParsePosition(text)
	if err != nil {
		return at, BadRequest("cursor is %.80q, want epoch-seq or epoch-seq.frame, such as 1-42.0", text)
	}
	if at.Epoch > end.Epoch {
		return at, &Failure{Status: http.StatusGone, Code: "cursor_expired", Message: fmt.Sprintf("cursor %s is not of this log, which ends at %s", at, end)}
	}
	return at, nil
}

// PathThread returns the thread named by {thread_id} in the path. It fails with status 404 if
// there is none.
func PathThread(c Call) (*awaken.Thread, error) {
	id := c.Request().PathValue("thread_id")
	th, err := c.Tenant().Store.Thread(c.Context(), id)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, NotFound("thread", id)
	}
	return th, err
}

// OpenRun returns a thread and its running or waiting run. Each is nil if it does not exist.
func OpenRun(ctx context.Context, t *mailbox.Tenant, threadID string) (*awaken.Thread, *awaken.Run, error) {
	r, err := t.Store.Recent(ctx, threadID, 0)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return r.Thread, r.Open(), nil
}

// Received is the server's knowledge of a thread when a client sends the messages of its conversation, all of them or the
// last.
type Received struct {
	*mailbox.Recent     // nil if the thread does not exist
	Unseen          int // index of the first message that is not in the thread's log
}

// Receive compares the messages that a client sends, by their ids, with a thread. What comes before a
// stored message was stored with it. Receive reads the log from its end, and no further than it must.
func Receive(c Call, threadID string, ids []string) (r Received, err error) {
	place, messages := places(ids), 0
	if len(place) > 0 {
		messages = unseenPage
	}
	if r.Recent, err = c.Recent(threadID, messages); err != nil || r.Recent == nil {
		return r, err
	}
	r.Unseen, err = unseen(c.Context(), c.Tenant(), r.Recent, place, len(ids) == 1)
	return r, err
}

// StopFailure converts the error of a cancel or interrupt: it is a [*Failure] with status 404
// if the thread had nothing to stop.
func StopFailure(threadID string, err error) error {
	switch {
	case errors.Is(err, mailbox.ErrIdle):
		return &Failure{Status: http.StatusNotFound, Code: "not_found", Message: "thread " + threadID + " has no running, waiting or queued run"}
	case errors.Is(err, awaken.ErrNotFound):
		return NotFound("thread", threadID)
	}
	return err
}

// RunOf returns the id of the run that produced a message, or "".
func RunOf(m *llm.Message) string {
	if m.Metadata == nil {
		return ""
	}
	return m.Metadata.RunID
}
