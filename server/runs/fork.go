package runs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
	"github.com/awaken-go/awaken/server/internal/forked"
	"github.com/awaken-go/awaken/trace"
)

// forks has the handlers that take up a conversation on another thread.
type forks struct {
	newID    func() string
	control  *config.Manager // nil if there is none
	registry func() *registry.Registry
}

func (h *forks) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/threads/{thread_id}/fork", Needs: permit.StartRuns, Scope: protocol.ByPath, Handle: server.HandleBody(h.forkThread),
			Summary: "Fork a conversation to a new thread, from one of its messages", Body: forkBody{}, Replies: map[int]any{201: threadView{}}, Failures: []int{409}},
		{Method: "GET", Path: "/v1/runs/{run_id}/forks", Needs: permit.ReadThreads, Scope: protocol.ByPath, Handle: server.Handle(h.list),
			Summary: "Get the origin of a forked run, and list its newest forks", Replies: map[int]any{200: runForks{}}},
	}
}

// ofRuns returns the routes that run agents with changes, as previews do.
func (h *forks) ofRuns() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/runs/{run_id}/fork", Needs: permit.TryConfig, Handle: server.HandleBody(h.forkRun),
			Summary: "Repeat a run from one of its steps, with changes, on a new thread", Body: runForkBody{}, Replies: map[int]any{202: runForkAccepted{}}, Failures: []int{409}},
	}
}

// forkedFrom says where a thread was forked from. It is a note of the thread, which clients cannot change.
type forkedFrom struct {
	ThreadID string `json:"thread_id"`
	Seq      int    `json:"seq"` // messages that both threads share
	RunID    string `json:"run_id,omitempty"`
	Step     *int   `json:"step,omitempty"` // of the run, that the fork takes the place of
	// ForkRunID is the run that takes its place, and Changed what the caller had changed for it.
	ForkRunID string       `json:"fork_run_id,omitempty"`
	Changed   *forkChanges `json:"changed,omitempty"`
}

// forkChanges says what a fork has other than its original. What is empty is as it was.
type forkChanges struct {
	AgentID      string                    `json:"agent_id,omitempty"` // another agent, or another document of it
	Version      string                    `json:"version,omitempty"`  // of the registry, as the caller named it
	ModelID      string                    `json:"model_id,omitempty"`
	SystemPrompt bool                      `json:"system_prompt,omitempty"`
	Overrides    *awaken.InferenceOverride `json:"overrides,omitempty"`
	Results      []string                  `json:"results,omitempty"` // calls that have another result
	Refused      []string                  `json:"refused,omitempty"` // calls that count as refused
	Tools        fork.Mode                 `json:"tools"`             // what becomes of calls
	Fixtures     int                       `json:"fixtures,omitempty"`
}

type forkBody struct {
	// MessageID is the last message that the new thread begins with. Seq is how many messages it begins with, instead.
	MessageID string `json:"message_id,omitempty"`
	Seq       *int   `json:"seq,omitempty"`
}

func (h *forks) forkThread(req *server.Request, body *forkBody) error {
	t, err := req.Thread()
	if err != nil {
		return err
	}
	if err := h.idle(req, t); err != nil {
		return err
	}
	seq := 0
	switch {
	case (body.MessageID == "") == (body.Seq == nil):
		return protocol.BadRequest("message_id and seq: want one of them")
	case body.Seq != nil:
		if seq = *body.Seq; seq < 0 || seq > t.MessageCount {
			return protocol.BadRequest("seq is %d, want 0 to %d, the messages of the thread", seq, t.MessageCount)
		}
	default:
		if seq, err = seqOf(req, t, body.MessageID); err != nil {
			return err
		}
	}
	made, err := h.fork(req, forkedFrom{ThreadID: t.ID, Seq: seq})
	if err != nil {
		return err
	}
	return req.Reply(201, threadView{Thread: *made, ForkedFrom: forkedOf(made)})
}

// idle returns an error if the thread's run is running.
func (h *forks) idle(req *server.Request, t *awaken.Thread) error {
	run, err := latestRun(req, t)
	if err == nil && run.Status == awaken.RunRunning {
		err = server.Fail(409, "busy", "run %s of thread %s is running: wait for its end, or cancel it", run.RunID, t.ID)
	}
	return err
}

