package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

// threads is what the routes of threads need of a store, beside what a mailbox does.
type threads interface {
	mailbox.Handle
	awaken.ThreadEditor
}

// store returns the tenant's store. New has made sure that it can do this.
func (c *call) store() threads { return c.tenant.Store.(threads) }

// threadView is a thread as clients see it.
type threadView struct {
	awaken.Thread
	ActiveRunID        string `json:"active_run_id,omitempty"` // the open run, while it is running
	LatestRunUpdatedAt int64  `json:"latest_run_updated_at,omitempty"`
}

func (c *call) view(t *awaken.Thread) (*threadView, error) {
	v := &threadView{Thread: *t}
	if t.LatestRunID == "" {
		return v, nil
	}
	run, err := c.tenant.Store.LoadRun(c.ctx, t.LatestRunID)
	if errors.Is(err, awaken.ErrNotFound) {
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	if v.LatestRunUpdatedAt = run.UpdatedAt; run.Status == awaken.RunRunning {
		v.ActiveRunID = run.RunID
	}
	return v, nil
}

// threadCursor is where the next page of a list of threads begins, and of which list.
type threadCursor struct {
	Offset     int    `json:"offset"`
	ResourceID string `json:"resource_id,omitempty"`
	Parent     string `json:"parent_filter,omitempty"`
	Root       bool   `json:"root,omitempty"`
}

// threadQuery reads what list of threads is asked for.
func (c *call) threadQuery() (q awaken.ThreadQuery, at threadCursor, err error) {
	if q.Offset, q.Limit, err = c.page(); err != nil {
		return q, at, err
	}
	q.ResourceID = c.value("resource_id", "resourceId")
	q.ParentThreadID = c.value("parent_thread_id", "parentThreadId")
	root, err := c.pick("false", []string{"true", "false"}, "root")
	if err != nil {
		return q, at, err
	}
	if q.Root = root == "true"; q.Root && q.ParentThreadID != "" {
		return q, at, badRequest("root=true cannot be combined with parentThreadId")
	}
	at = threadCursor{ResourceID: q.ResourceID, Parent: q.ParentThreadID, Root: q.Root}
	text := c.value("cursor")
	if text == "" {
		return q, at, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && at == (threadCursor{}) {
		q.Offset = n
		return q, at, nil
	}
	var from threadCursor
	if err := parseCursor("thr_", text, &from); err != nil || from.Offset < 0 {
		return q, at, errCursor
	}
	q.Offset, from.Offset = from.Offset, 0
	if from != at {
		return q, at, badRequest("cursor does not match thread query filters")
	}
	return q, at, nil
}

// listInfo is what lists have beside their items.
type listInfo struct {
	Offset     int    `json:"offset"`
	Limit      int    `json:"limit"`
	Total      int    `json:"total"`
	HasMore    bool   `json:"has_more"`
	NextCursor string `json:"next_cursor,omitempty"`
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
	AgentID        string `json:"agent_id,omitempty"` // of the latest run
}

type threadSummaries struct {
	Items []threadSummary `json:"items"`
	listInfo
}

// findThreads returns a page of threads.
func (c *call) findThreads() ([]*awaken.Thread, listInfo, error) {
	q, at, err := c.threadQuery()
	if err != nil {
		return nil, listInfo{}, err
	}
	s := c.store()
	total, err := s.CountThreads(c.ctx, q)
	if err != nil {
		return nil, listInfo{}, err
	}
	list, err := s.ListThreads(c.ctx, q)
	if err != nil {
		return nil, listInfo{}, err
	}
	info := listInfo{Offset: q.Offset, Limit: q.Limit, Total: total, HasMore: q.Offset+len(list) < total}
	if info.HasMore {
		at.Offset = q.Offset + len(list)
		info.NextCursor = cursorText("thr_", at)
	}
	return list, info, nil
}

func (c *call) listThreads() error {
	list, info, err := c.findThreads()
	if err != nil {
		return err
	}
	out := threadIDs{Items: []string{}, listInfo: info}
	for _, t := range list {
		out.Items = append(out.Items, t.ID)
	}
	return c.Reply(200, out)
}

func (c *call) summarizeThreads() error {
	list, info, err := c.findThreads()
	if err != nil {
		return err
	}
	out := threadSummaries{Items: []threadSummary{}, listInfo: info}
	for _, t := range list {
		sum := threadSummary{ID: t.ID, ResourceID: t.ResourceID, ParentThreadID: t.ParentThreadID, Title: t.Metadata.Title, UpdatedAt: t.Metadata.UpdatedAt}
		if t.LatestRunID != "" {
			run, err := c.tenant.Store.LoadRun(c.ctx, t.LatestRunID)
			if err != nil && !errors.Is(err, awaken.ErrNotFound) {
				return err
			}
			if err == nil {
				sum.AgentID = run.AgentID
			}
		}
		out.Items = append(out.Items, sum)
	}
	return c.Reply(200, out)
}

type newThread struct {
	Title               string `json:"title,omitempty"`
	ResourceID          string `json:"resource_id,omitempty"`
	ResourceIDCamel     string `json:"resourceId,omitempty"`
	ParentThreadID      string `json:"parent_thread_id,omitempty"`
	ParentThreadIDCamel string `json:"parentThreadId,omitempty"`
}

func (c *call) createThread() error {
	var body newThread
	if err := c.Decode(&body); err != nil {
		return err
	}
	resource, err := either("resource_id", body.ResourceID, body.ResourceIDCamel)
	if err != nil {
		return err
	}
	parent, err := either("parent_thread_id", body.ParentThreadID, body.ParentThreadIDCamel)
	if err != nil {
		return err
	}
	s := c.store()
	if err := c.checkParent(s, parent); err != nil {
		return err
	}
	t := &awaken.Thread{ID: c.srv.cfg.NewID(), ResourceID: resource, ParentThreadID: parent}
	t.Metadata.Title = strings.TrimSpace(body.Title)
	if err := s.CreateThread(c.ctx, t); err != nil {
		return err
	}
	made, err := s.Thread(c.ctx, t.ID)
	if err != nil {
		return err
	}
	c.w.Header().Set("Location", "/v1/threads/"+t.ID)
	return c.Reply(201, &threadView{Thread: *made})
}

func (c *call) checkParent(s awaken.ThreadStore, id string) error {
	if id == "" {
		return nil
	}
	_, err := s.Thread(c.ctx, id)
	if errors.Is(err, awaken.ErrNotFound) {
		return badRequest("parent thread not found: " + id)
	}
	return err
}

// thread returns the thread of the path.
func (c *call) thread() (*awaken.Thread, error) {
	t, err := c.tenant.Store.Thread(c.ctx, c.path("thread_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		return nil, notFound("thread", c.path("thread_id"))
	}
	return t, err
}

func (c *call) getThread() error {
	t, err := c.thread()
	if err != nil {
		return err
	}
	v, err := c.view(t)
	if err != nil {
		return err
	}
	return c.Reply(200, v)
}

// cleared is a text field that can be set, or cleared with null.
type cleared struct {
	set   bool
	value string
}

// UnmarshalJSON reads a text or null.
func (f *cleared) UnmarshalJSON(data []byte) error {
	f.set, f.value = true, ""
	return json.Unmarshal(data, &f.value)
}

type threadPatch struct {
	Title               cleared                    `json:"title,omitzero"`
	ResourceID          cleared                    `json:"resource_id,omitzero"`
	ResourceIDCamel     cleared                    `json:"resourceId,omitzero"`
	ParentThreadID      cleared                    `json:"parent_thread_id,omitzero"`
	ParentThreadIDCamel cleared                    `json:"parentThreadId,omitzero"`
	Custom              map[string]json.RawMessage `json:"custom,omitempty"`
}

func (c *call) patchThread() error {
	var body threadPatch
	if err := c.Decode(&body); err != nil {
		return err
	}
	if !body.ResourceID.set {
		body.ResourceID = body.ResourceIDCamel
	}
	if !body.ParentThreadID.set {
		body.ParentThreadID = body.ParentThreadIDCamel
	}
	s := c.store()
	if _, err := c.thread(); err != nil {
		return err
	}
	parent := strings.TrimSpace(body.ParentThreadID.value)
	if err := c.checkParent(s, parent); err != nil {
		return err
	}
	t, err := s.UpdateThread(c.ctx, c.path("thread_id"), func(t *awaken.Thread) error {
		if body.Title.set {
			t.Metadata.Title = strings.TrimSpace(body.Title.value)
		}
		if body.ResourceID.set {
			t.ResourceID = strings.TrimSpace(body.ResourceID.value)
		}
		if body.ParentThreadID.set {
			t.ParentThreadID = parent
		}
		if len(body.Custom) > 0 {
			custom := maps.Clone(t.Metadata.Custom)
			if custom == nil {
				custom = map[string]json.RawMessage{}
			}
			maps.Copy(custom, body.Custom)
			t.Metadata.Custom = custom
		}
		return nil
	})
	if err != nil {
		return err
	}
	v, err := c.view(t)
	if err != nil {
		return err
	}
	return c.Reply(200, v)
}

func (c *call) deleteThread() error {
	strategy, err := c.pick("detach", []string{"detach", "reject", "cascade"}, "child_strategy", "childStrategy")
	if err != nil {
		return err
	}
	if _, err := c.thread(); err != nil {
		return err
	}
	how := map[string]awaken.ChildStrategy{"detach": awaken.DetachChildren, "reject": awaken.RejectChildren, "cascade": awaken.CascadeChildren}[strategy]
	err = c.remove(c.path("thread_id"), how)
	if errors.Is(err, awaken.ErrConflict) && how == awaken.RejectChildren {
		return badRequest(plain(err.Error()))
	}
	if err != nil {
		return err
	}
	return c.Reply(204, nil)
}

// A worker takes a dispatch off the queue right after its run. settleTime is how long a
// request waits for that, and settlePause how often it looks.
const (
	settleTime  = 5 * time.Second
	settlePause = 5 * time.Millisecond
)

// remove removes a thread. One with a run that is queued or goes on is an ErrConflict; one
// whose run has just come to rest is waited for, until it is off the queue: who was told
// that a run is over may delete its thread.
func (c *call) remove(id string, children awaken.ChildStrategy) error {
	deadline := time.Now().Add(settleTime)
	for last := false; ; {
		err := c.store().DeleteThread(c.ctx, id, children)
		if !errors.Is(err, awaken.ErrConflict) || last || time.Now().After(deadline) {
			return err
		}
		claims, resting, loadErr := c.claims(id)
		if loadErr != nil {
			return loadErr
		}
		if !resting {
			return err
		}
		last = claims == 0 // they were the reason and have gone since, or something else is
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(settlePause):
		}
	}
}

// claims counts what is on a thread's queue, and reports whether that is nothing but claims
// of runs that are done or wait.
func (c *call) claims(threadID string) (n int, resting bool, err error) {
	live, err := c.tenant.Store.Dispatches(c.ctx, mailbox.Query{ThreadID: threadID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
	if err != nil {
		return 0, false, err
	}
	for _, d := range live {
		run, err := c.tenant.Store.LoadRun(c.ctx, d.RunID)
		if err != nil {
			return 0, false, err
		}
		if d.Status == mailbox.Queued || run.Status != awaken.RunDone && run.Status != awaken.RunWaiting {
			return len(live), false, nil
		}
	}
	return len(live), true, nil
}

type threadAccepted struct {
	Status     string `json:"status"`
	ThreadID   string `json:"thread_id"`
	Superseded *int   `json:"superseded_dispatches,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

func (c *call) cancelThread() error {
	id := c.path("thread_id")
	if err := c.tenant.Cancel(c.ctx, id); err != nil {
		return nothing(err, "thread", id)
	}
	return c.Reply(202, threadAccepted{Status: "cancel_requested", ThreadID: id})
}

func (c *call) interruptThread() error {
	id := c.path("thread_id")
	n, err := c.tenant.Interrupt(c.ctx, id)
	if err != nil {
		return nothing(err, "thread", id)
	}
	return c.Reply(202, threadAccepted{Status: "interrupt_requested", ThreadID: id, Superseded: &n})
}

// nothing words the error of a request for something that is not there.
func nothing(err error, what, id string) error {
	switch {
	case errors.Is(err, mailbox.ErrNothing):
		return fail(404, "not_found", fmt.Sprintf("%s %s: nothing runs, waits or is queued", what, id))
	case errors.Is(err, awaken.ErrNotFound):
		return notFound(what, id)
	}
	return err
}

// decisionBody is a person's answer to a call that waits.
type decisionBody struct {
	ToolCallID      string          `json:"tool_call_id,omitempty"` // or the id of the suspension
	ToolCallIDCamel string          `json:"toolCallId,omitempty"`
	Action          string          `json:"action"` // resume or cancel
	Payload         json.RawMessage `json:"payload,omitempty"`
	DecisionID      string          `json:"decision_id,omitempty"` // the same decision sent again counts once
	Reason          string          `json:"reason,omitempty"`
	Arguments       json.RawMessage `json:"arguments,omitempty"` // instead of the call's own
}

// decision reads a decision on target, or on the call that the body names.
func (c *call) decision(target string) (awaken.Decision, error) {
	var body decisionBody
	if err := c.Decode(&body); err != nil {
		return awaken.Decision{}, err
	}
	if target == "" {
		var err error
		if target, err = either("tool_call_id", body.ToolCallID, body.ToolCallIDCamel); err != nil {
			return awaken.Decision{}, err
		}
		if target == "" {
			return awaken.Decision{}, badRequest("tool_call_id is missing")
		}
	}
	if a := awaken.DecisionAction(body.Action); a != awaken.ActionResume && a != awaken.ActionCancel {
		return awaken.Decision{}, badRequest(fmt.Sprintf("invalid action: %s, expected 'resume' or 'cancel'", body.Action))
	}
	return awaken.Decision{Target: target, ID: body.DecisionID, Action: awaken.DecisionAction(body.Action), Result: body.Payload,
		Reason: body.Reason, Arguments: body.Arguments}, nil
}

func (c *call) decideThread() error {
	id := c.path("thread_id")
	d, err := c.decision("")
	if err != nil {
		return err
	}
	if err := c.decide(id, d); err != nil {
		return nothing(err, "waiting tool call of thread", id+" "+d.Target)
	}
	return c.Reply(202, threadAccepted{Status: "decision_submitted", ThreadID: id, ToolCallID: d.Target})
}

// probeStore asks the store for something small.
func (c *call) probeStore(ctx context.Context) error {
	_, err := c.tenant.Store.ListThreads(ctx, awaken.ThreadQuery{Limit: 1})
	return err
}
