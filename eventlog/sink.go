package eventlog

import (
	"context"

	"github.com/awaken-go/awaken"
)

// Sink is where one run sends its events.
type Sink struct {
	log    *Log
	next   awaken.Sink
	thread string
}

// Sink returns a sink for one run: readers see its events as they happen. Next gets
// every event too, if it is not nil. The sink never blocks on readers. If the run ends
// without a run_finish, because another owner took its thread, Close says so.
func (l *Log) Sink(next awaken.Sink) *Sink { return &Sink{log: l, next: next} }

// Emit takes in an event. The first of an activation is its run_start, which names
// the thread.
func (s *Sink) Emit(ctx context.Context, e awaken.Entry) error {
	if start, ok := e.Event.(*awaken.RunStart); ok {
		if s.thread == "" {
			s.log.open(start.ThreadID)
		}
		s.thread = start.ThreadID
	}
	if s.thread != "" && e.Cursor == (awaken.Cursor{}) {
		s.Close() // its end is not stored, and somebody else may yet go on
	}
	if s.thread != "" {
		s.log.append(s.thread, e)
		if _, over := e.Event.(*awaken.RunFinish); over {
			s.log.done(s.thread, true)
			s.thread = ""
		}
	}
	if s.next == nil {
		return nil
	}
	err := s.next.Emit(ctx, e)
	if err != nil { // nothing more will come
		s.Close()
	}
	return err
}

// Close takes back what the run has not committed, if it has not finished. Readers
// find what there is in the store.
func (s *Sink) Close() {
	if s.thread != "" {
		s.log.done(s.thread, false)
		s.thread = ""
	}
}
