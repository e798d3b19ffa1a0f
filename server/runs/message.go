package runs

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// messages has the handlers of a thread's messages.
type messages struct {
	pageBytes int // what the messages of a page may have together
}

func (h *messages) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/threads/{thread_id}/messages", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.list),
			Summary: "List the messages of a thread",
			Query:   append([]protocol.Param{server.Param("cursor", "string", "next_cursor of the previous page"), server.Param("visibility", "external|internal|all", "which messages to list; default external"), server.Param("order", "asc|desc", "order by age; default asc, oldest first"), server.Param("after", "integer", "only messages after this position in the log"), server.Param("before", "integer", "only messages before this position in the log"), server.Param("run_id", "string", "only messages that this run produced"), server.Param("runId", "string", "alias of run_id")}, server.PageParams...),
			Replies: map[int]any{200: messageList{}}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/messages", Needs: permit.StartRuns, Scope: protocol.ByPath, Handle: server.HandleBody(h.post),
			Summary: "Send messages to a thread without waiting for the answer", Headers: server.OnceOnly, Body: postMessages{}, Replies: map[int]any{202: messagesAccepted{}},
			Failures: []int{409}},
	}
}

type messageList struct {
	Messages   []*llm.Message `json:"messages"`
	Total      int            `json:"total"`
	HasMore    bool           `json:"has_more"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

// messageCursor is the last message of a page, and how many came up to it in case that it was rewound since.
type messageCursor struct {
	Offset int    `json:"offset"`
	ID     string `json:"id,omitempty"`
	Of     string `json:"of,omitempty"` // digest of the list's filters
}

func (h *messages) list(req *server.Request) error {
	offset, limit := req.Page()
	visibility, after, before := req.Value("visibility"), req.Number("after", 0, 0, math.MaxInt32), req.Number("before", 0, 0, math.MaxInt32)
	runID := req.Value("run_id", "runId")
	filters := server.FiltersOf(req, []any{visibility, req.Value("order"), after, before, runID})
	var at messageCursor
	if text := req.Value("cursor"); text != "" {
		if n, err := strconv.Atoi(text); err == nil && n >= 0 {
			at.Offset = n
		} else if err := server.ParseCursor("msg_", text, &at); err != nil || at.Offset < 0 {
			return server.ErrCursor
		}
		if at.Of != "" && at.Of != filters {
			return server.ErrFilters
		}
		offset = at.Offset
	}
	if _, err := req.Thread(); err != nil {
		return err
	}
	view, err := req.Tenant().Store.View(req.Context(), req.Path("thread_id"))
	if err != nil {
		return err
	}
	inside := between(view.Log(), after, before)
	selected := func(m *llm.Message) bool {
		internal := m.IsInternal() || m.IsSummary()
		visible := visibility == "all" || internal == (visibility == "internal")
		return visible && (runID == "" || protocol.RunOf(m) == runID) && (inside == nil || inside[m.ID])
	}
	list := inOrder(view.History(), req.Value("order") == "desc")
	if at.ID != "" {
		n := 0
		for _, m := range list {
			if !selected(m) {
				continue
			}
			if n++; m.ID == at.ID {
				offset = n // new messages do not move the page
				break
			}
		}
	}
	out := messageList{Messages: []*llm.Message{}}
	for _, m := range list {
		if !selected(m) {
			continue
		}
		if out.Total++; out.Total > offset && len(out.Messages) < limit {
			out.Messages = append(out.Messages, m)
		}
	}
	if out.Messages, err = firstBytes(out.Messages, h.pageBytes); err != nil {
		return err
	}
	if n := len(out.Messages); n > 0 && offset+n < out.Total {
		out.HasMore, out.NextCursor = true, server.CursorText("msg_", messageCursor{offset + n, out.Messages[n-1].ID, filters})
	}
	return req.Reply(200, out)
}

// between returns the ids of the messages after and before two positions of a log, or nil if these are
// all. Before is 0 if there is no such position.
func between(log []*llm.Message, after, before int) map[string]bool {
	if before == 0 || before > len(log) {
		before = len(log) + 1
	}
	if after == 0 && before == len(log)+1 {
		return nil
	}
	ids := map[string]bool{}
	for i := after; i < before-1; i++ {
		ids[log[i].ID] = true
	}
	return ids
}

// inOrder yields messages from the first to the last, or backwards.
func inOrder(msgs []*llm.Message, backwards bool) iter.Seq2[int, *llm.Message] {
	if backwards {
		return slices.Backward(msgs)
	}
	return slices.All(msgs)
}

// firstBytes returns the first messages that have together at most n bytes as JSON, and at least one.
func firstBytes(list []*llm.Message, n int) ([]*llm.Message, error) {
	var text []byte
	for i, m := range list {
		var err error
		if text, err = m.AppendJSON(text[:0]); err != nil {
			return nil, err
		}
		if n -= len(text); n < 0 && i > 0 {
			return list[:i], nil
		}
	}
	return list, nil
}

type postMessages struct {
	AgentID      string                `json:"agent_id,omitempty"`
	AgentIDCamel string                `json:"agentId,omitempty"`
	Mode         string                `json:"mode,omitempty"`     // queue, live_then_queue or steer, interrupt_then_queue, resume_open_run
	Boundary     string                `json:"boundary,omitempty"` // next_step or on_natural_end
	Priority     string                `json:"priority,omitempty"` // of a new run: interactive, the default, or background
	UserID       string                `json:"user_id,omitempty"`  // the user of a new run
	Messages     []server.InputMessage `json:"messages"`
}

type messagesAccepted struct {
	Status     string `json:"status"` // running or queued
	ThreadID   string `json:"thread_id"`
	RunID      string `json:"run_id"`
	DispatchID string `json:"dispatch_id,omitempty"`
}

func (h *messages) post(req *server.Request, body *postMessages) error {
	agent, err := protocol.Either("agent_id", body.AgentID, body.AgentIDCamel)
	if err != nil {
		return err
	}
	msgs, err := server.MessagesOf(body.Messages)
	if err != nil {
		return err
	}
	if _, err := req.Thread(); err != nil {
		return err
	}
	s, err := server.NewSubmission(req, body.Mode, mailbox.ModeQueue, body.Boundary, body.Priority)
	if err != nil {
		return err
	}
	if s.Request.UserID, err = req.ForUser(body.UserID); err != nil {
		return err
	}
	s.Request.ThreadID, s.Request.AgentID, s.Request.Messages = req.Path("thread_id"), agent, msgs
	if s.Said, err = protocol.SayLast(msgs, agent); err != nil {
		return err
	}
	r, err := server.Submit(req, s)
	if err != nil {
		return err
	}
	out := messagesAccepted{Status: "running", ThreadID: r.ThreadID, RunID: r.RunID, DispatchID: r.DispatchID}
	if r.Busy && r.DispatchID != "" {
		waits, err := queuedBehind(req, r)
		if err != nil {
			return err
		}
		if waits {
			out.Status = "queued"
		}
	}
	return req.Reply(202, out)
}

// queuedBehind reports whether a submission waits for another one on its thread.
func queuedBehind(req *server.Request, r *mailbox.Receipt) (bool, error) {
	list, err := req.Tenant().Store.Dispatches(req.Context(), mailbox.Query{ThreadID: r.ThreadID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}, Limit: 1})
	return len(list) > 0 && list[0].ID != r.DispatchID, err
}
