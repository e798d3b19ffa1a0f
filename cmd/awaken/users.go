package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/protocol"
)

const assignHelp = `Assign threads without an owner to users, in the database of a server. Threads from before
users were enabled have no owner, and only operators see them.

The owners come from one of

  FILE            lines with a thread and a user, separated by a tab or a space; - is
                  standard input. Empty lines and lines that begin with # are ignored
  --by-resource   the user is the thread's resource_id; threads without one are skipped
  --user NAME     all threads, or the threads of --resource, get that user

Child threads get the owner of their parent, unless they have one. If a thread belongs to
another user, the command fails and changes nothing. It can be repeated.`

// assignment gives a thread to a user.
type assignment struct {
	awaken.Thread        // as it was when the assignment was planned
	user          string // the new owner
}

func usersCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "users", Short: "Assign threads of a server to users", Args: cobra.NoArgs}
	cmd.AddCommand(assignCommand(con))
	return cmd
}

func assignCommand(con *console) *cobra.Command {
	var tenant, user, resource string
	var byResource, dryRun bool
	cmd := &cobra.Command{
		Use:     "assign [FILE]",
		Short:   "Assign threads without an owner to users",
		Long:    assignHelp,
		Example: "  awaken users assign --by-resource --dry-run\n  awaken users assign --user alice --resource ticket-7\n  awaken users assign owners.tsv",
		Args:    cobra.MaximumNArgs(1),
	}
	with := withBackend(cmd, false)
	cmd.Flags().StringVar(&tenant, "tenant", "", "tenant of the threads; default the default tenant")
	cmd.Flags().StringVar(&user, "user", "", "user to assign the threads to")
	cmd.Flags().StringVar(&resource, "resource", "", "with --user: only threads with this resource_id")
	cmd.Flags().BoolVar(&byResource, "by-resource", false, "use the resource_id of each thread as its user")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "print the changes without making them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		sources := len(args)
		for _, set := range []bool{user != "", byResource} {
			if set {
				sources++
			}
		}
		switch err := protocol.CheckID("--user", user); {
		case sources != 1:
			return usageError("want one of a file, --by-resource and --user")
		case resource != "" && user == "":
			return usageError("--resource needs --user")
		case err != nil:
			return usageError("%v", err)
		}
		return with(cmd.Context(), func(_ *settings.Settings, b *backend) error {
			a := &assigner{con: con, store: b.queue.Handle(tenant).(threadEditor), planned: map[string]bool{}}
			var err error
			if len(args) == 1 {
				err = a.planFile(cmd.Context(), args[0])
			} else {
				err = a.planOwnerless(cmd.Context(), awaken.ThreadQuery{ResourceID: resource}, user)
			}
			if err != nil {
				return err
			}
			return a.apply(cmd.Context(), dryRun)
		})
	}
	return cmd
}

// threadEditor reads and changes threads. The handles of stores implement it.
type threadEditor interface {
	awaken.ThreadStore
	awaken.ThreadEditor
}

// assigner plans the owners of threads, and assigns them.
type assigner struct {
	con     *console
	store   threadEditor
	plan    []assignment
	planned map[string]bool // by thread, including those that belong to their user already
}

// planFile plans what a file says. Children follow after all lines, because a line may name them.
func (a *assigner) planFile(ctx context.Context, name string) error {
	in := a.con.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return usageError("%v", err)
		}
		defer f.Close()
		in = f
	}
	var roots []assignment
	lines := bufio.NewScanner(in)
	for n := 1; lines.Scan(); n++ {
		id, user, err := splitOwner(lines.Text())
		switch {
		case err != nil:
			return usageError("%s:%d: %v", name, n, err)
		case id == "":
			continue
		case a.planned[id]:
			return usageError("%s:%d: thread %q is listed twice", name, n, id)
		}
		t, err := a.store.Thread(ctx, id)
		switch {
		case errors.Is(err, awaken.ErrNotFound):
			return usageError("%s:%d: thread %q does not exist; nothing was changed", name, n, id)
		case err != nil:
			return err
		case t.UserID != "" && t.UserID != user:
			return usageError("%s:%d: thread %q belongs to user %q; nothing was changed", name, n, id, t.UserID)
		}
		a.add(t, user)
		roots = append(roots, assignment{*t, user})
	}
	if err := lines.Err(); err != nil {
		return failed(err)
	}
	return a.planChildren(ctx, roots)
}

