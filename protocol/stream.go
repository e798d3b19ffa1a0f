package protocol

import (
	"context"
	"errors"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/fault"
	"github.com/awaken-go/awaken/mailbox"
)

// Stream describes the response to a client that follows a run or a thread.
type Stream struct {
	ThreadID string
	// RunID selects the entries of one run. "" selects the whole thread: the encoder sees all
	// its runs.
	RunID string
	// After is the position of the last frame that the client has. If that entry was lost with
	// the owner of the run, the client gets the run from the start; but see Keeps.
	After Position
	// Through is how far the log is known to reach. A run_finish before it does not end the
	// stream if the run only waits, or if the stream is a thread's.
	Through awaken.Cursor
	// Resumed is set if the client comes back to a run. If the run has lost its owner and has no
	// other yet, the stream says so at once in a comment.
	Resumed bool
	// New says that the run is new, and that After is where the stored log ended when it was
	// accepted; see [mailbox.Receipt].
	New bool
	// Limit, if set, makes the stream a page: it ends after about that many frames, or when
	// everything stored was sent, without Encoder.End.
	Limit int
	// Entries, if not nil, is encoded instead of a log. The stream ends after it, and its frames
	// have no ids.
	Entries []awaken.Entry
	// Opening, if not nil, adds frames that precede those of the first entry. They have no ids.
	Opening func(f *Frames)
	// Lost, if not nil, is called if the entries after which the client resumes were lost, before it
	// gets the run from the start. It may add frames, which have no ids and precede the first entry, and
	// make Encoder return encoders for a client that starts over.
	Lost func(f *Frames) error
	// Keeps says that clients keep frames of entries that were lost, because later frames only add to them. A
	// client whose position was lost then gets what the next owner did, instead of the run from the start.
	Keeps bool
	// Continues, if not nil, reports that a run that only waits will continue without its client.
	// The stream does not end there.
	Continues func(fin *awaken.RunFinish) bool
	// Encoder returns a new encoder.
	Encoder func() Encoder
	// Format names the encoder and everything but the entries that its frames depend on. Streams of
	// a run with the same format share one encoder, whichever of them made it, and send the same
	// frames. "" shares none.
	Format string
}

// storePause is the pause before a store is asked again that cannot serve now.
const storePause = 250 * time.Millisecond

// Patiently calls read until it does not fail because of an outage of the store, or ctx is done: a run
// goes on after an outage, so what follows it waits.
func Patiently[T any](ctx context.Context, read func() (T, error)) (v T, err error) {
	for {
		if v, err = read(); fault.OutageOf(err) == nil {
			return v, err
		}
		select {
		case <-ctx.Done():
			return v, err
		case <-time.After(storePause):
		}
	}
}

// PositionLost reports whether the entries that a client has were lost with the owner of a run: a later owner
// has written others in their place.
func PositionLost(ctx context.Context, t *mailbox.Tenant, threadID string, has Position) (bool, error) {
	if has.Seq == 0 {
		return false, nil
	}
	later, err := t.Store.Entries(ctx, threadID, awaken.EntryQuery{Epoch: has.Epoch, Limit: 1})
	return len(later) > 0 && later[0].Seq <= has.Seq, err
}

// LastActivation returns the position in the log before a run was last started or resumed.
func LastActivation(ctx context.Context, t *mailbox.Tenant, threadID, runID string) (at awaken.Cursor, err error) {
	entries, err := t.Store.Entries(ctx, threadID, awaken.EntryQuery{RunID: runID})
	var before awaken.Cursor
	for i := range entries {
		e := &entries[i]
		if _, ok := e.Event.(*awaken.RunStart); ok {
			at = before
		}
		before = awaken.Cursor{Epoch: e.Epoch, Seq: e.Last()}
	}
	return at, err
}

// ActiveRun returns the active run of a thread, and the end of the thread's log, or nil if no run is
// active: none was submitted, all are done, or the run waits for a decision. A queued run counts as
// active.
func ActiveRun(ctx context.Context, t *mailbox.Tenant, threadID string) (*awaken.Run, awaken.Cursor, error) {
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
		// A decision may have arrived, so that the run is about to continue.
		items, err := t.Store.Unread(ctx, threadID)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) || len(items) == 0 && run.Status == awaken.RunWaiting {
			return nil, th.End, err
		}
		return run, th.End, nil
	}
	ds, err := t.Store.Dispatches(ctx, mailbox.Query{ThreadID: threadID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
	if err != nil {
		return nil, th.End, err
	}
	for _, d := range ds {
		run, err := t.Store.LoadRun(ctx, d.RunID)
		if err != nil || run.Status != awaken.RunDone && run.Status != awaken.RunWaiting {
			return run, th.End, err
		}
	}
	return nil, th.End, nil
}
