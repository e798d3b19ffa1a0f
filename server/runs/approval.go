package runs

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// approvals has the handlers of tool calls that wait for a decision.
type approvals struct{ log server.DecisionLog }

func (h *approvals) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/threads/{thread_id}/decision", Needs: permit.DecideApprovals, Scope: protocol.ByPath, Handle: server.HandleBody(h.decideThread),
			Summary: "Submit a decision on a waiting tool call", Body: decisionBody{}, Replies: map[int]any{202: threadAccepted{}}, Failures: []int{409}},
		{Method: "POST", Path: "/v1/runs/{run_id}/decision", Needs: permit.DecideApprovals, Scope: protocol.ByPath, Handle: server.HandleBody(h.decideRun),
			Summary: "Submit a decision on a waiting tool call", Body: decisionBody{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{409}},
		{Method: "GET", Path: "/v1/approvals", Needs: permit.ReadApprovals, Scope: protocol.ByCaller, Handle: server.Handle(h.list),
			Summary: "List everything that waits for a person: calls that wait for a decision, and runs that wait for budget or for their version",
			Query: slices.Concat([]protocol.Param{server.UserParam, server.Param("agent_id", "string", "only of runs of this agent"), server.Param("tool", "string", "only calls of this tool"),
				server.Param("reason", strings.Join(approvalReasons, "|"), "only items with this waiting reason"), server.Param("order", "newest|oldest", "order of the list; default newest"),
				server.Param("context", "integer", "number of messages before each question, 0 to 10; default 3"), server.Param("cursor", "string", "next_cursor of the previous page")}, server.PageParams),
			Replies: map[int]any{200: approvalList{}}},
		{Method: "POST", Path: "/v1/approvals/{run_id}/{ticket_id}", Needs: permit.DecideApprovals, Scope: protocol.ByPath, Handle: server.HandleBody(h.decideRun),
			Summary: "Submit a decision on a tool call that waits for one", Body: decisionBody{}, Replies: map[int]any{202: runAccepted{}}, Failures: []int{409}},
		{Method: "GET", Path: "/v1/decisions", Needs: permit.ReadApprovals, Scope: protocol.ByCaller, Handle: server.Handle(h.decisions),
			Summary: "List accepted decisions, newest first",
			Query: []protocol.Param{server.Param("run_id", "string", "only decisions on questions of this run"), server.Param("actor", "string", "only decisions of this key, by id or label, or of this user"),
				server.Param("tool", "string", "only decisions on calls of this tool"), server.Param("since", "string", "only decisions at or after this time, in RFC 3339"),
				server.UserParam, server.Param("cursor", "string", "next_cursor of the previous page"), server.ConfigPage[1]},
			Replies: map[int]any{200: decisionList{}}},
	}
}

// decideThread submits a decision on a call of the thread's open run.
func (h *approvals) decideThread(req *server.Request, body *decisionBody) error {
	id := req.Path("thread_id")
	target, err := h.decide(req, id, "", "waiting tool call of thread", body)
	if err != nil {
		return err
	}
	return req.Reply(202, threadAccepted{Status: "decision_submitted", ThreadID: id, ToolCallID: target})
}

// decideRun submits a decision on a call of a run.
func (h *approvals) decideRun(req *server.Request, body *decisionBody) error {
	id := req.Path("run_id")
	target, err := h.decide(req, id, req.Path("ticket_id"), "waiting tool call of run", body)
	if err != nil {
		return err
	}
	return req.Reply(202, runAccepted{Status: "decision_submitted", RunID: id, ToolCallID: target})
}

// decidedTickets returns which questions of the runs with these ids have an accepted decision, by run and
// ticket.
func decidedTickets(req *server.Request, ids []string) (map[[2]string]bool, error) {
	out := map[[2]string]bool{}
	q := mailbox.DecisionQuery{RunIDs: ids, Limit: 1000}
	for len(ids) > 0 {
		page, err := req.Tenant().Store.Decisions(req.Context(), q)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			out[[2]string{d.RunID, d.TicketID}] = true
		}
		if len(page) < q.Limit {
			break
		}
		q.After = page[len(page)-1]
	}
	return out, nil
}

type decisionList struct {
	Items      []*awaken.Decided `json:"items"`
	NextCursor *string           `json:"next_cursor"`
}

// decisions lists accepted decisions.
func (h *approvals) decisions(req *server.Request) error {
	q := mailbox.DecisionQuery{Actor: req.Value("actor"), Tool: req.Value("tool"), Limit: req.Number("limit", 100, 1, 1000)}
	if id := req.Value("run_id"); id != "" {
		q.RunIDs = []string{id}
	}
	var err error
	if q.Owner, err = req.Owner(); err != nil {
		return err
	}
	since, err := server.TimeOf("since", req.Value("since"))
	if err != nil {
		return err
	}
	if !since.IsZero() {
		q.Since = since.UnixMilli()
	}
	filters := server.FiltersOf(req, []any{q.Actor, q.Tool, q.RunIDs, q.Owner, q.Since})
	if s := req.Value("cursor"); s != "" {
		data, err := base64.RawURLEncoding.DecodeString(s)
		var at decisionCursor
		if err != nil || json.Unmarshal(data, &at) != nil {
			return server.ErrCursor
		}
		if at.Of != filters {
			return server.ErrFilters
		}
		q.After = &awaken.Decided{At: at.At, RunID: at.RunID, TicketID: at.TicketID}
	}
	page, err := req.Tenant().Decisions(req.Context(), q)
	if err != nil {
		return err
	}
	out := decisionList{Items: append([]*awaken.Decided{}, page...)}
	if n := len(page); n == q.Limit {
		data, err := json.Marshal(decisionCursor{page[n-1].At, page[n-1].RunID, page[n-1].TicketID, filters})
		if err != nil {
			return err
		}
		next := base64.RawURLEncoding.EncodeToString(data)
		out.NextCursor = &next
	}
	return req.Reply(200, out)
}

// decisionCursor identifies the last decision of a page.
type decisionCursor struct {
	At       int64  `json:"a"`
	RunID    string `json:"r"`
	TicketID string `json:"t"`
	Of       string `json:"o,omitempty"` // digest of the list's filters
}
