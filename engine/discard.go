package engine

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken"
)

// discardStore is the store of a runtime that keeps nothing: every thread is new, and commits are
// discarded.
type discardStore struct{}

func (discardStore) Thread(context.Context, string) (*awaken.Thread, error) {
	return nil, awaken.ErrNotFound
}

func (discardStore) ListThreads(context.Context, awaken.ThreadQuery) ([]*awaken.Thread, error) {
	return nil, nil
}

func (discardStore) CountThreads(context.Context, awaken.ThreadQuery) (int, error) { return 0, nil }

func (discardStore) CountRuns(context.Context, awaken.RunQuery) (int, error) { return 0, nil }

func (discardStore) Messages(context.Context, string, awaken.MessageQuery) ([]awaken.MessageRecord, error) {
	return nil, awaken.ErrNotFound
}

func (discardStore) View(context.Context, string) (*awaken.View, error) {
	return nil, awaken.ErrNotFound
}

func (discardStore) ThreadState(context.Context, string) (map[string]json.RawMessage, error) {
	return nil, awaken.ErrNotFound
}

func (discardStore) LoadRun(context.Context, string) (*awaken.Run, error) {
	return nil, awaken.ErrNotFound
}

func (discardStore) ListRuns(context.Context, awaken.RunQuery) ([]*awaken.Run, error) {
	return nil, nil
}

func (discardStore) Calls(context.Context, string) ([]*awaken.CallState, error) {
	return nil, awaken.ErrNotFound
}

func (discardStore) Commit(context.Context, *awaken.Commit) error { return nil }

func (discardStore) Post(context.Context, string, ...awaken.InboxItem) error {
	return awaken.ErrNotFound
}

func (discardStore) Unread(context.Context, string) ([]awaken.InboxItem, error) { return nil, nil }

func (discardStore) Interrupt(context.Context, string) ([]*awaken.CallState, error) { return nil, nil }

func (discardStore) Acquire(_ context.Context, threadID string) (*awaken.Checkpoint, error) {
	return &awaken.Checkpoint{Fence: 1, Thread: awaken.Thread{ID: threadID}}, nil
}

var _ awaken.Store = discardStore{}

// discard is a Sink that discards everything.
var discard awaken.Sink = awaken.SinkFunc(func(context.Context, awaken.Entry) error { return nil })
