package protocol

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// Stream is the answer to a request that wants to see a run.
type Stream struct {
	ThreadID string
	// RunID selects the entries of one run. "" is the whole thread, in which the encoder
	// sees all runs.
	RunID string
	// After is what the client has already. If that was lost with the owner of the run, it
	// gets the run from its beginning.
	After Position
	// Through is how far the log is known to go on: a run that waits before it does not
	// end the stream, nor does the end of a run before it, if the stream is a thread's.
	Through awaken.Cursor
	// Limit, if it is set, makes the stream a page: it ends after about that many frames,
	// or when everything that is stored was sent, and Encoder.End is not asked for.
	Limit int
	// Entries, if it is not nil, is all there is to encode, instead of a log: the stream is
	// that, and over at once. Its frames have no ids.
	Entries []awaken.Entry
	// Encoder makes an encoder that has seen nothing.
	Encoder func() Encoder
}

// Lost reports whether what a client has was lost with the owner of a run: somebody else
// wrote something in its place.
func Lost(ctx context.Context, t *mailbox.Tenant, threadID string, has Position) (bool, error) {
	if has.Seq == 0 {
		return false, nil
	}
	later, err := t.Store.Entries(ctx, threadID, awaken.EntryQuery{Epoch: has.Epoch, Limit: 1})
	return len(later) > 0 && later[0].Seq <= has.Seq, err
}

// Going returns the run that a thread is at, with where the thread's log ends now, or nil
// if nothing goes on: nothing was asked for yet, all is over, or the run waits for people.
// A run that is only queued counts.
func Going(ctx context.Context, t *mailbox.Tenant, threadID string) (*awaken.Run, awaken.Cursor, error) {
	th, err := t.Store.Thread(ctx, threadID)
	if err != nil {
		return nil, awaken.Cursor{}, err
	}
	if th.OpenRunID != "" {
		run, err := t.Store.LoadRun(ctx, th.OpenRunID)
		if err != nil {
			return nil, th.End, err
		}
		if run.Status == awaken.RunRunning {
			return run, th.End, nil
		}
		// Somebody may have decided, and the run be about to go on.
		items, err := t.Store.Unread(ctx, threadID)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) || len(items) == 0 && run.Status == awaken.RunWaiting {
			return nil, th.End, err
		}
		return run, th.End, nil
	}
	ds, err := t.Store.Dispatches(ctx, mailbox.Query{ThreadID: threadID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}, Limit: 1})
	if err != nil || len(ds) == 0 {
		return nil, th.End, err
	}
	run, err := t.Store.LoadRun(ctx, ds[0].RunID)
	if err != nil || run.Status == awaken.RunDone || run.Status == awaken.RunWaiting {
		return nil, th.End, err
	}
	return run, th.End, nil
}
