package sqlstore

import (
	"context"

	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/eval/live"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/trace/rollup"
)

// Ports are the ports of a database that are not scoped to a tenant and that both engines answer. The engines embed it.
type Ports struct {
	db    DB
	final func(ctx context.Context) (int64, error)
}

// NewPorts returns the ports of a database. Final returns the position up to which its log of changes is complete.
func NewPorts(db DB, final func(ctx context.Context) (int64, error)) *Ports { return &Ports{db, final} }

// Limits returns the rate limits of providers, which the processes that use the database share.
func (p *Ports) Limits() limit.Store { return &Limits{p.db} }

// Hooks returns the hooks of runs, which the processes that use the database share.
func (p *Ports) Hooks() webhook.Store { return &Hooks{p.db} }

// Schedules returns the schedules of all tenants.
func (p *Ports) Schedules() schedule.Store {
	return &Schedules{rows[schedule.Schedule, *schedule.Schedule]{p.db, "schedules", "schedule", "firings"}}
}

// Triggers returns the triggers of all tenants.
func (p *Ports) Triggers() trigger.Store {
	return &Triggers{rows[trigger.Trigger, *trigger.Trigger]{p.db, "triggers", "trigger", "fired"}}
}

// Endpoints returns the webhook endpoints of all tenants.
func (p *Ports) Endpoints() webhook.EndpointStore {
	return &rows[webhook.Endpoint, *webhook.Endpoint]{p.db, "endpoints", "endpoint", ""}
}

// Judgements returns the judgements of the runs of all tenants.
func (p *Ports) Judgements() live.Store { return &Judgements{p.db} }

// Changes returns the log of changes, which the processes that use the database share.
func (p *Ports) Changes() changelog.Store { return p.changes() }

func (p *Ports) changes() *Changes { return &Changes{DB: p.db, Final: p.final} }

// Rollups returns the figures about the runs of all tenants.
func (p *Ports) Rollups() rollup.Store { return NewRollups(p.changes()) }

// SweepBlobs removes the blobs of all tenants that are held no more.
func (p *Ports) SweepBlobs(ctx context.Context, r blob.Retention) (int, error) {
	return SweepBlobs(ctx, p.db, r)
}

// Tenants returns the tenants that have threads or schedules, sorted.
func (p *Ports) Tenants(ctx context.Context) ([]string, error) { return Tenants(ctx, p.db) }
