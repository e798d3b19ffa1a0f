package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/trace"
)

// cell is a case with a variant while it is run.
type cell struct {
	*job
	fixture *eval.Fixture
	variant *Variant
	seen    *eval.Observation

	script script
	stage  *stage
	rt     Runtime
	thread string
	runs   []string       // of the thread, in their order
	calls  map[string]int // index in seen.Calls, by id
}

func (c *cell) fail(kind eval.RuntimeFailureKind, message string) {
	c.seen.Runtime = &eval.RuntimeFailure{Kind: kind, Message: message}
}

// run runs the turns of the case. What the agent does wrong is observed; an error means that the case could not be run, or that
// ctx is done.
func (c *cell) run(ctx context.Context) error {
	stage, reg := newStage(c.fixture.ToolResults, c.variant.Registry.Names(c.variant.AgentID)), c.variant.Registry
	if c.variant.Scripted {
		if !c.fixture.Scripted() {
			return errors.New("the case has no script; want a provider_script, or a run with a model")
		}
		var err error
		if reg, err = c.variant.scripted(&c.script, stage.missing(reg, c.variant.AgentID)); err != nil {
			return err
		}
	}
	stage.local = func(id string) bool {
		spec := reg.Agent(id)
		return spec != nil && spec.BackendKind() == "" && (!c.variant.Scripted || spec.ModelID == scriptedModel)
	}
	c.stage = stage
	var err error
	if c.rt, err = c.Open(Setup{Versions: only{reg}, Executor: stage}); err != nil {
		return err
	}
	c.thread = ids.New()
	for _, turn := range c.fixture.Turns() {
		if err := c.turn(ctx, turn); err != nil {
			return err
		}
		if c.seen.Runtime != nil || c.seen.ErrorType != "" {
			return nil
		}
	}
	return c.judged(ctx)
}

// turn runs the agent on one message of the user.
func (c *cell) turn(ctx context.Context, x eval.Exchange) error {
	turns := make([]llmtest.Turn, len(x.ProviderScript))
	for i := range x.ProviderScript {
		turns[i] = x.ProviderScript[i].Turn()
	}
	script := llmtest.NewScript(turns...)
	c.script.Store(script)
	if err := c.say(ctx, x.UserInput); err != nil || !c.variant.Scripted {
		return err
	}
	played := script.Calls()
	for i := range min(played, len(turns)) {
		if turns[i].Error != nil {
			c.seen.InferenceErrors++
		}
	}
	switch {
	case played > len(turns):
		c.seen.ErrorType = ""
		c.fail(eval.ScriptExhausted, fmt.Sprintf("the agent asked its model %d times, but the script has %d replies", played, len(turns)))
	case played < len(turns) && !c.fixture.AllowUnusedProviderScript && c.seen.Runtime == nil:
		c.fail(eval.ProviderScriptUnused, fmt.Sprintf("the run ended after %d of %d replies of the script", played, len(turns)))
	}
	return nil
}

