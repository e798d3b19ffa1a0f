package aisdk

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

var (
	onceOnly    = []protocol.Param{{Name: "Idempotency-Key", Kind: "string", Doc: "makes retries safe: a repeated request with the same key has no effect and gets the first response"}}
	lastEventID = []protocol.Param{{Name: "Last-Event-ID", Kind: "string", Doc: "resume after this frame"}}
	cursor      = protocol.Param{Name: "cursor", Kind: "string", Doc: "resume after this frame; same as Last-Event-ID"}
	runParam    = protocol.Param{Name: "runId", Kind: "string", Doc: "id of the run to stream, even if it has ended; activeRunId in the list of messages"}
	pageParams  = []protocol.Param{{Name: "offset", Kind: "integer", Doc: "number of messages to skip; default 0"}, {Name: "limit", Kind: "integer", Doc: "maximum number of messages, 1 to 200; default 50"},
		{Name: "order", Kind: "asc|desc", Doc: "order by age; default asc, oldest first"}, {Name: "cursor", Kind: "string", Doc: "next_cursor of the previous page"}}
)

const chunks = "chunks of the AI SDK's UI message stream v1, then [DONE]"

// Routes returns the routes that a server mounts.
func Routes() []protocol.Route {
	chat := func(path, summary string) protocol.Route {
		return protocol.Route{Method: "POST", Path: path, Needs: permit.StartRuns, Scope: protocol.ByCaller, Handle: postChat(byAgentID), Summary: summary, Body: chatRequest{},
			Replies: map[int]any{200: nil}, Failures: []int{400, 404, 409}, Stream: true, Events: chunks, Headers: onceOnly}
	}
	stream := func(path, summary string) protocol.Route {
		return protocol.Route{Method: "GET", Path: path, Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: getStream, Summary: summary, Query: []protocol.Param{cursor, runParam},
			Replies: map[int]any{200: nil, 204: nil}, Failures: []int{400, 404, 410}, Stream: true, Events: chunks, Headers: lastEventID}
	}
	ofRun := func(path string) protocol.Route {
		r := stream(path, "Stream a run, from its beginning or after a frame")
		r.Query = r.Query[:1]
		return r
	}
	page := func(path string) protocol.Route {
		return protocol.Route{Method: "GET", Path: path, Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: getPage, Summary: "Get a thread's stream, one page at a time",
			Query:   []protocol.Param{cursor, {Name: "limit", Kind: "integer", Doc: "maximum number of frames, 1 to 500; default 100"}},
			Replies: map[int]any{200: nil}, Failures: []int{400, 404, 410}, Stream: true, Events: chunks, Headers: lastEventID}
	}
	preview := chat("/v1/ai-sdk/agent-previews/runs", "Chat with an unsaved agent, given in the body")
	preview.Needs, preview.Scope, preview.Handle, preview.Preview, preview.Control = permit.TryConfig, protocol.Operators, postChat(byPreview), true, true
	assistant := chat("/v1/admin/assistant/runs", "Chat with the admin assistant")
	assistant.Needs, assistant.Scope, assistant.Handle, assistant.Own, assistant.Control = permit.UseAssistant, protocol.Operators, postChat(byAssistant), true, true
	return []protocol.Route{
		chat("/v1/ai-sdk/chat", "Send a message to a chat, and stream the answer"),
		chat("/v1/ai-sdk/threads/{thread_id}/runs", "Send a message to a given chat, and stream the answer"),
		chat("/v1/ai-sdk/agents/{agent_id}/runs", "Send a message to a given agent, and stream the answer"),
		preview,
		assistant,
		stream("/v1/ai-sdk/chat/{thread_id}/stream", "Stream the answer in flight, from its beginning; 204 if there is none"),
		stream("/v1/ai-sdk/threads/{thread_id}/stream", "Stream the answer in flight, from its beginning; 204 if there is none"),
		ofRun("/v1/ai-sdk/runs/{run_id}/stream"),
		ofRun("/v1/ai-sdk/streams/{run_id}"),
		page("/v1/ai-sdk/chat/{thread_id}/replay"),
		page("/v1/ai-sdk/threads/{thread_id}/replay"),
		{Method: "GET", Path: "/v1/ai-sdk/threads/{thread_id}/messages", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: getMessages, Summary: "List the messages of a chat, without the answer in flight",
			Query: pageParams, Replies: map[int]any{200: messageList{}}, Failures: []int{400, 404}},
		{Method: "POST", Path: "/v1/ai-sdk/threads/{thread_id}/cancel", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: cancel, Summary: "Cancel the answer in flight",
			Replies: map[int]any{202: accepted{}}, Failures: []int{404}},
		{Method: "POST", Path: "/v1/ai-sdk/threads/{thread_id}/interrupt", Needs: permit.CancelRuns, Scope: protocol.ByPath, Handle: interrupt, Summary: "Cancel the answer in flight and everything queued",
			Replies: map[int]any{202: accepted{}}, Failures: []int{404}},
	}
}