// splitOwner returns the thread and the user of a line, or "" for a line without them.
func splitOwner(line string) (id, user string, err error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", "", nil
	}
	id, user, ok := strings.Cut(line, "\t")
	if !ok {
		id, user, ok = strings.Cut(line, " ")
	}
	id, user = strings.TrimSpace(id), strings.TrimSpace(user)
	if !ok || user == "" || strings.Contains(user, "\t") {
		return "", "", fmt.Errorf("want a thread and a user, separated by a tab or a space: %.80q", line)
	}
	return id, user, errors.Join(protocol.CheckID("the thread", id), protocol.CheckID("the user", user))
}

// planOwnerless plans to give the threads that q selects and that belong to no user to a user, or to
// the users that are their resources if user is "".
func (a *assigner) planOwnerless(ctx context.Context, q awaken.ThreadQuery, user string) error {
	q.Owner = new("")
	all, err := a.list(ctx, q)
	if err != nil {
		return err
	}
	var roots []assignment
	for _, t := range all {
		owner := user
		if owner == "" {
			owner = t.ResourceID
		}
		if owner != "" {
			a.add(t, owner)
			roots = append(roots, assignment{*t, owner})
		}
	}
	return a.planChildren(ctx, roots)
}

// planChildren plans that the descendants of threads belong to the same users, unless that is decided.
func (a *assigner) planChildren(ctx context.Context, parents []assignment) error {
	for len(parents) > 0 {
		p := parents[0]
		parents = parents[1:]
		kids, err := a.list(ctx, awaken.ThreadQuery{ParentThreadID: p.ID, Owner: new("")})
		if err != nil {
			return err
		}
		for _, kid := range kids {
			if !a.planned[kid.ID] {
				a.add(kid, p.user)
				parents = append(parents, assignment{*kid, p.user})
			}
		}
	}
	return nil
}

func (a *assigner) add(t *awaken.Thread, user string) {
	a.planned[t.ID] = true
	if t.UserID != user {
		a.plan = append(a.plan, assignment{*t, user})
	}
}

// list returns all threads that q selects.
func (a *assigner) list(ctx context.Context, q awaken.ThreadQuery) (out []*awaken.Thread, err error) {
	for q.Limit = 500; ; q.Offset += q.Limit {
		page, err := a.store.ListThreads(ctx, q)
		out = append(out, page...)
		if err != nil || len(page) < q.Limit {
			return out, err
		}
	}
}

// apply prints the plan and, unless it is only to be shown, makes the changes: the least recently
// used thread first, so that lists keep their order.
func (a *assigner) apply(ctx context.Context, dryRun bool) error {
	slices.SortStableFunc(a.plan, func(x, y assignment) int { return cmp.Compare(x.Metadata.UpdatedAt, y.Metadata.UpdatedAt) })
	did, n := "assigned", 0
	w := tabwriter.NewWriter(a.con.out, 0, 0, 2, ' ', 0)
	var err error
	for _, p := range a.plan {
		if !dryRun {
			_, err = a.store.UpdateThread(ctx, p.ID, func(t *awaken.Thread) error {
				if t.UserID != "" && t.UserID != p.user {
					return fmt.Errorf("thread %q: %w: it belongs to user %q since a moment ago", t.ID, awaken.ErrConflict, t.UserID)
				}
				t.UserID = p.user
				return nil
			})
			if errors.Is(err, awaken.ErrNotFound) { // deleted meanwhile
				err = nil
				continue
			}
			if err != nil {
				break
			}
		}
		n++
		_, _ = io.WriteString(w, cell(p.ID)+"\t"+cell(p.user)+"\n") // Flush has the error
	}
	if dryRun {
		did = "would assign"
	}
	err = errors.Join(err, written(w.Flush()))
	fmt.Fprintf(a.con.err, "%s %s\n", did, count(n, "thread"))
	return err
}
