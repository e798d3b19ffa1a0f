package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// This file is what the scenarios in testdata/runs are made of: tools, and plugins
// that do what their rules say. testdata/runs/README.md describes it.

// kit is the tools and plugins of one scenario, and what they noted.
type kit struct {
	do func(goldenOp) error // to the runtime

	mu    sync.Mutex
	notes []string
}

func (k *kit) note(format string, args ...any) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
}

// The state keys.
var (
	kitWord   = state.NewValue[string]("kit.word", state.Options{})
	kitCount  = state.NewKey("kit.count", func(n, d int) int { return n + d }, state.Options{Merge: state.Commutative})
	kitMemory = state.NewValue[string]("kit.memory", state.Options{Scope: state.Thread})
	kitFussy  = state.NewKey("kit.fussy", func(int, int) int { panic("this key cannot be updated") }, state.Options{})
)

// The actions: one of each kind for every phase.
var kitCountdown, kitBad, kitPanic = kitActions("countdown"), kitActions("fail"), kitActions("panic")

func kitActions(kind string) map[awaken.Phase]awaken.Action[int] {
	m := map[awaken.Phase]awaken.Action[int]{}
	for p := awaken.PhaseRunStart; p <= awaken.PhaseRunEnd; p++ {
		m[p] = awaken.NewAction[int](fmt.Sprintf("kit.%s.%s", kind, p), p)
	}
	return m
}

var (
	kitOrphan   = awaken.NewAction[int]("kit.orphan", awaken.PhaseStepEnd) // it has no handler
	kitTelegram = awaken.NewEffect[string]("kit.telegram")
)

// kitBase is the plugin that every agent loads: keys, actions, effects.
type kitBase struct{ *kit }

func (kitBase) Name() string { return "kit" }

func (k kitBase) Register(r *awaken.Registrar) error {
	r.Key(kitWord, kitCount, kitMemory, kitFussy)
	for p := awaken.PhaseRunStart; p <= awaken.PhaseRunEnd; p++ {
		r.Handle(kitCountdown[p].Handler(func(_ context.Context, h *awaken.HookCall, n int) error {
			kitCount.Update(h, 1)
			if n > 1 {
				kitCountdown[p].Schedule(h, n-1)
			}
			return nil
		}))
		r.Handle(kitBad[p].Handler(func(context.Context, *awaken.HookCall, int) error { return errors.New("the action failed") }))
		r.Handle(kitPanic[p].Handler(func(context.Context, *awaken.HookCall, int) error { panic("the action panicked") }))
	}
	r.HandleEffect(kitTelegram.Handler(func(_ context.Context, h *awaken.HookCall, text string) error {
		k.note("telegram %q, count is %d", text, kitCount.Get(h))
		switch text {
		case "fail":
			return errors.New("the telegram was not delivered")
		case "panic":
			panic("the telegraph exploded")
		}
		return nil
	}))
	return nil
}

// kitPlugin does what the agent's section of its name says.
type kitPlugin struct {
	*kit
	name string
}

// kitRule is one thing a kitPlugin does.
type kitRule struct {
	On   string `json:"on"`             // a phase, gate, transform, stop, activate or deactivate
	Tool string `json:"tool,omitempty"` // only for calls of this tool
	Step *int   `json:"step,omitempty"` // only in this step
	Do   string `json:"do"`

	Text     string                    `json:"text,omitempty"`
	N        int                       `json:"n,omitempty"`
	Phase    awaken.Phase              `json:"phase,omitempty"`
	Agent    string                    `json:"agent,omitempty"`
	Tools    []string                  `json:"tools,omitempty"`
	Keys     []string                  `json:"keys,omitempty"`
	Message  *awaken.ContextMessage    `json:"message,omitempty"`
	Override *awaken.InferenceOverride `json:"override,omitempty"`
	Ticket   *kitTicket                `json:"ticket,omitempty"`
	Result   *awaken.ToolResult        `json:"result,omitempty"`
	Op       *goldenOp                 `json:"op,omitempty"`
}

// kitTicket is a ticket in JSON, with its time to live.
type kitTicket struct {
	ID             string              `json:"id,omitempty"`
	Action         string              `json:"action,omitempty"`
	Message        string              `json:"message,omitempty"`
	Mode           awaken.ResumeMode   `json:"mode,omitempty"`
	ExpiresMS      int                 `json:"expires_ms,omitempty"`
	OnExpiry       awaken.ExpiryPolicy `json:"on_expiry,omitempty"`
	ResponseSchema json.RawMessage     `json:"response_schema,omitempty"`
}

