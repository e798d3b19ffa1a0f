package server

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol"
)

// approvals has the handlers of tool calls that wait for a decision.
type approvals struct{}

func (h *approvals) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/threads/{thread_id}/decision", Access: protocol.Runners, Scope: protocol.ByPath, Handle: withBody(h.decideThread),
			Summary: "Submit a decision on a waiting tool call", Body: decisionBody{}, Replies: map[int]any{202: threadAccepted{}}, Failures: []int{409}},
		{Method: "POST", Path: "/v1/runs/{run_id}/decision", Access: protocol.Runners, Scope: protocol.ByPath, Handle: withBody(h.decideRun),
			Summary: "Submit a decision on a waiting tool call", Body: decisionBody{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{409}},
		{Method: "GET", Path: "/v1/approvals", Access: protocol.Readers, Scope: protocol.ByCaller, Handle: own(h.list),
			Summary: "List tool calls that wait for a decision, on all threads", Query: append([]protocol.Param{userParam}, pageParams...), Replies: map[int]any{200: approvalList{}}},
		{Method: "POST", Path: "/v1/approvals/{run_id}/{ticket_id}", Access: protocol.Runners, Scope: protocol.ByPath, Handle: withBody(h.decideRun),
			Summary: "Submit a decision on a tool call that waits for one", Body: decisionBody{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{409}},
	}
}

// decideThread submits a decision on a call of the thread's open run.
func (h *approvals) decideThread(req *request, body *decisionBody) error {
	id := req.path("thread_id")
	target, err := decide(req, id, "waiting tool call of thread", body)
	if err != nil {
		return err
	}
	return req.Reply(202, threadAccepted{Status: "decision_submitted", ThreadID: id, ToolCallID: target})
}

// decideRun submits a decision on a call of a run.
func (h *approvals) decideRun(req *request, body *decisionBody) error {
	id := req.path("run_id")
	target, err := decide(req, id, "waiting tool call of run", body)
	if err != nil {
		return err
	}
	return req.Reply(202, runAccepted{Status: "decision_submitted", RunID: id, ToolCallID: target})
}

type approval struct {
	awaken.WaitingTicket
	RunID     string `json:"run_id"`
	ThreadID  string `json:"thread_id"`
	AgentID   string `json:"agent_id"`
	WaitingOn string `json:"waiting_reason"`
}

type approvalList struct {
	Items   []approval `json:"items"`
	HasMore bool       `json:"has_more"` // whether more runs wait
}

func (h *approvals) list(req *request) error {
	offset, limit := req.page()
	owner, err := req.owner()
	if err != nil {
		return err
	}
	runs, err := req.tenant.Store.ListRuns(req.ctx, awaken.RunQuery{Status: awaken.RunWaiting, Owner: owner, Offset: offset, Limit: limit + 1})
	if err != nil {
		return err
	}
	out := approvalList{Items: []approval{}, HasMore: len(runs) > limit}
	for _, r := range runs[:min(limit, len(runs))] {
		for _, t := range r.Waiting.Tickets {
			if t.RunID != "" {
				continue // belongs to a child run, which is listed itself
			}
			out.Items = append(out.Items, approval{WaitingTicket: t, RunID: r.RunID, ThreadID: r.ThreadID, AgentID: r.AgentID, WaitingOn: string(r.Waiting.Reason)})
		}
	}
	return req.Reply(200, out)
}
