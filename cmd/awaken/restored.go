package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/schedule"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server/figures"
	"github.com/awaken-go/awaken/state/profile"
)

// The mark of a restored database is a value in it, in the profile of the system tenant.
const (
	fleetNamespace = "fleet"
	restorationKey = "restoration"
)

// loadRestoration returns the mark of a restored database, or nil.
func loadRestoration(ctx context.Context, values profile.Store) (*awaken.Restoration, error) {
	e, err := values.Get(ctx, fleetNamespace, restorationKey)
	if err != nil || e == nil {
		return nil, err
	}
	r := new(awaken.Restoration)
	if err := json.Unmarshal(e.Value, r); err != nil {
		return nil, fmt.Errorf("the mark of the restored database: %w", err)
	}
	return r, nil
}

// markRestored marks the database as restored: its unfinished runs wait until an operator releases
// them, and the times of schedules since its last change start nothing. No other process may use
// the database.
func markRestored(ctx context.Context, b *backend) (*awaken.Restoration, mailbox.Unfinished, error) {
	var n mailbox.Unfinished
	tenants, err := b.tenants(ctx)
	if err != nil {
		return nil, n, err
	}
	r, n, err := mailbox.MarkRestored(ctx, b.queue, tenants, time.Now(), ids.New)
	if err != nil {
		return nil, n, err
	}
	for _, tenant := range tenants {
		if err := forgoSchedules(ctx, b.schedules, tenant); err != nil {
			return nil, n, err
		}
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, n, err
	}
	return r, n, b.keys.Set(ctx, fleetNamespace, restorationKey, data)
}

// forgoSchedules lets the times of a tenant's schedules lapse that have come: a process may have
// started their runs before the database was restored.
func forgoSchedules(ctx context.Context, store schedule.Store, tenant string) error {
	const reason = "the database was restored; it may lack runs that were started"
	for after := ""; ; {
		page, err := store.List(ctx, tenant, after, 100)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, s := range page {
			after = s.ID
			log := s.Forgo(time.Now(), reason)
			if len(log) == 0 {
				continue
			}
			if ok, err := store.Record(ctx, s, log...); err != nil {
				return err
			} else if !ok {
				return fmt.Errorf("schedule %q was changed at the same time: %w", s.ID, awaken.ErrConflict)
			}
		}
	}
}

// sayRestored prints what a restoration means for the runs in the database.
func (con *console) sayRestored(r *awaken.Restoration, n mailbox.Unfinished) {
	if r.Known == 0 {
		fmt.Fprintln(con.err, "No conversation is in it.")
		return
	}
	fmt.Fprintf(con.err, "The last change in the database is of %s. What happened since is not in it.\n",
		time.UnixMilli(r.Known).UTC().Format(time.RFC3339))
	total := n.Queued + n.Running + n.Waiting
	if total == 0 {
		fmt.Fprintln(con.err, "No run is unfinished in it.")
		return
	}
	fmt.Fprintf(con.err, "Unfinished in it: %d queued, %d running, %d waiting. "+
		"They may have continued since, so they wait until you release them:\n"+
		"  awaken release --list\n  awaken release --all\n", n.Queued, n.Running, n.Waiting)
}

const recoverHelp = `Mark a PostgreSQL database that was recovered to an earlier state: from a backup, to a
point in time, or by a failover that lost commits. Stop every server that uses it first.

Runs that are unfinished in the database may have continued before the recovery, and
would repeat their effects. They wait as "restored" until 'awaken release' releases
them, and the outcome of their open calls is in doubt. Schedules skip the times between
the last change in the database and now.

'awaken restore' marks a SQLite database itself.`

func recoverCommand(con *console) *cobra.Command {
	var mark bool
	cmd := &cobra.Command{
		Use:   "recover --mark-doubtful",
		Short: "Mark a database that was recovered to an earlier state",
		Long:  recoverHelp,
		Args:  cobra.NoArgs,
	}
	with := withBackend(cmd, false)
	cmd.Flags().BoolVar(&mark, "mark-doubtful", false, "hold the unfinished runs, and mark their open calls as in doubt")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !mark {
			return usageError("--mark-doubtful is missing: it confirms that the database was recovered to an earlier state")
		}
		return with(cmd.Context(), func(_ *settings.Settings, b *backend) error {
			ctx := cmd.Context()
			live, err := figures.NewReplicas(b.keys).Live(ctx)
			if err != nil {
				return err
			}
			if len(live) > 0 {
				return configError("servers use the database: %s; stop them first, then wait a minute", strings.Join(live, ", "))
			}
			r, n, err := markRestored(ctx, b)
			if err != nil {
				return err
			}
			con.sayRestored(r, n)
			return nil
		})
	}
	return cmd
}

