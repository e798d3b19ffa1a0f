package eventlog

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Sink receives the events of one run.
type Sink struct {
	log  *Log
	next awaken.Sink
	live *live // nil before the first event and after the last
}

// Sink returns a sink for one run. Readers see its events as they happen; next, if not nil, gets
// them too. The sink never blocks on readers. A run that loses its thread ends without a
// run_finish: the caller must then call Close.
func (l *Log) Sink(next awaken.Sink) *Sink { return &Sink{log: l, next: next} }

// Emit receives an event. The first of an activation is run_start, which names the thread.
func (s *Sink) Emit(ctx context.Context, e awaken.Entry) error {
	if start, ok := e.Event.(*awaken.RunStart); ok {
		if s.live != nil && s.live.thread != start.ThreadID {
			s.Close()
		}
		if s.live == nil {
			s.live = s.log.acquire(start.ThreadID)
			s.live.open()
		}
	}
	if s.live != nil && e.Cursor == (awaken.Cursor{}) {
		s.Close() // the end is not stored, and another owner may continue the run
	}
	if s.live != nil {
		s.live.append(e)
		if _, over := e.Event.(*awaken.RunFinish); over {
			s.end(true)
		}
	}
	if s.next == nil {
		return nil
	}
	err := s.next.Emit(ctx, e)
	if err != nil { // nothing more will be emitted
		s.Close()
	}
	return err
}

// Close drops the uncommitted events of the run, if it has not finished. Readers continue with
// what is in the store.
func (s *Sink) Close() {
	if s.live != nil {
		s.end(false)
	}
}

// end ends the activation.
func (s *Sink) end(finished bool) {
	s.live.done(finished)
	s.log.release(s.live)
	s.live = nil
}
