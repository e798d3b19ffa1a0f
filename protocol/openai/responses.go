package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// postResponse answers a request with a response.
func postResponse(c protocol.Call) error {
	var req responseRequest
	if err := c.Decode(&req); err != nil {
		return err
	}
	x, err := req.exchange(c)
	if err != nil {
		return err
	}
	a, err := x.submit()
	if err != nil {
		return err
	}
	opts := Options{Model: req.Model, From: a.from, Structured: len(x.request.OutputSchema) > 0, Keep: req.keep(a.ThreadID), Previous: req.PreviousID,
		Asked: Asked{x.request.FrontendTools, x.request.Overrides, x.request.OutputSchema}}
	switch {
	case req.Stream:
		x.prompt = nil // a stream may be open for hours
		defer x.forget(a.ThreadID)
		return x.stream(a, opts.format("response"), func() protocol.Encoder { return NewResponseEncoder(opts) })
	case req.Background:
		run, err := c.Tenant().Store.LoadRun(c.Context(), a.RunID)
		if err != nil {
			return err
		}
		return replyWith(c, run, opts)
	}
	e := NewResponseEncoder(opts)
	run, err := x.collect(a, e)
	if err != nil {
		return err
	}
	x.forget(a.ThreadID)
	return c.Reply(http.StatusOK, e.response(run))
}

// keep returns how the response is kept, on the thread that the run has got.
func (r *responseRequest) keep(threadID string) keeping {
	switch {
	case isUnstored(threadID):
		return unstored
	case r.Background:
		return ahead
	}
	return kept
}

// exchange interprets the request.
func (r *responseRequest) exchange(c protocol.Call) (*exchange, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	x := &exchange{Call: c, field: "input", unstored: r.Store != nil && !*r.Store}
	var err error
	if x.prompt, err = promptOf(r.Input); err != nil {
		return nil, err
	}
	if r.Model != "" || len(x.prompt.answers) == 0 { // a run that continues has its agent
		agent, err := agentOf(c, r.Model)
		if err != nil {
			return nil, err
		}
		x.request.AgentID = agent.ID
	}
	specs, choice, err := toolsOf(r.Tools, r.ToolChoice)
	if err != nil {
		return nil, err
	}
	if r.Text != nil {
		if x.request.OutputSchema, err = r.Text.Format.schema("text.format"); err != nil {
			return nil, err
		}
	}
	effort := ""
	if r.Reasoning != nil {
		effort = r.Reasoning.Effort
	}
	o, err := r.overrides(r.MaxOutputTokens, "max_output_tokens", effort, "reasoning.effort")
	if err != nil {
		return nil, err
	}
	x.ask(specs, choice, o)
	if x.request.Context, err = r.context(); err != nil {
		return nil, err
	}
	if x.threadID, err = r.thread(); err != nil {
		return nil, err
	}
	if err := protocol.CheckID("conversation", x.threadID); err != nil {
		return nil, err
	}
	if isUnstored(x.threadID) {
		return nil, notFound("conversation", "conversation", x.threadID)
	}
	if r.PreviousID != "" {
		return x, x.continues(r.PreviousID)
	}
	if len(x.prompt.messages)+len(x.prompt.answers) == 0 {
		f := refused("input", "input is empty, want a text or a list of items")
		f.Code = "missing_required_parameter"
		return nil, f
	}
	return x, c.Admit(x.threadID)
}

// context returns the instructions, which hold for this response only.
func (r *responseRequest) context() ([]awaken.ContextMessage, error) {
	if absent(r.Instructions) {
		return nil, nil
	}
	var text string
	if err := json.Unmarshal(r.Instructions, &text); err != nil {
		return nil, refused("instructions", "instructions is %.80s, want a text", r.Instructions)
	}
	if text == "" {
		return nil, nil
	}
	return []awaken.ContextMessage{{Key: "openai.instructions", Role: llm.System, Content: []llm.Block{llm.Text(text)}, Persistent: true}}, nil
}

// continues makes the request continue the conversation of a response. If that has other responses since, it
// is a conversation of its own that shares the beginning.
func (x *exchange) continues(previousID string) error {
	ctx, t := x.Context(), x.Tenant()
	run, _, err := find(x, previousID)
	if err != nil {
		if f, ok := errors.AsType[*protocol.Failure](err); ok && f.Status == http.StatusNotFound {
			f.Message, f.Param, f.Code = "previous "+f.Message, "previous_response_id", "previous_response_not_found"
		}
		return err
	}
	x.threadID = run.ThreadID
	if len(x.prompt.answers) > 0 {
		return nil
	}
	th, err := t.Store.Thread(ctx, run.ThreadID)
	if err != nil {
		return err
	}
	switch {
	case run.Status == awaken.RunCreated || run.Status == awaken.RunRunning:
		return &protocol.Failure{Status: http.StatusConflict, Code: "response_in_progress", Param: "previous_response_id", Message: "response " + previousID + " is in progress; wait for it, or cancel it"}
	case th.LatestRunID != run.RunID || x.unstored:
		x.branch = &branch{run.ThreadID, max(run.Output.ToSeq, run.Input.ToSeq)}
	}
	return nil
}

// find returns the run of a response, and the response's number.
func find(c protocol.Call, id string) (*awaken.Run, int, error) {
	runID, n, how := parseResponse(id)
	if how == unstored {
		f := protocol.NotFound("response", id)
		f.Message += ": it was made with store false"
		return nil, 0, f
	}
	if c.Admit(runID) != nil {
		return nil, 0, protocol.NotFound("response", id)
	}
	run, err := c.Tenant().Store.LoadRun(c.Context(), runID)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && isUnstored(run.ThreadID) {
		return nil, 0, protocol.NotFound("response", id)
	}
	return run, n, err
}

