package runs

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// dispatches has the handlers of a thread's dispatches and of dead letters.
type dispatches struct{}

func (h *dispatches) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/threads/{thread_id}/mailbox", Needs: permit.StartRuns, Scope: protocol.ByPath, Handle: server.HandleBody(h.post),
			Summary: "Queue a run with a payload as its message", Headers: server.OnceOnly, Body: mailboxItem{}, Replies: map[int]any{201: mailboxAccepted{}}, Failures: []int{409}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/mailbox", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.list),
			Summary: "List the thread's dispatches", Query: server.PageParams, Replies: map[int]any{200: dispatchList{}}},
		{Method: "GET", Path: "/v1/dead-letters", Needs: permit.ReadQueue, Handle: server.Handle(h.listDead),
			Summary: "List dead letters, newest first", Query: server.ListParams, Replies: map[int]any{200: dispatchList{}}},
		{Method: "DELETE", Path: "/v1/dead-letters", Needs: permit.WriteQueue, Handle: server.Handle(h.purgeDead),
			Summary: "Delete all dead letters", Replies: map[int]any{200: purged{}}},
		{Method: "POST", Path: "/v1/dead-letters/{dispatch_id}/retry", Needs: permit.WriteQueue, Handle: server.Handle(h.retryDead),
			Summary: "Retry a dead letter as a new run", Replies: map[int]any{202: mailboxAccepted{}}, Failures: []int{409}},
		{Method: "DELETE", Path: "/v1/dead-letters/{dispatch_id}", Needs: permit.WriteQueue, Handle: server.Handle(h.dropDead),
			Summary: "Delete a dead letter", Replies: map[int]any{204: nil}, Failures: []int{409}},
	}
}

type mailboxItem struct {
	Payload  json.RawMessage `json:"payload"`
	Priority string          `json:"priority,omitempty"` // interactive, the default, or background
}

type mailboxAccepted struct {
	DispatchID string `json:"dispatch_id"`
	RunID      string `json:"run_id"`
	ThreadID   string `json:"thread_id"`
}

func (h *dispatches) post(req *server.Request, body *mailboxItem) error {
	if len(body.Payload) == 0 {
		return protocol.InvalidBody(`field "payload" is missing`)
	}
	var payload struct {
		Text *string `json:"text"`
	}
	text := string(compact(body.Payload))
	if err := json.Unmarshal(body.Payload, &payload); err == nil && payload.Text != nil {
		text = *payload.Text
	}
	s, err := server.NewSubmission(req, "", mailbox.ModeQueue, "", body.Priority)
	if err != nil {
		return err
	}
	s.Request.ThreadID, s.Request.Messages = req.Path("thread_id"), []*llm.Message{llm.UserText(text)}
	r, err := server.Submit(req, s)
	if err != nil {
		return err
	}
	return req.Reply(201, mailboxAccepted{DispatchID: r.DispatchID, RunID: r.RunID, ThreadID: r.ThreadID})
}

// compact removes white space from JSON.
func compact(data json.RawMessage) []byte {
	var buf bytes.Buffer
	if json.Compact(&buf, data) != nil {
		return data
	}
	return buf.Bytes()
}

type dispatchList struct {
	Items []*mailbox.Dispatch `json:"items"`
	// NextCursor is set in lists of dead letters that have another page.
	NextCursor string `json:"next_cursor,omitempty"`
}

// listDispatches hides the claim token and, unless the caller may read the queue, internal errors
// and the worker's name.
func listDispatches(by server.Caller, ds []*mailbox.Dispatch) dispatchList {
	out := dispatchList{Items: []*mailbox.Dispatch{}}
	for _, d := range ds {
		shown := *d
		shown.ClaimToken = ""
		if _, key, ok := strings.Cut(shown.IdempotencyKey, "\n"); ok {
			shown.IdempotencyKey = key // without the user
		}
		if !by.May(permit.ReadQueue) {
			shown.LastError, shown.ClaimedBy, shown.Failures = "", "", nil
		}
		out.Items = append(out.Items, &shown)
	}
	return out
}

func (h *dispatches) list(req *server.Request) error {
	offset, limit := req.Page()
	ds, err := req.Tenant().Store.Dispatches(req.Context(), mailbox.Query{ThreadID: req.Path("thread_id"), Offset: offset, Limit: limit})
	return req.OK(listDispatches(req.Caller, ds), err)
}

func (h *dispatches) listDead(req *server.Request) error {
	q := mailbox.Query{Statuses: []mailbox.Status{mailbox.DeadLetter}}
	q.Offset, q.Limit = req.Page()
	from, skip, err := req.Place("dead_", server.FiltersOf(req, nil))
	if err != nil {
		return err
	}
	if q.After = from.At; skip > 0 {
		q.Offset = skip
	}
	limit := q.Limit
	q.Limit++ // one more tells whether there is another page
	ds, err := req.Tenant().Store.Dispatches(req.Context(), q)
	if err != nil {
		return err
	}
	from.At = ""
	if len(ds) > limit {
		ds = ds[:limit]
		from.At = ds[limit-1].ID
	}
	out := listDispatches(req.Caller, ds)
	out.NextCursor = from.Next("dead_")
	return req.Reply(200, out)
}

func (h *dispatches) retryDead(req *server.Request) error {
	r, err := req.Tenant().RetryDeadLetter(req.Context(), req.Path("dispatch_id"))
	if err != nil {
		return err
	}
	return req.Reply(202, mailboxAccepted{DispatchID: r.DispatchID, RunID: r.RunID, ThreadID: r.ThreadID})
}

func (h *dispatches) dropDead(req *server.Request) error {
	return req.Done(req.Tenant().DropDeadLetter(req.Context(), req.Path("dispatch_id")))
}

type purged struct {
	Purged int `json:"purged"`
}

func (h *dispatches) purgeDead(req *server.Request) error {
	n, err := req.Tenant().PurgeDeadLetters(req.Context())
	if err != nil {
		return err
	}
	return req.Reply(200, purged{n})
}
