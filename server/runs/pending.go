package runs

import (
	"math"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// pending has the handlers of input that no run has read yet.
type pending struct{}

func (h *pending) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/threads/{thread_id}/pending", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.list),
			Summary: "List input that no run has read yet", Replies: map[int]any{200: mailbox.PendingList{}}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/pending/reorder", Needs: permit.WriteThreads, Scope: protocol.ByPath, Handle: server.HandleBody(h.reorder),
			Summary: "Reorder queued input", Body: pendingOrder{}, Replies: map[int]any{200: mailbox.PendingList{}}, Failures: []int{409}},
		{Method: "PATCH", Path: "/v1/threads/{thread_id}/pending/{pending_id}", Needs: permit.WriteThreads, Scope: protocol.ByPath, Handle: server.HandleBody(h.edit),
			Summary: "Edit queued input", Body: pendingEdit{}, Replies: map[int]any{200: mailbox.PendingList{}}, Failures: []int{409}},
		{Method: "DELETE", Path: "/v1/threads/{thread_id}/pending/{pending_id}", Needs: permit.WriteThreads, Scope: protocol.ByPath, Handle: server.Handle(h.retract),
			Summary: "Withdraw queued input", Query: []protocol.Param{server.Param("revision", "integer", "expected revision of the input; default 0")}, Replies: map[int]any{204: nil},
			Failures: []int{409}},
	}
}

func (h *pending) list(req *server.Request) error {
	if _, err := req.Thread(); err != nil {
		return err
	}
	return req.OK(req.Tenant().Pending(req.Context(), req.Path("thread_id")))
}

type pendingEdit struct {
	Revision int                   `json:"revision"`
	Messages []server.InputMessage `json:"messages"`
}

func (h *pending) edit(req *server.Request, body *pendingEdit) error {
	msgs, err := server.MessagesOf(body.Messages)
	if err != nil {
		return err
	}
	if err := req.CheckMessages(len(msgs)); err != nil {
		return err
	}
	if err := req.Tenant().EditPending(req.Context(), req.Path("thread_id"), req.Path("pending_id"), body.Revision, msgs); err != nil {
		return err
	}
	return h.list(req)
}

func (h *pending) retract(req *server.Request) error {
	rev := req.Number("revision", 0, 0, math.MaxInt32)
	return req.Done(req.Tenant().RetractPending(req.Context(), req.Path("thread_id"), req.Path("pending_id"), rev))
}

type pendingOrder struct {
	Revision string   `json:"revision"`
	Order    []string `json:"order"`
}

func (h *pending) reorder(req *server.Request, body *pendingOrder) error {
	if _, err := req.Thread(); err != nil {
		return err
	}
	if err := req.Tenant().ReorderPending(req.Context(), req.Path("thread_id"), body.Revision, body.Order); err != nil {
		return err
	}
	return h.list(req)
}
