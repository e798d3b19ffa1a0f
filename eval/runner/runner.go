package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/registry"
)

// Runner runs plans. It is safe for concurrent use.
type Runner struct {
	// Open returns a runtime with a new, empty store.
	Open func(Setup) (Runtime, error)
	Now  func() time.Time // nil: time.Now
}

// Runtime runs agents. An *engine.Runtime is one.
type Runtime interface {
	Run(ctx context.Context, req awaken.RunRequest, sink awaken.Sink) (*awaken.RunResult, error)
	// Settle waits until what runs have started in the background is over.
	Settle(ctx context.Context) error
}

// Setup configures the runtime of a cell.
type Setup struct {
	Versions registry.Versions
	Executor Executor
}

// Executor runs tool calls. It is an engine.Executor.
type Executor interface {
	Execute(ctx context.Context, tool awaken.Tool, call *awaken.ToolCall) (*awaken.ToolResult, error)
}

// Run runs the cells of a plan that are not done, and calls each with the number and the report of every one, in any order, but
// never concurrently. It returns when all have ended: with the error of each or of p.Start, if one fails, or the cause of ctx, if that is done.
func (r *Runner) Run(ctx context.Context, p *Plan, each func(n int, item eval.Item) error) error {
	same, err := p.twins()
	if err != nil {
		return err
	}
	inside, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j := &job{Runner: r, plan: p, same: same, alike: make([]int, len(same)), each: each, stop: stop, known: map[place]*twin{}}
	for _, first := range same {
		j.alike[first]++
	}
	if limit := p.Limits.Time; limit > 0 {
		timer := time.AfterFunc(limit, func() { stop(&limitError{fmt.Sprintf("the time of %s is over", limit)}) })
		defer timer.Stop()
	}
	cells := make(chan int)
	var working sync.WaitGroup
	for range max(1, min(p.Limits.Concurrency, p.Len())) {
		working.Go(func() {
			for n := range cells {
				j.cell(inside, n)
			}
		})
	}
	for n := range p.Len() {
		if ctx.Err() != nil || j.failed() != nil {
			break
		}
		if p.Done == nil || !p.Done(n) {
			cells <- n
		}
	}
	close(cells)
	working.Wait()
	if err := j.failed(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// limitError is the cause of a job's end if a limit is reached.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// job is a plan while it is run.
type job struct {
	*Runner
	plan  *Plan
	same  []int // by fixture, the first one that runs alike
	alike []int // by fixture, how many have it as their first
	each  func(int, eval.Item) error
	stop  context.CancelCauseFunc

	mu     sync.Mutex
	err    error // of each, or of the plan's Start
	known  map[place]*twin
	tokens int64
	usd    float64
}

// twin is what cells have in common that run alike.
type twin struct {
	once sync.Once
	seen *eval.Observation // nil if the cell was cut off
	left int               // cells that have not asked for it
}

func (j *job) failed() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// cell runs a cell and reports it.
func (j *job) cell(ctx context.Context, n int) {
	at := j.plan.place(n)
	f, item := &j.plan.Fixtures[at.fixture], j.plan.item(at)
	seen := j.twin(at, func() *eval.Observation {
		v := &j.plan.Variants[at.variant]
		if j.plan.Start != nil && !v.Scripted && ctx.Err() == nil {
			if err := j.plan.Start(ctx, n); err != nil {
				j.fail(err)
				return nil
			}
		}
		return j.observe(ctx, f, v)
	})
	if seen == nil {
		return
	}
	item.Report, item.TraceRunID = eval.NewReport(f, seen), seen.TraceRunID
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	if j.err = j.each(n, item); j.err != nil {
		j.stop(j.err)
	}
}

// fail ends the job with an error, unless it has one or has ended in another way.
func (j *job) fail(err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = err
		j.stop(err)
	}
}

// twin returns what a cell did, of which run is called only once for cells that run alike.
func (j *job) twin(at place, run func() *eval.Observation) *eval.Observation {
	first := j.same[at.fixture]
	if j.alike[first] == 1 {
		return run()
	}
	j.mu.Lock()
	key := place{first, at.variant, at.sample}
	t := j.known[key]
	if t == nil {
		t = &twin{left: j.alike[first]}
		j.known[key] = t
	}
	if t.left--; t.left == 0 {
		delete(j.known, key)
	}
	j.mu.Unlock()
	t.once.Do(func() { t.seen = run() })
	return t.seen
}

// charge asks for what an inference cost, or with 0 whether a cell may cost something.
func (j *job) charge(usd float64) {
	if j.plan.Spend == nil {
		return
	}
	if err := j.plan.Spend(usd); err != nil {
		j.stop(&limitError{err.Error()})
	}
}

// spend counts what an inference took.
func (j *job) spend(tokens int64, usd float64) {
	if usd > 0 {
		j.charge(usd)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tokens += tokens
	j.usd += usd
	switch l := &j.plan.Limits; {
	case l.Tokens > 0 && j.tokens > l.Tokens:
		j.stop(&limitError{fmt.Sprintf("the limit of %d tokens is spent", l.Tokens)})
	case l.USD > 0 && j.usd > l.USD:
		j.stop(&limitError{fmt.Sprintf("the limit of %g US dollars is spent", l.USD)})
	}
}

// observe runs a cell and returns what it did, or nil if the job has ended for another reason than a limit.
func (j *job) observe(ctx context.Context, f *eval.Fixture, v *Variant) *eval.Observation {
	c := &cell{job: j, fixture: f, variant: v, seen: &eval.Observation{Functions: j.plan.Functions, Live: !v.Scripted}}
	if ctx.Err() == nil && !v.Scripted {
		j.charge(0)
	}
	if ctx.Err() == nil {
		err := c.run(ctx)
		c.record(context.WithoutCancel(ctx))
		if err == nil {
			return c.seen
		}
		c.fail(eval.RuntimeError, err.Error())
	}
	if ctx.Err() == nil {
		return c.seen
	}
	limit, ok := errors.AsType[*limitError](context.Cause(ctx))
	if !ok {
		return nil
	}
	c.seen.ErrorType = ""
	c.fail(eval.RuntimeError, limit.text)
	return c.seen
}

func (r *Runner) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}
