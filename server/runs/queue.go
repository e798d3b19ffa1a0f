package runs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// queues has the handlers of a tenant's queue.
type queues struct{}

func (h *queues) routes() []protocol.Route {
	statuses := []string{statusLive}
	for _, s := range mailbox.Statuses {
		statuses = append(statuses, string(s))
	}
	return []protocol.Route{
		{Method: "GET", Path: "/v1/dispatches", Needs: permit.ReadQueue, Handle: server.Handle(h.list),
			Summary: "List dispatches, newest first, each with the reason why it is in its state",
			Query: []protocol.Param{server.Param("status", strings.Join(statuses, "|"), "only dispatches with this status; live means Queued or Claimed"),
				server.Param("agent_id", "string", "only dispatches of runs of this agent"), server.Param("worker", "string", "only dispatches that this process has claimed"),
				server.Param("cursor", "string", "next_cursor of the previous page"), server.PageParams[1]},
			Replies: map[int]any{200: explainedDispatches{}}},
		{Method: "GET", Path: "/v1/queue", Needs: permit.ReadQueue, Handle: server.Handle(h.get),
			Summary: "Get the state of the queue: counts, waits with their reasons, and workers with their claims", Replies: map[int]any{200: queueBody{}}},
	}
}

// statusLive selects what is queued or claimed.
const statusLive = "live"

// explainedDispatch is a dispatch and why it is in its state.
type explainedDispatch struct {
	mailbox.Dispatch
	AgentID string `json:"agent_id,omitempty"` // "" if the run that it wakes is gone
	Because cause  `json:"because"`
}

type explainedDispatches struct {
	Items      []explainedDispatch `json:"items"`
	NextCursor *string             `json:"next_cursor"`
	NowMS      int64               `json:"now_ms"`
}

func (h *queues) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	q := mailbox.Query{AgentID: req.Value("agent_id"), Worker: req.Value("worker"), Limit: req.Number("limit", 50, 1, 200)}
	switch status := req.Value("status"); status {
	case "":
	case statusLive:
		q.Statuses = liveStatuses
	default:
		q.Statuses = []mailbox.Status{mailbox.Status(status)}
	}
	from, err := req.Behind("dsp_", server.FiltersOf(req, []any{q.AgentID, q.Worker, q.Statuses}))
	if err != nil {
		return err
	}
	q.After = from.At
	page, err := req.Tenant().Store.Dispatches(req.Context(), q)
	if err != nil {
		return err
	}
	v := &queueView{now: time.Now().UnixMilli()}
	var waiting []string // threads of what is queued
	for _, d := range page {
		if d.Status == mailbox.Queued && !slices.Contains(waiting, d.ThreadID) {
			waiting = append(waiting, d.ThreadID)
		}
	}
	if len(waiting) > 0 {
		if v.live, v.open, err = req.Tenant().Store.Backlog(req.Context(), maxBacklog, waiting...); err != nil {
			return err
		}
	}
	out := explainedDispatches{Items: []explainedDispatch{}, NowMS: v.now}
	for i, d := range listDispatches(req.Caller, page).Items {
		agent := ""
		if d.Request != nil {
			agent = d.Request.AgentID
		}
		if run, err := req.Tenant().Store.LoadRun(req.Context(), d.RunID); err == nil {
			agent = run.AgentID
		}
		out.Items = append(out.Items, explainedDispatch{Dispatch: *d, AgentID: agent, Because: v.explain(page[i])})
	}
	if len(page) == q.Limit {
		from.At = page[len(page)-1].ID
		next := from.Next("dsp_")
		out.NextCursor = &next
	}
	return req.Reply(200, out)
}

// queueView explains dispatches, as [situation] explains runs.
type queueView struct {
	live []*mailbox.Dispatch // of the threads whose dispatches are explained
	open map[string]string   // open runs by thread
	now  int64
}

// explain says why a dispatch is in its state. Admins read it.
func (v *queueView) explain(d *mailbox.Dispatch) cause {
	s := &situation{run: &awaken.Run{RunID: d.RunID, ThreadID: d.ThreadID, Steps: d.Steps}, open: v.open[d.ThreadID], now: v.now, internals: true}
	var c cause
	switch d.Status {
	case mailbox.Queued:
		for _, o := range v.live {
			if o.ThreadID == d.ThreadID {
				s.thread = append(s.thread, o)
			}
		}
		c = s.queued(d)
	case mailbox.Claimed:
		c = s.claimed(d)[0]
	case mailbox.DeadLetter:
		c = s.givenUp(d)
	default:
		c = cause{Code: causeSettled + strings.ToLower(string(d.Status)), Since: d.CompletedAt, Detail: settledDetails[d.Status]}
	}
	if c.Actions == nil {
		c.Actions = []move{}
	}
	return c
}

