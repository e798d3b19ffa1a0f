package runs

import (
	"context"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// restored has the handlers of runs that wait because their database was restored.
type restored struct {
	batches
}

func (h *restored) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/restored", Needs: permit.ReadQueue, Handle: server.Handle(h.list),
			Summary: "List the runs that wait for their release because the database was restored",
			Query: []protocol.Param{
				server.Param("agent_id", "string", "only runs of this agent"),
				server.Param("thread_id", "string", "only runs of this thread"),
				server.UserParam,
			},
			Replies: map[int]any{200: restoredList{}}},
		{Method: "POST", Path: "/v1/runs/release", Needs: permit.WriteQueue, Handle: server.HandleBody(h.release),
			Summary: "Release runs that wait because the database was restored, by id or by filter",
			Body:    releaseRequest{}, Replies: map[int]any{200: batchResult{}}},
	}
}

// restoredList is the restored part of a database.
type restoredList struct {
	Restoration *awaken.Restoration `json:"restoration"` // null if the database was not restored
	Items       []*awaken.Run       `json:"items"`       // at most 200, the oldest first
	Total       int                 `json:"total"`
}

const maxRestoredRuns = 200

func (h *restored) list(req *server.Request) error {
	r := req.Tenant().Restored()
	out := restoredList{Restoration: r.Mark, Items: []*awaken.Run{}}
	q := awaken.RunQuery{AgentID: req.Value("agent_id"), ThreadID: req.Value("thread_id")}
	var err error
	if q.Owner, err = req.Owner(); err != nil {
		return err
	}
	for run, err := range r.Waiting(req.Context(), q) {
		if err != nil {
			return err
		}
		if out.Total++; len(out.Items) < maxRestoredRuns {
			out.Items = append(out.Items, run)
		}
	}
	return req.Reply(200, out)
}

// releaseRequest selects the runs to release. At least one field must be set.
type releaseRequest struct {
	IDs      []string `json:"ids,omitempty"`
	AgentID  string   `json:"agent_id,omitempty"`
	ThreadID string   `json:"thread_id,omitempty"`
	UserID   *string  `json:"user_id,omitempty"`
	All      bool     `json:"all,omitempty"` // every run of the tenant
}

// release releases the selected runs, the oldest first, at most as many as a batch has. The client
// repeats the request while the reply is full.
func (h *restored) release(req *server.Request, body *releaseRequest) error {
	filtered := body.AgentID != "" || body.ThreadID != "" || body.UserID != nil
	switch {
	case !body.All && !filtered && len(body.IDs) == 0:
		return protocol.BadRequest("no run is selected; want ids, agent_id, thread_id, user_id or all")
	case body.All && (filtered || len(body.IDs) > 0):
		return protocol.BadRequest("all is true, and other fields select runs as well; want one of them")
	case len(body.IDs) > 0 && filtered:
		return protocol.BadRequest("ids and a filter are both set; want one of them")
	case len(body.IDs) > batchLimit:
		return protocol.BadRequest("ids has %d items, want at most %d", len(body.IDs), batchLimit)
	}
	r, ids := req.Tenant().Restored(), body.IDs
	if len(ids) == 0 {
		for run, err := range r.Waiting(req.Context(), awaken.RunQuery{AgentID: body.AgentID, ThreadID: body.ThreadID, Owner: body.UserID}) {
			if err != nil {
				return err
			}
			if ids = append(ids, run.RunID); len(ids) == batchLimit {
				break
			}
		}
	}
	out := h.newResult(req)
	actor := server.Author(req)
	for _, id := range ids {
		err := out.try(batchItem{ID: id}, func(item *batchItem) error {
			got, err := r.Release(req.Context(), id, actor)
			if err != nil {
				return explainMissing(err, "run", id)
			}
			if item.Result = "release_requested"; !got.Duplicate {
				h.audit(req, id)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return req.Reply(200, out)
}

// audit adds the release of a run to the audit log.
func (h *restored) audit(req *server.Request, runID string) {
	if h.approvals.log.Control == nil {
		return
	}
	after, _ := json.Marshal(server.DecidedIn{Tenant: req.TenantName()}) // cannot fail
	if err := h.approvals.log.Control.Audit().Add(context.WithoutCancel(req.Context()), "release", "runs/"+runID, server.ActorOf(req), after); err != nil {
		h.approvals.log.Logger.Error("cannot add a release to the audit log", "run", runID, "error", err)
	}
}