// seqOf returns the number of the last message with that id.
func seqOf(req *server.Request, t *awaken.Thread, messageID string) (int, error) {
	const atOnce = 500
	for before := 0; ; {
		list, err := req.Tenant().Store.Messages(req.Context(), t.ID, awaken.MessageQuery{Before: before, Limit: atOnce, Last: true})
		if err != nil {
			return 0, err
		}
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Message.ID == messageID {
				return list[i].Seq, nil
			}
		}
		if len(list) < atOnce {
			return 0, protocol.NotFound("message", messageID)
		}
		before = list[0].Seq
	}
}

// id returns the id of a new thread or run.
func (h *forks) id() string {
	if h.newID != nil {
		return h.newID()
	}
	return ids.New()
}

// fork makes a thread, and notes where it is from.
func (h *forks) fork(req *server.Request, from forkedFrom) (*awaken.Thread, error) {
	note, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	return server.ThreadsOf(req.Tenant()).Fork(req.Context(), from.ThreadID, from.Seq, h.id(), map[string]json.RawMessage{forked.Note: note})
}

type runForkBody struct {
	// FromStep is the step, from 0, that the fork takes the place of, with all that followed it.
	FromStep *int `json:"from_step"`
	// Version is the registry version of the agent: a number, live, or empty for the run's own.
	Version string `json:"version,omitempty"`
	// Agent is the id of another agent, or the document of one that need not be saved.
	Agent        json.RawMessage           `json:"agent,omitempty"`
	ModelID      string                    `json:"model_id,omitempty"`      // instead of the agent's
	SystemPrompt *string                   `json:"system_prompt,omitempty"` // instead of the agent's
	Overrides    *awaken.InferenceOverride `json:"overrides,omitempty"`     // of parameters
	// Results replace the results of calls before the step, by the id of the call: a text, or a result as in events.
	Results map[string]json.RawMessage `json:"results,omitempty"`
	// Refused are calls before the step that count as refused by a person, with the reason.
	Refused map[string]string `json:"refused,omitempty"`
	// Tools selects how calls in the fork are handled: recorded (the default), fixture, refuse, read_only or real, which asks before every effect.
	Tools fork.Mode `json:"tools,omitempty"`
	// Fixtures are results of calls in the fork. They come before the recorded ones.
	Fixtures []fork.Fixture `json:"fixtures,omitempty"`
}

// runForkAccepted names the fork.
type runForkAccepted struct {
	ThreadID   string     `json:"thread_id"`
	RunID      string     `json:"run_id"`
	AgentID    string     `json:"agent_id"`
	Version    string     `json:"version"` // of the registry, made for this fork
	ForkedFrom forkedFrom `json:"forked_from"`
}

// forkRun forks a run.
func (h *forks) forkRun(req *server.Request, body *runForkBody) error {
	run, err := req.Run()
	switch {
	case err != nil:
		return err
	case body.FromStep == nil:
		return protocol.BadRequest("from_step is missing, want the step to begin with, from 0")
	case run.Call != nil:
		return protocol.BadRequest("run %s is one planned call, and has no step of a model", run.RunID)
	case run.Status == awaken.RunRunning || run.Status == awaken.RunCreated:
		return server.Fail(409, "busy", "run %s is %s: wait for its end, or cancel it", run.RunID, run.Status)
	}
	if body.Overrides != nil {
		if err := protocol.CheckOverride("overrides", body.Overrides, h.registry(), run.AgentID); err != nil {
			return err
		}
	}
	rec, err := (&trace.Recorder{Source: req.Tenant().Store.(trace.Source), Alone: true}).Record(req.Context(), run.RunID)
	if err != nil {
		return err
	}
	results, err := body.results(rec)
	if err != nil {
		return err
	}
	branch, err := rec.Branch(*body.FromStep, results)
	if err != nil {
		return err
	}
	agentID, version, err := h.version(req, rec, body)
	if err != nil {
		return err
	}
	from := forkedFrom{ThreadID: run.ThreadID, Seq: branch.Seq, RunID: run.RunID, Step: body.FromStep, ForkRunID: h.id(), Changed: body.changes(agentID)}
	t, err := h.fork(req, from)
	if err != nil {
		return err
	}
	if err := h.start(req, t, run, branch, body, agentID, version, from.ForkRunID); err != nil {
		if gone := server.ThreadsOf(req.Tenant()).DeleteThread(context.WithoutCancel(req.Context()), t.ID, awaken.DetachChildren); gone != nil {
			return errors.Join(err, gone)
		}
		return err
	}
	return req.Reply(202, runForkAccepted{ThreadID: t.ID, RunID: from.ForkRunID, AgentID: agentID, Version: version, ForkedFrom: from})
}

