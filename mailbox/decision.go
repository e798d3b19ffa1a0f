package mailbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
)

// DecisionQuery selects records of decisions. Empty fields select all.
type DecisionQuery struct {
	RunIDs []string // only of these runs; nil selects all
	Actor  string   // only by this key, by id or label, or this user
	Tool   string   // only on calls of this tool
	Since  int64    // only those accepted at this time or later, Unix ms
	Owner  *string  // only on threads of this user, or of none if it points to ""
	// After selects a page: only records that the list has after this one, which is identified
	// by At, RunID and TicketID.
	After *awaken.Decided
	Limit int // of a page; 0 means 50
}

// Size returns the limit of a page.
func (q *DecisionQuery) Size() int { return cmp.Or(q.Limit, 50) }

// Selects reports whether the query selects a record, whatever its Owner.
func (q *DecisionQuery) Selects(d *awaken.Decided) bool {
	var by awaken.Actor
	if d.Actor != nil {
		by = *d.Actor
	}
	return (q.RunIDs == nil || slices.Contains(q.RunIDs, d.RunID)) && (q.Tool == "" || q.Tool == d.ToolName) && d.At >= q.Since &&
		(q.Actor == "" || q.Actor == by.KeyID || q.Actor == by.Label || q.Actor == by.User) && (q.After == nil || CompareDecided(q.After, d) < 0)
}

// CompareDecided orders records as [Store.Decisions] lists them: the newest first.
func CompareDecided(a, b *awaken.Decided) int {
	return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.TicketID, b.TicketID))
}

// made returns the records that posted items made. An item whose question had an equal record
// before made none. If the records cannot be read, all items count.
func (t *Tenant) made(ctx context.Context, items []awaken.InboxItem) (out []*awaken.Decided) {
	q := DecisionQuery{RunIDs: []string{}, Limit: 1000}
	for _, it := range items {
		if it.Decided != nil {
			out, q.RunIDs = append(out, it.Decided), append(q.RunIDs, it.Decided.RunID)
		}
	}
	if len(out) == 0 {
		return nil
	}
	has, err := t.Store.Decisions(context.WithoutCancel(ctx), q)
	if err != nil {
		return out
	}
	return slices.DeleteFunc(out, func(d *awaken.Decided) bool {
		return !slices.ContainsFunc(has, func(o *awaken.Decided) bool {
			return o.RunID == d.RunID && o.TicketID == d.TicketID && o.RequestID == d.RequestID && o.ID == d.ID && o.At == d.At
		})
	})
}

// Decisions lists records of decisions as [Store.Decisions] does, and says of each whether it was
// applied. It reads the ledger of every run that asked.
func (t *Tenant) Decisions(ctx context.Context, q DecisionQuery) ([]*awaken.Decided, error) {
	page, err := t.Store.Decisions(ctx, q)
	if err != nil {
		return nil, err
	}
	type asker struct {
		run   *awaken.Run
		calls []*awaken.CallState
	}
	askers := map[string]*asker{}
	out := make([]*awaken.Decided, len(page))
	for i, d := range page {
		a := askers[d.RunID]
		if a == nil {
			a = &asker{}
			// The run first: one that is done changes its ledger no more.
			if a.run, err = t.Store.LoadRun(ctx, d.RunID); err == nil {
				a.calls, err = t.Store.Calls(ctx, d.RunID)
			}
			if err != nil && !errors.Is(err, awaken.ErrNotFound) {
				return nil, fmt.Errorf("decision on %s of run %s: %w", d.TicketID, d.RunID, err)
			}
			askers[d.RunID] = a
		}
		if out[i] = d; a.run != nil { // otherwise its thread was deleted meanwhile
			out[i] = d.AppliedTo(a.run, a.calls)
		}
	}
	return out, nil
}

// check returns the inbox items that deliver decisions to a run. A decision that repeats an
// accepted one needs none, even if the question was closed before the run could act on it.
func (t *Tenant) check(ctx context.Context, runID string, ds []awaken.Decision) ([]awaken.InboxItem, error) {
	_, items, err := t.Runtime.CheckDecisions(ctx, runID, ds...)
	if _, known := errors.AsType[*awaken.Decided](err); known || !errors.Is(err, awaken.ErrDecided) && !errors.Is(err, awaken.ErrExpired) {
		return items, err
	}
	left, contradicted := t.unrecorded(ctx, runID, ds)
	switch {
	case contradicted != nil:
		return nil, contradicted
	case len(left) == len(ds):
		return nil, err
	case len(left) == 0:
		return nil, nil
	}
	_, items, err = t.Runtime.CheckDecisions(ctx, runID, left...)
	return items, err
}

// unrecorded returns the decisions whose questions have no record. The error is the record of a
// question that one of the others decides differently.
func (t *Tenant) unrecorded(ctx context.Context, runID string, ds []awaken.Decision) (left []awaken.Decision, _ error) {
	q := DecisionQuery{RunIDs: []string{runID}, Limit: 1000}
	for i := range ds {
		q.RunIDs = append(q.RunIDs, strings.Split(ds[i].Target, ":")...) // a delegate's ticket names its run
	}
	records, err := t.Store.Decisions(ctx, q)
	if err != nil {
		return nil, err
	}
	for _, d := range ds {
		i := slices.IndexFunc(records, func(rec *awaken.Decided) bool { return decides(&d, runID, rec) })
		if i < 0 {
			left = append(left, d)
		} else if records[i].Digest() != d.Digest() {
			return nil, records[i]
		}
	}
	return left, nil
}

// decides reports whether a decision for a run is about the question of a record: its own, or that
// of a delegate.
func decides(d *awaken.Decision, runID string, rec *awaken.Decided) bool {
	return rec.RunID == runID && (d.Target == rec.TicketID || d.Target == rec.ToolCallID) || strings.HasSuffix(":"+d.Target, ":"+rec.RunID+":"+rec.TicketID)
}

// overtaken returns why decisions could not be posted to a run, given the error of the attempt. If
// equal ones were accepted before the run ended or asked something else, repeated is true; if a
// different one was, the error is its record.
func (t *Tenant) overtaken(ctx context.Context, runID string, ds []awaken.Decision, err error) (repeated bool, _ error) {
	if !errors.Is(err, ErrIdle) && !errors.Is(err, errClosed) {
		return false, err
	}
	items, again := t.check(ctx, runID, ds)
	if errors.Is(again, awaken.ErrDecided) {
		return false, again
	}
	return again == nil && len(items) == 0, err
}
