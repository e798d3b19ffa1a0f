package schedule

import (
	"fmt"
	"time"
)

// Decide decides the outcome of the nominal times up to now and updates the schedule's state. The caller stores the schedule with the
// returned log entries before it acts on them; if State.Pending is set, the caller then starts that run. Active reports whether a run has
// not ended.
func (s *Schedule) Decide(now time.Time, active func(runID string) (bool, error)) (log []Firing, err error) {
	if s.State.Pending != nil || s.Spec.Paused {
		return nil, nil
	}
	before := s.State
	defer func() {
		if err != nil {
			s.State, log = before, nil
		}
		s.rest()
	}()
	p := s.passed(now)
	if p.older.Count > 0 {
		log = append(log, s.record(now, p.older))
	}
	if s.State.Next = p.next; len(p.latest) == 0 {
		return log, nil
	}
	at := p.latest[0]
	late := now.Sub(at.Add(s.Delay(at)))
	if s.Spec.Missed == CatchNone && late > time.Duration(s.Spec.GraceSecs)*time.Second {
		return append(log, s.record(now, Firing{At: at, Outcome: Lapsed, Reason: lateness(late)})), nil
	}
	if len(p.latest) > 1 {
		s.State.Next = p.latest[1]
	}
	start := s.Start(at)
	if s.Spec.Overlap != AllowOverlap && s.State.LastRun != "" {
		busy, err := active(s.State.LastRun)
		switch {
		case err != nil:
			return nil, err
		case !busy:
		case s.Spec.Overlap == SkipOverlap:
			return append(log, s.record(now, Firing{At: at, Outcome: Skipped, RunID: s.State.LastRun, Reason: "the run before had not ended"})), nil
		case s.Spec.Overlap == WaitOverlap:
			start.Waiting = s.State.LastRun
		default:
			start.Cancel = s.State.LastRun
		}
	}
	s.State.Pending = start
	return log, nil
}

// passed holds the nominal times up to now.
type passed struct {
	older  Firing      // the missed times, if any
	latest []time.Time // the times that start a run, oldest first
	next   time.Time   // the first time after now
}

// counted is the age up to which missed times are counted one by one.
const counted = 60 * 24 * time.Hour

func (s *Schedule) passed(now time.Time) (p passed) {
	keep := 1
	if s.Spec.Missed == CatchAll {
		keep = maxCatchUp
	}
	t, more := s.State.Next, ""
	if from := now.Add(-counted); s.Spec.Cron != "" && !t.IsZero() && t.Before(from) {
		p.older.add(t)
		t, more = s.Spec.after(from), "; those between the first and "+from.UTC().Format(time.RFC3339)+" are not counted"
	}
	for ; !t.IsZero() && !t.Add(s.Delay(t)).After(now); t = s.Spec.after(t) {
		if p.latest = append(p.latest, t); len(p.latest) > keep {
			p.older.add(p.latest[0])
			p.latest = p.latest[1:]
		}
	}
	if p.next = t; p.older.Count > 0 {
		p.older.Outcome, p.older.Reason = Lapsed, lateness(now.Sub(p.older.At))+more
	}
	return p
}

// add adds a time to an entry about several.
func (f *Firing) add(at time.Time) {
	if f.Count++; f.Count == 1 {
		f.At = at
		return
	}
	f.Through = &at
}

func lateness(d time.Duration) string {
	return fmt.Sprintf("no process could start the run until %s later", d.Round(time.Second))
}

// Wait skips the times that pass while the pending start waits for a run. The caller stores the schedule with the returned log entries.
func (s *Schedule) Wait(now time.Time) (log []Firing) {
	skipped := Firing{Outcome: Skipped, RunID: s.State.Pending.Waiting, Reason: "another run of the schedule was already waiting"}
	for t := s.State.Next; !t.IsZero() && !t.Add(s.Delay(t)).After(now); t = s.Spec.after(t) {
		skipped.add(t)
		s.State.Next = s.Spec.after(t)
	}
	if skipped.Count > 0 {
		log = append(log, s.record(now, skipped))
	}
	return log
}

// Forgo records the times up to now, and a pending start, as lapsed for a reason and starts no run for them. The caller stores the schedule
// with the returned log entries.
func (s *Schedule) Forgo(now time.Time, reason string) (log []Firing) {
	if s.Spec.Paused {
		return nil
	}
	if s.State.Pending != nil {
		log = append(log, s.Finish(now, Lapsed, reason))
	}
	lapsed := Firing{Outcome: Lapsed, Reason: reason}
	for t := s.State.Next; !t.IsZero() && !t.Add(s.Delay(t)).After(now); t = s.State.Next {
		lapsed.add(t)
		s.State.Next = s.Spec.after(t)
	}
	if lapsed.Count > 0 {
		log = append(log, s.record(now, lapsed))
	}
	s.rest()
	return log
}

// Finish records the outcome of the pending start. The caller stores the schedule with the returned log entry.
func (s *Schedule) Finish(now time.Time, outcome Outcome, reason string) Firing {
	p := s.State.Pending
	f := Firing{At: p.At, Outcome: outcome, Manual: p.Manual, Reason: reason}
	if outcome == Started {
		f.RunID, f.ThreadID, s.State.LastRun = p.RunID, p.ThreadID, p.RunID
	}
	s.State.Pending = nil
	s.rest()
	return s.record(now, f)
}

// record numbers and counts a log entry.
func (s *Schedule) record(now time.Time, f Firing) Firing {
	s.State.Logged++
	f.Number, f.Recorded, f.Count = s.State.Logged, now, max(f.Count, 1)
	s.State.Last, s.State.LastAt = f.Outcome, f.At
	switch f.Outcome {
	case Started:
		s.State.Started += f.Count
	case Skipped:
		s.State.Skipped += f.Count
	case Lapsed:
		s.State.Missed += f.Count
	case Refused:
		s.State.Refused += f.Count
	}
	return f
}