// start submits the run of a fork, with the changed results.
func (h *forks) start(req *server.Request, t *awaken.Thread, run *awaken.Run, b *trace.Branch, body *runForkBody, agentID, version, runID string) error {
	overrides := run.Overrides
	if body.Overrides != nil {
		all := *body.Overrides
		if overrides != nil {
			all = overrides.Merge(all)
		}
		overrides = &all
	}
	if overrides != nil && overrides.ToolChoice != nil && (body.Overrides == nil || body.Overrides.ToolChoice == nil) {
		all := *overrides // the run has perhaps made the call that its choice forced
		all.ToolChoice, overrides = nil, &all
	}
	s := &mailbox.Submission{Logged: true, Request: awaken.RunRequest{AgentID: agentID, ThreadID: t.ID, RunID: runID, Messages: b.Messages, ResolutionID: version, Overrides: overrides, FrontendTools: run.FrontendTools,
		OutputSchema: run.OutputSchema, Budget: run.Budget, Taint: run.Taint}}
	if err := server.Sign(req, s); err != nil {
		return err
	}
	s.IdempotencyKey, s.Digest, s.Request.UserID = "", "", t.UserID
	_, err := req.Tenant().Submit(req.Context(), *s)
	return err
}

// changes says what the caller changes of a run that an agent begins again.
func (b *runForkBody) changes(agentID string) *forkChanges {
	c := &forkChanges{Version: b.Version, ModelID: b.ModelID, SystemPrompt: b.SystemPrompt != nil, Overrides: b.Overrides,
		Results: slices.Sorted(maps.Keys(b.Results)), Refused: slices.Sorted(maps.Keys(b.Refused)), Tools: cmp.Or(b.Tools, fork.Recorded), Fixtures: len(b.Fixtures)}
	if len(bytes.TrimSpace(b.Agent)) > 0 {
		c.AgentID = agentID
	}
	return c
}

// runForks says where a run is from and what was made of it.
type runForks struct {
	ForkedFrom *forkedFrom `json:"forked_from,omitempty"`
	Forks      []runFork   `json:"forks"`
	// HasMore says that the thread has more threads below it than the server looks at.
	HasMore bool `json:"has_more"`
}

// runFork is a fork of a run.
type runFork struct {
	ThreadID  string       `json:"thread_id"`
	RunID     string       `json:"run_id"`
	Step      *int         `json:"step,omitempty"`
	CreatedAt int64        `json:"created_at"` // Unix ms
	Changed   *forkChanges `json:"changed,omitempty"`
}

// mostForks limits the child threads of a run's thread that are read.
const mostForks = 200

func (h *forks) list(req *server.Request) error {
	run, err := req.Run()
	if err != nil {
		return err
	}
	out := runForks{Forks: []runFork{}}
	t, err := req.Tenant().Store.Thread(req.Context(), run.ThreadID)
	if errors.Is(err, awaken.ErrNotFound) { // the run has not started
		return req.Reply(200, out)
	}
	if err != nil {
		return err
	}
	if from := forkedOf(t); from != nil && from.ForkRunID == run.RunID {
		out.ForkedFrom = from
	}
	at := ""
	below, err := req.Tenant().Store.ListThreads(req.Context(), awaken.ThreadQuery{ParentThreadID: t.ID, Limit: mostForks, At: &at})
	if err != nil {
		return err
	}
	for _, t := range below {
		if from := forkedOf(t); from != nil && from.RunID == run.RunID && from.ForkRunID != "" {
			out.Forks = append(out.Forks, runFork{ThreadID: t.ID, RunID: from.ForkRunID, Step: from.Step, CreatedAt: t.Metadata.CreatedAt, Changed: from.Changed})
		}
	}
	out.HasMore = at != ""
	return req.Reply(200, out)
}

// forkedOf returns where a thread was forked from, or nil.
func forkedOf(t *awaken.Thread) *forkedFrom {
	from := new(forkedFrom)
	if note := t.Notes[forked.Note]; note == nil || json.Unmarshal(note, from) != nil {
		return nil
	}
	return from
}

