package engine

import (
	"context"

	"github.com/awaken-go/awaken"
)

// nothing is the store of a runtime that keeps nothing: every thread is new, and
// what is committed is forgotten.
type nothing struct{}

func (nothing) Thread(context.Context, string) (*awaken.Thread, error) {
	return nil, awaken.ErrNotFound
}

func (nothing) ListThreads(context.Context, awaken.ThreadQuery) ([]*awaken.Thread, error) {
	return nil, nil
}

func (nothing) CountThreads(context.Context, awaken.ThreadQuery) (int, error) { return 0, nil }

func (nothing) CountRuns(context.Context, awaken.RunQuery) (int, error) { return 0, nil }

func (nothing) Messages(context.Context, string, awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	return nil, awaken.ErrNotFound
}

func (nothing) LoadRun(context.Context, string) (*awaken.Run, error) { return nil, awaken.ErrNotFound }

func (nothing) ListRuns(context.Context, awaken.RunQuery) ([]*awaken.Run, error) { return nil, nil }

func (nothing) Calls(context.Context, string) ([]*awaken.CallState, error) {
	return nil, awaken.ErrNotFound
}

func (nothing) Commit(context.Context, *awaken.Commit) error { return nil }

func (nothing) Post(context.Context, string, ...awaken.InboxItem) error { return awaken.ErrNotFound }

func (nothing) Unread(context.Context, string) ([]awaken.InboxItem, error) { return nil, nil }

func (nothing) Interrupt(context.Context, string) ([]*awaken.CallState, error) { return nil, nil }

func (nothing) Acquire(_ context.Context, threadID string) (*awaken.Checkpoint, error) {
	return &awaken.Checkpoint{Fence: 1, Thread: awaken.Thread{ID: threadID}}, nil
}

var _ awaken.Store = nothing{}

// discard is a Sink that ignores everything.
var discard awaken.Sink = awaken.SinkFunc(func(context.Context, awaken.Entry) error { return nil })
