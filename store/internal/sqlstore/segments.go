package sqlstore

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/awaken-go/awaken/store/internal/messagelog"
)

// segments writes the segments of logs that were read, in the background, one after the other. A
// segment is only a copy: if it is not written, the log is read as it is.
type segments struct {
	db     DB
	logger *slog.Logger

	mu      sync.Mutex
	closed  bool
	writing bool
	damaged map[logKey]int // last message of a segment that is to be written anew
	done    sync.WaitGroup
	ctx     context.Context
	cancel  context.CancelFunc
}

func newSegments(db DB, logger *slog.Logger) segments {
	ctx, cancel := context.WithCancel(context.Background())
	return segments{db: db, logger: logger, damaged: map[logKey]int{}, ctx: ctx, cancel: cancel}
}

func (s *segments) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.done.Wait()
}

// note reports that a segment could not be read. It is written anew, unless a newer program wrote it.
func (s *segments) note(key logKey, tail *Tail) {
	s.logger.Warn("a segment of a thread's log cannot be read; the log is read without it", "tenant", key.tenant, "thread", key.thread, "upto", tail.damaged, "newer", tail.newer)
	if tail.newer {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged[key] = tail.damaged
}

// save begins to write the segments that the database lacks, unless others are being written: then
// the next reader does.
func (s *segments) save(l *Log) {
	l.mu.Lock()
	due := len(l.created)/messagelog.SegmentLength > l.stored
	l.mu.Unlock()
	if !due || s.db == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.writing {
		return
	}
	s.writing = true
	damaged := s.damaged[l.key]
	delete(s.damaged, l.key)
	s.done.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
		defer cancel()
		if err := s.write(ctx, l, damaged); err != nil && s.ctx.Err() == nil {
			s.logger.Debug("a segment of a thread's log was not written", "tenant", l.key.tenant, "thread", l.key.thread, "error", err)
		}
		s.mu.Lock()
		s.writing = false
		s.mu.Unlock()
	})
}

// Statements that write segments. The thread must still exist, and not be another of the same id.
const (
	dropSegment = `DELETE FROM {p}_segments WHERE tenant = ? AND thread = ? AND incarnation = ? AND upto = ?`
	addSegment  = `INSERT INTO {p}_segments (tenant, thread, incarnation, upto, data)
		SELECT tenant, id, incarnation, ?4, ?5 FROM {p}_threads WHERE tenant = ?1 AND id = ?2 AND incarnation = ?3{keep} ON CONFLICT DO NOTHING`
)

// write writes the segments of a log that are complete. First it removes a damaged one.
func (s *segments) write(ctx context.Context, l *Log, damaged int) error {
	scope := NewScope(s.db, l.key.tenant)
	thread := scope.id(l.key.thread)
	if damaged > 0 {
		if _, err := s.db.Exec(ctx, dropSegment, l.key.tenant, thread, l.incarnation, damaged); err != nil {
			return err
		}
	}
	for {
		l.mu.Lock()
		from, to := l.stored*messagelog.SegmentLength, (l.stored+1)*messagelog.SegmentLength
		log, created := l.view.Log(), l.created
		l.mu.Unlock()
		if to > len(log) {
			return nil
		}
		data, err := messagelog.Segment(log[from:to], created[from:to])
		if err == nil {
			_, err = s.db.Exec(ctx, addSegment, l.key.tenant, thread, l.incarnation, to, data)
		}
		if err != nil {
			return err
		}
		l.mu.Lock()
		l.stored = max(l.stored, to/messagelog.SegmentLength)
		l.mu.Unlock()
	}
}
