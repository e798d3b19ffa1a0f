package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine/internal/shorten"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state/builtin"
)

const (
	minCompactionTokens = 1024 // fewer are not worth a request
	maxBoundaries       = 8
	compactionTimeout   = builtin.CompactionLease - 30*time.Second
	// overflowWait is how long a run waits for a summary after its request was refused as too
	// large.
	overflowWait = time.Minute
)

// compactionDelay is the wait before the next attempt after so many failures in a row.
func compactionDelay(failures int) time.Duration {
	return min(30*time.Second<<min(failures-1, 8), 10*time.Minute)
}

// compaction is one attempt to summarise. A goroutine of its own makes the summary; the run
// applies it.
type compaction struct {
	rt     *Runtime
	thread string
	task   builtin.CompactionTask
	plan   *shorten.Stretch
	by     *registry.Summariser
	model  llm.Model // of by
	ratio  float64
	stored bool // the store keeps the log, so messages can be located

	cancel context.CancelFunc
	done   chan struct{} // closed when result is set

	mu       sync.Mutex
	result   *awaken.CompactionResult
	detached bool // the run has ended: post the result to the inbox
	drop     bool // discard the result
}

// start makes the summary in a goroutine. It outlives the run and the run's context.
func (c *compaction) start(ctx context.Context, routing llm.Routing, caller llm.Caller) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), compactionTimeout)
	c.cancel = cancel
	go func() {
		defer cancel()
		c.finish(ctx, c.summarise(ctx, routing, caller))
	}()
}

// finish passes the result to the run or, if the run has ended, posts it to the thread's inbox.
func (c *compaction) finish(ctx context.Context, res *awaken.CompactionResult) {
	atSummarised.Hit()
	c.mu.Lock()
	c.result = res
	post := c.detached && !c.drop
	c.mu.Unlock()
	close(c.done)
	if !post {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	atPosting.Hit()
	if err := c.rt.post(ctx, c.thread, []awaken.InboxItem{{ID: "compaction:" + c.task.TaskID, Compaction: res}}); err != nil {
		c.rt.cfg.Logger.Warn("cannot post a summary", "thread", c.thread, "task", c.task.TaskID, "error", err)
		return
	}
	atSummaryIn.Hit()
}

// detach ends the run's interest in the attempt. It returns the result if there is one. Otherwise
// the result goes to the thread's inbox or, if drop is set, is discarded.
func (c *compaction) detach(drop bool) *awaken.CompactionResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result == nil {
		c.detached, c.drop = true, drop
		if drop {
			c.cancel()
		}
	}
	return c.result
}

// summarise makes the summary.
func (c *compaction) summarise(ctx context.Context, routing llm.Routing, caller llm.Caller) *awaken.CompactionResult {
	p := c.plan
	res := &awaken.CompactionResult{TaskID: c.task.TaskID, FirstMessageID: p.Messages[0].ID, BoundaryMessageID: c.task.BoundaryMessageID, PreTokens: p.Tokens}
	fail := func(err error) *awaken.CompactionResult {
		res.Error = err.Error()
		return res
	}
	if c.stored {
		var err error
		if res.Interval, err = c.locate(ctx); err != nil {
			return fail(err)
		}
	}
	j := &summary{Summariser: c.by, paid: c.model, ratio: c.ratio, routing: routing, caller: caller, limits: c.rt.cfg.Limits.Reply}
	text, err := j.summarise(ctx, p.Messages)
	cost, _ := c.by.Prices.Cost(j.usage)
	res.Usage, res.CostUSD = j.usage, cost.USD()
	if err != nil {
		return fail(err)
	}
	res.Summary, res.PostTokens = text, builtin.NewSummary(text).Tokens()
	res.Skipped = 1-float64(res.PostTokens)/float64(res.PreTokens) < c.by.MinSavingsRatio
	return res
}

// locate finds the log records of the plan, reading the log backwards.
func (c *compaction) locate(ctx context.Context) (llm.Interval, error) {
	first, last := c.plan.Messages[0], c.plan.Messages[len(c.plan.Messages)-1]
	var iv llm.Interval
	switch {
	case c.plan.Begins:
		iv.FromSeq = 1
	case first.IsSummary():
		iv.FromSeq = first.Metadata.Compaction.FromSeq
	}
	hidden := math.MaxInt // records from here on are rewound
	for before := 0; iv.FromSeq == 0 || iv.ToSeq == 0; {
		recs, err := c.rt.cfg.Store.Messages(ctx, c.thread, awaken.MessageQuery{Before: before, Limit: 256, Last: true})
		if err != nil {
			return iv, fmt.Errorf("log of thread %s: %w", c.thread, err)
		}
		if len(recs) == 0 {
			return iv, errors.New("the messages to summarise are not in the log")
		}
		before = recs[0].Seq
		for i := len(recs) - 1; i >= 0; i-- {
			rec := recs[i]
			if rec.Seq >= hidden {
				continue
			}
			if md := rec.Message.Metadata; md != nil && md.Rewind != nil {
				hidden = min(hidden, md.Rewind.FromSeq)
			}
			if iv.ToSeq == 0 && rec.Message.ID == last.ID {
				iv.ToSeq = rec.Seq
			}
			if iv.FromSeq == 0 && rec.Message.ID == first.ID {
				iv.FromSeq = rec.Seq
			}
		}
	}
	return iv, nil
}
