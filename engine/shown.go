package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
	"github.com/awaken-go/awaken/trace/timeline"
)

// Shown returns what the model was shown in a step of a run that it has answered, or in which the run failed. It returns ErrNotFound if
// the run does not exist or the step has neither, and ErrPinUnavailable if the version of the run cannot be loaded.
func (rt *Runtime) Shown(ctx context.Context, runID string, step int) (*timeline.ShownRequest, error) {
	run, err := rt.cfg.Store.LoadRun(ctx, runID)
	if err != nil {
		return nil, err
	}
	log, err := rt.cfg.Store.View(ctx, run.ThreadID)
	if err != nil {
		return nil, err
	}
	if run.Call != nil {
		return nil, fmt.Errorf("step %d of run %s: %w: the run is one planned call, and asked no model", step, runID, awaken.ErrNotFound)
	}
	before, answer := answerOf(log.Log(), runID, step), ""
	if before >= 0 {
		answer = log.Log()[before].ID
	} else if before = unanswered(log.Log(), run, step); before < 0 {
		return nil, fmt.Errorf("step %d of run %s: %w: it has no answer", step, runID, awaken.ErrNotFound)
	}
	reg, err := rt.pinnedRegistry(ctx, run.ResolutionID)
	if err != nil {
		return nil, err
	}
	agent, err := reg.Runnable(run.AgentID)
	if err != nil {
		return nil, fmt.Errorf("version %q: %w: %w", run.ResolutionID, awaken.ErrPinUnavailable, err)
	}
	var view awaken.View
	view.Append(log.Log()[:before]...)
	req := llm.Request{Model: agent.ModelSpec.UpstreamModel}
	req.ReasoningEffort = agent.Spec.ReasoningEffort
	if l := agent.Limits; l != nil && l.Output > 0 {
		req.MaxTokens = &l.Output
	}
	if run.Overrides != nil {
		run.Overrides.Apply(&req)
	}
	clampOutput(agent, &req)
	out := &timeline.ShownRequest{Step: step, AgentID: run.AgentID, Version: run.ResolutionID, Model: req.Model, System: agent.System, Messages: view.Messages(), Tools: agent.Offered,
		Temperature: req.Temperature, TopP: req.TopP, MaxTokens: req.MaxTokens, ReasoningEffort: req.ReasoningEffort, Unrecorded: []timeline.Unrecorded{}}
	out.System, out.Tools = append([]llm.Block{}, out.System...), append([]llm.Tool{}, out.Tools...)
	if reg.ID() != run.ResolutionID {
		doubt(out, "version", "", "the version of the run is not kept; this is the live one")
	}
	for _, m := range view.Messages() {
		if m.IsSummary() {
			out.Summarised += m.Metadata.Compaction.ToSeq - m.Metadata.Compaction.FromSeq + 1
		}
	}
	scheduled, err := readComposition(ctx, rt.cfg.Store, run, answer, out)
	if err != nil {
		return nil, err
	}
	if c := out.Composition; c == nil && scheduled {
		doubt(out, "state", "", "context messages, a tool filter or an override were scheduled in the run")
	} else if c != nil {
		addNoted(out, c)
	}
	addDoubts(out, run, agent)
	return out, nil
}

func doubt(s *timeline.ShownRequest, code, plugin, detail string) {
	s.Unrecorded = append(s.Unrecorded, timeline.Unrecorded{Code: code, Plugin: plugin, Detail: detail})
}

// addDoubts adds what may change the requests of an agent.
func addDoubts(s *timeline.ShownRequest, run *awaken.Run, agent *registry.Agent) {
	var hooks []string
	for _, list := range agent.Hooks {
		for i := range list {
			if !slices.Contains(hooks, list[i].Plugin) {
				hooks = append(hooks, list[i].Plugin)
			}
		}
	}
	for _, plugin := range hooks {
		if s.Composition != nil {
			break // what they added and changed was noted
		}
		doubt(s, "hook", plugin, "its hooks may have added context messages, filtered tools or overridden parameters")
	}
	for _, p := range agent.Plugins {
		if _, ok := p.(registry.Reviser); ok {
			doubt(s, "tools", p.Name(), "its tools may have been others at the time of the step")
		}
	}
	for i := range agent.Transforms {
		doubt(s, "transform", agent.Transforms[i].Plugin, "it may have changed the request")
	}
	for _, d := range []struct {
		applies      bool
		code, detail string
	}{
		{agent.Limits != nil && s.Composition == nil, "context_window", "messages may have been left out, and long results shortened, to fit the context window"},
		{len(run.FrontendTools) > 0, "client_tools", "the client's tools, which are in the record of the run, were offered too"},
		{agent.Output != nil || len(run.OutputSchema) > 0, "output_schema", "the answer had to fit a schema, which is in the record of the run or the agent"},
		{agent.Cutoff != "" && s.Composition == nil, "knowledge_cutoff", "the model was told the date and where its knowledge ends"},
		{run.FirstAgentID != "", "handoff", "the run was handed to another agent; this is the request of the last one"},
		{len(agent.Guards) > 0, "guards", "guards may have changed what the model was shown"},
		{run.Budgeted || run.Budget != nil || agent.Spec.Budget != nil, "budget", "max_tokens may have been lowered to what the budget could pay for"},
		{agent.Remote != nil, "remote", "the agent runs on another server, which has its own prompt"},
		{len(agent.Members) > 0, "pool", "a member of the pool answered, whose parameters may differ"},
	} {
		if d.applies {
			doubt(s, d.code, "", d.detail)
		}
	}
}

