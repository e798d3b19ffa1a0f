package schedule

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/awaken-go/awaken/internal/ids"
)

// Schedule starts runs at given times. ID is unique among the schedules of its tenant.
type Schedule struct {
	Tenant   string
	ID       string
	Revision int64 // increases with every change, from 1; 0 if the schedule is not stored
	// Due is when a process must next look at the schedule, in whole milliseconds. The zero time means never: the schedule is paused or has
	// ended.
	Due   time.Time
	Spec  Spec
	State State
}

// Spec is the part of a schedule that its owner sets.
type Spec struct {
	Description string `json:"description,omitempty"`
	// Cron is the expression for the start times, see [Cron]; At is the only start time. Exactly one of them is set.
	Cron string     `json:"cron,omitempty"`
	At   *time.Time `json:"at,omitempty"`
	// TimeZone is the zone of Cron, by its IANA name; default UTC.
	TimeZone string `json:"time_zone,omitempty"`
	// EndsAt ends the schedule: no run starts for a later time.
	EndsAt *time.Time `json:"ends_at,omitempty"`
	// JitterSecs delays each start by up to this many seconds, so that not all hourly schedules start at the same moment. The delay of a
	// given time never changes.
	JitterSecs int `json:"jitter_secs,omitempty"`
	// Overlap is the policy for a time at which the previous run has not ended; default skip.
	Overlap Overlap `json:"overlap,omitempty"`
	// Missed is the policy for times at which no process could start a run; default latest.
	Missed Missed `json:"missed,omitempty"`
	// GraceSecs is how late a run may start and still count as on time; default 300.
	GraceSecs int  `json:"grace_secs,omitempty"`
	Paused    bool `json:"paused,omitempty"`
	// Run describes the run. This package does not interpret it.
	Run json.RawMessage `json:"run"`
}

// Overlap is the policy for a time at which the previous run has not ended. A run that waits for a decision has not ended.
type Overlap string

const (
	SkipOverlap  Overlap = "skip"   // no run starts
	WaitOverlap  Overlap = "wait"   // the run starts when the previous one has ended; times that pass meanwhile are skipped
	AllowOverlap Overlap = "allow"  // the run starts; on the same thread it is queued
	EndOverlap   Overlap = "cancel" // the previous run is cancelled
)

// Missed is the policy for times that passed while no process was running or the store was unavailable.
type Missed string

const (
	CatchLatest Missed = "latest" // one run starts, for the latest time; earlier times are missed
	CatchNone   Missed = "skip"   // all are missed, unless the latest is at most GraceSecs ago
	CatchAll    Missed = "all"    // a run starts for each of the latest 100, oldest first; earlier times are missed
)

const (
	maxCatchUp = 100
	maxJitter  = 24 * 60 * 60
	maxGrace   = 7 * 24 * 60 * 60
	maxText    = 1024
)

// State is the progress of a schedule.
type State struct {
	Seed    string    `json:"seed"`             // distinguishes its runs from runs of a deleted schedule with the same ID
	Next    time.Time `json:"next,omitzero"`    // the next nominal time; the zero time if there is none
	Pending *Pending  `json:"pending,omitzero"` // a start that was decided and is not known to have happened
	LastRun string    `json:"last_run,omitempty"`
	Last    Outcome   `json:"last,omitempty"`   // of the latest firing
	LastAt  time.Time `json:"last_at,omitzero"` // its nominal time, or the first of several
	Edits   int64     `json:"edits,omitempty"`  // counts the changes made by clients, without those that record progress

	Started int64 `json:"started,omitempty"`
	Missed  int64 `json:"missed,omitempty"`
	Skipped int64 `json:"skipped,omitempty"`
	Refused int64 `json:"refused,omitempty"`
	Logged  int64 `json:"logged,omitempty"` // the number of the latest firing in the log
}

