package server

import (
	"math"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// pending has the handlers of input that no run has read yet.
type pending struct{}

func (h *pending) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/threads/{thread_id}/pending", Access: protocol.Readers, Scope: protocol.ByPath, Handle: own(h.list),
			Summary: "List input that no run has read yet", Replies: map[int]any{200: mailbox.PendingList{}}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/pending/reorder", Access: protocol.Runners, Scope: protocol.ByPath, Handle: withBody(h.reorder),
			Summary: "Reorder queued input", Body: pendingOrder{}, Replies: map[int]any{200: mailbox.PendingList{}}, Failures: []int{409}},
		{Method: "PATCH", Path: "/v1/threads/{thread_id}/pending/{pending_id}", Access: protocol.Runners, Scope: protocol.ByPath, Handle: withBody(h.edit),
			Summary: "Edit queued input", Body: pendingEdit{}, Replies: map[int]any{200: mailbox.PendingList{}}, Failures: []int{409}},
		{Method: "DELETE", Path: "/v1/threads/{thread_id}/pending/{pending_id}", Access: protocol.Runners, Scope: protocol.ByPath, Handle: own(h.retract),
			Summary: "Withdraw queued input", Query: []protocol.Param{param("revision", "integer", "expected revision of the input; default 0")}, Replies: map[int]any{204: nil},
			Failures: []int{409}},
	}
}

func (h *pending) list(req *request) error {
	if _, err := req.thread(); err != nil {
		return err
	}
	return req.ok(req.tenant.Pending(req.ctx, req.path("thread_id")))
}

type pendingEdit struct {
	Revision int            `json:"revision"`
	Messages []inputMessage `json:"messages"`
}

func (h *pending) edit(req *request, body *pendingEdit) error {
	msgs, err := messagesOf(body.Messages)
	if err != nil {
		return err
	}
	if err := req.admission.checkMessages(len(msgs)); err != nil {
		return err
	}
	if err := req.tenant.EditPending(req.ctx, req.path("thread_id"), req.path("pending_id"), body.Revision, msgs); err != nil {
		return err
	}
	return h.list(req)
}

func (h *pending) retract(req *request) error {
	rev := req.number("revision", 0, 0, math.MaxInt32)
	return req.done(req.tenant.RetractPending(req.ctx, req.path("thread_id"), req.path("pending_id"), rev))
}

type pendingOrder struct {
	Revision string   `json:"revision"`
	Order    []string `json:"order"`
}

func (h *pending) reorder(req *request, body *pendingOrder) error {
	if _, err := req.thread(); err != nil {
		return err
	}
	if err := req.tenant.ReorderPending(req.ctx, req.path("thread_id"), body.Revision, body.Order); err != nil {
		return err
	}
	return h.list(req)
}
