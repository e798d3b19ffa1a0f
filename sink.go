package awaken

import "context"

// Sink receives the events of one run, in order, never two at a time. An error
// from Emit cancels the run, and Emit is not called again. It may be called in another
// goroutine than Run, but not after Run has returned.
//
// Events that claim something durable (tool_call_done, step_end, run_finish)
// arrive after it has been committed. Deltas arrive before, and are taken back by
// a stream_reset if their step is lost. An entry without a cursor is in no log: the
// error of a run that could not start, and the run_finish of one whose end could not be
// committed, which another owner may yet go on with.
type Sink interface {
	Emit(ctx context.Context, e Entry) error
}

// SinkFunc is a Sink made of one function.
type SinkFunc func(ctx context.Context, e Entry) error

// Emit calls f.
func (f SinkFunc) Emit(ctx context.Context, e Entry) error { return f(ctx, e) }