func (t *kitTicket) ticket() awaken.Ticket {
	if t == nil {
		return awaken.Ticket{}
	}
	return awaken.Ticket{
		Suspension: awaken.Suspension{ID: t.ID, Action: t.Action, Message: t.Message, ResponseSchema: t.ResponseSchema},
		ResumeMode: t.Mode, ExpiresIn: time.Duration(t.ExpiresMS) * time.Millisecond, OnExpiry: t.OnExpiry,
	}
}

func (p kitPlugin) Name() string { return p.name }

func (p kitPlugin) rules(spec *awaken.AgentSpec) (rules []kitRule, err error) {
	dec := json.NewDecoder(bytes.NewReader(spec.Sections[p.name]))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&rules); err != nil {
		return nil, fmt.Errorf("section %q wants a list of rules: %w", p.name, err)
	}
	return rules, nil
}

func (p kitPlugin) Register(r *awaken.Registrar) error {
	rules, err := p.rules(r.Agent)
	if err != nil {
		return err
	}
	var gates, transforms []kitRule
	hooks := map[awaken.Phase][]kitRule{}
	for _, rule := range rules {
		switch rule.On {
		case "activate", "deactivate":
		case "gate":
			gates = append(gates, rule)
		case "transform":
			transforms = append(transforms, rule)
		case "stop":
			r.Stop(kitStop{rule})
		default:
			var at awaken.Phase
			if err := at.UnmarshalText([]byte(rule.On)); err != nil {
				return err
			}
			hooks[at] = append(hooks[at], rule)
		}
	}
	for at, rules := range hooks {
		r.On(at, func(ctx context.Context, h *awaken.HookCall) error { return p.hook(ctx, h, rules) })
	}
	if len(gates) > 0 {
		r.Gate(func(_ context.Context, h *awaken.HookCall) (awaken.Verdict, error) { return p.gate(h, gates) })
	}
	if len(transforms) > 0 {
		r.Transform(func(_ context.Context, h *awaken.HookCall, req *llm.Request) error {
			return p.transform(h, req, transforms)
		})
	}
	return nil
}

func (p kitPlugin) Activate(ctx context.Context, h *awaken.HookCall) error {
	return p.lifecycle(ctx, h, "activate")
}

func (p kitPlugin) Deactivate(ctx context.Context, h *awaken.HookCall) error {
	return p.lifecycle(ctx, h, "deactivate")
}

func (p kitPlugin) lifecycle(ctx context.Context, h *awaken.HookCall, on string) error {
	rules, err := p.rules(h.Agent)
	if err != nil {
		return err
	}
	for _, rule := range rules {
		if rule.On == on {
			if rule.Do == "note" {
				p.note("%s: %s for agent %s", p.name, on, h.Agent.ID)
				continue
			}
			if err := p.do(ctx, h, rule); err != nil {
				return err
			}
		}
	}
	return nil
}

func (rule *kitRule) applies(h *awaken.HookCall) bool {
	return (rule.Tool == "" || h.Tool != nil && h.Tool.Tool == rule.Tool) && (rule.Step == nil || *rule.Step == h.Step)
}

