// Package rollup aggregates figures about runs by hour and day: number, failures, usage, cost and duration, in total and by agent, model,
// tool, user and version. The figures survive restarts and include the runs of all processes.
//
// A [Roller] counts runs in the background after they have ended. It takes ended runs that the store has marked as uncounted, derives their
// [Figures] from their records and logs, and adds the figures in the transaction that removes the marks. So commits do no extra work, and a
// run is counted exactly once even if processes are killed.
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

// Dimension is a dimension that figures are grouped by.
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

// The spans of figures.
const (
	Hour = time.Hour
	Day  = 24 * time.Hour
)

// Key identifies figures: a tenant, a value of a dimension and a span.
type Key struct {
	Tenant string
	By     Dimension
	Value  string        // of the dimension
	Span   time.Duration // Hour or Day
	At     int64         // the beginning of the hour or day, UTC, Unix seconds
}

// Figures are the figures of runs that ended within a span.
type Figures struct {
	Count  int64 // runs; of a model, requests; of a tool, calls
	Errors int64 // of Count, that failed
	Usage  llm.Usage
	Cost   money.Amount
	// Timed is how many of Count have a known duration. DurationMS is the sum of those durations, without the time that runs waited.
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

// bound limits the figures of one run, so that a nonsensical report from a provider cannot overflow the sums.
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

// Ended is a run that has ended and has not been counted.
type Ended struct {
	Mark   int64 // identifies the entry
	Tenant string
	RunID  string
}

// Row holds the figures of one value of a dimension in one step.
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

// Span returns the span of the figures that answer the query: Day if Since and Step are whole days, otherwise Hour.
func (q *Query) Span() time.Duration {
	if day := int64(Day / time.Second); q.Step%Day == 0 && q.Since%day == 0 {
		return Day
	}
	return Hour
}

// Store stores the figures of all tenants. Implementations are safe for concurrent use, also by several processes; package rolluptest tests
// them.
type Store interface {
	// Ended returns at most limit ended runs that have not been counted, in the order they ended.
	Ended(ctx context.Context, limit int) ([]Ended, error)
	// Count adds figures and removes the marks of their runs in one transaction. If one of the marks is gone, because another process has
	// counted its run, Count changes nothing and reports false.
	Count(ctx context.Context, ended []Ended, figures map[Key]*Figures) (bool, error)
	// Figures returns the figures that q selects, one row for each value and step that has any, in no particular order.
	Figures(ctx context.Context, q Query) ([]Row, error)
	// TrimFigures deletes the figures of hours and days that began before the given times, Unix seconds.
	TrimFigures(ctx context.Context, hours, days int64) error
}
