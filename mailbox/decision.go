package mailbox

import (
	"cmp"
	"context"
	"errors"
	"slices"

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

// overtaken returns why decisions could not be posted to a run, given the error of the attempt. If
// the run took in equal ones and then ended or asked something else, repeated is true; if it took
// in a different one, the error is its record.
func (t *Tenant) overtaken(ctx context.Context, runID string, ds []awaken.Decision, err error) (repeated bool, _ error) {
	if !errors.Is(err, ErrIdle) && !errors.Is(err, errClosed) {
		return false, err
	}
	_, items, again := t.Runtime.CheckDecisions(ctx, runID, ds...)
	if errors.Is(again, awaken.ErrDecided) {
		return false, again
	}
	return again == nil && len(items) == 0, err
}
