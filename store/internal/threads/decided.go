package threads

import (
	"cmp"
	"maps"

	"github.com/awaken-go/awaken"
)

// Question identifies a question of a tenant.
type Question struct{ RunID, TicketID string }

// Decided holds the records of decisions by their questions.
type Decided map[Question]*awaken.Decided

// Check returns the record of the first question that one of the items decides differently, as
// an error. Items may contradict each other, too.
func (m Decided) Check(items []awaken.InboxItem) error {
	said := Decided{}
	for i := range items {
		d := items[i].Decided
		if d == nil {
			continue
		}
		q := Question{d.RunID, d.TicketID}
		if old := cmp.Or(m[q], said[q]); old != nil && old.Digest() != d.Digest() {
			return old
		}
		said[q] = d
	}
	return nil
}

// Add adds the records of the items, except those of questions that have one, and returns what it
// added.
func (m Decided) Add(items []awaken.InboxItem) (added []*awaken.Decided) {
	for i := range items {
		d := items[i].Decided
		if d == nil || m[Question{d.RunID, d.TicketID}] != nil {
			continue
		}
		m[Question{d.RunID, d.TicketID}] = d
		added = append(added, d)
	}
	return added
}

// Settled returns a ledger with the settlements of calls in doubt that were decided after the calls were over.
// It replaces the records that have one.
func (m Decided) Settled(runID string, calls []*awaken.CallState) []*awaken.CallState {
	for i, s := range calls {
		if s.Doubt.Open() {
			if d := m[Question{runID, awaken.SettlementID(s.CallID)}]; d != nil {
				calls[i] = s.ApplySettlement(d)
			}
		}
	}
	return calls
}

// Remove removes the records of a thread's questions.
func (m Decided) Remove(threadID string) {
	maps.DeleteFunc(m, func(_ Question, d *awaken.Decided) bool { return d.ThreadID == threadID })
}