// settledDetails explains the outcomes of settled dispatches.
var settledDetails = map[mailbox.Status]string{
	mailbox.Acked:      "It was processed: its run has ended, or waits for something outside of the queue.",
	mailbox.Cancelled:  "Its run was cancelled.",
	mailbox.Superseded: "Its thread was interrupted before it ran.",
}

// maxBacklog is how many live dispatches the state of a queue is made of.
const maxBacklog = 5000

type queueBody struct {
	Counts map[mailbox.Status]int `json:"counts"` // every status has one
	Oldest *oldestDispatch        `json:"oldest"` // of those that wait for a worker; null if none does
	Waits  []queueWait            `json:"waits"`  // why live dispatches are where they are, the most frequent reason first
	// Workers are the processes that have claimed something.
	Workers []queueWorker `json:"workers"`
	// Partial says that there are more live dispatches than waits and workers count: they count the oldest.
	Partial bool  `json:"partial"`
	NowMS   int64 `json:"now_ms"`
}

// oldestDispatch is the dispatch that has waited longest.
type oldestDispatch struct {
	DispatchID string `json:"dispatch_id"`
	RunID      string `json:"run_id"`
	ThreadID   string `json:"thread_id"`
	Because    cause  `json:"because"`
}

// queueWait is a reason and how many dispatches it holds.
type queueWait struct {
	Code   string         `json:"code"`
	Count  int            `json:"count"`
	Oldest oldestDispatch `json:"oldest"`
}

// queueWorker is a process and what it has claimed.
type queueWorker struct {
	Worker     string `json:"worker"`
	Replica    string `json:"replica"` // its host and process, which a process keeps when it joins the queue anew
	Claimed    int    `json:"claimed"`
	Since      int64  `json:"since"`       // the oldest claim, Unix ms
	LeaseUntil int64  `json:"lease_until"` // the lease that ends first, Unix ms
	Silent     bool   `json:"silent"`      // a lease has ended
}

func (h *queues) get(req *server.Request) error {
	counts, err := req.Tenant().Store.CountDispatches(req.Context())
	if err != nil {
		return err
	}
	v := &queueView{now: time.Now().UnixMilli()}
	if v.live, v.open, err = req.Tenant().Store.Backlog(req.Context(), maxBacklog); err != nil {
		return err
	}
	out := queueBody{Counts: map[mailbox.Status]int{}, Waits: []queueWait{}, Workers: []queueWorker{}, Partial: len(v.live) == maxBacklog, NowMS: v.now}
	for _, s := range mailbox.Statuses {
		out.Counts[s] = counts[s]
	}
	threads := map[string]*queueView{} // one for each thread, so that a long queue is not searched for each
	for _, d := range v.live {
		if threads[d.ThreadID] == nil {
			threads[d.ThreadID] = &queueView{open: v.open, now: v.now}
		}
		threads[d.ThreadID].live = append(threads[d.ThreadID].live, d)
	}
	for _, d := range v.live {
		out.add(d, threads[d.ThreadID].explain(d))
	}
	slices.SortFunc(out.Waits, func(a, b queueWait) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Code, b.Code))
	})
	slices.SortFunc(out.Workers, func(a, b queueWorker) int { return strings.Compare(a.Worker, b.Worker) })
	return req.Reply(200, out)
}

// add counts a live dispatch.
func (b *queueBody) add(d *mailbox.Dispatch, c cause) {
	this := oldestDispatch{d.ID, d.RunID, d.ThreadID, c}
	i := slices.IndexFunc(b.Waits, func(w queueWait) bool { return w.Code == c.Code })
	if i < 0 {
		i = len(b.Waits)
		b.Waits = append(b.Waits, queueWait{Code: c.Code, Oldest: this})
	}
	w := &b.Waits[i]
	if w.Count++; c.Since < w.Oldest.Because.Since {
		w.Oldest = this
	}
	if d.Status == mailbox.Queued {
		if c.Until == 0 && c.Code != causeBehind && (b.Oldest == nil || c.Since < b.Oldest.Because.Since) {
			b.Oldest = &this
		}
		return
	}
	if i = slices.IndexFunc(b.Workers, func(w queueWorker) bool { return w.Worker == d.ClaimedBy }); i < 0 {
		i = len(b.Workers)
		b.Workers = append(b.Workers, queueWorker{Worker: d.ClaimedBy, Replica: mailbox.Replica(d.ClaimedBy), Since: d.UpdatedAt, LeaseUntil: d.LeaseUntil})
	}
	worker := &b.Workers[i]
	worker.Claimed++
	worker.Since, worker.LeaseUntil = min(worker.Since, d.UpdatedAt), min(worker.LeaseUntil, d.LeaseUntil)
	worker.Silent = worker.LeaseUntil < b.NowMS
}