const releaseHelp = `Release runs that wait because their database was restored: they continue where the copy
ends. Calls that were open in the copy are in doubt and are not repeated automatically; a
message tells the model what is unknown. If a run should not continue, cancel it instead.

Without --tenant, the runs of the default tenant are released.`

// releaseFilter selects the runs to release.
type releaseFilter struct {
	tenant, agent, thread, user string
	all, list                   bool
}

func releaseCommand(con *console) *cobra.Command {
	var f releaseFilter
	cmd := &cobra.Command{
		Use:   "release [RUN...]",
		Short: "Release runs that wait because their database was restored",
		Long:  releaseHelp,
		Example: "  awaken release --list\n  awaken release 0199b3c4-5d6e-7f80-9a1b-2c3d4e5f6071\n" +
			"  awaken release --agent support\n  awaken release --all",
	}
	with := withBackend(cmd, false)
	cmd.Flags().StringVar(&f.tenant, "tenant", "", "tenant of the runs; default the default tenant")
	cmd.Flags().StringVar(&f.agent, "agent", "", "only runs of this agent")
	cmd.Flags().StringVar(&f.thread, "thread", "", "only runs of this thread")
	cmd.Flags().StringVar(&f.user, "user", "", "only runs of this user")
	cmd.Flags().BoolVar(&f.all, "all", false, "all runs of the tenant")
	cmd.Flags().BoolVar(&f.list, "list", false, "list the waiting runs without releasing them")
	cmd.RunE = func(cmd *cobra.Command, runs []string) error {
		filtered := f.agent != "" || f.thread != "" || f.user != ""
		if !f.list && !f.all && !filtered && len(runs) == 0 {
			return usageError("no run is selected; want run IDs, --agent, --thread, --user or --all")
		}
		if f.all && (filtered || len(runs) > 0) {
			return usageError("--all selects every run: leave the other filters out")
		}
		return with(cmd.Context(), func(_ *settings.Settings, b *backend) error {
			if b.restoration == nil {
				return configError("%s was not restored: no run waits for a release", b.name)
			}
			return f.release(cmd.Context(), con, b, runs)
		})
	}
	return cmd
}

// release lists or releases the selected runs.
func (f *releaseFilter) release(ctx context.Context, con *console, b *backend, runIDs []string) error {
	r := &mailbox.Restored{Mark: b.restoration, Store: b.queue.Handle(f.tenant), NewID: ids.New}
	q := awaken.RunQuery{AgentID: f.agent, ThreadID: f.thread}
	if len(runIDs) > 0 {
		q.RunIDs = runIDs
	}
	if f.user != "" {
		q.Owner = &f.user
	}
	var waiting []*awaken.Run
	for run, err := range r.Waiting(ctx, q) {
		if err != nil {
			return err
		}
		waiting = append(waiting, run)
	}
	for _, id := range runIDs {
		if !slices.ContainsFunc(waiting, func(run *awaken.Run) bool { return run.RunID == id }) {
			return configError("run %s does not wait for a release", printable(id, false))
		}
	}
	if f.list {
		return listRestored(con, waiting)
	}
	var bad error
	released := 0
	for _, run := range waiting {
		if _, err := r.Release(ctx, run.RunID, &awaken.Actor{Label: "awaken release"}); err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		released++
		fmt.Fprintln(con.out, run.RunID)
	}
	fmt.Fprintf(con.err, "released %d of %d runs\n", released, len(waiting))
	return bad
}

// listRestored prints the runs that wait for a release.
func listRestored(con *console, runs []*awaken.Run) error {
	w := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tTHREAD\tAGENT\tSTATUS\tCREATED")
	for _, run := range runs {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", run.RunID, printable(run.ThreadID, false), printable(run.AgentID, false), run.Status,
			time.UnixMilli(run.CreatedAt).UTC().Format(time.RFC3339))
	}
	return written(w.Flush())
}
