package aisdk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

var (
	onceOnly    = []protocol.Param{{Name: "Idempotency-Key", Kind: "string", Doc: "the same request sent again with the same key does nothing, and is answered as the first"}}
	lastEventID = []protocol.Param{{Name: "Last-Event-ID", Kind: "string", Doc: "go on after this frame"}}
	cursor      = protocol.Param{Name: "cursor", Kind: "string", Doc: "go on after this frame; Last-Event-ID does the same"}
	runParam    = protocol.Param{Name: "runId", Kind: "string", Doc: "the run to stream, also if it is over: activeRunId of the messages"}
	pageParams  = []protocol.Param{{Name: "offset", Kind: "integer", Doc: "how many to leave out; default 0"}, {Name: "limit", Kind: "integer", Doc: "how many at most; default 50, 1 to 200"},
		{Name: "order", Kind: "asc|desc", Doc: "default asc"}, {Name: "cursor", Kind: "string", Doc: "next_cursor of the page before"}}
)

const chunks = "chunks of the AI SDK's UI message stream v1, then [DONE]"

// Routes are all there are.
func Routes() []protocol.Route {
	chat := func(path, summary string) protocol.Route {
		return protocol.Route{Method: "POST", Path: path, Access: protocol.Runners, Handle: postChat(named), Summary: summary, Body: chatRequest{},
			Replies: map[int]any{200: nil}, Failures: []int{400, 404, 409}, Stream: true, Events: chunks, Headers: onceOnly}
	}
	stream := func(path, summary string) protocol.Route {
		return protocol.Route{Method: "GET", Path: path, Access: protocol.Readers, Handle: getStream, Summary: summary, Query: []protocol.Param{cursor, runParam},
			Replies: map[int]any{200: nil, 204: nil}, Failures: []int{400, 404, 410}, Stream: true, Events: chunks, Headers: lastEventID}
	}
	ofRun := func(path string) protocol.Route {
		r := stream(path, "Stream a run from its beginning, or after a frame")
		r.Query = r.Query[:1]
		return r
	}
	replay := func(path string) protocol.Route {
		return protocol.Route{Method: "GET", Path: path, Access: protocol.Readers, Handle: getReplay, Summary: "What was streamed on a thread, a page at a time",
			Query:   []protocol.Param{cursor, {Name: "limit", Kind: "integer", Doc: "frames at most; default 100, 1 to 500"}},
			Replies: map[int]any{200: nil}, Failures: []int{400, 404, 410}, Stream: true, Events: chunks, Headers: lastEventID}
	}
	preview := chat("/v1/ai-sdk/agent-previews/runs", "Talk to an agent that nobody saved: the body has it")
	preview.Access, preview.Handle, preview.Control = protocol.Admins, postChat(previewed), true
	assistant := chat("/v1/admin/assistant/runs", "Talk to the admin assistant")
	assistant.Access, assistant.Handle, assistant.Own, assistant.Control = protocol.Admins, postChat(assisted), true, true
	return []protocol.Route{
		chat("/v1/ai-sdk/chat", "Say something in a chat, and stream the answer"),
		chat("/v1/ai-sdk/threads/{thread_id}/runs", "The same, in that chat"),
		chat("/v1/ai-sdk/agents/{agent_id}/runs", "The same, to that agent"),
		preview,
		assistant,
		stream("/v1/ai-sdk/chat/{thread_id}/stream", "Stream the answer that is being given, from its beginning"),
		stream("/v1/ai-sdk/threads/{thread_id}/stream", "The same"),
		ofRun("/v1/ai-sdk/runs/{run_id}/stream"),
		ofRun("/v1/ai-sdk/streams/{run_id}"),
		replay("/v1/ai-sdk/chat/{thread_id}/replay"),
		replay("/v1/ai-sdk/threads/{thread_id}/replay"),
		{Method: "GET", Path: "/v1/ai-sdk/threads/{thread_id}/messages", Access: protocol.Readers, Handle: getMessages, Summary: "The chat, without the answer that is being given",
			Query: pageParams, Replies: map[int]any{200: messageList{}}, Failures: []int{400, 404}},
		{Method: "POST", Path: "/v1/ai-sdk/threads/{thread_id}/cancel", Access: protocol.Runners, Handle: cancel, Summary: "Stop the answer that is being given",
			Replies: map[int]any{202: accepted{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/ai-sdk/threads/{thread_id}/interrupt", Access: protocol.Runners, Handle: interrupt, Summary: "Stop it, and withdraw what is queued",
			Replies: map[int]any{202: accepted{}}, Failures: []int{404}},
	}
}

// chosen is the agent that a client talks to. With a resolution it is one of that version.
type chosen struct{ agentID, resolutionID string }

// named is the agent that the path or the body names, or "".
func named(c protocol.Call, req *chatRequest) (to chosen, err error) {
	if to.agentID = c.Request().PathValue("agent_id"); to.agentID == "" {
		if to.agentID, err = protocol.Either("agentId", req.AgentID, req.AgentIDSnake); err != nil {
			return to, err
		}
	}
	return to, nil
}

// previewed is the agent in the body.
func previewed(c protocol.Call, req *chatRequest) (to chosen, err error) {
	if len(req.Agent) == 0 {
		return to, protocol.BadRequest("agent is missing: want the whole agent to preview")
	}
	to.agentID, to.resolutionID, err = c.Preview(req.Agent)
	return to, err
}

// assisted is the server's own agent.
func assisted(c protocol.Call, _ *chatRequest) (to chosen, err error) {
	to.agentID, to.resolutionID, err = c.Assistant()
	return to, err
}

// postChat takes in what the client says to an agent and streams what comes of it.
func postChat(choose func(protocol.Call, *chatRequest) (chosen, error)) func(c protocol.Call) error {
	return func(c protocol.Call) error {
		var req chatRequest
		if err := c.Decode(&req); err != nil {
			return err
		}
		if err := req.check(); err != nil {
			return err
		}
		to, err := choose(c, &req)
		if err != nil {
			return err
		}
		return chat(c, &req, to)
	}
}

// chat takes in what the client says and streams what comes of it.
func chat(c protocol.Call, req *chatRequest, to chosen) error {
	threadID := c.Request().PathValue("thread_id")
	var err error
	if threadID == "" {
		if threadID, err = protocol.Either("threadId", req.ThreadID, req.ThreadIDSnake); err != nil {
			return err
		}
		if threadID == "" {
			threadID = strings.TrimSpace(req.ID)
		}
		if err := protocol.CheckID("id", threadID); err != nil {
			return err
		}
	}
	if known, err := c.Tenant().Runtime.HasAgent(c.Context(), &awaken.RunRequest{AgentID: to.agentID, ResolutionID: to.resolutionID, ThreadID: threadID}); err != nil { // before anything is changed
		return err
	} else if !known {
		return &protocol.Failure{Status: http.StatusBadRequest, Code: "agent_not_found", Message: "agent not found: " + to.agentID}
	}
	s := &mailbox.Submission{Mode: mailbox.ModeInterrupt}
	s.Request = awaken.RunRequest{ThreadID: threadID, AgentID: to.agentID, ResolutionID: to.resolutionID, Overrides: req.Overrides, Adapter: "ai_sdk"}
	if s.Request.FrontendTools, err = req.tools(); err != nil {
		return err
	}
	again, err := submitted(c)
	if err != nil {
		return err
	}
	if !again { // else Submit answers as it did
		run, err := understand(c.Context(), c.Tenant(), req, s)
		if err != nil {
			return err
		}
		if run != nil { // nothing new: the answer to what was said before is being given
			return streamRun(c, run.ThreadID, run.RunID, protocol.Position{}, awaken.Cursor{})
		}
	}
	r, err := c.Submit(s)
	if err != nil {
		return err
	}
	c.Header().Set("X-Run-Id", r.RunID)
	c.Header().Set("X-Thread-Id", r.ThreadID)
	after := protocol.AfterAll(r.After)
	if r.Duplicate { // the first answer was lost
		after = protocol.Position{}
	}
	return streamRun(c, r.ThreadID, r.RunID, after, awaken.Cursor{})
}

// submitted reports whether something was submitted with the request's idempotency key.
func submitted(c protocol.Call) (bool, error) {
	key := c.Request().Header.Get("Idempotency-Key")
	if key == "" {
		return false, nil
	}
	if err := protocol.CheckID("Idempotency-Key", key); err != nil { // before anything is changed
		return false, err
	}
	_, err := c.Tenant().Store.Submitted(c.Context(), key)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// understand turns a request into a submission. If there is nothing new in it and an
// answer is being given, it returns the run that gives it.
func understand(ctx context.Context, t *mailbox.Tenant, req *chatRequest, s *mailbox.Submission) (*awaken.Run, error) {
	threadID := s.Request.ThreadID
	th, open, err := protocol.OpenRun(ctx, t, threadID)
	if err != nil {
		return nil, err
	}
	known := th != nil
	first := 0 // of the messages that are new
	if known {
		ids := make([]string, len(req.Messages))
		for i := range req.Messages {
			ids[i] = req.Messages[i].ID
		}
		if first, err = protocol.Unseen(ctx, t, threadID, ids); err != nil {
			return nil, err
		}
		if run, err := beingHidden(ctx, t, req, threadID); run != nil || err != nil {
			return run, err
		}
		if first, err = rewind(ctx, t, req, s, first); err != nil {
			return nil, err
		}
	}
	var media protocol.Media
	for i := first; i < len(req.Messages); i++ {
		if req.Messages[i].Role == "assistant" && known {
			continue // what it said is in the log
		}
		m, err := req.Messages[i].llmMessage(i, &media)
		if err != nil {
			return nil, err
		}
		if m != nil {
			s.Request.Messages = append(s.Request.Messages, m)
		}
	}
	// What people say instead of deciding, or to have something else said, counts more than
	// decisions.
	fresh := len(s.Request.Messages) > 0 || req.Trigger == "regenerate-message"
	if open != nil && open.Waiting != nil && !fresh {
		asked, err := protocol.Asking(ctx, t, open)
		if err != nil {
			return nil, err
		}
		if s.Request.Decisions = req.decisions(open.Waiting, asked); len(s.Request.Decisions) > 0 {
			s.Request.AgentID = "" // it is the run's
		}
	}
	switch {
	case !fresh && len(s.Request.Decisions) == 0:
		if !known {
			return nil, protocol.BadRequest("at least one message is required")
		}
		run, _, err := protocol.Going(ctx, t, threadID)
		if err != nil {
			return nil, err
		}
		if run == nil {
			return nil, protocol.BadRequest("no new messages or interaction responses")
		}
		return run, nil
	case fresh:
		s.Anew = true // a run that waits is ended: another answer begins
		if s.DedupeKey == "" {
			if s.DedupeKey = saysKey(s.Request.Messages); s.DedupeKey != "" && s.Request.Rewind != "" {
				s.DedupeKey += " instead of " + s.Request.Rewind // an edit is not what it edits
			}
		}
	}
	if m := protocol.ContextMessage(req.State); m != nil && len(s.Request.Messages) > 0 {
		s.Request.Messages = append([]*llm.Message{m}, s.Request.Messages...)
	}
	return nil, nil
}

// rewind goes back to an earlier place in the chat, if the client wants to hear another
// answer or says something else than it did. It returns the first message that is new.
func rewind(ctx context.Context, t *mailbox.Tenant, req *chatRequest, s *mailbox.Submission, first int) (int, error) {
	again := req.Trigger == "regenerate-message"
	edited := -1
	for i := range req.Messages[:first] {
		if req.Messages[i].ID == req.MessageID && req.MessageID != "" && req.Messages[i].Role == "user" && !again {
			edited = i
		}
	}
	if !again && edited < 0 {
		return first, nil
	}
	view, err := protocol.Conversation(ctx, t, s.Request.ThreadID)
	if err != nil {
		return 0, err
	}
	if edited >= 0 {
		for _, m := range view {
			if m.ID == req.MessageID {
				s.Request.Rewind = m.ID
				return edited, nil
			}
		}
		return 0, protocol.NotFound("message", req.MessageID)
	}
	// The answer to regenerate begins with the message that is named, or after the last one
	// of the user.
	at := -1
	for i, m := range view {
		switch {
		case req.MessageID != "" && m.ID == req.MessageID:
			at = i
			if m.Role == llm.User {
				at++
			}
		case req.MessageID == "" && m.Role == llm.User && !m.IsInternal():
			at = i + 1
		}
	}
	switch {
	case at < 0 && req.MessageID != "":
		return 0, protocol.NotFound("message", req.MessageID)
	case at < 0:
		return 0, protocol.BadRequest("there is no message to answer again")
	case at < len(view):
		s.Request.Rewind = view[at].ID
	}
	// Asking for the same once more, while the answer is on its way, is not asking for
	// another one.
	for _, m := range view[:at] {
		if m.Role == llm.User && !m.IsInternal() {
			s.DedupeKey = regenerates + m.ID
		}
	}
	return max(first, len(req.Messages)), nil
}

// saysKey is the dedupe key of messages that all have ids, or "". The same message may come
// again with another text, when it is edited.
func saysKey(msgs []*llm.Message) string {
	if len(msgs) == 0 || slices.ContainsFunc(msgs, func(m *llm.Message) bool { return m.ID == "" }) {
		return ""
	}
	data, err := json.Marshal(msgs)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("ai-sdk:say:%x", sha256.Sum256(data))
}

// regenerates begins the dedupe key of a submission that has something answered again. The
// id of the message that is answered follows.
const regenerates = "ai-sdk:regenerate:"

// beingHidden returns the run that gives another answer instead of the message that the
// client wants to have regenerated, if somebody has asked for that before, or nil.
func beingHidden(ctx context.Context, t *mailbox.Tenant, req *chatRequest, threadID string) (*awaken.Run, error) {
	if req.Trigger != "regenerate-message" || req.MessageID == "" {
		return nil, nil
	}
	live, err := t.Store.Dispatches(ctx, mailbox.Query{ThreadID: threadID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
	if err != nil {
		return nil, err
	}
	for _, d := range live {
		if d.Request != nil && d.Request.Rewind == req.MessageID && strings.HasPrefix(d.DedupeKey, regenerates) && !d.Cancel {
			return t.Store.LoadRun(ctx, d.RunID)
		}
	}
	return nil, nil
}

// streamRun streams a run behind a position. Through is how far its log is known to go on.
func streamRun(c protocol.Call, threadID, runID string, after protocol.Position, through awaken.Cursor) error {
	return stream(c, &protocol.Stream{ThreadID: threadID, RunID: runID, After: after, Through: through})
}

// stream answers with chunks.
func stream(c protocol.Call, s *protocol.Stream) error {
	c.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	s.Encoder = func() protocol.Encoder { return &Encoder{} }
	return c.Stream(s)
}

// getStream streams a run, or else the answer that is being given on a thread, or that a
// client was in the middle of.
func getStream(c protocol.Call) error {
	ctx, t, r := c.Context(), c.Tenant(), c.Request()
	runID, threadID := cmp.Or(r.PathValue("run_id"), r.URL.Query().Get("runId")), r.PathValue("thread_id")
	var run *awaken.Run
	var end awaken.Cursor
	var err error
	if runID == "" {
		run, end, err = protocol.Going(ctx, t, threadID)
		if errors.Is(err, awaken.ErrNotFound) {
			return c.Reply(http.StatusNoContent, nil)
		}
	} else {
		run, end, err = loadRun(ctx, t, runID)
		if errors.Is(err, awaken.ErrNotFound) || err == nil && threadID != "" && run.ThreadID != threadID {
			return protocol.NotFound("run", runID)
		}
	}
	if err != nil {
		return err
	}
	after, err := protocol.ResumeAfter(c, end)
	if err != nil {
		return err
	}
	if runID == "" && after.Seq > 0 { // it names the run too
		if run, err = runAt(ctx, t, threadID, after, run); err != nil {
			return err
		}
	}
	if run == nil {
		return c.Reply(http.StatusNoContent, nil)
	}
	through, err := wentOn(ctx, t, run, end)
	if err != nil {
		return err
	}
	return streamRun(c, run.ThreadID, run.RunID, after, through)
}

// loadRun returns a run, and where the log of its thread ends.
func loadRun(ctx context.Context, t *mailbox.Tenant, runID string) (*awaken.Run, awaken.Cursor, error) {
	run, err := t.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, awaken.Cursor{}, err
	}
	th, err := t.Store.Thread(ctx, run.ThreadID)
	if err != nil {
		return nil, awaken.Cursor{}, err
	}
	return run, th.End, nil
}

// runAt returns the run that a client at a position is in the middle of, or nil if the
// client has all of it. It is going if that is known at once.
func runAt(ctx context.Context, t *mailbox.Tenant, threadID string, after protocol.Position, going *awaken.Run) (*awaken.Run, error) {
	at, err := t.Store.Entries(ctx, threadID, awaken.EntryQuery{After: after.Seq - 1, Limit: 1})
	if err != nil || len(at) == 0 || at[0].RunID == "" || going != nil && at[0].RunID == going.RunID {
		return going, err
	}
	rest, err := t.Store.Entries(ctx, threadID, awaken.EntryQuery{RunID: at[0].RunID, After: after.Seq, Limit: 1})
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	return t.Store.LoadRun(ctx, at[0].RunID)
}

// wentOn is how far the log of a run is known to go on: one that waits goes no further than
// where it waits now.
func wentOn(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, end awaken.Cursor) (awaken.Cursor, error) {
	if run.Status != awaken.RunWaiting {
		return end, nil
	}
	items, err := t.Store.Unread(ctx, run.ThreadID)
	if err != nil || len(items) == 0 {
		return end, err
	}
	return awaken.Cursor{Epoch: end.Epoch, Seq: end.Seq + 1}, nil // somebody has decided
}

// getReplay sends a page of what was streamed on a thread.
func getReplay(c protocol.Call) error {
	limit, err := protocol.NumberParam(c, "limit", 100, 1, 500)
	if err != nil {
		return err
	}
	th, err := protocol.PathThread(c)
	if err != nil {
		return err
	}
	after, err := protocol.ResumeAfter(c, th.End)
	if err != nil {
		return err
	}
	return stream(c, &protocol.Stream{ThreadID: th.ID, After: after, Limit: limit})
}

type accepted struct {
	Status     string `json:"status"`
	ThreadID   string `json:"thread_id"`
	Superseded *int   `json:"superseded_dispatches,omitempty"`
}

func cancel(c protocol.Call) error {
	id := c.Request().PathValue("thread_id")
	if err := c.Tenant().Cancel(c.Context(), id); err != nil {
		return protocol.StopFailure(id, err)
	}
	return c.Reply(http.StatusAccepted, accepted{Status: "cancel_requested", ThreadID: id})
}

func interrupt(c protocol.Call) error {
	id := c.Request().PathValue("thread_id")
	n, err := c.Tenant().Interrupt(c.Context(), id)
	if err != nil {
		return protocol.StopFailure(id, err)
	}
	return c.Reply(http.StatusAccepted, accepted{Status: "interrupt_requested", ThreadID: id, Superseded: &n})
}
