package runs

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// explanations has the handler that says why a run is where it is.
type explanations struct{}

func (h *explanations) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/runs/{run_id}/explain", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.explain),
			Summary: "Explain the state of a run: its causes, since when, and the requests that would continue it", Replies: map[int]any{200: explanation{}}},
	}
}

// explanation says why a run is in its state. Because has at least one cause.
type explanation struct {
	RunID    string           `json:"run_id"`
	ThreadID string           `json:"thread_id"`
	Status   awaken.RunStatus `json:"status"`
	Because  []cause          `json:"because"`
	NowMS    int64            `json:"now_ms"`
}

// cause is one reason, in a sentence.
type cause struct {
	Code    string `json:"code"`            // one of causeCodes, or of a dispatch that is settled
	Since   int64  `json:"since,omitempty"` // Unix ms; 0 if it is not known
	Detail  string `json:"detail"`
	RunID   string `json:"run_id,omitempty"`    // another run that it depends on
	Actions []move `json:"actions"`             // what a client can do about it
	Ticket  string `json:"ticket_id,omitempty"` // the question that waits for an answer
	Until   int64  `json:"until,omitempty"`     // when it changes by itself, Unix ms
}

// move is a request that would move the run.
type move struct {
	Name   string `json:"name"` // decide, cancel, continue, retry or message
	Method string `json:"method"`
	Path   string `json:"path"`
}

// What a cause can be; docs/http.md has the table.
const (
	causeQueued     = "queued.worker"
	causeDelayed    = "queued.delayed"
	causeRetry      = "queued.retry"
	causeBehind     = "queued.behind"
	causeLost       = "queued.owner_lost"
	causeSuspect    = "queued.suspect"
	causeUnqueued   = "queued.nowhere"
	causeTool       = "running.tool"
	causeStep       = "running.step"
	causeCancelling = "running.cancelling"
	causeSilent     = "running.owner_silent"
	causeUnowned    = "running.unowned"
	causeDecision   = "waiting.decision"
	causeInput      = "waiting.input"
	causeChild      = "waiting.child"
	causeDecided    = "waiting.decided"
	causeBudget     = "waiting.budget"
	causePin        = "waiting.version"
	causeRestored   = "waiting.restored"
	causeDone       = "done."            // followed by the type of the termination
	causeDeadLetter = "done.dead_letter" // given up by the queue
	causeDropped    = "done.never_begun" // cancelled or superseded in the queue
	causeSettled    = "settled."         // of a dispatch; followed by what became of it
)

// causeCodes lists every code of a run.
var causeCodes = []string{causeQueued, causeDelayed, causeRetry, causeBehind, causeLost, causeSuspect, causeUnqueued,
	causeTool, causeStep, causeCancelling, causeSilent, causeUnowned,
	causeDecision, causeInput, causeChild, causeDecided, causeBudget, causePin, causeRestored,
	causeDone + string(awaken.NaturalEnd), causeDone + string(awaken.BehaviorRequested), causeDone + string(awaken.Stopped), causeDone + string(awaken.Cancelled),
	causeDone + string(awaken.Blocked), causeDone + string(awaken.Failed), causeDeadLetter, causeDropped}

func (h *explanations) explain(req *server.Request) error {
	run, err := req.Run()
	if err != nil {
		return err
	}
	s := &situation{run: run, now: time.Now().UnixMilli(), internals: req.May(permit.ReadQueue)}
	if s.own, err = telling(req.Context(), req.Tenant().Store, run); err != nil {
		return err
	}
	if run.Status != awaken.RunDone {
		if s.thread, err = req.Tenant().Store.Dispatches(req.Context(), mailbox.Query{ThreadID: run.ThreadID, Statuses: liveStatuses, Limit: 200}); err != nil {
			return err
		}
		if s.calls, err = req.Tenant().Store.Calls(req.Context(), run.RunID); err != nil {
			return err
		}
		t, err := req.Tenant().Store.Thread(req.Context(), run.ThreadID)
		if err != nil {
			return err
		}
		s.open = t.OpenRunID
	}
	if run.Status == awaken.RunWaiting {
		if s.decided, err = decidedTickets(req, s.asking()); err != nil {
			return err
		}
	}
	return req.Reply(200, explanation{RunID: run.RunID, ThreadID: run.ThreadID, Status: run.Status, Because: s.because(), NowMS: s.now})
}

// liveStatuses are the states of dispatches that still have something to do.
var liveStatuses = []mailbox.Status{mailbox.Queued, mailbox.Claimed}