// chosen is the agent that the client talks to, in a certain version if resolutionID is set.
type chosen struct{ agentID, resolutionID string }

// byAgentID chooses the agent that the path or the body names. Its id may be "".
func byAgentID(c protocol.Call, req *chatRequest) (to chosen, err error) {
	if to.agentID = c.Request().PathValue("agent_id"); to.agentID == "" {
		if to.agentID, err = protocol.Either("agentId", req.AgentID, req.AgentIDSnake); err != nil {
			return to, err
		}
	}
	return to, nil
}

// postChat returns the handler of chats with the agent that choose returns.
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

// chat submits what the client sent and streams the answer.
func chat(c protocol.Call, req *chatRequest, to chosen) error {
	threadID := c.Request().PathValue("thread_id")
	var err error
	if threadID == "" {
		if threadID, err = protocol.Either("threadId", req.ThreadID, req.ThreadIDSnake); err != nil {
			return err
		}
		threadID = cmp.Or(threadID, strings.TrimSpace(req.ID))
		if err := protocol.CheckID("id", threadID); err != nil {
			return err
		}
	}
	if err := c.Admit(threadID); err != nil {
		return err
	}
	if known, err := c.Tenant().Runtime.HasAgent(c.Context(), &awaken.RunRequest{AgentID: to.agentID, ResolutionID: to.resolutionID, ThreadID: threadID}); err != nil { // before anything changes
		return err
	} else if !known {
		return &protocol.Failure{Status: http.StatusBadRequest, Code: "agent_not_found", Message: "agent not found: " + to.agentID}
	}
	s := &mailbox.Submission{Mode: mailbox.ModeInterrupt, Resent: true}
	s.Request = awaken.RunRequest{ThreadID: threadID, AgentID: to.agentID, ResolutionID: to.resolutionID, Overrides: req.Overrides, Adapter: "ai_sdk"}
	if s.Request.FrontendTools, err = req.tools(); err != nil {
		return err
	}
	again, err := submitted(c)
	if err != nil {
		return err
	}
	if !again { // otherwise Submit returns the first receipt
		run, err := understand(c, req, s)
		if err != nil {
			return err
		}
		if run != nil { // nothing new: stream the answer in flight
			return streamAll(c, run.RunID)
		}
	}
	r, err := c.Submit(s)
	if err != nil {
		return err
	}
	c.Header().Set("X-Run-Id", r.RunID)
	c.Header().Set("X-Thread-Id", r.ThreadID)
	if r.Duplicate || r.Contradicted { // the first response was lost, or the page shows another decision
		return streamAll(c, r.RunID)
	}
	return stream(c, &protocol.Stream{ThreadID: r.ThreadID, RunID: r.RunID, After: protocol.AfterAll(r.After), New: r.New})
}

