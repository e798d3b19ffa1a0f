package awaken

import "context"

// nothing is the store of a runtime that keeps nothing: every thread is new, and
// what is committed is forgotten.
type nothing struct{}

func (nothing) Thread(context.Context, string) (*Thread, error) { return nil, ErrNotFound }

func (nothing) ListThreads(context.Context, ThreadQuery) ([]*Thread, error) {
	return nil, nil
}

func (nothing) CountThreads(context.Context, ThreadQuery) (int, error) { return 0, nil }

func (nothing) CountRuns(context.Context, RunQuery) (int, error) { return 0, nil }

func (nothing) Messages(context.Context, string, MessageQuery) ([]MessageRecord, error) {
	return nil, ErrNotFound
}

func (nothing) LoadRun(context.Context, string) (*Run, error) { return nil, ErrNotFound }

func (nothing) ListRuns(context.Context, RunQuery) ([]*Run, error) { return nil, nil }

func (nothing) Calls(context.Context, string) ([]*CallState, error) { return nil, ErrNotFound }

func (nothing) Commit(context.Context, *Commit) error { return nil }

func (nothing) Post(context.Context, string, ...InboxItem) error { return ErrNotFound }

func (nothing) Unread(context.Context, string) ([]InboxItem, error) { return nil, nil }

func (nothing) Interrupt(context.Context, string) ([]*CallState, error) { return nil, nil }

func (nothing) Acquire(_ context.Context, threadID string) (*Checkpoint, error) {
	return &Checkpoint{Fence: 1, Thread: Thread{ID: threadID}}, nil
}

var _ Store = nothing{}