// telling returns the dispatches of a run that explain its state. A run has one for each time that it was woken, so
// all of them may be many.
func telling(ctx context.Context, store interface {
	Dispatches(ctx context.Context, q mailbox.Query) ([]*mailbox.Dispatch, error)
}, run *awaken.Run) ([]*mailbox.Dispatch, error) {
	q := mailbox.Query{RunID: run.RunID, Statuses: liveStatuses, Limit: 200}
	if run.Status == awaken.RunDone {
		q.Statuses = []mailbox.Status{mailbox.DeadLetter}
	}
	list, err := store.Dispatches(ctx, q)
	if err == nil && len(list) == 0 && run.Status == awaken.RunCreated { // what became of it
		q.Statuses = nil
		return store.Dispatches(ctx, q)
	}
	return list, err
}

// situation is the state of a run in the stores at one moment.
type situation struct {
	run       *awaken.Run
	own       []*mailbox.Dispatch // of the run
	thread    []*mailbox.Dispatch // the live ones of its thread, in order
	open      string              // the thread's open run
	calls     []*awaken.CallState
	decided   map[[2]string]bool // by run and ticket
	now       int64
	internals bool // the caller may see errors and names of workers
}

// asking returns the runs whose questions the run waits for: itself, or runs below it.
func (s *situation) asking() (ids []string) {
	if s.run.Waiting == nil {
		return nil
	}
	for _, t := range s.run.Waiting.Tickets {
		if id := cmp.Or(t.RunID, s.run.RunID); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// because returns the causes, the most important one first.
func (s *situation) because() []cause {
	var out []cause
	d := s.live()
	switch {
	case s.run.Status == awaken.RunDone:
		return []cause{s.ended()}
	case d != nil && d.Status == mailbox.Claimed:
		out = s.claimed(d)
	case s.run.Status == awaken.RunWaiting:
		out = s.waits(d)
	case d != nil:
		out = []cause{s.queued(d)}
	case s.run.Status == awaken.RunCreated:
		out = []cause{s.dropped()}
	default:
		out = []cause{{Code: causeUnowned, Since: s.run.UpdatedAt, Detail: "It is not in this server's queue: a program without a queue began it, or it was interrupted."}}
	}
	for i := range out {
		if out[i].Actions == nil {
			out[i].Actions = []move{}
		}
	}
	return out
}

// live returns the run's dispatch that is claimed or, if none is, its first queued one, or nil.
func (s *situation) live() *mailbox.Dispatch {
	var queued *mailbox.Dispatch
	for _, d := range s.own {
		switch {
		case d.Status == mailbox.Claimed:
			return d
		case d.Status == mailbox.Queued && (queued == nil || d.Before(queued) < 0):
			queued = d
		}
	}
	return queued
}

func (s *situation) cancel() move { return s.move("cancel", "cancel") }

// move returns a request to a route of the run.
func (s *situation) move(name, route string) move {
	return move{Name: name, Method: "POST", Path: "/v1/runs/" + url.PathEscape(s.run.RunID) + "/" + route}
}

// at is a moment, for people.
func at(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 MST") }

// queued explains a dispatch that waits in the queue.
func (s *situation) queued(d *mailbox.Dispatch) cause {
	c := cause{Since: d.CreatedAt, Actions: []move{s.cancel()}}
	if first := s.ahead(d); first != "" {
		c.Code, c.RunID = causeBehind, first
		c.Detail = fmt.Sprintf("Runs of a thread take turns: run %s is first.", first)
		return c
	}
	since, lost := d.Between()
	switch {
	case d.OnHold():
		return s.restored(d.UpdatedAt)
	case d.AvailableAt > s.now && d.Attempts > 0:
		c.Code, c.Since, c.Until = causeRetry, d.UpdatedAt, d.AvailableAt
		c.Detail = fmt.Sprintf("Attempt %d of %d failed%s. The next one begins at %s.", d.Attempts, d.MaxAttempts, s.lastError(d), at(d.AvailableAt))
	case d.AvailableAt > s.now:
		c.Code, c.Until = causeDelayed, d.AvailableAt
		c.Detail = "It is not to begin before " + at(d.AvailableAt) + "."
	case d.Suspect():
		c.Code, c.Since = causeSuspect, cmp.Or(since, d.UpdatedAt)
		c.Detail = fmt.Sprintf("%d processes have died while they ran it. "+
			"A process runs it alone; after %d deaths of such processes it is given up.",
			d.Crashes, d.MaxAttempts)
	case lost:
		c.Code, c.Since = causeLost, since
		c.Detail = "Its process was lost. The next free worker takes over."
	default:
		c.Code = causeQueued
		c.Detail = "It waits for a free worker."
	}
	return c
}

// ahead returns the run that a queued dispatch has to wait for, or "".
func (s *situation) ahead(d *mailbox.Dispatch) string {
	for _, o := range s.thread {
		if o.RunID != d.RunID && (o.Status == mailbox.Claimed || o.Before(d) < 0 && o.AvailableAt <= s.now) {
			return o.RunID
		}
	}
	if s.open != "" && s.open != d.RunID {
		return s.open
	}
	return ""
}

// lastError returns a dispatch's last error as part of a sentence, for those who may see it.
func (s *situation) lastError(d *mailbox.Dispatch) string {
	if !s.internals || d.LastError == "" {
		return ""
	}
	return ": " + strings.TrimRight(d.LastError, ".")
}

// claimed explains a run that a worker has.
func (s *situation) claimed(d *mailbox.Dispatch) []cause {
	worker := "A worker"
	if s.internals && d.ClaimedBy != "" {
		worker = "Worker " + d.ClaimedBy
	}
	switch {
	case d.LeaseUntil > 0 && d.LeaseUntil < s.now:
		return []cause{{Code: causeSilent, Since: d.LeaseUntil, Detail: worker + " has not renewed its lease. Another worker takes over once the loss is noticed.", Actions: []move{s.cancel()}}}
	case d.Cancel:
		return []cause{{Code: causeCancelling, Since: d.UpdatedAt, Detail: worker + " is cancelling it, and waits for its calls to stop."}}
	}
	var out []cause
	for _, c := range s.calls {
		if c.Status == awaken.CallRunning {
			out = append(out, cause{Code: causeTool, Since: cmp.Or(c.StartedAt, c.UpdatedAt), Detail: fmt.Sprintf("%s runs its call of %s.", worker, c.ToolName), Actions: []move{s.cancel()}})
		}
	}
	if out == nil {
		out = []cause{{Code: causeStep, Since: d.UpdatedAt, Detail: fmt.Sprintf("%s executes it: step %d asks the model, executes read-only calls, or is being committed.", worker, s.run.Steps+1), Actions: []move{s.cancel()}}}
	}
	return out
}

// waits explains a run that is parked. D is its dispatch in the queue, or nil.
func (s *situation) waits(d *mailbox.Dispatch) []cause {
	w, since := s.run.Waiting, s.run.UpdatedAt
	if w == nil {
		w = &awaken.Waiting{}
	}
	if w.Reason == awaken.WaitRestored {
		return []cause{s.restored(since)}
	}
	var out []cause
	answered := 0
	for _, t := range w.Tickets {
		owner := cmp.Or(t.RunID, s.run.RunID)
		if s.decided[[2]string{owner, t.TicketID}] {
			answered++
			continue
		}
		code, asks := causeDecision, fmt.Sprintf("The call of %s asks for a decision", t.ToolName)
		if w.Reason == awaken.WaitUserInput {
			code, asks = causeInput, fmt.Sprintf("The call of %s waits for an answer of the user or the client", t.ToolName)
		}
		c := cause{Code: code, Since: cmp.Or(t.UpdatedAt, since), Ticket: t.TicketID, Until: t.ExpiresAt, RunID: t.RunID,
			Actions: []move{{Name: "decide", Method: "POST", Path: "/v1/approvals/" + url.PathEscape(owner) + "/" + url.PathEscape(t.TicketID)}, s.cancel()}}
		if t.RunID != "" {
			asks += " in run " + t.RunID + ", which it waits for"
		}
		c.Detail = asks + "."
		if t.Reason != "" {
			c.Detail = asks + ": " + t.Reason
		}
		out = append(out, c)
	}
	switch {
	case len(out) > 0:
		return out
	case answered > 0:
		return []cause{{Code: causeDecided, Since: since, Detail: "All decisions are made. It waits for a worker.", Actions: []move{s.cancel()}}}
	case w.Reason == awaken.WaitBudget:
		return []cause{s.poor(w, since)}
	case w.Reason == awaken.WaitPin:
		c := cause{Code: causePin, Since: since, Detail: fmt.Sprintf("The version %s that it is pinned to cannot be loaded.", s.run.ResolutionID),
			Actions: []move{s.move("continue", "continue"), s.cancel()}}
		if d != nil {
			c.Until = d.AvailableAt
		}
		return []cause{c}
	case d != nil:
		return []cause{s.queued(d)} // something woke it
	}
	for _, c := range s.calls {
		if c.AwaitsChild() {
			out = append(out, cause{Code: causeChild, Since: c.UpdatedAt, RunID: c.Ticket.Child, Detail: fmt.Sprintf("The call of %s waits for run %s.", c.ToolName, c.Ticket.Child), Actions: []move{s.cancel()}})
		}
	}
	if out == nil {
		out = []cause{{Code: causeInput, Since: since, Detail: cmp.Or(w.Message, "It waits for a message."),
			Actions: []move{s.move("message", "inputs"), s.cancel()}}}
		if w.Reason == awaken.WaitBackgroundTasks {
			out[0].Code, out[0].Detail = causeChild, cmp.Or(w.Message, "It waits for the runs that it has started.")
		}
	}
	return out
}

// restored explains a run of a restored database.
func (s *situation) restored(since int64) cause {
	c := cause{Code: causeRestored, Since: since,
		Detail: "The database was restored from a copy, and the run may have continued since. An operator releases it."}
	if s.internals {
		c.Actions = append(c.Actions, move{Name: "release", Method: "POST", Path: "/v1/runs/release"})
	}
	c.Actions = append(c.Actions, s.cancel())
	return c
}

// poor explains a run that waits for budget.
func (s *situation) poor(w *awaken.Waiting, since int64) cause {
	c := cause{Code: causeBudget, Since: since, Detail: cmp.Or(w.Message, "A budget is used up."),
		Actions: []move{s.move("continue", "continue"), s.cancel()}}
	if b := w.Budget; b != nil {
		c.Detail = fmt.Sprintf("The budget of %s is used up: %.4f of %.4f USD are spent, and the next call needs %.4f.", b.Account, b.SpentUSD, b.LimitUSD, b.NeededUSD)
	}
	return c
}

// dropped explains a run that never began and has no place in the queue.
func (s *situation) dropped() cause {
	i := slices.IndexFunc(s.own, func(d *mailbox.Dispatch) bool { return d.Status == mailbox.DeadLetter })
	if i >= 0 {
		return s.givenUp(s.own[i])
	}
	if len(s.own) > 0 {
		d := s.own[len(s.own)-1]
		return cause{Code: causeDropped, Since: d.CompletedAt, Detail: "It was " + strings.ToLower(string(d.Status)) + " before it began."}
	}
	return cause{Code: causeUnqueued, Since: s.run.CreatedAt, Detail: "It has been recorded, and no queue has it: its dispatch was purged, or it was created by a program that does not use the queue."}
}

// givenUp explains a dead letter.
func (s *situation) givenUp(d *mailbox.Dispatch) cause {
	c := cause{Code: causeDeadLetter, Since: d.CompletedAt, Detail: fmt.Sprintf("The queue gave it up after %d failed attempts%s.", d.Attempts, s.lastError(d))}
	if s.internals {
		c.Actions = []move{{Name: "retry", Method: "POST", Path: "/v1/dead-letters/" + d.ID + "/retry"}}
	}
	return c
}

// ended explains a run that is done.
func (s *situation) ended() cause {
	i := slices.IndexFunc(s.own, func(d *mailbox.Dispatch) bool { return d.Status == mailbox.DeadLetter })
	var c cause
	if i >= 0 {
		c = s.givenUp(s.own[i])
	} else {
		t := s.run.Termination
		c = cause{Code: causeDone + string(t.Type), Since: s.run.FinishedAt}
		switch t.Type {
		case awaken.NaturalEnd:
			c.Detail = "The model finished its answer."
		case awaken.BehaviorRequested:
			c.Detail = "A plugin or a tool ended it."
		case awaken.Stopped:
			c.Detail = fmt.Sprintf("The stop condition %s was met.", t.Code)
			if t.Detail != "" {
				c.Detail = fmt.Sprintf("The stop condition %s was met: %s", t.Code, t.Detail)
			}
		case awaken.Cancelled:
			c.Detail = "It was cancelled."
		case awaken.Blocked:
			c.Detail = "A gate or a guard blocked it: " + t.Message
		case awaken.Failed:
			c.Detail = "It failed: " + t.Message
		}
	}
	if c.Actions == nil {
		c.Actions = []move{}
	}
	return c
}
