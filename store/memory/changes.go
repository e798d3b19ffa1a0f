package memory

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/changelog"
	"github.com/awaken-go/awaken/mailbox"
)

// runChanged logs the status of a run if it had another before; "" means that the run is new.
func (r *records) runChanged(before awaken.RunStatus, run *awaken.Run) {
	if before == run.Status || !r.changes.Wanted() {
		return
	}
	c := changelog.Change{Kind: changelog.Run, ThreadID: run.ThreadID, RunID: run.RunID, Status: string(run.Status), UserID: r.userOf(run.ThreadID)}
	if run.Status != awaken.RunCreated {
		record := *run
		c.Run = &record
	}
	r.changes.Add(r.tenant, c)
}

// asked logs the questions that a commit opened or closed.
func (r *records) asked(c *awaken.Commit) {
	if len(c.Calls) == 0 || !r.changes.Wanted() {
		return
	}
	if tickets := changelog.TicketsOf(c.Calls); len(tickets) > 0 {
		r.changes.Add(r.tenant, changelog.Change{Kind: changelog.Tickets, ThreadID: c.ThreadID, RunID: c.Run.RunID, Tickets: tickets, UserID: r.userOf(c.ThreadID)})
	}
}

// decide keeps the records of the decisions among items, and logs them.
func (r *records) decide(items []awaken.InboxItem) {
	for _, d := range r.decided.Add(items) {
		r.changes.Add(r.tenant, changelog.Change{Kind: changelog.Decision, ThreadID: d.ThreadID, RunID: d.RunID, ID: d.TicketID, Decided: d, UserID: r.userOf(d.ThreadID)})
	}
}

// userOf returns the user of a thread.
func (r *records) userOf(threadID string) string {
	if t := r.threads[threadID]; t != nil {
		return t.UserID
	}
	return ""
}

// changed logs the status of a dispatch.
func (l *lines) changed(t *thread, d *mailbox.Dispatch) {
	l.changes.Add(d.Tenant, changelog.Change{Kind: changelog.Dispatch, ThreadID: d.ThreadID, RunID: d.RunID, Status: string(queued(d.Status)), ID: d.ID, UserID: t.UserID})
}

// queued returns the status of a dispatch in the log of changes, which has no claims.
func queued(s mailbox.Status) mailbox.Status {
	if s == mailbox.Claimed {
		return mailbox.Queued
	}
	return s
}
