package server

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/awaken-go/awaken/protocol"
)

// Limits bounds the resources that clients can use. A zero field means its default; a negative one
// means no limit.
type Limits struct {
	Body           int64         // bytes of a request's body; default 20 MiB
	Depth          int           // nesting of a JSON body; default 64
	HeaderBytes    int           // of a request; default 64 KiB
	Requests       int           // concurrent, without streams; default 100
	Streams        int           // concurrent; default 20,000
	RequestTime    time.Duration // for a request that is not a stream; default 1 minute
	WaitTime       time.Duration // for a request that waits for its run; default 10 minutes
	HeaderTime     time.Duration // for the client to send the headers; default 10 seconds
	IdleTime       time.Duration // between requests of a connection; default 2 minutes
	StreamWrite    time.Duration // for the client to read what is flushed to a stream; default 10 seconds
	StreamFrames   int           // buffered per stream before reading the log waits for the client; default 64
	Heartbeat      time.Duration // interval on an idle stream; default 15 seconds
	KeyRate        float64       // requests per second of a key; default no limit
	KeyBurst       int           // requests of a key at once; default 2 seconds' worth
	ShutdownTime   time.Duration // for requests and runs to end when the server stops; default 30 seconds
	MessagesPerRun int           // in one request; default 1,000
	WrongKeys      int           // of a client address before it must wait; default 20
}

func (l *Limits) setDefaults() {
	l.Body = cmp.Or(l.Body, 20<<20)
	l.Depth = cmp.Or(l.Depth, 64)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, 64<<10)
	l.Requests = cmp.Or(l.Requests, 100)
	l.Streams = cmp.Or(l.Streams, 20_000)
	l.RequestTime = cmp.Or(l.RequestTime, time.Minute)
	l.WaitTime = cmp.Or(l.WaitTime, 10*time.Minute)
	l.HeaderTime = cmp.Or(l.HeaderTime, 10*time.Second)
	l.IdleTime = cmp.Or(l.IdleTime, 2*time.Minute)
	l.StreamWrite = cmp.Or(l.StreamWrite, 10*time.Second)
	l.StreamFrames = cmp.Or(l.StreamFrames, 64)
	l.Heartbeat = cmp.Or(l.Heartbeat, 15*time.Second)
	l.KeyBurst = cmp.Or(l.KeyBurst, max(1, int(2*l.KeyRate)))
	l.ShutdownTime = cmp.Or(l.ShutdownTime, 30*time.Second)
	l.WrongKeys = cmp.Or(l.WrongKeys, 20)
	l.MessagesPerRun = cmp.Or(l.MessagesPerRun, 1000)
}

// limiter counts requests and streams and refuses those beyond the limits.
type limiter struct {
	Limits
	rates    rates
	requests atomic.Int64 // in flight, without streams
	streams  atomic.Int64 // open
}

func newLimiter(l Limits) *limiter {
	return &limiter{Limits: l, rates: rates{perSecond: l.KeyRate, burst: l.KeyBurst, keys: map[string]*rate.Limiter{}}}
}

// admit counts a request or a stream until release is called, or refuses it.
func (l *limiter) admit(by caller, stream bool) (release func(), err error) {
	id := "-"
	if by.key != nil {
		id = by.key.ID
	}
	if wait, ok := l.rates.take(id); !ok {
		return nil, &protocol.Failure{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too many requests", RetryAfter: wait + time.Second}
	}
	n, limit, what := &l.requests, int64(l.Requests), "requests"
	if stream {
		n, limit, what = &l.streams, int64(l.Streams), "streams"
	}
	if n.Add(1) > limit && limit > 0 {
		n.Add(-1)
		return nil, &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "overloaded", Message: "too many concurrent " + what, RetryAfter: time.Second}
	}
	return func() { n.Add(-1) }, nil
}

// bound limits the size of the request's body and, until done is called, its time.
func (l *limiter) bound(req *request) (done func()) {
	if l.Body > 0 {
		req.r.Body = http.MaxBytesReader(req.w, req.r.Body, l.Body)
	}
	if l.RequestTime <= 0 {
		return func() {}
	}
	control := http.NewResponseController(req.w)
	// The read deadline ends a request as if the client had disconnected, so it comes after the
	// timeout. (The writer of a test may not support deadlines.)
	_ = control.SetReadDeadline(time.Now().Add(2 * l.RequestTime))
	if req.route.Stream {
		return func() {}
	}
	_ = control.SetWriteDeadline(time.Now().Add(2 * l.RequestTime)) // for the answer, and for the client to read it
	req.ctx, done = context.WithTimeout(req.ctx, l.RequestTime)
	return done
}

// rates limits the requests per key.
type rates struct {
	perSecond float64
	burst     int

	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

// take counts a request of a key. If the key is over its rate, it returns how long to wait.
func (l *rates) take(id string) (time.Duration, bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	l.mu.Lock()
	lim := l.keys[id]
	if lim == nil {
		if len(l.keys) >= 100_000 {
			clear(l.keys)
		}
		lim = rate.NewLimiter(rate.Limit(l.perSecond), l.burst)
		l.keys[id] = lim
	}
	l.mu.Unlock()
	r := lim.Reserve()
	if wait := r.Delay(); wait > 0 {
		r.Cancel()
		return wait, false
	}
	return 0, true
}
