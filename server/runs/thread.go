package runs

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// threads has the handlers of threads.
type threads struct {
	newID func() string
}

func (h *threads) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/threads", Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.list),
			Summary: "List thread ids, most recently active first", Query: threadFilters, Replies: map[int]any{200: threadIDs{}}},
		{Method: "GET", Path: "/v1/threads/summaries", Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.summarize),
			Summary: "List threads with their titles", Query: threadFilters, Replies: map[int]any{200: threadSummaries{}}},
		{Method: "POST", Path: "/v1/threads", Needs: permit.WriteThreads, Scope: protocol.ByCaller, Handle: server.HandleBody(h.create),
			Summary: "Create a thread", Body: newThread{}, Replies: map[int]any{201: threadView{}}},
		{Method: "GET", Path: "/v1/threads/{thread_id}", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.get),
			Summary: "Get a thread", Replies: map[int]any{200: threadView{}}},
		{Method: "PATCH", Path: "/v1/threads/{thread_id}", Needs: permit.WriteThreads, Scope: protocol.ByPath, Handle: server.HandleBody(h.patch),
			Summary: "Update a thread's title, resource, parent and custom metadata", Body: threadPatch{}, Replies: map[int]any{200: threadView{}}},
		{Method: "PATCH", Path: "/v1/threads/{thread_id}/metadata", Needs: permit.WriteThreads, Scope: protocol.ByPath, Handle: server.HandleBody(h.patch),
			Summary: "Update a thread (alias of PATCH /v1/threads/{thread_id})", Body: threadPatch{}, Replies: map[int]any{200: threadView{}}},
		{Method: "DELETE", Path: "/v1/threads/{thread_id}", Needs: permit.WriteThreads, Scope: protocol.ByPath, Handle: server.Handle(h.delete),
			Summary: "Delete a thread",
			Query:   []protocol.Param{server.Param("child_strategy", "detach|reject|cascade", "strategy for child threads; default detach"), server.Param("childStrategy", "detach|reject|cascade", "alias of child_strategy")},
			Replies: map[int]any{204: nil}, Failures: []int{409}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/cancel", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: server.Handle(h.cancel),
			Summary: "Cancel the thread's run", Replies: map[int]any{202: threadAccepted{}}},
		{Method: "POST", Path: "/v1/threads/{thread_id}/interrupt", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: server.Handle(h.interrupt),
			Summary: "Cancel the thread's run and its queued dispatches", Replies: map[int]any{202: threadAccepted{}}},
	}
}

// threadFilters are the parameters that [threadQuery] reads, and those of the page.
var threadFilters = slices.Concat([]protocol.Param{server.Param("resource_id", "string", "only threads of this resource"), server.Param("resourceId", "string", "alias of resource_id"),
	server.Param("parent_thread_id", "string", "only children of this thread"), server.Param("parentThreadId", "string", "alias of parent_thread_id"), server.Param("root", "boolean", "only threads without a parent"), server.UserParam,
	server.Param("agent_id", "string", "only threads whose latest run is of this agent"),
	server.Param("status", "running|waiting|done", "only threads whose latest run has this status"),
	server.Param("since", "string", "only threads updated at or after this time, in RFC 3339"),
	server.Param("until", "string", "only threads updated before this time, in RFC 3339"),
	server.Param("q", "string", "only threads whose id, title or resource contain this text; case does not matter")}, server.ListParams)

// threadView is a thread in the form that clients get.
type threadView struct {
	awaken.Thread
	ActiveRunID        string `json:"active_run_id,omitempty"`         // the open run, if it is running
	LatestRunUpdatedAt int64  `json:"latest_run_updated_at,omitempty"` // Unix seconds
	LatestRunUpdatedMS int64  `json:"latest_run_updated_at_ms,omitempty"`
	// ForkedFrom says where the thread was forked from.
	ForkedFrom *forkedFrom `json:"forked_from,omitempty"`
}

// replyThread replies with a thread, unless err is set.
func replyThread(req *server.Request, t *awaken.Thread, err error) error {
	if err != nil {
		return err
	}
	run, err := latestRun(req, t)
	v := threadView{Thread: *t, LatestRunUpdatedAt: run.UpdatedAt / 1000, LatestRunUpdatedMS: run.UpdatedAt, ForkedFrom: forkedOf(t)}
	if run.Status == awaken.RunRunning {
		v.ActiveRunID = run.RunID
	}
	return req.OK(v, err)
}