// addNoted adds what was noted about a request and cannot be made again.
func addNoted(s *timeline.ShownRequest, c *llm.Composition) {
	for _, m := range c.Context {
		doubt(s, "context", m.Source, fmt.Sprintf("context message %q of about %d tokens was added (%s); its content was not kept", m.Key, m.Tokens, m.Target))
	}
	if c.LeftOut > 0 || c.Shortened > 0 {
		doubt(s, "context_window", "", fmt.Sprintf("%d of these messages were left out, and %d shown in part, to fit the context window", c.LeftOut, c.Shortened))
	}
	if c.Overridden {
		doubt(s, "override", "", "parameters were overridden for this request")
	}
	if c.Withheld > 0 {
		doubt(s, "tool_filter", "", fmt.Sprintf("%d of these tools were not offered", c.Withheld))
	}
}

// readComposition reads what the run noted about the request that a message answers, and reports whether tools or plugins have scheduled
// something for requests of the run, which snapshots of its state show.
func readComposition(ctx context.Context, store awaken.Store, run *awaken.Run, messageID string, s *timeline.ShownRequest) (scheduled bool, err error) {
	log, ok := store.(awaken.EventLog)
	if !ok {
		doubt(s, "state", "", "the store keeps no events, so what was scheduled for later requests is not known")
		return false, nil
	}
	step := ""
	for q := (awaken.EntryQuery{RunID: run.RunID, Limit: 1000}); ; {
		entries, err := log.Entries(ctx, run.ThreadID, q)
		if err != nil {
			return false, err
		}
		for i := range entries {
			switch ev := entries[i].Event.(type) {
			case *awaken.StepStart:
				step = ev.MessageID
			case *awaken.InferenceComplete:
				if step == messageID {
					s.Composition = ev.Composition
				}
			case *awaken.StateSnapshot:
				if scheduled {
					break
				}
				if scheduled, err = schedules(ev); err != nil {
					return false, err
				}
			}
			q.After = max(q.After, entries[i].Seq) // a coalesced entry may reach beyond those behind it
		}
		if len(entries) < q.Limit {
			return scheduled, nil
		}
	}
}

// schedules reports whether a snapshot of state has something for later requests.
func schedules(ev *awaken.StateSnapshot) (bool, error) {
	text, err := awaken.AppendEvent(nil, ev)
	for _, key := range []state.AnyKey{builtin.ContextMessages, builtin.ToolFilter, builtin.StepOverride} {
		if bytes.Contains(text, []byte(`"`+key.Name()+`":`)) {
			return true, nil
		}
	}
	return false, err
}

// answerOf returns the index of the answer of a step in a log, or -1. A step that was begun anew has the last one.
func answerOf(log []*llm.Message, runID string, step int) int {
	for i, m := range slices.Backward(log) {
		if md := m.Metadata; m.Role == llm.Assistant && md != nil && md.RunID == runID && md.StepIndex != nil && *md.StepIndex == step && md.Compaction == nil {
			return i
		}
	}
	return -1
}

// unanswered returns the length of the log when a run asked for the answer of its last step and got none, or -1.
func unanswered(log []*llm.Message, run *awaken.Run, step int) int {
	if run.Status != awaken.RunDone || step != run.Steps-1 || step > 0 && answerOf(log, run.RunID, step-1) < 0 {
		return -1
	}
	end := run.Input.ToSeq
	for i, m := range slices.Backward(log[min(end, len(log)):]) {
		if md := m.Metadata; md != nil && md.RunID == run.RunID {
			return min(end, len(log)) + i + 1
		}
	}
	return min(end, len(log))
}