// submitted reports whether a submission with the request's idempotency key exists.
func submitted(c protocol.Call) (bool, error) {
	key, err := c.IdempotencyKey()
	if key == "" || err != nil {
		return false, err
	}
	_, err = c.Tenant().Store.Submitted(c.Context(), key)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// understand converts a request to a submission. If the request has nothing new and a run is
// in flight, it returns that run instead.
func understand(c protocol.Call, req *chatRequest, s *mailbox.Submission) (*awaken.Run, error) {
	ctx, t, threadID := c.Context(), c.Tenant(), s.Request.ThreadID
	ids := make([]string, len(req.Messages))
	for i := range req.Messages {
		ids[i] = req.Messages[i].ID
	}
	has, err := protocol.Receive(c, threadID, ids)
	if err != nil {
		return nil, err
	}
	open, known, first := has.Open(), has.Recent != nil, has.Unseen
	if known {
		if run, err := regenerating(ctx, t, req, threadID); run != nil || err != nil {
			return run, err
		}
		if first, err = rewind(ctx, t, req, s, first); err != nil {
			return nil, err
		}
	}
	var media protocol.Media
	for i := first; i < len(req.Messages); i++ {
		if req.Messages[i].Role == "assistant" && known {
			continue // the log has it
		}
		m, err := req.Messages[i].llmMessage(i, &media)
		if err != nil {
			return nil, err
		}
		if m == nil {
			continue
		}
		if err := req.Messages[i].checkActions(ctx, t, threadID, i); err != nil {
			return nil, err
		}
		s.Request.Messages = append(s.Request.Messages, m)
	}
	// A new message or a regeneration takes precedence over decisions.
	fresh := len(s.Request.Messages) > 0 || req.Trigger == "regenerate-message"
	if open != nil && open.Waiting != nil && !fresh {
		asked, err := protocol.LoadCallHistory(ctx, t, open)
		if err != nil {
			return nil, err
		}
		if s.Request.Decisions = req.decisions(open.Waiting, asked); len(s.Request.Decisions) > 0 {
			s.Request.AgentID = "" // the waiting run has one
		}
	}
	switch {
	case !fresh && len(s.Request.Decisions) == 0:
		if !known {
			return nil, protocol.BadRequest("at least one message is required")
		}
		if run, err := repeated(ctx, t, req, s); run != nil || err != nil {
			return run, err
		}
		if len(s.Request.Messages) == 0 {
			return again(ctx, t, req, has.Thread)
		}
	case fresh:
		s.Anew = true // ends a waiting run and starts another
		if req.Trigger != "regenerate-message" {
			if err := req.say(s, s.Request.Messages); err != nil {
				return nil, err
			}
		}
	}
	if m := protocol.ContextMessage(req.State); m != nil && len(s.Request.Messages) > 0 {
		s.Request.Messages = append([]*llm.Message{m}, s.Request.Messages...)
	}
	return nil, nil
}

// again returns the run that a request without anything new is about: the one in flight, or the last
// one, if the request repeats a decision of that. It fails with the record of a decision that the
// request contradicts.
func again(ctx context.Context, t *mailbox.Tenant, req *chatRequest, th *awaken.Thread) (*awaken.Run, error) {
	var last *awaken.Run
	if id := cmp.Or(th.OpenRunID, th.LatestRunID); id != "" {
		run, err := t.Store.LoadRun(ctx, id)
		if err != nil {
			return nil, err
		}
		asked, err := protocol.LoadCallHistory(ctx, t, run)
		if err != nil {
			return nil, err
		}
		calls, err := t.Store.Calls(ctx, id)
		if err != nil {
			return nil, err
		}
		q := mailbox.DecisionQuery{RunIDs: []string{id}, Limit: 1000}
		for _, s := range calls {
			for i := 0; s.Ticket != nil && i < len(s.Ticket.Tickets); i++ {
				q.RunIDs = append(q.RunIDs, s.Ticket.Tickets[i].RunID)
			}
		}
		records, err := t.Store.Decisions(ctx, q)
		if err != nil {
			return nil, err
		}
		repeats, decided := req.repeats(th.ID, calls, records, asked)
		if decided != nil {
			return nil, decided
		}
		if repeats {
			last = run
		}
	}
	run, _, err := protocol.ActiveRun(ctx, t, th.ID)
	if err != nil {
		return nil, err
	}
	if run = cmp.Or(run, last); run == nil {
		return nil, protocol.BadRequest("nothing new: want a message or a decision")
	}
	return run, nil
}

// rewind sets the point to rewind the chat to, if the client regenerates an answer or edits a
// message. It returns the index of the first new message.
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
	// Look for the run first: what it stores from here on must be hidden too.
	active, _, err := protocol.ActiveRun(ctx, t, s.Request.ThreadID)
	if err != nil {
		return 0, err
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
	at := req.answerIn(view)
	switch {
	case at < 0 && req.MessageID != "":
		return 0, protocol.NotFound("message", req.MessageID)
	case at < 0:
		return 0, protocol.BadRequest("the chat has no user message to answer")
	}
	protocol.AnswerAgain(&s.Request, view, at, active != nil)
	// A repeated request, while the new answer is in flight, is not another regeneration.
	for _, m := range view[:at] {
		if m.Role == llm.User && !m.IsInternal() {
			s.DedupeKey = regeneratePrefix + m.ID
		}
	}
	return max(first, len(req.Messages)), nil
}

// answerIn returns where in a conversation the answer to regenerate starts, or -1: at the named
// message; if the conversation has no such message, because its run is in flight and has stored nothing,
// after the last user message of the request; without a name, also after the conversation's.
func (r *chatRequest) answerIn(view []*llm.Message) int {
	asked := ""
	for i := range r.Messages {
		if r.Messages[i].Role == "user" {
			asked = r.Messages[i].ID
		}
	}
	named, after, last := -1, -1, -1
	for i, m := range view {
		switch spoken := m.Role == llm.User && !m.IsInternal(); {
		case m.ID == r.MessageID && m.ID != "" && spoken:
			named = i + 1
		case m.ID == r.MessageID && m.ID != "":
			named = i
		case spoken && m.ID == asked && asked != "":
			after, last = i+1, i+1
		case spoken:
			last = i + 1
		}
	}
	switch {
	case named >= 0:
		return named
	case after >= 0:
		return after
	case r.MessageID != "":
		return -1
	}
	return last
}

// say identifies the message of a submission, which is the last one.
func (r *chatRequest) say(s *mailbox.Submission, msgs []*llm.Message) (err error) {
	edited := ""
	if slices.ContainsFunc(r.Messages, func(m uiMessage) bool { return m.ID == r.MessageID && m.Role == "user" }) {
		edited = r.MessageID
	}
	s.Said, err = protocol.SayLast(msgs, "ai-sdk", s.Request.AgentID, edited)
	s.Said.Edits = edited != ""
	return err
}

// repeated returns the run that took the last message of a request that has nothing new. If the message was rewound, it
// is new, and is put into the submission.
func repeated(ctx context.Context, t *mailbox.Tenant, req *chatRequest, s *mailbox.Submission) (*awaken.Run, error) {
	n := len(req.Messages) - 1
	if n < 0 || req.Messages[n].Role != "user" || req.Messages[n].ID == "" {
		return nil, nil
	}
	m, err := req.Messages[n].llmMessage(n, new(protocol.Media))
	if m == nil || err != nil {
		return nil, err
	}
	msgs := []*llm.Message{m}
	if err := req.say(s, msgs); err != nil {
		return nil, err
	}
	id, known, err := protocol.Answering(ctx, t, s.Request.ThreadID, s.Said)
	switch {
	case err != nil:
		return nil, err
	case id != "":
		return t.Store.LoadRun(ctx, id)
	case !known:
		s.Request.Messages, s.Anew = msgs, true
	}
	return nil, nil
}

// regeneratePrefix starts the dedupe key of a regeneration. The id of the user message
// follows.
const regeneratePrefix = "ai-sdk:regenerate:"

// regenerating returns the run that already regenerates the message, or nil.
func regenerating(ctx context.Context, t *mailbox.Tenant, req *chatRequest, threadID string) (*awaken.Run, error) {
	if req.Trigger != "regenerate-message" || req.MessageID == "" {
		return nil, nil
	}
	live, err := t.Store.Dispatches(ctx, mailbox.Query{ThreadID: threadID, Statuses: []mailbox.Status{mailbox.Queued, mailbox.Claimed}})
	if err != nil {
		return nil, err
	}
	for _, d := range live {
		if d.Request != nil && d.Request.Rewind == req.MessageID && strings.HasPrefix(d.DedupeKey, regeneratePrefix) && !d.Cancel {
			return t.Store.LoadRun(ctx, d.RunID)
		}
	}
	return nil, nil
}

// streamAll streams a run from its beginning: through earlier questions, until it ends or waits.
func streamAll(c protocol.Call, runID string) error {
	run, end, err := loadRun(c.Context(), c.Tenant(), runID)
	if err != nil {
		return err
	}
	through, err := continuedSince(c.Context(), c.Tenant(), run, end)
	if err != nil {
		return err
	}
	c.Header().Set("X-Run-Id", run.RunID)
	c.Header().Set("X-Thread-Id", run.ThreadID)
	return stream(c, &protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, Through: through, Resumed: true})
}

