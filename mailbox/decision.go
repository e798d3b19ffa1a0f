package mailbox

import (
	"cmp"
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