// optionsOf returns the options for the nth response of a run.
func optionsOf(c protocol.Call, run *awaken.Run, n int) (Options, error) {
	_, _, how := parseResponse(c.Request().PathValue("run_id"))
	opts := Options{Model: cmp.Or(run.FirstAgentID, run.AgentID), Structured: len(run.OutputSchema) > 0, Keep: how, Asked: askedBy(run)}
	for _, a := range c.Agents() {
		if awaken.IsVariant(opts.Model, a.ID) {
			opts.Model = a.ID
		}
	}
	if n == 1 {
		return opts, nil
	}
	ends, err := pauses(c.Context(), c.Tenant(), run)
	if err != nil {
		return opts, err
	}
	if n-2 >= len(ends) {
		return opts, protocol.NotFound("response", responseID(run.RunID, n, how))
	}
	opts.From = ends[n-2].Cursor
	return opts, nil
}

// getResponse replies with a response as it is, or streams it.
func getResponse(c protocol.Call) error {
	ctx, t, query := c.Context(), c.Tenant(), c.Request().URL.Query()
	run, n, err := find(c, c.Request().PathValue("run_id"))
	if err != nil {
		return err
	}
	opts, err := optionsOf(c, run, n)
	if err != nil {
		return err
	}
	if !wantsStream(c) {
		return replyWith(c, run, opts)
	}
	th, err := t.Store.Thread(ctx, run.ThreadID)
	if err != nil {
		return err
	}
	after, err := protocol.ResumeAfter(c, th.End)
	if err != nil {
		return err
	}
	if query.Has("starting_after") {
		if opts.Has = protocol.NumberParam(query, "starting_after", -1, -1, maxNumber) + 1; opts.Has == 0 {
			return refused("starting_after", "starting_after is %s, want a sequence number", quoted(query.Get("starting_after")))
		}
	}
	c.Header().Set("X-Run-Id", run.RunID)
	c.Header().Set("X-Thread-Id", run.ThreadID)
	through := awaken.Cursor{}
	if opts.From.Seq > 0 {
		through = awaken.Cursor{Epoch: opts.From.Epoch, Seq: opts.From.Seq + 1}
		if after.Seq < opts.From.Seq {
			after = protocol.AfterAll(opts.From)
		}
	}
	return c.Stream(&protocol.Stream{ThreadID: run.ThreadID, RunID: run.RunID, After: after, Through: through, Resumed: true, Format: opts.format("response"),
		Encoder: func() protocol.Encoder { return NewResponseEncoder(opts) }})
}

// wantsStream reports whether a client wants the events of a response that it reads. The package for Go says so in the body of
// its request.
func wantsStream(c protocol.Call) bool {
	r := c.Request()
	if query := r.URL.Query(); query.Has("stream") || r.ContentLength <= 0 || r.ContentLength > 1<<10 {
		return query.Get("stream") == "true"
	}
	var body struct {
		Stream bool `json:"stream"`
	}
	data, err := io.ReadAll(r.Body)
	return err == nil && json.Unmarshal(data, &body) == nil && body.Stream
}

// maxNumber is the highest sequence number that a client can name.
const maxNumber = 1<<53 - 2

// replyWith replies with a response as far as it is stored.
func replyWith(c protocol.Call, run *awaken.Run, opts Options) error {
	r, err := stored(c.Context(), c.Tenant(), run, opts)
	if err != nil {
		return err
	}
	return c.Reply(http.StatusOK, r)
}

// stored returns a response as far as it is stored.
func stored(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, opts Options) (*response, error) {
	e := NewResponseEncoder(opts)
	if err := feed(ctx, t, run, e); err != nil {
		return nil, err
	}
	return e.response(run), nil
}

// cancelResponse cancels the run of a response. One that is over stays as it is.
func cancelResponse(c protocol.Call) error {
	ctx, t := c.Context(), c.Tenant()
	run, n, err := find(c, c.Request().PathValue("run_id"))
	if err != nil {
		return err
	}
	opts, err := optionsOf(c, run, n)
	if err != nil {
		return err
	}
	err = t.Cancel(ctx, run.RunID)
	if err != nil && !errors.Is(err, mailbox.ErrIdle) && !errors.Is(err, awaken.ErrNotFound) {
		return err
	}
	r, failed := stored(ctx, t, run, opts)
	if failed != nil {
		return failed
	}
	if err == nil && (r.Status == "queued" || r.Status == "in_progress") {
		r.Status = "cancelled" // it was accepted, and the run ends soon
	}
	return c.Reply(http.StatusOK, r)
}

type deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// deleteResponse deletes the conversation of a response that has no other.
func deleteResponse(c protocol.Call) error {
	ctx, t := c.Context(), c.Tenant()
	id := c.Request().PathValue("run_id")
	run, _, err := find(c, id)
	if err != nil {
		return err
	}
	runs, err := t.Store.ListRuns(ctx, awaken.RunQuery{ThreadID: run.ThreadID, Limit: 2})
	if err != nil {
		return err
	}
	editor, ok := t.Store.(awaken.ThreadEditor)
	if len(runs) > 1 || !ok {
		return &protocol.Failure{Status: http.StatusConflict, Code: "conversation_in_use",
			Message: fmt.Sprintf("response %s is part of a conversation with other responses; DELETE /v1/threads/%s deletes all of them", id, run.ThreadID)}
	}
	if err := editor.DeleteThread(ctx, run.ThreadID, awaken.RejectChildren); err != nil {
		return err
	}
	return c.Reply(http.StatusOK, deleted{ID: id, Object: "response.deleted", Deleted: true})
}
