// Package figures serves figures about runs: usage, series over time, budgets, the recent activity of agents and the
// processes that serve.
package figures

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/trace/rollup"
)

// Config configures a Wing.
type Config struct {
	// Rollups keeps figures about the runs of the mailbox's queue, which Serve counts. If nil, there are no series.
	Rollups rollup.Store
	// Ended, if set, is called with each run before it is counted. While it fails, the run is not counted.
	Ended func(ctx context.Context, tenant string, run *awaken.Run) error
	// Stats is the recent activity of the agents. If nil, its routes say so.
	Stats *Stats
	// Replicas are the processes that serve, of which Serve makes this one. If nil, its route is not registered.
	Replicas *Replicas
}

// Wing is the figures of a server.
type Wing struct {
	cfg Config
	k   *server.Kernel
}

// New returns a wing.
func New(cfg Config) *Wing { return &Wing{cfg: cfg} }

// Mount returns the routes of the wing.
func (w *Wing) Mount(k *server.Kernel) ([]protocol.Route, error) {
	w.k = k
	budgets := &budgets{mailbox: k.Mailbox, registry: k.Registry}
	all := slices.Concat(budgets.routes(), (&usage{figures: w.cfg.Rollups}).routes())
	if w.cfg.Rollups != nil {
		all = append(all, (&series{store: w.cfg.Rollups}).routes()...)
	}
	if w.cfg.Replicas != nil {
		all = append(all, (&fleet{replicas: w.cfg.Replicas, config: w.configVersion}).routes()...)
	}
	if server.BudgetOf(k.Mailbox.Tenant("")) != nil {
		all = append(all, budgets.limits()...)
	}
	if !k.HideConfig {
		all = append(all, (&activity{stats: w.cfg.Stats, registry: k.Registry}).routes()...)
	}
	return all, nil
}

// Features returns the features of the wing.
func (w *Wing) Features() (list []string) {
	if w.cfg.Stats != nil {
		list = append(list, "stats")
	}
	return list
}

// Work counts runs, and describes this process to the others, until ctx is done.
func (w *Wing) Work(ctx context.Context) {
	var working sync.WaitGroup
	if w.cfg.Rollups != nil && !w.k.ManualMailbox {
		queue := w.k.Mailbox.Queue()
		roller := &rollup.Roller{Store: w.cfg.Rollups, Runs: func(tenant string) rollup.Runs { return queue.Handle(tenant) }, Ended: w.cfg.Ended, Logger: w.k.Logger}
		working.Go(func() { roller.Work(ctx) })
	}
	if r := w.cfg.Replicas; r != nil {
		working.Go(func() { r.work(ctx, w.k.NewID(), w.k.Version, w.configVersion, w.k.Logger) })
	}
	working.Wait()
}

// configVersion returns the number of the documents that new runs use here, or 0.
func (w *Wing) configVersion() int64 {
	n, _ := strconv.ParseInt(w.k.Registry().ID(), 10, 64) // one without documents has no number
	return n
}
