// Package automation serves schedules and triggers, which start runs, and webhooks, which notify other systems of them.
package automation

import (
	"context"

	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/automate/schedule/fire"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// Config configures a Wing. The routes of a field that is nil are not registered.
type Config struct {
	// Schedules holds every tenant's schedules; Serve fires them.
	Schedules schedule.Store
	Triggers  *TriggerConfig
	// Hooks stores the receivers of push notifications, whose deliveries are listed.
	Hooks webhook.Store
	// Webhooks needs Hooks.
	Webhooks *WebhookConfig
}

// Wing is the automation of a server.
type Wing struct {
	cfg       Config
	k         *server.Kernel
	schedules *schedules // nil without schedules
}

// New returns a wing.
func New(cfg Config) *Wing { return &Wing{cfg: cfg} }

// Mount returns the routes of the wing.
func (w *Wing) Mount(k *server.Kernel) (all []protocol.Route, err error) {
	w.k = k
	if w.cfg.Hooks != nil {
		all = append(all, (&deliveries{hooks: w.cfg.Hooks}).routes()...)
	}
	if c := w.cfg.Webhooks; c != nil {
		all = append(all, (&webhooks{router: c.Router, endpoints: c.Endpoints, hooks: w.cfg.Hooks, audit: k.Control, newID: k.NewID}).routes()...)
	}
	if w.cfg.Triggers != nil {
		all = append(all, newTriggers(w.cfg.Triggers, k).routes()...)
	}
	if w.cfg.Schedules != nil {
		if w.schedules, err = newSchedules(&w.cfg, k); err != nil {
			return nil, err
		}
		all = append(all, w.schedules.routes()...)
	}
	return all, nil
}

// Features returns the features of the wing.
func (w *Wing) Features() (list []string) {
	if w.cfg.Schedules != nil {
		list = append(list, "schedules")
	}
	if w.cfg.Webhooks != nil {
		list = append(list, "webhooks")
	}
	if w.cfg.Triggers != nil {
		list = append(list, "triggers")
	}
	return list
}

// Parts returns the type of the runs in schedules and triggers.
func (w *Wing) Parts() []any { return []any{runTemplate{}} }

// Work fires schedules until ctx is done.
func (w *Wing) Work(ctx context.Context) {
	if w.schedules != nil && !w.k.ManualMailbox {
		w.schedules.worker.Work(ctx)
	}
}

// Scheduler returns the worker that fires schedules, or nil before Mount and without schedules.
func (w *Wing) Scheduler() *fire.Worker {
	if w.schedules == nil {
		return nil
	}
	return w.schedules.worker
}