// latestRun returns the latest run of a thread, or an empty one if the thread has none.
func latestRun(req *server.Request, t *awaken.Thread) (awaken.Run, error) {
	if t.LatestRunID == "" {
		return awaken.Run{}, nil
	}
	run, err := req.Tenant().Store.LoadRun(req.Context(), t.LatestRunID)
	if errors.Is(err, awaken.ErrNotFound) {
		return awaken.Run{}, nil
	}
	if err != nil {
		return awaken.Run{}, err
	}
	return *run, nil
}

// listInfo has the fields of a list beside its items.
type listInfo struct {
	Offset int `json:"offset"`
	Limit  int `json:"limit"`
	Total  int `json:"total"`
	// TotalAtLeast says that there may be more than Total: the server does not count further.
	TotalAtLeast bool   `json:"total_at_least,omitempty"`
	HasMore      bool   `json:"has_more"`
	NextCursor   string `json:"next_cursor,omitempty"`
}

type threadIDs struct {
	Items []string `json:"items"`
	listInfo
}

type threadSummary struct {
	ID             string `json:"id"`
	ResourceID     string `json:"resource_id,omitempty"`
	ParentThreadID string `json:"parent_thread_id,omitempty"`
	Title          string `json:"title,omitempty"`
	UpdatedAt      int64  `json:"updated_at"`
	AgentID        string `json:"agent_id,omitempty"` // agent of the latest run
	CreatedAt      int64  `json:"created_at"`         // Unix ms
	MessageCount   int    `json:"message_count"`
	// CostUSD is what the runs cost; one that is running counts as it last began or waited.
	CostUSD float64 `json:"cost_usd"`
	// LatestRun is the run that started last.
	LatestRun *latestRunSummary `json:"latest_run,omitempty"`
}

type latestRunSummary struct {
	RunID         string                 `json:"run_id"`
	Status        awaken.RunStatus       `json:"status"`
	Outcome       awaken.TerminationType `json:"outcome,omitempty"`        // how it ended
	WaitingReason awaken.WaitingReason   `json:"waiting_reason,omitempty"` // what it waits for
}

type threadSummaries struct {
	Items []threadSummary `json:"items"`
	listInfo
}

func (h *threads) list(req *server.Request) error {
	list, info, err := findThreads(req)
	if err != nil {
		return err
	}
	out := threadIDs{Items: []string{}, listInfo: info}
	for _, t := range list {
		out.Items = append(out.Items, t.ID)
	}
	return req.Reply(200, out)
}

func (h *threads) summarize(req *server.Request) error {
	list, info, err := findThreads(req)
	if err != nil {
		return err
	}
	costs, err := threadCosts(req, list)
	if err != nil {
		return err
	}
	out := threadSummaries{Items: []threadSummary{}, listInfo: info}
	for _, t := range list {
		run, err := latestRun(req, t)
		if err != nil {
			return err
		}
		item := threadSummary{ID: t.ID, ResourceID: t.ResourceID, ParentThreadID: t.ParentThreadID, Title: t.Metadata.Title,
			UpdatedAt: t.Metadata.UpdatedAt, AgentID: run.AgentID, CreatedAt: t.Metadata.CreatedAt, MessageCount: t.MessageCount, CostUSD: costs[t.ID]}
		if run.RunID != "" {
			item.LatestRun = &latestRunSummary{RunID: run.RunID, Status: run.Status, Outcome: run.Termination.Type}
			if run.Waiting != nil {
				item.LatestRun.WaitingReason = run.Waiting.Reason
			}
		}
		out.Items = append(out.Items, item)
	}
	return req.Reply(200, out)
}

// threadCosts returns what the runs of threads cost, by the id of the thread.
func threadCosts(req *server.Request, list []*awaken.Thread) (map[string]float64, error) {
	s, ok := req.Tenant().Store.(interface {
		ThreadCosts(ctx context.Context, ids []string) (map[string]float64, error)
	})
	if !ok || len(list) == 0 {
		return nil, nil
	}
	ids := make([]string, len(list))
	for i, t := range list {
		ids[i] = t.ID
	}
	return s.ThreadCosts(req.Context(), ids)
}

