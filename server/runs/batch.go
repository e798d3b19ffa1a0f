package runs

import (
	"log/slog"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// batchLimit is how many items a batch may have.
const batchLimit = 100

// batches has the handlers that do the same to several items. Each item succeeds or fails by itself,
// as a request for it alone would; the response has a result for each, in the same order.
type batches struct{ approvals approvals }

func (h *batches) routes() []protocol.Route {
	route := func(path string, needs permit.Permission, scope protocol.Scope, summary string, handle func(req *server.Request, body *batch) error) protocol.Route {
		return protocol.Route{Method: "POST", Path: path, Needs: needs, Scope: scope, Handle: server.HandleBody(handle),
			Summary: summary, Body: batch{}, Replies: map[int]any{200: batchResult{}}}
	}
	return []protocol.Route{
		{Method: "POST", Path: "/v1/approvals", Needs: permit.DecideApprovals, Scope: protocol.ByCaller, Handle: server.HandleBody(h.decide),
			Summary: "Submit decisions on several waiting tool calls", Body: decisionBatch{}, Replies: map[int]any{200: batchResult{}}},
		route("/v1/runs/cancel", permit.CancelRuns, protocol.ByCaller, "Cancel several runs", h.each(func(req *server.Request, id string) (string, error) {
			return "cancel_requested", explainMissing(req.Tenant().Cancel(req.Context(), id), "run", id)
		})),
		route("/v1/runs/continue", permit.StartRuns, protocol.ByCaller, "Continue several runs that wait for budget or for their pinned versions", h.each(func(req *server.Request, id string) (string, error) {
			_, err := req.Tenant().Continue(req.Context(), id)
			return "continue_requested", explainMissing(err, "run", id)
		})),
		route("/v1/dead-letters/retry", permit.WriteQueue, protocol.Operators, "Retry several dead letters, each as a new run", h.retry),
		route("/v1/dead-letters/delete", permit.WriteQueue, protocol.Operators, "Delete several dead letters", h.each(func(req *server.Request, id string) (string, error) {
			return "deleted", explainMissing(req.Tenant().DropDeadLetter(req.Context(), id), "dead letter", id)
		})),
	}
}

// batch names several items.
type batch struct {
	IDs []string `json:"ids"`
}

// decisionBatch has decisions of several runs.
type decisionBatch struct {
	Decisions []runDecision `json:"decisions"`
}

// runDecision is a decision on a question of a run.
type runDecision struct {
	RunID    string `json:"run_id"`
	TicketID string `json:"ticket_id"`
	decisionBody
}

// batchResult has the result of each item, in the order of the request.
type batchResult struct {
	Items  []batchItem `json:"items"`
	Failed int         `json:"failed"` // how many items have an error
	broken bool        // the rest is not tried
	admit  func(ids ...string) error
	logger *slog.Logger
}

// newResult returns the result of a request before its first item.
func (h *batches) newResult(req *server.Request) batchResult {
	return batchResult{Items: []batchItem{}, admit: req.Admit, logger: h.approvals.log.Logger.With("route", req.Route().Path)}
}

// batchItem is the outcome of one item. Either Result or Error is set.
type batchItem struct {
	ID       string `json:"id"`
	TicketID string `json:"ticket_id,omitempty"`
	Status   int    `json:"status"` // as HTTP would say of the item alone
	Result   string `json:"result,omitempty"`
	RunID    string `json:"run_id,omitempty"` // the new run, of a dead letter that is retried
	Error    string `json:"error,omitempty"`
	Code     string `json:"code,omitempty"`
	// Decision is the earlier decision, if the code is already_decided.
	Decision *awaken.Decided `json:"decision,omitempty"`
}

// checkBatch checks how many items a field has.
func checkBatch(field string, n int) error {
	switch {
	case n == 0:
		return protocol.BadRequest("%s is empty, want 1 to %d items", field, batchLimit)
	case n > batchLimit:
		return protocol.BadRequest("%s has %d items, want at most %d", field, n, batchLimit)
	}
	return nil
}

// each adapts a function of one id.
func (h *batches) each(do func(req *server.Request, id string) (result string, err error)) func(req *server.Request, body *batch) error {
	return func(req *server.Request, body *batch) error {
		return h.answer(req, body, func(item *batchItem) (err error) {
			item.Result, err = do(req, item.ID)
			return err
		})
	}
}

// answer calls do for each id, and replies with the outcomes.
func (h *batches) answer(req *server.Request, body *batch, do func(item *batchItem) error) error {
	if err := checkBatch("ids", len(body.IDs)); err != nil {
		return err
	}
	out := h.newResult(req)
	for _, id := range body.IDs {
		if err := out.try(batchItem{ID: id}, do); err != nil {
			return err
		}
	}
	return req.Reply(http.StatusOK, out)
}

// try does one item and adds its outcome. After a failure that says nothing of the item, such
// as an outage of the store, the rest is not tried. If it is that of the first item, try returns it:
// nothing has been done.
func (b *batchResult) try(item batchItem, do func(item *batchItem) error) error {
	item.Status = http.StatusAccepted
	var err error
	switch {
	case b.broken:
		err = server.Fail(http.StatusServiceUnavailable, "not_tried", "an earlier item of the batch failed for a reason that concerns all; try again")
	case item.ID == "":
		err = protocol.BadRequest("an id is empty")
	default:
		if err = protocol.CheckID("id", item.ID); err == nil {
			err = b.admit(item.ID)
		}
		if err == nil {
			err = do(&item)
		}
	}
	if err != nil {
		f := server.FailureOf(err)
		if f.Status >= 500 && len(b.Items) == 0 {
			return err
		}
		if f.Status >= 500 && !b.broken { // the response has no details
			b.logger.Error("the item of a batch failed", "id", item.ID, "error", err)
			b.broken = true
		}
		b.Failed++
		item = batchItem{ID: item.ID, TicketID: item.TicketID, Status: f.Status, Error: f.Message, Code: f.Code, Decision: f.Decision}
	}
	b.Items = append(b.Items, item)
	return nil
}

func (h *batches) retry(req *server.Request, body *batch) error {
	return h.answer(req, body, func(item *batchItem) error {
		r, err := req.Tenant().RetryDeadLetter(req.Context(), item.ID)
		if err != nil {
			return explainMissing(err, "dead letter", item.ID)
		}
		item.Result, item.RunID = "retried", r.RunID
		return nil
	})
}

func (h *batches) decide(req *server.Request, body *decisionBatch) error {
	if err := checkBatch("decisions", len(body.Decisions)); err != nil {
		return err
	}
	out := h.newResult(req)
	for i := range body.Decisions {
		d := &body.Decisions[i]
		err := out.try(batchItem{ID: d.RunID, TicketID: d.TicketID}, func(item *batchItem) error {
			item.Result = "decision_submitted"
			_, err := h.approvals.decide(req, d.RunID, d.TicketID, "waiting tool call of run", &d.decisionBody)
			return err
		})
		if err != nil {
			return err
		}
	}
	return req.Reply(http.StatusOK, out)
}
