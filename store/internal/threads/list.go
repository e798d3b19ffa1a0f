package threads

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
)

// MostCounted is how far a list with a place is counted.
const MostCounted = 10_000

// Place is the place of an item in a list that is ordered by [Newest]. The zero Place is before all items.
type Place struct {
	Time int64
	ID   string
}

// ParsePlace parses the text of a place. "" is the zero Place.
func ParsePlace(text string) (p Place, err error) {
	if text == "" {
		return p, nil
	}
	at, id, ok := strings.Cut(text, ".")
	if p.Time, err = strconv.ParseInt(at, 10, 64); err != nil || !ok || id == "" {
		return Place{}, fmt.Errorf("%w: place is %q, want one that a list returned", awaken.ErrInvalid, text)
	}
	p.ID = id
	return p, nil
}

// String returns the text of the place.
func (p Place) String() string { return strconv.FormatInt(p.Time, 10) + "." + p.ID }

// Before reports whether an item is behind the place.
func (p Place) Before(time int64, id string) bool {
	return p.ID == "" || Newest(p.Time, time, p.ID, id) < 0
}

// ComparePlaced compares items by their places.
func ComparePlaced(a, b Place) int { return Newest(a.Time, b.Time, a.ID, b.ID) }

// Cut returns a page of a list that is sorted by [Newest], and sets at, unless it is nil, to where the page
// ends. PlaceOf returns the place of an item.
func Cut[T any](all []T, offset, limit int, at *string, placeOf func(T) Place) ([]T, error) {
	if at != nil {
		from, err := ParsePlace(*at)
		if err != nil {
			return nil, err
		}
		first := slices.IndexFunc(all, func(item T) bool { p := placeOf(item); return from.Before(p.Time, p.ID) })
		if first < 0 {
			first = len(all)
		}
		all = all[first:]
	}
	offset, limit = Page(offset, limit)
	all = all[min(offset, len(all)):]
	page := all[:min(limit, len(all))]
	if at != nil {
		if *at = ""; len(page) < len(all) {
			*at = placeOf(page[len(page)-1]).String()
		}
	}
	return page, nil
}

// Selects reports whether q selects a thread by its record: it does not look at AgentID and Status, which are those of its
// latest run.
func Selects(q *awaken.ThreadQuery, t *awaken.Thread) bool {
	return (q.ParentThreadID == "" || t.ParentThreadID == q.ParentThreadID) && (q.ResourceID == "" || t.ResourceID == q.ResourceID) &&
		(!q.Root || t.ParentThreadID == "") && (q.Owner == nil || t.UserID == *q.Owner) &&
		(q.Since <= 0 || t.Metadata.UpdatedAt >= q.Since) && (q.Until <= 0 || t.Metadata.UpdatedAt < q.Until) &&
		(q.Text == "" || contains(strings.ToLower(q.Text), t.ID, t.Metadata.Title, t.ResourceID))
}

// ByRun reports whether the threads that q selects are ordered by when their latest runs began; see [awaken.ThreadQuery].
func ByRun(q *awaken.ThreadQuery) bool {
	return (q.AgentID != "" || q.Status != "" && q.Status != awaken.RunDone) && q.ParentThreadID == "" && q.ResourceID == "" &&
		(q.Owner == nil || *q.Owner == "") && q.Since <= 0
}

// contains reports whether one of several texts contains a text, which is in lower case. Case does not matter.
func contains(text string, in ...string) bool {
	return slices.ContainsFunc(in, func(s string) bool { return strings.Contains(strings.ToLower(s), text) })
}

// Distinct returns ids without those that are there again.
func Distinct(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// SelectsRun reports whether q selects a run by its record: it does not look at Owner, Tool, InDoubt and Pinned.
func SelectsRun(q *awaken.RunQuery, r *awaken.Run) bool {
	return (q.RunIDs == nil || slices.Contains(q.RunIDs, r.RunID)) &&
		(q.ThreadID == "" || r.ThreadID == q.ThreadID) &&
		(q.Status == "" || r.Status == q.Status) &&
		(q.AgentID == "" || r.AgentID == q.AgentID) &&
		(q.Version == "" || r.ResolutionID == q.Version) &&
		(q.Origin == "" || r.Origin == q.Origin) &&
		(q.Outcome == "" || r.Termination.Type == q.Outcome) &&
		(q.Waiting == "" || r.Waiting != nil && r.Waiting.Reason == q.Waiting) &&
		(q.ParentRunID == "" || r.ParentRunID == q.ParentRunID) &&
		(!q.Root || r.ParentRunID == "") &&
		(q.ErrorCode == "" || r.ErrorPayload != nil && r.ErrorPayload.Code == q.ErrorCode) &&
		(q.MinCostUSD <= 0 || r.Status != awaken.RunRunning && money.Dollars(r.CostUSD) >= money.Dollars(q.MinCostUSD)) &&
		(q.MinDuration <= 0 || r.Status == awaken.RunDone && r.StartedAt > 0 && r.FinishedAt-r.StartedAt >= q.MinDuration) &&
		(q.Since <= 0 || r.CreatedAt >= q.Since) && (q.Until <= 0 || r.CreatedAt < q.Until) &&
		(q.Text == "" || mentions(r, strings.ToLower(q.Text)))
}

// mentions reports whether a run contains a text, which is in lower case.
func mentions(r *awaken.Run, text string) bool {
	return contains(text, r.RunID, r.ThreadID, r.AgentID, r.Question, r.StatusReason, r.Termination.Message, r.FinalOutput) ||
		r.ErrorPayload != nil && contains(text, r.ErrorPayload.Message)
}

// SelectsCalls reports whether q selects a run by its calls.
func SelectsCalls(q *awaken.RunQuery, calls []*awaken.CallState) bool {
	return (q.Tool == "" || slices.ContainsFunc(calls, func(c *awaken.CallState) bool { return c.ToolName == q.Tool && !c.IsHeld() })) &&
		(!q.InDoubt || slices.ContainsFunc(calls, Doubtful))
}

// Doubtful reports whether it was not known, at some time, whether a call took effect.
func Doubtful(c *awaken.CallState) bool {
	return c.Doubt != nil || c.Result.InDoubt() ||
		c.Ticket != nil && (c.Ticket.Suspension.Action == awaken.ActionInDoubt || c.Ticket.Suspension.Action == awaken.ActionStepInDoubt) ||
		slices.ContainsFunc(c.Steps, func(s *awaken.CallStep) bool { return s.InDoubt })
}
