package telemetry

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// queue has the spans that have ended and are not sent yet. It is bounded: spans that do not fit are dropped, and the runs do not wait.
type queue struct {
	client  otlptrace.Client
	about   *resource.Resource
	limit   int           // spans that wait, at most
	batch   int           // spans of a request, if they fit
	delay   time.Duration // until spans are sent that are fewer
	timeout time.Duration // of a request

	lost  atomic.Uint64 // spans that no collector has got
	full  chan struct{} // has a value if there are enough spans for a request
	asked chan chan error
	ended chan struct{} // is closed when nothing is sent anymore

	mu      sync.Mutex
	over    bool
	waiting []*open
	dropped int // since the last request

	taken []*open // of the goroutine that sends
	chunk chunk   // too
}

// chunk is the data of one request. It is reused.
type chunk struct {
	tracer []*tracer
	data   [][]byte // the spans of each tracer
}

const (
	maxChunk  = 1 << 20 // bytes of a chunk; one that is longer gets no more spans
	keptChunk = 2 << 20 // bytes that a chunk keeps for the next spans of a tracer
)

// newQueue starts the client and a goroutine that sends, until shutdown.
func newQueue(ctx context.Context, client otlptrace.Client, about *resource.Resource) (*queue, error) {
	q := &queue{client: client, about: about, full: make(chan struct{}, 1), asked: make(chan chan error), ended: make(chan struct{})}
	var err error
	for _, v := range []struct {
		name  string
		value int
		set   func(int)
	}{
		{"OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize, func(n int) { q.limit = n }},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize, func(n int) { q.batch = min(n, q.limit) }},
		{"OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay, func(n int) { q.delay = time.Duration(n) * time.Millisecond }},
		{"OTEL_BSP_EXPORT_TIMEOUT", sdktrace.DefaultExportTimeout, func(n int) { q.timeout = time.Duration(n) * time.Millisecond }},
	} {
		n := v.value
		if text := os.Getenv(v.name); text != "" {
			if n, err = strconv.Atoi(text); err != nil || n <= 0 {
				return nil, fmt.Errorf("%s is %q, want a number above 0", v.name, text)
			}
		}
		v.set(n)
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	go q.serve()
	return q, nil
}

// add takes a span that has ended. The goroutine that sends encodes it, so that runs do not wait for that.
func (q *queue) add(o *open) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.over:
		o.release()
		return
	case len(q.waiting) >= q.limit:
		q.dropped++
		q.lost.Add(1)
		o.release()
		return
	}
	if q.waiting = append(q.waiting, o); len(q.waiting) >= q.batch {
		select {
		case q.full <- struct{}{}:
		default: // it is awake
		}
	}
}

// fill encodes spans, as many as fit, and returns the others.
func (c *chunk) fill(spans []*open) (rest []*open) {
	size := 0
	for size < maxChunk && len(spans) > 0 {
		o := spans[0]
		i := slices.Index(c.tracer, o.t)
		if i < 0 {
			i = len(c.tracer)
			c.tracer, c.data = append(c.tracer, o.t), append(c.data, nil)
		}
		before := len(c.data[i])
		c.data[i] = appendSpan(c.data[i], o)
		size += len(c.data[i]) - before
		o.release()
		spans = spans[1:]
	}
	return spans
}

// reset makes the chunk empty. What is too long is not kept.
func (c *chunk) reset() {
	for i := range c.data {
		if cap(c.data[i]) > keptChunk {
			c.data[i] = nil
		}
		c.data[i] = c.data[i][:0]
	}
}

// message returns the chunk as a message. Its spans are fields that the type does not know, so they are encoded as they are.
func (c *chunk) message(about *resource.Resource) []*tracepb.ResourceSpans {
	out := &tracepb.ResourceSpans{Resource: resourceOf(about), SchemaUrl: about.SchemaURL()}
	for i, t := range c.tracer {
		if len(c.data[i]) == 0 {
			continue
		}
		of := &tracepb.ScopeSpans{Scope: scopeOf(t.scope), SchemaUrl: t.scope.SchemaURL}
		of.ProtoReflect().SetUnknown(c.data[i])
		out.ScopeSpans = append(out.ScopeSpans, of)
	}
	return []*tracepb.ResourceSpans{out}
}

// serve sends spans that are enough for a request at once, and others after the delay.
func (q *queue) serve() {
	defer close(q.ended)
	tick := time.NewTicker(q.delay)
	defer tick.Stop()
	for {
		select {
		case <-q.full:
			q.report(q.send(context.Background(), false))
		case <-tick.C:
			q.report(q.send(context.Background(), true))
		case answer := <-q.asked:
			answer <- q.send(context.Background(), true)
			q.report(nil)
		}
		if q.isOver() { // what asked for the end may have given up on a collector that hangs
			q.report(q.send(context.Background(), true))
			return
		}
	}
}

func (q *queue) isOver() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.over
}

// report tells the handler of errors about spans that a collector did not get.
func (q *queue) report(err error) {
	if err != nil {
		otel.Handle(err)
	}
	q.mu.Lock()
	dropped := q.dropped
	q.dropped = 0
	q.mu.Unlock()
	if dropped > 0 {
		otel.Handle(fmt.Errorf("%d spans were dropped: more than %d waited for the collector", dropped, q.limit))
	}
}

// send sends the spans that wait: as long as they are enough for a request, or all. Those of a request that fails are lost.
func (q *queue) send(ctx context.Context, all bool) error {
	var first error
	for {
		spans := q.take(all)
		if len(spans) == 0 {
			return first
		}
		for len(spans) > 0 {
			rest := q.chunk.fill(spans)
			ctx, cancel := context.WithTimeout(ctx, q.timeout)
			err := q.client.UploadTraces(ctx, q.chunk.message(q.about))
			cancel()
			q.lost.Add(uint64(refused(err, len(spans)-len(rest))))
			if err != nil && first == nil {
				first = fmt.Errorf("traces export: %w", err)
			}
			q.chunk.reset()
			spans = rest
		}
	}
}

// partial matches the error of the official clients for a request of which the collector has refused some spans.
var partial = regexp.MustCompile(`OTLP partial success: (?s:.*) \((\d+) spans rejected\)`)

// refused returns how many spans of a request with n of them a collector did not get. An error may be a mere warning.
func refused(err error, n int) int {
	if err == nil {
		return 0
	}
	if m := partial.FindStringSubmatch(err.Error()); m != nil {
		some, _ := strconv.Atoi(m[1]) // digits
		return min(some, n)
	}
	return n
}

// take removes the oldest spans, if they are enough for a request or any will do.
func (q *queue) take(any bool) []*open {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), q.batch)
	if n < q.batch && !any {
		return nil
	}
	q.taken = append(q.taken[:0], q.waiting[:n]...)
	q.waiting = slices.Delete(q.waiting, 0, n)
	return q.taken
}

// flush sends everything.
func (q *queue) flush(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case q.asked <- answer:
	case <-q.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shutdown sends everything and ends the client.
func (q *queue) shutdown(ctx context.Context) error {
	q.mu.Lock()
	again := q.over
	q.over = true
	q.mu.Unlock()
	if again {
		return nil
	}
	err := q.flush(ctx)
	if e := q.client.Stop(ctx); err == nil {
		err = e
	}
	return err
}