// Pending is a start that was decided but has not been recorded. Every process that carries it out does the same.
type Pending struct {
	At       time.Time `json:"at"` // the nominal time
	RunID    string    `json:"run_id"`
	ThreadID string    `json:"thread_id"`         // of the run, unless the schedule names one
	Cancel   string    `json:"cancel,omitempty"`  // id of the run to cancel first
	Waiting  string    `json:"waiting,omitempty"` // id of the run to wait for
	Manual   bool      `json:"manual,omitempty"`
	Attempts int       `json:"attempts,omitempty"`
}

// Outcome is the outcome of a nominal time.
type Outcome string

const (
	Started Outcome = "started"
	Skipped Outcome = "skipped" // the previous run had not ended
	Lapsed  Outcome = "missed"  // no process could start the run in time
	Refused Outcome = "refused" // the server refused the run, for example because its agent was deleted
)

// Firing is an entry in the log of a schedule: the outcome of a time, or of Count consecutive missed times.
type Firing struct {
	Number   int64      `json:"number"`            // of the entry, from 1
	At       time.Time  `json:"at"`                // the nominal time, or the first of several
	Through  *time.Time `json:"through,omitempty"` // the last of several
	Count    int64      `json:"count"`
	Outcome  Outcome    `json:"outcome"`
	RunID    string     `json:"run_id,omitempty"`    // of the started run or, if the time was skipped, of the run that had not ended
	ThreadID string     `json:"thread_id,omitempty"` // of the run that was started
	Manual   bool       `json:"manual,omitempty"`    // started by an operator
	Reason   string     `json:"reason,omitempty"`
	Recorded time.Time  `json:"recorded_at"`
}

// Arm validates the schedule, sets its defaults, and computes the next time after now. Call it when the spec is new or has changed. A
// pending start stays pending. Errors name the field.
func (s *Schedule) Arm(now time.Time) error {
	if err := s.Spec.normalize(); err != nil {
		return err
	}
	s.State.Seed = cmp.Or(s.State.Seed, ids.New())
	if s.State.Next = s.Spec.after(now); s.Spec.At != nil && s.Spec.At.After(now) {
		s.State.Next = *s.Spec.At
	}
	if s.Spec.At != nil && s.State.Next.IsZero() && s.Revision == 0 {
		return fmt.Errorf("at is %s, which is over", s.Spec.At.Format(time.RFC3339))
	}
	if s.Spec.EndsAt != nil && s.State.Next.IsZero() && s.Revision == 0 {
		return fmt.Errorf("ends_at is %s, before the first time of cron", s.Spec.EndsAt.Format(time.RFC3339))
	}
	if err := s.checkJitter(); err != nil {
		return err
	}
	s.rest()
	return nil
}

// checkJitter refuses a jitter longer than the time between two starts, which would make them look missed.
func (s *Schedule) checkJitter() error {
	from := s.State.Next
	for range 10 {
		next := s.Spec.after(from)
		if from.IsZero() || next.IsZero() {
			break
		}
		if gap := int(next.Sub(from).Seconds()); s.Spec.JitterSecs > gap {
			return fmt.Errorf("jitter_secs is %d, but cron has times that are %d seconds apart; want at most so many", s.Spec.JitterSecs, gap)
		}
		from = next
	}
	return nil
}

