package limit

import (
	"math"
	"time"

	"github.com/awaken-go/awaken/llm"
)

// minute is a minute in ms.
const minute = 60_000.0

// known reports whether there is a limit that was not configured.
func (m *meter) known(now int64) bool { return m.learned(now) > 0 || m.ceiling(now) > 0 }

// learned returns the limit that the provider has stated, or 0.
func (m *meter) learned(now int64) float64 {
	if m.Learned <= 0 || now-m.LearnedAt >= learnedTime.Milliseconds() {
		return 0
	}
	return m.Learned
}

// ceiling returns the limit per minute that follows from refusals, or 0. It grows with time.
func (m *meter) ceiling(now int64) float64 {
	age := float64(now-m.CeilingAt) / float64(ceilingTime.Milliseconds())
	if m.Ceiling <= 0 || age >= 1 {
		return 0
	}
	return m.Ceiling * (1 + 6*max(0, age-0.5))
}

// perMinute returns the limit; 0 means none.
func (m *meter) perMinute(now int64) float64 {
	out := math.Inf(1)
	if m.Configured > 0 {
		out = m.Configured
	}
	if l := m.learned(now); l > 0 {
		out = min(out, l/m.Period*minute)
	}
	if c := m.ceiling(now); c > 0 {
		out = min(out, c)
	}
	if math.IsInf(out, 1) {
		return 0
	}
	return out
}

// capacity returns how much can be there at once: what the provider allows at once, a minute's
// worth of a configured limit, or ten seconds' of a ceiling.
func (m *meter) capacity(now int64) float64 {
	out := math.Inf(1)
	if m.Configured > 0 {
		out = m.Configured
	}
	if l := m.learned(now); l > 0 {
		out = min(out, l)
	}
	if c := m.ceiling(now); c > 0 {
		out = min(out, max(1, c/6))
	}
	if math.IsInf(out, 1) {
		return 0
	}
	return out
}

// learn notes a limit of the provider. It is one per minute, unless the provider says that it
// takes longer to be there again.
func (m *meter) learn(now int64, s llm.RateState) {
	if s.Limit <= 0 {
		return
	}
	if m.learned(now) == 0 && !m.On {
		m.Level = float64(max(0, s.Remaining))
	}
	m.Learned, m.LearnedAt, m.Period, m.On = float64(s.Limit), now, minute, true
	if used := s.Limit - s.Remaining; used > 0 && s.Reset > longReset {
		if period := float64(s.Limit) / float64(used) * float64(s.Reset.Milliseconds()); period > 5*minute {
			m.Period = period
		}
	}
}

// fill sets the configured limit and adds what has become available in the last ms. A meter that
// gets a limit begins full.
func (m *meter) fill(elapsed, now int64, configured float64) {
	m.Configured = configured
	if now-m.LearnedAt >= learnedTime.Milliseconds() {
		m.Learned, m.Period, m.LearnedAt = 0, 0, 0
	}
	if m.ceiling(now) == 0 {
		m.Ceiling, m.CeilingAt = 0, 0
	}
	rate, capacity := m.perMinute(now), m.capacity(now)
	switch {
	case rate == 0:
		m.On, m.Level = false, 0
		return
	case !m.On:
		m.On, m.Level = true, capacity
	default:
		m.Level += rate / minute * float64(max(0, elapsed))
	}
	m.Level = min(m.Level, capacity)
}

// settle gives back what a process does not need, or takes what it has used beyond what it held.
func (m *meter) settle(n float64) {
	if m.On {
		m.Level += n
	}
}

// wait returns how long it takes until n are there.
func (m *meter) wait(now int64, n float64) time.Duration {
	if !m.On || n <= m.Level {
		return 0
	}
	return time.Duration((n - m.Level) / m.perMinute(now) * float64(time.Minute))
}
