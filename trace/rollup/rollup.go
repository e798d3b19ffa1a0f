// Package rollup keeps figures about runs by hour and by day: how many ran, how many failed, what they used and cost and how long
// they took, in total and by agent, model, tool, user and version. The figures survive restarts, and those of all processes add up.
//
// A run is counted when it has ended, once, by a process in the background: a [Roller] takes runs of which the store knows that they
// ended and are not counted, derives their [Figures] from their records and logs, and adds these in the transaction that says that they are.
// So a commit does nothing for it, and whatever process is killed, a run is counted exactly once.
//
//	roller := &rollup.Roller{Store: db.Rollups(), Runs: func(tenant string) rollup.Runs { return db.Store(tenant) }}
//	go roller.Work(ctx)
//	…
//	rows, err := db.Rollups().Figures(ctx, rollup.Query{Tenant: "acme", By: rollup.Agent, Since: since, Until: until, Step: rollup.Day})
package rollup

import (
	"context"
	"time"

	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// Dimension is what figures are kept by.
type Dimension string

const (
	Total   Dimension = "total"   // all runs; the value is ""
	Agent   Dimension = "agent"   // that ended the run
	User    Dimension = "user"    // that the run acted for
	Version Dimension = "version" // of the registry
	Model   Dimension = "model"   // counts requests to the model
	Tool    Dimension = "tool"    // counts calls of the tool, without usage
)

// Dimensions lists every dimension.
var Dimensions = []Dimension{Total, Agent, User, Version, Model, Tool}

// How long the figures of an hour and of a day are kept.
const (
	KeepHours = 90 * 24 * time.Hour
	KeepDays  = 3 * 365 * 24 * time.Hour
)

// The times that figures are kept for.
const (
	Hour = time.Hour
	Day  = 24 * time.Hour
)

// Key says what figures are about.
type Key struct {
	Tenant string
	By     Dimension
	Value  string        // of the dimension
	Span   time.Duration // Hour or Day
	At     int64         // the beginning of the hour or day, UTC, Unix seconds
}

// Figures are about runs that ended in some time.
type Figures struct {
	Count  int64 // runs; of a model, requests; of a tool, calls
	Errors int64 // of them, that failed
	Usage  llm.Usage
	Cost   money.Amount
	// Timed of them have a known duration, without the time in which a run waited. DurationMS is their sum.
	Timed      int64
	DurationMS int64
	Durations  Histogram
}

// Add adds other figures.
func (f *Figures) Add(o *Figures) {
	f.Count += o.Count
	f.Errors += o.Errors
	f.Usage.Add(o.Usage)
	f.Cost += o.Cost
	f.Timed += o.Timed
	f.DurationMS += o.DurationMS
	for i, n := range o.Durations {
		f.Durations[i] += n
	}
}

// bound bounds the figures of one run, so that no provider that reports nonsense makes the sums of all overflow.
func (f *Figures) bound() {
	const tokens, cost = 1_000_000_000_000, 1_000_000 * money.Dollar
	u := &f.Usage
	for _, n := range []*int64{&u.PromptTokens, &u.CompletionTokens, &u.TotalTokens, &u.CacheReadTokens, &u.CacheCreationTokens, &u.ThinkingTokens} {
		*n = min(max(*n, 0), tokens)
	}
	f.Cost = min(max(f.Cost, 0), cost)
}

// timed adds a duration.
func (f *Figures) timed(ms int64) {
	ms = max(ms, 0)
	f.Timed++
	f.DurationMS += ms
	f.Durations.add(ms)
}

// Ended is a run that has ended and is not counted yet.
type Ended struct {
	Mark   int64 // identifies it
	Tenant string
	RunID  string
}

// Row has figures of a dimension's value in a step.
type Row struct {
	Value string
	At    int64 // the beginning of the step, Unix seconds
	Figures
}

// Query selects figures of a tenant.
type Query struct {
	Tenant string
	By     Dimension
	Value  *string // only of this value of the dimension; nil means all
	// Since and Until limit the time, Unix seconds. Steps begin at Since. Since and Step must be multiples of an hour.
	Since, Until int64
	Step         time.Duration
	Durations    bool // also return histograms
}

// Span returns the span that the query is answered from: days if Since and Step are whole days.
func (q *Query) Span() time.Duration {
	if day := int64(Day / time.Second); q.Step%Day == 0 && q.Since%day == 0 {
		return Day
	}
	return Hour
}

// Store keeps figures of all tenants. Implementations are safe for concurrent use, also by several processes; package
// rolluptest tests them.
type Store interface {
	// Ended returns runs that have ended and are not counted, those that ended first before others, at most limit.
	Ended(ctx context.Context, limit int) ([]Ended, error)
	// Count adds figures, and removes the marks of the runs that they are about, in one transaction. It reports false, and has changed
	// nothing, if one of the marks is gone: another process has counted its run.
	Count(ctx context.Context, ended []Ended, figures map[Key]*Figures) (bool, error)
	// Figures returns the figures that q selects, one row for each value and step that has any, in no order.
	Figures(ctx context.Context, q Query) ([]Row, error)
	// TrimFigures removes the figures of hours and of days that began before the given times, Unix seconds.
	TrimFigures(ctx context.Context, hours, days int64) error
}