// normalize checks the spec and sets its defaults.
func (p *Spec) normalize() error {
	p.TimeZone, p.Overlap, p.Missed, p.GraceSecs = cmp.Or(p.TimeZone, "UTC"), cmp.Or(p.Overlap, SkipOverlap), cmp.Or(p.Missed, CatchLatest), cmp.Or(p.GraceSecs, 300)
	if (p.Cron == "") == (p.At == nil) {
		return errors.New("cron and at: want exactly one of them")
	}
	if _, err := p.zone(); err != nil {
		return err
	}
	if p.Cron != "" {
		if _, err := ParseCron(p.Cron); err != nil {
			return fmt.Errorf("cron: %w", err)
		}
	}
	if p.EndsAt != nil && p.At != nil {
		return errors.New("ends_at is set, but at is one time; want ends_at with cron only")
	}
	switch p.Overlap {
	case SkipOverlap, WaitOverlap, AllowOverlap, EndOverlap:
	default:
		return fmt.Errorf("overlap is %.40q; want skip, wait, allow or cancel", p.Overlap)
	}
	switch p.Missed {
	case CatchLatest, CatchNone, CatchAll:
	default:
		return fmt.Errorf("missed is %.40q; want latest, skip or all", p.Missed)
	}
	for _, f := range []struct {
		name string
		n    int
		max  int
	}{{"jitter_secs", p.JitterSecs, maxJitter}, {"grace_secs", p.GraceSecs, maxGrace}} {
		if f.n < 0 || f.n > f.max {
			return fmt.Errorf("%s is %d; want 0 to %d", f.name, f.n, f.max)
		}
	}
	if len(p.Description) > maxText {
		return fmt.Errorf("description has %d bytes; want at most %d", len(p.Description), maxText)
	}
	if len(p.Run) == 0 {
		return errors.New("run is missing; want the run to start")
	}
	return nil
}

// zone returns the time zone of Cron.
func (p *Spec) zone() (*time.Location, error) {
	if p.TimeZone == "Local" { // depends on the machine
		return nil, errors.New(`time_zone is "Local"; want the name of a zone such as Europe/Berlin`)
	}
	loc, err := time.LoadLocation(p.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time_zone is %.80q; want the name of a zone such as Europe/Berlin", p.TimeZone)
	}
	return loc, nil
}

// after returns the first time of Cron after t, or the zero time.
func (p *Spec) after(t time.Time) time.Time {
	c, err := ParseCron(p.Cron)
	if p.Cron == "" || err != nil {
		return time.Time{}
	}
	loc, err := p.zone()
	if err != nil {
		return time.Time{}
	}
	next := c.Next(t.In(loc))
	if p.EndsAt != nil && next.After(*p.EndsAt) {
		return time.Time{}
	}
	return next
}

// Upcoming returns at most n of the next nominal times.
func (s *Schedule) Upcoming(n int) (out []time.Time) {
	if s.Spec.Paused {
		return nil
	}
	for t := s.State.Next; !t.IsZero() && len(out) < n; t = s.Spec.after(t) {
		out = append(out, t)
	}
	return out
}

// Delay returns the jitter of a nominal time.
func (s *Schedule) Delay(at time.Time) time.Duration {
	if s.Spec.JitterSecs == 0 {
		return 0
	}
	sum := s.digest("delay", at)
	return time.Duration(binary.BigEndian.Uint64(sum[:8])%(uint64(s.Spec.JitterSecs)*1000)) * time.Millisecond
}

// digest derives a value from the schedule and a time.
func (s *Schedule) digest(what string, at time.Time) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%s\n%q\n%q\n%s\n%d", what, s.Tenant, s.ID, s.State.Seed, at.UnixMilli()))
}

// Start returns the pending start for a time.
func (s *Schedule) Start(at time.Time) *Pending {
	run, thread := s.digest("run", at), s.digest("thread", at)
	return &Pending{At: at, RunID: hex.EncodeToString(run[:16]), ThreadID: hex.EncodeToString(thread[:16])}
}

// rest makes the schedule due at its next time, or immediately if a start is pending.
func (s *Schedule) rest() {
	switch {
	case s.State.Pending != nil:
	case s.Spec.Paused || s.State.Next.IsZero():
		s.Due = time.Time{}
	default:
		s.Due = s.State.Next.Add(s.Delay(s.State.Next))
	}
}

// Ended reports whether the schedule has no times left and no pending start.
func (s *Schedule) Ended() bool { return s.State.Next.IsZero() && s.State.Pending == nil }
