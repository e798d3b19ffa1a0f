package server

import "time"

// Intervals at which a request that waits for a run reads its record: a run whose events do not come
// may be over. The longer a run takes, the less it matters to know at once.
const (
	pollFirst = 500 * time.Millisecond
	pollMost  = 8 * time.Second
)

// poll tells when to read a record again.
type poll struct {
	next time.Time
	wait time.Duration
}

func newPoll() *poll { return &poll{wait: pollFirst, next: time.Now().Add(pollFirst)} }

// due reports whether it is time, and doubles the interval then.
func (p *poll) due() bool {
	now := time.Now()
	if now.Before(p.next) {
		return false
	}
	p.wait = min(2*p.wait, pollMost)
	p.next = now.Add(p.wait)
	return true
}
