//go:build unix

package upgradetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/registry"
)

// desk is a process that works on a database.
type desk struct {
	*world
	db     *database
	config *config.Manager
	box    *mailbox.Mailbox
	main   *mailbox.Tenant
}

const (
	keyFile = "testdata/secrets.key"
	apiKey  = "sk-kept-by-the-vault"
)

// openConfig opens the control plane.
func (w *world) openConfig(ctx context.Context, store config.Store) (*config.Manager, error) {
	text, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	vault, err := config.NewVault(strings.Fields(string(text))...)
	if err != nil {
		return nil, err
	}
	return config.Open(ctx, config.Options{Store: store, Vault: vault, Provider: w.provider, Code: registry.Config{Tools: w.tools(),
		Plugins: []awaken.Plugin{permission.New(permission.Config{}), delegate.New(delegate.Options{})}}})
}

// forever is the retention of completed dispatches: those of old dumps are old.
const forever = 200 * 365 * 24 * time.Hour

// openDesk opens a database. The lease is short in the process that is killed, so that
// another process can soon claim its work.
func openDesk(ctx context.Context, db *database, w *world, lease time.Duration) (*desk, error) {
	m, err := w.openConfig(ctx, db.config)
	if err != nil {
		return nil, err
	}
	rt, err := engine.New(engine.Config{Versions: m, Budgets: true, Limits: engine.Limits{BudgetWait: time.Millisecond}})
	if err != nil {
		return nil, err
	}
	box, err := mailbox.New(mailbox.Config{Queue: db.queue, Profile: db.profile, Consumer: "desk", Lease: lease, Concurrency: hangs, Poll: 20 * time.Millisecond, TTL: forever}, rt.With)
	if err != nil {
		return nil, err
	}
	return &desk{w, db, m, box, box.Tenant("")}, nil
}

// say returns a request to the agent clerk.
func say(thread, run, text string) awaken.RunRequest {
	return awaken.RunRequest{AgentID: "clerk", ThreadID: thread, RunID: run, Messages: []*llm.Message{llm.UserText(text)}}
}

// settled waits until no worker has a run, and returns it.
func (d *desk) settled(ctx context.Context, runID string) (*awaken.Run, error) {
	for {
		live, err := d.main.Store.Dispatches(ctx, mailbox.Query{RunID: runID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
		if err != nil {
			return nil, err
		}
		run, err := d.main.Store.LoadRun(ctx, runID) // loaded last, so that it is as the last worker left it
		if err != nil {
			return nil, fmt.Errorf("run %s: %w", runID, err)
		}
		if len(live) == 0 && (run.Status == awaken.RunDone || run.Status == awaken.RunWaiting) {
			return run, nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("run %s is %s", runID, run.Status), context.Cause(ctx))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// decide approves all suspended calls of a run.
func (d *desk) decide(ctx context.Context, run *awaken.Run, result string) error {
	if run.Waiting == nil || len(run.Waiting.Tickets) == 0 {
		return fmt.Errorf("run %s is %s and waits for no decision", run.RunID, run.Status)
	}
	var ds []awaken.Decision
	for i := range run.Waiting.Tickets {
		yes := run.Waiting.Tickets[i].Approve()
		yes.ID = "yes"
		if result != "" {
			yes.Result = []byte(result)
		}
		ds = append(ds, yes)
	}
	_, err := d.main.Decide(ctx, run.RunID, ds...)
	return err
}
