package protocol

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// NumberParam reads a query parameter that is a number. One outside of low and high is brought
// inside, and one that is missing is def.
func NumberParam(c Call, name string, def, low, high int) (int, error) {
	text := c.Request().URL.Query().Get(name)
	if text == "" {
		return def, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, BadRequest("%s is %.80q, want a number", name, text)
	}
	return max(low, min(n, high)), nil
}

// ResumeAfter reads what the client says it has of a log that ends at a cursor: the parameter
// cursor, or else the header Last-Event-ID. The zero Position is nothing.
func ResumeAfter(c Call, end awaken.Cursor) (Position, error) {
	text := c.Request().URL.Query().Get("cursor")
	if text == "" {
		text = c.Request().Header.Get("Last-Event-ID")
	}
	if text == "" {
		return Position{}, nil
	}
	at, err := ParsePosition(text)
	if err != nil {
		return at, BadRequest("invalid cursor: %.80q", text)
	}
	if at.Epoch > end.Epoch {
		return at, &Failure{Status: http.StatusGone, Code: "cursor_expired", Message: fmt.Sprintf("cursor %s is not of this log, which ends at %s", at, end)}
	}
	return at, nil
}

// PathThread returns the thread that the path names.
func PathThread(c Call) (*awaken.Thread, error) {
	id := c.Request().PathValue("thread_id")
	th, err := c.Tenant().Store.Thread(c.Context(), id)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, NotFound("thread", id)
	}
	return th, err
}

// OpenRun returns a thread and its run that runs or waits. Each is nil if there is none.
func OpenRun(ctx context.Context, t *mailbox.Tenant, threadID string) (*awaken.Thread, *awaken.Run, error) {
	if threadID == "" {
		return nil, nil, nil
	}
	th, err := t.Store.Thread(ctx, threadID)
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil || th.OpenRunID == "" {
		return th, nil, err
	}
	run, err := t.Store.LoadRun(ctx, th.OpenRunID)
	return th, run, err
}

// StopFailure is the error of an attempt to stop what a thread does: a [*Failure] if there was
// nothing to stop.
func StopFailure(threadID string, err error) error {
	switch {
	case errors.Is(err, mailbox.ErrNothing):
		return &Failure{Status: http.StatusNotFound, Code: "not_found", Message: "thread " + threadID + ": nothing runs, waits or is queued"}
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
