package awaken

import "context"

// Sink receives the events of one run, in order.
//
// Events that claim something durable (tool_call_done, step_end, run_finish) arrive after
// the commit. Deltas arrive before it; a stream_reset withdraws them if their step is lost.
// An entry with a zero cursor is in no log: the error of a run that could not start, and the
// run_finish of a run whose end could not be committed, which another owner may still
// continue.
type Sink interface {
	// Emit handles one entry. Calls do not overlap, but may come from another goroutine
	// than the caller of Run; none comes after Run has returned. An error cancels the run,
	// and Emit is not called again. A panic ends the run as failed.
	Emit(ctx context.Context, e Entry) error
}

// SinkFunc adapts a function to a Sink.
type SinkFunc func(ctx context.Context, e Entry) error

// Emit calls f.
func (f SinkFunc) Emit(ctx context.Context, e Entry) error { return f(ctx, e) }
