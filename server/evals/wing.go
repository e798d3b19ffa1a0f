// Package evals serves evaluations: datasets, runs over them, and judgements of sampled production runs. The runs themselves
// are worked on by package eval/job.
package evals

import (
	"context"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval/job"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eval/live/jury"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// Config configures evaluations, which are kept in the profiles of tenants.
type Config struct {
	// Open returns a runtime for a cell of an evaluation, with a store of its own; see [runner.Runner].
	Open   func(runner.Setup) (runner.Runtime, error)
	Limits Limits
	// Live keeps judgements of the production runs that the policies of their agents sample; see package eval/live/jury. The runs
	// that end come to Offer. If nil, none is judged.
	Live live.Store
	// TenantUSD is what a tenant may spend, unless its budget says otherwise, as the runtimes of the mailbox have it. If nil, there is no limit.
	TenantUSD *float64
	// Lease is how long a run stays with a process that is silent; default 30 seconds.
	Lease time.Duration
	// Observer, if set, records judgements.
	Observer *observe.Plugin
}

// Wing is the evaluations of a server.
type Wing struct {
	cfg   Config
	k     *server.Kernel
	evals *evaluations
	lives *lives // nil if no production run is judged
}

// New returns a wing.
func New(cfg Config) *Wing { return &Wing{cfg: cfg} }

// Mount returns the routes of the wing.
func (w *Wing) Mount(k *server.Kernel) ([]protocol.Route, error) {
	w.k, w.evals = k, newEvaluations(&w.cfg, k)
	all := append((&datasets{newID: k.NewID, most: w.evals.limits.Imports, audit: k.Control}).routes(), w.evals.routes()...)
	if w.lives = newLives(&w.cfg, k, w.evals); w.lives != nil {
		all = append(all, w.lives.routes()...)
	}
	return all, nil
}

// Features returns the features of the wing.
func (w *Wing) Features() []string { return []string{"evals"} }

// Work works on evaluations and judgements until ctx is done.
func (w *Wing) Work(ctx context.Context) {
	if w.k.ManualMailbox {
		return
	}
	var working sync.WaitGroup
	working.Go(func() { w.evals.jobs.Work(ctx) })
	if w.lives != nil {
		working.Go(func() { w.lives.worker.Work(ctx) })
	}
	working.Wait()
}

// Offer considers a run that has ended for judging.
func (w *Wing) Offer(ctx context.Context, tenant string, run *awaken.Run) error {
	if w.lives == nil {
		return nil
	}
	return w.lives.worker.Offer(ctx, tenant, run)
}

// Jobs returns the evaluations of this process, after Mount.
func (w *Wing) Jobs() *job.Jobs { return w.evals.jobs }

// Judges returns what judges production runs, after Mount, or nil.
func (w *Wing) Judges() *jury.Worker {
	if w.lives == nil {
		return nil
	}
	return w.lives.worker
}