// findThreads returns a page of threads.
func findThreads(req *server.Request) ([]*awaken.Thread, listInfo, error) {
	fail := func(err error) ([]*awaken.Thread, listInfo, error) { return nil, listInfo{}, err }
	if err := req.CheckKnown(); err != nil {
		return fail(err)
	}
	q, err := threadQuery(req)
	if err != nil {
		return fail(err)
	}
	from, skip, err := req.Place("thr_", server.FiltersOf(req, q))
	if err != nil {
		return fail(err)
	}
	q.Offset, q.Limit = req.Page()
	if skip > 0 {
		q.Offset = skip
	}
	counted, s := "", server.ThreadsOf(req.Tenant())
	q.At = &counted
	total, err := s.CountThreads(req.Context(), q)
	if err != nil {
		return fail(err)
	}
	q.At = &from.At
	list, err := s.ListThreads(req.Context(), q)
	if err != nil {
		return fail(server.BadPlace(err, q.Offset))
	}
	info := listInfo{Offset: from.N + q.Offset, Limit: q.Limit, Total: total, TotalAtLeast: counted != "", HasMore: from.At != ""}
	from.N = info.Offset + len(list)
	info.NextCursor = from.Next("thr_")
	return list, info, nil
}

// threadQuery parses the filters of a list of threads.
func threadQuery(req *server.Request) (q awaken.ThreadQuery, err error) {
	q = awaken.ThreadQuery{ResourceID: req.Value("resource_id", "resourceId"), ParentThreadID: req.Value("parent_thread_id", "parentThreadId"), Root: req.Value("root") == "true",
		AgentID: req.Value("agent_id"), Status: awaken.RunStatus(req.Value("status")), Text: req.Value("q")}
	if q.Root && q.ParentThreadID != "" {
		return q, protocol.BadRequest("root=true cannot be combined with parentThreadId")
	}
	if q.Since, q.Until, err = req.Times(); err != nil {
		return q, err
	}
	q.Owner, err = req.Owner()
	return q, err
}

type newThread struct {
	Title               string `json:"title,omitempty"`
	ResourceID          string `json:"resource_id,omitempty"`
	ResourceIDCamel     string `json:"resourceId,omitempty"`
	ParentThreadID      string `json:"parent_thread_id,omitempty"`
	ParentThreadIDCamel string `json:"parentThreadId,omitempty"`
	UserID              string `json:"user_id,omitempty"` // the user that the thread belongs to; default the caller's
}

func (h *threads) create(req *server.Request, body *newThread) error {
	resource, err := protocol.Either("resource_id", body.ResourceID, body.ResourceIDCamel)
	if err != nil {
		return err
	}
	parent, err := protocol.Either("parent_thread_id", body.ParentThreadID, body.ParentThreadIDCamel)
	if err != nil {
		return err
	}
	user, err := req.ForUser(body.UserID)
	if err != nil {
		return err
	}
	s := server.ThreadsOf(req.Tenant())
	if err := checkParent(req, parent); err != nil {
		return err
	}
	t := &awaken.Thread{ID: h.newID(), UserID: user, ResourceID: resource, ParentThreadID: parent}
	t.Metadata.Title = strings.TrimSpace(body.Title)
	if err := req.CheckThread(&awaken.Thread{}, t); err != nil {
		return err
	}
	if err := s.CreateThread(req.Context(), t); err != nil {
		return err
	}
	made, err := s.Thread(req.Context(), t.ID)
	if err != nil {
		return err
	}
	req.Writer().Header().Set("Location", "/v1/threads/"+t.ID)
	return req.Reply(201, &threadView{Thread: *made})
}

// checkParent checks that the thread to be a parent exists and is not another user's.
func checkParent(req *server.Request, id string) error {
	if id == "" {
		return nil
	}
	t, err := req.Tenant().Store.Thread(req.Context(), id)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && req.Confined && t.UserID != req.User {
		return protocol.BadRequest("parent thread not found: %s", id)
	}
	return err
}

func (h *threads) get(req *server.Request) error {
	t, err := req.Thread()
	return replyThread(req, t, err)
}

type threadPatch struct {
	Title               server.NullableText        `json:"title,omitzero"`
	ResourceID          server.NullableText        `json:"resource_id,omitzero"`
	ResourceIDCamel     server.NullableText        `json:"resourceId,omitzero"`
	ParentThreadID      server.NullableText        `json:"parent_thread_id,omitzero"`
	ParentThreadIDCamel server.NullableText        `json:"parentThreadId,omitzero"`
	Custom              map[string]json.RawMessage `json:"custom,omitempty"`
	UserID              server.NullableText        `json:"user_id,omitzero"` // gives the thread to another user; for operators
}