func (p kitPlugin) hook(ctx context.Context, h *awaken.HookCall, rules []kitRule) error {
	for _, rule := range rules {
		if rule.applies(h) {
			if err := p.do(ctx, h, rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// do is what a hook can do.
func (p kitPlugin) do(ctx context.Context, h *awaken.HookCall, rule kitRule) error {
	switch rule.Do {
	case "note":
		p.note("%s", p.describe(h))
	case "fail":
		return errors.New(rule.Text)
	case "panic":
		panic(rule.Text)
	case "op":
		rule.Op.RunID = h.Run.RunID
		if err := p.kit.do(*rule.Op); err != nil {
			return err
		}
		p.note("%s: %s in %s, the context is done: %t", p.name, rule.Op.Op, h.Phase, ctx.Err() != nil)
	case "write":
		was, _, _ := strings.Cut(kitWord.Get(h), ", was ")
		kitWord.Update(h, fmt.Sprintf("%s in %s, was %s", p.name, h.Phase, was))
	case "count":
		kitCount.Update(h, rule.N)
	case "remember":
		kitMemory.Update(h, rule.Text)
	case "forget":
		kitMemory.Clear(h)
	case "break_state":
		kitFussy.Update(h, 1)
	case "countdown":
		kitCountdown[rule.Phase].Schedule(h, rule.N)
	case "bad_action":
		kitBad[rule.Phase].Schedule(h, rule.N)
	case "panic_action":
		kitPanic[rule.Phase].Schedule(h, rule.N)
	case "orphan_action":
		kitOrphan.Schedule(h, rule.N)
	case "telegram":
		kitTelegram.Emit(h, rule.Text)
	case "context":
		builtin.AddContextMessage.Schedule(h, *rule.Message)
	case "remove_context":
		builtin.RemoveContextMessage.Schedule(h, rule.Keys)
	case "override":
		builtin.SetInferenceOverride.Schedule(h, *rule.Override)
	case "exclude":
		for _, id := range rule.Tools {
			builtin.ExcludeTool.Schedule(h, id)
		}
	case "include":
		builtin.IncludeOnlyTools.Schedule(h, rule.Tools)
	case "handoff":
		builtin.ActiveAgent.Update(h, rule.Agent)
	case "await_tasks":
		builtin.PendingWork.Update(h, rule.N > 0)
	case "end":
		h.End()
	default:
		return fmt.Errorf("rule of plugin %q: a hook cannot do %q", p.name, rule.Do)
	}
	return nil
}

// describe is what a hook sees.
func (p kitPlugin) describe(h *awaken.HookCall) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s: %s in step %d, %d messages, run is %s", p.name, h.Phase, h.Step, h.Messages.Len(), builtin.RunLifecycle.Get(h).Status)
	if h.Tool != nil {
		fmt.Fprintf(&sb, ", call %s of %s with %s", h.Tool.ID, h.Tool.Tool, h.Tool.Args)
		if r := h.Tool.Resume; r != nil {
			fmt.Fprintf(&sb, ", resumed by %s", r.Action)
		}
	}
	if h.Result != nil {
		fmt.Fprintf(&sb, ", result %s", h.Result.Status)
	}
	if h.Reply != nil {
		fmt.Fprintf(&sb, ", reply %q with %d calls", h.Reply.Message.Text(), len(h.Reply.Message.ToolCalls))
	}
	return sb.String()
}

func (p kitPlugin) gate(h *awaken.HookCall, rules []kitRule) (awaken.Verdict, error) {
	for _, rule := range rules {
		if !rule.applies(h) {
			continue
		}
		switch rule.Do {
		case "note":
			p.note("%s: asked about %s", p.name, h.Tool.ID)
		case "allow":
			return awaken.Allow(), nil
		case "block":
			return awaken.Block(rule.Text), nil
		case "suspend":
			return awaken.SuspendCall(rule.Ticket.ticket()), nil
		case "answer":
			r := *rule.Result
			return awaken.Answer(&r), nil
		case "fail":
			return awaken.Verdict{}, errors.New(rule.Text)
		case "panic":
			panic(rule.Text)
		default:
			return awaken.Verdict{}, fmt.Errorf("rule of plugin %q: a gate cannot do %q", p.name, rule.Do)
		}
	}
	return awaken.Allow(), nil
}

func (p kitPlugin) transform(h *awaken.HookCall, req *llm.Request, rules []kitRule) error {
	for _, rule := range rules {
		if !rule.applies(h) {
			continue
		}
		switch rule.Do {
		case "append":
			req.Messages = req.Messages.Cut(req.Messages.Len()).Append(llm.UserText(rule.Text))
		case "max_tokens":
			req.MaxTokens = &rule.N
		case "fail":
			return errors.New(rule.Text)
		case "panic":
			panic(rule.Text)
		default:
			return fmt.Errorf("rule of plugin %q: a transform cannot do %q", p.name, rule.Do)
		}
	}
	return nil
}

// kitStop stops a run that wants an nth step.
type kitStop struct{ rule kitRule }

func (s kitStop) ID() string { return s.rule.Do }

func (s kitStop) Evaluate(st *awaken.StopStats) *awaken.StopDecision {
	if st.Steps < s.rule.N {
		return nil
	}
	return &awaken.StopDecision{Code: s.rule.Do, Detail: s.rule.Text}
}

// tools are the tools of the kit.
func (k *kit) tools() []awaken.Tool {
	type none struct{}
	readOnly := func(id string) awaken.ToolSpec {
		return awaken.ToolSpec{ID: id, Description: id, Effect: awaken.ReadOnly}
	}
	spec := func(id string) awaken.ToolSpec { return awaken.ToolSpec{ID: id, Description: id} }
	return []awaken.Tool{
		awaken.NewTool(readOnly("echo"), func(_ context.Context, _ *awaken.ToolCall, in struct {
			Text string `json:"text"`
		}) (*awaken.ToolResult, error) {
			return awaken.TextResult(in.Text), nil
		}),
		awaken.NewTool(readOnly("add"), func(_ context.Context, _ *awaken.ToolCall, in struct {
			A int `json:"a"`
			B int `json:"b"`
		}) (map[string]int, error) {
			return map[string]int{"sum": in.A + in.B}, nil
		}),
		awaken.NewTool(readOnly("fail"), func(_ context.Context, _ *awaken.ToolCall, in struct {
			Text string `json:"text"`
		}) (*awaken.ToolResult, error) {
			return nil, errors.New(in.Text)
		}),
		awaken.NewTool(readOnly("panic"), func(context.Context, *awaken.ToolCall, none) (*awaken.ToolResult, error) {
			panic("the tool panicked")
		}),
		awaken.NewTool(readOnly("fatal"), func(context.Context, *awaken.ToolCall, none) (*awaken.ToolResult, error) {
			return nil, awaken.Fatal(errors.New("the disk is on fire"))
		}),
		awaken.NewTool(readOnly("garbage"), func(context.Context, *awaken.ToolCall, none) (*awaken.ToolResult, error) {
			return &awaken.ToolResult{Data: json.RawMessage("{not JSON")}, nil
		}),
		k.sleeper("sleep", 0, true),
		k.sleeper("hasty", 100*time.Millisecond, true),
		k.sleeper("stubborn", 100*time.Millisecond, false),
		awaken.NewTool(readOnly("ask"), k.ask),
		k.effectful("count", awaken.Effectful),
		k.effectful("put", awaken.Idempotent),
		awaken.NewTool(awaken.ToolSpec{ID: "big", Description: "big", Effect: awaken.ReadOnly, MaxResultBytes: 40},
			func(_ context.Context, _ *awaken.ToolCall, in struct {
				Bytes int `json:"bytes"`
			}) (*awaken.ToolResult, error) {
				return awaken.TextResult(strings.Repeat("0123456789", in.Bytes/10)), nil
			}),
		awaken.NewTool(readOnly("picture"), func(context.Context, *awaken.ToolCall, none) (*awaken.ToolResult, error) {
			return &awaken.ToolResult{Message: "not shown", Content: []llm.Block{llm.Text("Here it is."),
				llm.Image(llm.Base64("image/png", "aGVsbG8="))}, Metadata: map[string]any{"width": 1}}, nil
		}),
		awaken.NewTool(readOnly("report"), func(_ context.Context, call *awaken.ToolCall, _ none) (*awaken.ToolResult, error) {
			half := 0.5
			call.Progress(awaken.Progress{Progress: &half, Message: "half way"})
			if err := call.Activity("plan", map[string]any{"steps": []string{"look"}}); err != nil {
				return nil, err
			}
			call.ActivityDelta("plan", awaken.PatchOp{Op: "add", Path: "/steps/-", Value: json.RawMessage(`"leap"`)})
			call.Output("line 1\n")
			call.Output("line 2\n")
			return awaken.TextResult("done"), nil
		}),
		awaken.NewTool(spec("write"), func(ctx context.Context, call *awaken.ToolCall, in struct {
			Text string `json:"text"`
			MS   int    `json:"ms,omitempty"`
		}) (*awaken.ToolResult, error) {
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
			kitWord.Update(call, in.Text)
			return awaken.TextResult(fmt.Sprintf("it was %q", kitWord.Get(call))), nil
		}),
		awaken.NewTool(readOnly("bump"), func(_ context.Context, call *awaken.ToolCall, in struct {
			By int `json:"by"`
			MS int `json:"ms,omitempty"`
		}) (*awaken.ToolResult, error) {
			time.Sleep(time.Duration(in.MS) * time.Millisecond)
			kitCount.Update(call, in.By)
			return awaken.TextResult("bumped"), nil
		}),
		awaken.NewTool(readOnly("share"), func(_ context.Context, call *awaken.ToolCall, in struct {
			Patch json.RawMessage `json:"patch"`
		}) (string, error) {
			builtin.ClientState.Update(call, in.Patch)
			return fmt.Sprintf("props are %s", builtin.ClientProps.Get(call)), nil
		}),
		awaken.NewTool(readOnly("remember"), func(_ context.Context, call *awaken.ToolCall, in struct {
			Text string `json:"text"`
		}) (*awaken.ToolResult, error) {
			kitMemory.Update(call, in.Text)
			return awaken.TextResult(fmt.Sprintf("it was %q", kitMemory.Get(call))), nil
		}),
		awaken.NewTool(readOnly("finish"), func(_ context.Context, call *awaken.ToolCall, _ none) (*awaken.ToolResult, error) {
			call.End()
			return awaken.TextResult("that was all"), nil
		}),
		awaken.NewTool(readOnly("handoff"), func(_ context.Context, call *awaken.ToolCall, in struct {
			Agent string `json:"agent"`
		}) (*awaken.ToolResult, error) {
			builtin.ActiveAgent.Update(call, in.Agent)
			return awaken.TextResult("handed to " + in.Agent), nil
		}),
		awaken.NewTool(readOnly("schedule"), func(_ context.Context, call *awaken.ToolCall, in struct {
			Phase string `json:"phase"`
			N     int    `json:"n"`
		}) (*awaken.ToolResult, error) {
			var p awaken.Phase
			if err := p.UnmarshalText([]byte(in.Phase)); err != nil {
				return nil, err
			}
			kitCountdown[p].Schedule(call, in.N)
			kitTelegram.Emit(call, "scheduled")
			return awaken.TextResult("scheduled"), nil
		}),
		awaken.NewTool(readOnly("start_task"), func(_ context.Context, call *awaken.ToolCall, in struct {
			Pending bool `json:"pending"`
		}) (*awaken.ToolResult, error) {
			builtin.PendingWork.Update(call, in.Pending)
			return awaken.TextResult("ok"), nil
		}),
	}
}

// sleeper returns a tool that takes its time.
func (k *kit) sleeper(id string, timeout time.Duration, polite bool) awaken.Tool {
	spec := awaken.ToolSpec{ID: id, Description: id, Effect: awaken.ReadOnly, Timeout: timeout}
	return awaken.NewTool(spec, func(ctx context.Context, call *awaken.ToolCall, in struct {
		MS   int    `json:"ms"`
		Text string `json:"text,omitempty"`
	}) (*awaken.ToolResult, error) {
		d := time.Duration(in.MS) * time.Millisecond
		if !polite {
			time.Sleep(d)
			return awaken.TextResult(in.Text), nil
		}
		select {
		case <-time.After(d):
			return awaken.TextResult(in.Text), nil
		case <-ctx.Done():
			k.note("%s %s stopped: %v", id, call.ID, context.Cause(ctx))
			return nil, ctx.Err()
		}
	})
}

// effectful returns a tool that notes when it takes effect, which is at its end.
func (k *kit) effectful(id string, effect awaken.EffectClass) awaken.Tool {
	spec := awaken.ToolSpec{ID: id, Description: id, Effect: effect}
	return awaken.NewTool(spec, func(ctx context.Context, call *awaken.ToolCall, in struct {
		Text string `json:"text,omitempty"`
		MS   int    `json:"ms,omitempty"`
	}) (*awaken.ToolResult, error) {
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		k.note("%s %q with key %s", id, in.Text, call.Key)
		return awaken.TextResult(id + " " + in.Text), nil
	})
}

// ask suspends its call, and says the decision once it is resumed.
func (k *kit) ask(_ context.Context, call *awaken.ToolCall, in struct {
	Text      string              `json:"text,omitempty"`
	Mode      awaken.ResumeMode   `json:"mode,omitempty"`
	ExpiresMS int                 `json:"expires_ms,omitempty"`
	OnExpiry  awaken.ExpiryPolicy `json:"on_expiry,omitempty"`
	MS        int                 `json:"ms,omitempty"`
	Times     int                 `json:"times,omitempty"`
},
) (*awaken.ToolResult, error) {
	time.Sleep(time.Duration(in.MS) * time.Millisecond)
	if call.Resume == nil || in.Times > 1 && call.Resume.SuspensionID == "" {
		t := kitTicket{Action: "ask", Message: in.Text, Mode: in.Mode, ExpiresMS: in.ExpiresMS, OnExpiry: in.OnExpiry}
		return nil, awaken.Suspend(t.ticket())
	}
	if in.Times > 1 && call.Resume.SuspensionID != "again" {
		return nil, awaken.Suspend((&kitTicket{ID: "again", Action: "ask", Message: "Really?"}).ticket())
	}
	return awaken.TextResult(fmt.Sprintf("asked %s; %s of %q said %s", call.Args, call.Resume.Action, call.Resume.Asked, call.Resume.Result)), nil
}
