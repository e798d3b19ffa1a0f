package llm

import "time"

// Admission answers whether a request to a model may be sent: now, later or not at all. Everything
// between a run and a provider answers with it.
//
//   - A [Breaker] sends or refuses; it never makes a request wait.
//   - A rate limit (package limit) sends, holds a request for a short time, or refuses. How long it may
//     hold the request is the request's [Patience].
//   - A [Pool] sends the request to the first member that takes it now. It waits only if no member
//     does, and only until the first member can.
//   - A [RetryPolicy] sends a failed request again after a short delay, or refuses if the provider asks
//     for a longer one.
//
// A refusal is an [Error] with Unsent set, whose RetryAfter says when to come back.
type Admission struct {
	Verdict Verdict
	After   time.Duration // until the request may be sent (SendLater), or until it is worth another try (Refuse); 0 if unknown
}

// Verdict is the decision of an [Admission].
type Verdict uint8

// The verdicts.
const (
	SendNow   Verdict = iota
	SendLater         // after a short, bounded wait
	Refuse            // the caller decides what to do until then
)

// DefaultMaxPause is the longest pause of a provider that a request waits for if neither its [Patience]
// nor a [RetryPolicy] says otherwise.
const DefaultMaxPause = 30 * time.Second

// Patience limits how long a request may be held back in this process before it is sent. The zero
// Patience waits in line for a rate limit, and for pauses of at most [DefaultMaxPause].
type Patience struct {
	Since    time.Time     // when the request began to wait, which is its place in line; zero means now
	Until    time.Time     // it is refused if it cannot be sent by then; zero means no limit
	MaxPause time.Duration // longest pause of the provider that it waits for; 0 means DefaultMaxPause
}

// Pause returns the longest pause that the request waits for.
func (p *Patience) Pause() time.Duration {
	if p != nil && p.MaxPause > 0 {
		return p.MaxPause
	}
	return DefaultMaxPause
}