// say runs the agent on a message until the run ends, and observes it.
func (c *cell) say(ctx context.Context, text string) error {
	began := c.now()
	defer func() { c.seen.DurationMS += c.now().Sub(began).Milliseconds() }()
	req := awaken.RunRequest{AgentID: c.variant.AgentID, ThreadID: c.thread, Overrides: c.variant.Parameters, Messages: []*llm.Message{llm.UserText(text)}}
	var last *awaken.RunResult
	c.calls = map[string]int{}
	for {
		res, err := c.rt.Run(ctx, req, awaken.SinkFunc(c.see))
		if settleErr := c.rt.Settle(ctx); err == nil {
			err = settleErr
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if res != nil {
			if last = res; len(c.runs) == 0 || c.runs[len(c.runs)-1] != res.RunID {
				c.runs = append(c.runs, res.RunID)
			}
		}
		if err != nil {
			c.broke(err)
			break
		}
		if res.Termination.Type != awaken.Suspended {
			break
		}
		if req = c.decide(res); req.Continue == "" {
			c.fail(eval.RuntimeError, waits(res))
			break
		}
	}
	c.seen.Calls = append(c.seen.Calls, c.stage.takeBelow()...)
	if last == nil {
		return nil
	}
	c.seen.FinalText = last.Response
	c.seen.InputTokens += int(last.Usage.PromptTokens + last.ChildUsage.PromptTokens)
	c.seen.OutputTokens += int(last.Usage.CompletionTokens + last.ChildUsage.CompletionTokens)
	c.seen.Steps += last.Steps
	if usd := last.CostUSD + last.ChildCostUSD; usd > 0 {
		if c.seen.CostUSD != nil {
			usd += *c.seen.CostUSD
		}
		c.seen.CostUSD = &usd
	}
	return nil
}

// record passes on the trace of the cell.
func (c *cell) record(ctx context.Context) {
	stored, ok := c.rt.(interface{ Store() awaken.Store })
	if c.plan.Record == nil || !ok || len(c.runs) == 0 {
		return
	}
	source, ok := stored.Store().(trace.Source)
	if !ok {
		return
	}
	var lines []trace.Event
	for _, id := range c.runs {
		rec, err := trace.Record(ctx, source, id)
		if err != nil {
			return
		}
		lines = append(lines, linesOf(rec)...)
	}
	if id := c.runs[len(c.runs)-1]; c.plan.Record(ctx, id, lines) == nil {
		c.seen.TraceRunID = id
	}
}

// linesOf returns the trace of a run and of those below it.
func linesOf(rec *trace.Recording) []trace.Event {
	lines := rec.Lines(true)
	for _, child := range rec.Children {
		lines = append(lines, linesOf(child)...)
	}
	return lines
}

// broke observes that the run failed.
func (c *cell) broke(err error) {
	failure, ok := errors.AsType[*llm.Error](err)
	if !ok {
		c.fail(eval.RuntimeError, err.Error())
		return
	}
	c.seen.ErrorType = string(failure.Kind)
	if !c.variant.Scripted {
		c.seen.InferenceErrors++
	}
}

// decide returns the request that answers the calls for which a run waits, as the case says, or none.
func (c *cell) decide(res *awaken.RunResult) (req awaken.RunRequest) {
	if c.fixture.Decide == "" || res.Waiting == nil || len(res.Waiting.Tickets) == 0 {
		return req
	}
	action := awaken.ActionResume
	if c.fixture.Decide == eval.Deny {
		action = awaken.ActionCancel
	}
	req = awaken.RunRequest{Continue: res.RunID, Mode: "resume"}
	for _, t := range res.Waiting.Tickets {
		req.Decisions = append(req.Decisions, awaken.Decision{Target: t.TicketID, Action: action})
	}
	return req
}

// waits says what a run waits for.
func waits(res *awaken.RunResult) string {
	if res.Waiting == nil || len(res.Waiting.Tickets) == 0 {
		return "the run waits: " + res.Termination.String()
	}
	var tools []string
	for _, t := range res.Waiting.Tickets {
		tools = append(tools, t.ToolName)
	}
	return "the run waits for a decision about " + strings.Join(tools, ", ") + "; the case may have one in decide"
}

// see observes an event.
func (c *cell) see(_ context.Context, e awaken.Entry) error {
	switch ev := e.Event.(type) {
	case *awaken.InferenceComplete:
		c.seen.Inferences++
		if u := ev.Usage; u != nil {
			c.spend(u.PromptTokens+u.CompletionTokens, ev.CostUSD)
		}
	case *awaken.ToolCallReady:
		c.calls[ev.ID] = len(c.seen.Calls)
		c.seen.Calls = append(c.seen.Calls, eval.Call{Agent: c.agent(), Name: ev.Name, Arguments: ev.Arguments})
	case *awaken.ToolCallDone:
		if n, ok := c.calls[ev.ID]; ok && ev.Outcome != awaken.CallSuspended {
			call := &c.seen.Calls[n]
			call.Result, call.Failed = resultOf(ev.Result), ev.Outcome == awaken.CallFailed
			if ev.Arguments != nil {
				call.Arguments = ev.Arguments
			}
		}
	case *awaken.ToolCallResumed:
		if n, ok := c.calls[ev.TargetID]; ok {
			c.seen.Calls[n].Result, c.seen.Calls[n].Failed = ev.Result, ev.Outcome != awaken.CallSucceeded
		}
	}
	return nil
}

func (c *cell) agent() string { return c.variant.AgentID }

// resultOf returns what a tool returned as JSON: its data, or its text.
func resultOf(r *awaken.ToolResult) json.RawMessage {
	if r == nil {
		return nil
	}
	if data := r.Data; len(data) > 0 && string(data) != "null" {
		return data
	}
	text, err := json.Marshal(r.Text())
	if err != nil {
		return nil
	}
	return text
}

// script is a model that plays the script of the current turn.
type script struct{ atomic.Pointer[llmtest.Script] }

func (s *script) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return s.Load().Stream(ctx, req)
}

// only is a registry without versions.
type only struct{ reg *registry.Registry }

func (o only) Registry() *registry.Registry             { return o.reg }
func (o only) Choose(*awaken.Thread) *registry.Registry { return o.reg }
func (o only) Pinned(context.Context, string) (*registry.Registry, error) {
	return o.reg, nil
}