// stream sets the headers and the encoder of a stream, and sends it.
func stream(c protocol.Call, s *protocol.Stream) error {
	c.Header().Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	s.Encoder, s.Format = func() protocol.Encoder { return &Encoder{} }, "ai-sdk"
	s.Lost = func(f *protocol.Frames) error {
		var e Encoder
		e.out.Begin(f)
		e.data("stream-reset", "", false, map[string]string{"reason": "the step was lost with its owner"})
		return e.out.End()
	}
	return c.Stream(s)
}

// getStream streams a given run, or a thread's answer: the one in flight, or the one that the
// client was reading.
func getStream(c protocol.Call) error {
	ctx, t, r := c.Context(), c.Tenant(), c.Request()
	runID, threadID := cmp.Or(r.PathValue("run_id"), r.URL.Query().Get("runId")), r.PathValue("thread_id")
	var run *awaken.Run
	var end awaken.Cursor
	var err error
	if runID == "" {
		run, end, err = protocol.ActiveRun(ctx, t, threadID)
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
	if runID == "" && after.Seq > 0 { // the position also identifies the run
		if run, err = runAt(ctx, t, threadID, after, run); err != nil {
			return err
		}
	}
	if run == nil {
		return c.Reply(http.StatusNoContent, nil)
	}
	through, err := continuedSince(ctx, t, run, end)
	if err != nil {
		return err
	}
	return stream(c, &protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, After: after, Through: through, Resumed: true})
}

// loadRun returns a run and the end of its thread's log.
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

// runAt returns the run that a position belongs to, or nil if the client has all of it. It
// returns going if the position does not name another run.
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

// continuedSince returns how far the log is known to extend. A waiting run ends where it waits
// now, unless a decision is unread.
func continuedSince(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, end awaken.Cursor) (awaken.Cursor, error) {
	if run.Status != awaken.RunWaiting {
		return end, nil
	}
	items, err := t.Store.Unread(ctx, run.ThreadID)
	if err != nil || len(items) == 0 {
		return end, err
	}
	return awaken.Cursor{Epoch: end.Epoch, Seq: end.Seq + 1}, nil // a decision arrived, so the run will resume
}

// getPage streams a page of what was streamed on a thread.
func getPage(c protocol.Call) error {
	limit := protocol.NumberParam(c.Request().URL.Query(), "limit", 100, 1, 500)
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