// results returns the results that replace recorded ones.
func (b *runForkBody) results(rec *trace.Recording) (map[string]*awaken.ToolResult, error) {
	out := map[string]*awaken.ToolResult{}
	for id, raw := range b.Results {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			out[id] = awaken.TextResult(text)
			continue
		}
		res := new(awaken.ToolResult)
		if err := strict.Unmarshal(raw, res); err != nil {
			return nil, protocol.BadRequest("results[%q] is not a text and not a result: %v", id, err)
		}
		if res.Status != awaken.ToolSuccess && res.Status != awaken.ToolError && res.Status != "" {
			return nil, protocol.BadRequest("results[%q].status is %q, want success or error", id, res.Status)
		}
		out[id] = res
	}
	for id, reason := range b.Refused {
		if out[id] != nil {
			return nil, protocol.BadRequest("call %q is in results and in refused, want it in one of them", id)
		}
		asked := &awaken.CallState{CallID: id, ToolName: id} // in the fork, it was not made
		for _, c := range rec.Calls {
			if c.CallID == id {
				asked.ToolName = c.ToolName
				if c.Doubt.Open() { // a fork does not know more than its run
					asked = c
				}
			}
		}
		out[id] = asked.RefusalResult(reason)
	}
	return out, nil
}

// version publishes the agent of a fork, for this run only.
func (h *forks) version(req *server.Request, rec *trace.Recording, body *runForkBody) (agentID, version string, err error) {
	if h.control == nil {
		return "", "", server.ErrNoControl
	}
	spec, err := h.agent(req, rec.Run, body)
	if err != nil {
		return "", "", err
	}
	section, err := h.section(spec, rec, body)
	if err != nil {
		return "", "", err
	}
	next := *spec
	next.ID = spec.Base()
	if body.ModelID != "" {
		next.ModelID = body.ModelID
	}
	if body.SystemPrompt != nil {
		next.SystemPrompt = *body.SystemPrompt
	}
	next.Sections = maps.Clone(spec.Sections)
	if next.Sections == nil {
		next.Sections = map[string]json.RawMessage{}
	}
	next.Sections[fork.Name] = section
	id, version, err := h.publish(req, &next)
	if errors.Is(err, config.ErrReadOnly) { // it is defined in code
		next.ID += "-fork"
		id, version, err = h.publish(req, &next)
	}
	return id, version, err
}

// publish publishes an agent for the runs that name the version.
func (h *forks) publish(req *server.Request, spec *awaken.AgentSpec) (agentID, version string, err error) {
	doc, err := json.Marshal(spec)
	if err != nil {
		return "", "", err
	}
	v, id, err := h.control.Versions().Preview(req.Context(), doc, server.ActorOf(req))
	if err != nil {
		return "", "", err
	}
	return id, v.ResolutionID(), nil
}

// agent returns the agent that a fork changes.
func (h *forks) agent(req *server.Request, run *awaken.Run, body *runForkBody) (*awaken.AgentSpec, error) {
	if raw := bytes.TrimSpace(body.Agent); len(raw) > 0 {
		if body.Version != "" {
			return nil, protocol.BadRequest("agent and version are both set, want only one of them")
		}
		return server.AgentIn(req, raw, h.registry(), h.control)
	}
	reg := h.registry()
	if version := body.Version; version != "live" {
		if version == "" {
			version = run.ResolutionID
		}
		pinned, err := h.control.Pinned(req.Context(), version)
		switch {
		case err == nil:
			reg = pinned
		case body.Version != "":
			return nil, explainMissing(err, "version", version)
		case !errors.Is(err, awaken.ErrNotFound):
			return nil, err
		}
	}
	if spec := reg.Agent(run.AgentID); spec != nil {
		return spec, nil
	}
	return nil, protocol.NotFound("agent", run.AgentID)
}

// section returns the section that configures the handling of calls.
func (h *forks) section(spec *awaken.AgentSpec, rec *trace.Recording, body *runForkBody) (json.RawMessage, error) {
	c := fork.Config{Tools: body.Tools, Results: body.Fixtures}
	if c.Tools == "" {
		c.Tools = fork.Recorded
	}
	if err := c.Check("fixtures"); err != nil {
		return nil, protocol.BadRequest("%v", err)
	}
	if c.Tools == fork.Recorded {
		for _, call := range rec.Calls {
			if call.Result != nil && call.Status.Terminal() && !call.IsHeld() {
				c.Results = append(c.Results, fork.Fixture{Tool: call.ToolName, Arguments: call.Arguments, Result: call.Result})
			}
		}
	}
	for i := range c.Results {
		var err error
		if c.Results[i], err = c.Results[i].Verbatim(); err != nil {
			return nil, err
		}
	}
	return json.Marshal(c)
}
