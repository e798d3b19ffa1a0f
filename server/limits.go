package server

import (
	"cmp"
	"context"
	"math"
	"net/http"
	goruntime "runtime"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/protocol"
)

// Limits bounds the resources that clients can use. A zero field means its default; a negative one
// means no limit.
type Limits struct {
	Body           int64         // bytes of a request's body; default 20 MiB
	BodyMemory     int64         // bytes of all bodies in flight, and of what they decode to; default 96 MiB
	BodyRate       int           // bytes of a body per second, at least; default 1024
	BodyGrace      time.Duration // until BodyRate counts; default 5 seconds
	Depth          int           // nesting of a JSON body; default 64
	Values         int           // JSON values in a body; default 100,000
	HeaderBytes    int           // of a request; default 64 KiB
	Requests       int           // concurrent, without streams; default 100
	Streams        int           // concurrent; default 5,000
	HTTP2Streams   int           // concurrent requests and streams of one HTTP/2 connection; default 250
	RequestTime    time.Duration // for a request that is not a stream; default 1 minute
	WaitTime       time.Duration // for a request that waits for its run; default 10 minutes
	HeaderTime     time.Duration // for the client to send the headers; default 10 seconds
	IdleTime       time.Duration // between requests of a connection; default 2 minutes
	StreamWrite    time.Duration // for the client to read what is flushed to a stream; default 10 seconds
	StreamFrames   int           // buffered per stream before reading the log waits for the client; default 64
	StreamCollect  time.Duration // after a flush to a stream, before the next is made for deltas alone; default 0
	Heartbeat      time.Duration // interval on an idle stream; default 15 seconds
	KeyRate        float64       // requests per second of a key; default no limit
	KeyBurst       int           // requests of a key at once; default 2 seconds' worth
	ShutdownTime   time.Duration // for requests and runs to end when the server stops; default 30 seconds
	MessagesPerRun int           // in one request; default 1,000
	ToolsPerRun    int           // that the client executes, in one request; default 256
	SchemaBytes    int           // of the client's tools and the output schema of one request; default 256 KiB
	SchemaParts    int           // subschemas in them, and a tenth of what references repeat; default 4,000
	Title          int           // bytes of a thread's title; default 4 KiB
	Metadata       int           // bytes of a thread's custom metadata; default 64 KiB
	WrongKeys      int           // of a client address before it must wait; default 20
}

func (l *Limits) setDefaults() {
	l.Body = cmp.Or(l.Body, 20<<20)
	l.BodyMemory = cmp.Or(l.BodyMemory, 96<<20)
	l.BodyRate = cmp.Or(l.BodyRate, 1024)
	l.BodyGrace = cmp.Or(l.BodyGrace, 5*time.Second)
	l.Depth = cmp.Or(l.Depth, 64)
	l.Values = cmp.Or(l.Values, 100_000)
	l.HeaderBytes = cmp.Or(l.HeaderBytes, 64<<10)
	l.Requests = cmp.Or(l.Requests, 100)
	l.Streams = cmp.Or(l.Streams, 5000)
	if l.HTTP2Streams = cmp.Or(l.HTTP2Streams, 250); l.HTTP2Streams < 0 {
		l.HTTP2Streams = math.MaxInt32
	}
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
	l.ToolsPerRun = cmp.Or(l.ToolsPerRun, 256)
	l.SchemaBytes = cmp.Or(l.SchemaBytes, 256<<10)
	l.SchemaParts = cmp.Or(l.SchemaParts, 4000)
	l.Title = cmp.Or(l.Title, 4<<10)
	l.Metadata = cmp.Or(l.Metadata, 64<<10)
}

// limiter counts requests and streams and refuses those beyond the limits.
type limiter struct {
	Limits
	rates     rates
	bodies    *bodies
	admission *admission
	requests  *shares // in flight, without streams
	streams   *shares // open, and requests that wait for their run
	turns     *turns  // to decode, check and store submissions that become streams
}

// turnsPerCore is how many submissions are worked on for each core. They also wait for the store.
const turnsPerCore = 8

func newLimiter(serving context.Context, l Limits) *limiter {
	return &limiter{Limits: l, rates: rates{perSecond: l.KeyRate, burst: l.KeyBurst, keys: map[string]*rate.Limiter{}}, bodies: newBodies(serving, &l), admission: newAdmission(serving, &l),
		requests: newShares("concurrent requests", int64(l.Requests)), streams: newShares("concurrent streams", int64(l.Streams)), turns: newTurns(serving, turnsPerCore*goruntime.GOMAXPROCS(0))}
}

// admit reads the body of a request and counts the request, or the stream, until release is called.
// Or it refuses the request.
func (l *limiter) admit(req *Request) (release func(), err error) {
	if wait, ok := l.rates.take(req.ctx, req.KeyID()); !ok {
		return nil, &protocol.Failure{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too many requests", RetryAfter: wait + time.Second}
	}
	if err := l.bodies.read(req); err != nil {
		req.Release()
		return nil, err
	}
	from, streams := l.requests, req.route.Streams(req.r)
	if streams {
		from = l.streams
	}
	if err := from.take(req.Caller, 1); err != nil {
		req.Release()
		return nil, err
	}
	release = func() { from.give(req.Caller, 1); req.Release() }
	if streams && req.route.Body != nil {
		if err := l.turns.take(req.ctx, req.Caller); err != nil {
			release()
			return nil, err
		}
		req.turn = l.turns
	}
	return release, nil
}

// bound limits, until done is called, the time of a request.
func (l *limiter) bound(req *Request) (done func()) {
	if l.RequestTime <= 0 {
		return func() {}
	}
	control := http.NewResponseController(req.w)
	// The read deadline ends a request as if the client had disconnected, so it comes after the
	// timeout. (The writer of a test may not support deadlines.)
	_ = control.SetReadDeadline(time.Now().Add(2 * l.RequestTime))
	if req.route.Streams(req.r) {
		return func() {}
	}
	_ = control.SetWriteDeadline(time.Now().Add(2 * l.RequestTime)) // for the answer, and for the client to read it
	req.ctx, done = context.WithTimeout(req.ctx, l.RequestTime)
	return done
}

// rates limits the requests per key: of all processes together if they share a quota, and of this one while
// the store of the quota does not answer.
type rates struct {
	perSecond float64
	burst     int
	quota     *limit.Quota // nil if this process is the only one

	mu   sync.Mutex
	keys map[string]*rate.Limiter
}

// take counts a request of a key. If the key is over its rate, it returns how long to wait.
func (l *rates) take(ctx context.Context, id string) (time.Duration, bool) {
	if l.perSecond <= 0 {
		return 0, true
	}
	if l.quota != nil {
		if wait, err := l.quota.Take(ctx, id); err == nil {
			return wait, wait == 0
		}
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