func (h *threads) patch(req *server.Request, body *threadPatch) error {
	if !body.ResourceID.Set {
		body.ResourceID = body.ResourceIDCamel
	}
	if !body.ParentThreadID.Set {
		body.ParentThreadID = body.ParentThreadIDCamel
	}
	s := server.ThreadsOf(req.Tenant())
	if _, err := req.Thread(); err != nil {
		return err
	}
	if err := protocol.CheckID("user_id", body.UserID.Value); err != nil {
		return err
	}
	if body.UserID.Set && req.Confined && body.UserID.Value != req.User {
		return req.WrongUser(body.UserID.Value)
	}
	parent := strings.TrimSpace(body.ParentThreadID.Value)
	if err := checkParent(req, parent); err != nil {
		return err
	}
	t, err := s.UpdateThread(req.Context(), req.Path("thread_id"), func(t *awaken.Thread) error {
		before := *t
		if body.Title.Set {
			t.Metadata.Title = strings.TrimSpace(body.Title.Value)
		}
		if body.ResourceID.Set {
			t.ResourceID = strings.TrimSpace(body.ResourceID.Value)
		}
		if body.ParentThreadID.Set {
			t.ParentThreadID = parent
		}
		if body.UserID.Set {
			t.UserID = body.UserID.Value
		}
		if len(body.Custom) > 0 {
			custom := map[string]json.RawMessage{}
			maps.Copy(custom, t.Metadata.Custom)
			maps.Copy(custom, body.Custom)
			t.Metadata.Custom = custom
		}
		return req.CheckThread(&before, t)
	})
	return replyThread(req, t, err)
}

func (h *threads) delete(req *server.Request) error {
	if _, err := req.Thread(); err != nil {
		return err
	}
	how := map[string]awaken.ChildStrategy{"reject": awaken.RejectChildren, "cascade": awaken.CascadeChildren}[req.Value("child_strategy", "childStrategy")]
	if req.Confined && how == awaken.CascadeChildren {
		if err := admitBelow(req, req.Path("thread_id")); err != nil {
			return err
		}
	}
	err := server.ThreadsOf(req.Tenant()).DeleteThread(req.Context(), req.Path("thread_id"), how)
	if errors.Is(err, awaken.ErrConflict) && how == awaken.RejectChildren {
		return protocol.BadRequest("%s", server.Plain(err.Error()))
	}
	return req.Done(err)
}

// admitBelow fails if a thread below another belongs to another user.
func admitBelow(req *server.Request, threadID string) error {
	for t, err := range awaken.Pages(req.Context(), 200, func(ctx context.Context, offset, limit int) ([]*awaken.Thread, error) {
		return req.Tenant().Store.ListThreads(ctx, awaken.ThreadQuery{ParentThreadID: threadID, Offset: offset, Limit: limit})
	}) {
		if err != nil {
			return err
		}
		if t.UserID != req.User {
			return server.Fail(http.StatusConflict, "conflict", "thread %s has child threads of other users, which cannot be deleted with it", threadID)
		}
		if err := admitBelow(req, t.ID); err != nil {
			return err
		}
	}
	return nil
}

type threadAccepted struct {
	Status     string `json:"status"`
	ThreadID   string `json:"thread_id"`
	Superseded *int   `json:"superseded_dispatches,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

func (h *threads) cancel(req *server.Request) error {
	id := req.Path("thread_id")
	if err := req.Tenant().Cancel(req.Context(), id); err != nil {
		return explainMissing(err, "thread", id)
	}
	return req.Reply(202, threadAccepted{Status: "cancel_requested", ThreadID: id})
}

func (h *threads) interrupt(req *server.Request) error {
	id := req.Path("thread_id")
	n, err := req.Tenant().Interrupt(req.Context(), id)
	if err != nil {
		return explainMissing(err, "thread", id)
	}
	return req.Reply(202, threadAccepted{Status: "interrupt_requested", ThreadID: id, Superseded: &n})
}

// explainMissing rewords the error of a request for a run or thread that does not exist or has no work.
func explainMissing(err error, what, id string) error {
	switch {
	case errors.Is(err, mailbox.ErrIdle):
		return server.Fail(404, "not_found", "%s %s has no running, waiting or queued run", what, id)
	case errors.Is(err, awaken.ErrNotFound):
		return protocol.NotFound(what, id)
	}
	return err
}
