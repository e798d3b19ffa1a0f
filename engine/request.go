package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// buildRequest builds the model request. Continuations of a truncated answer reuse it. Its steps follow
// each other instead of nesting, to keep the stack small.
func (inf *inference) buildRequest(ctx context.Context) error {
	req := &inf.request
	inf.describe(req)
	var used state.Batch
	inf.stream.made = nil
	inf.takeOverride(req, &used)
	if err := inf.bound(req); err != nil {
		return err
	}
	inf.takeFilter(req, &used)
	if inf.output.plan != nil {
		inf.output.plan.Apply(req)
	}
	var before, after []*llm.Message
	if cms := builtin.ContextMessages.Get(inf.st); len(cms) > 0 || inf.agent.Cutoff != "" {
		before, after = inf.placeContext(req, cms, &used)
	}
	if err := inf.apply(&used); err != nil {
		return err
	}
	return inf.converse(ctx, req, before, after)
}

// describe sets what the agent and the run say about the request.
func (inf *inference) describe(req *llm.Request) {
	*req = llm.Request{} // in place, because a composite literal would be built on the stack first
	req.Model, req.System, req.Tools = inf.agent.ModelSpec.UpstreamModel, inf.agent.System, inf.tools.offered
	req.CachePrompt = inf.agent.Spec.ContextPolicy != nil && inf.agent.Spec.ContextPolicy.EnablePromptCache
	req.Routing.ThreadID, req.Routing.RunID = inf.info.ThreadID, inf.info.RunID
	inf.whom.tenant, inf.whom.background = inf.customer()
	req.Limits = &inf.rt.cfg.Limits.Reply
	req.Caller = inf // not the stream, which a later run uses again
	req.ReasoningEffort = inf.agent.Spec.ReasoningEffort
	if l := inf.agent.Limits; l != nil && l.Output > 0 {
		req.MaxTokens = &l.Output
	}
	if o := inf.rec.Overrides; o != nil {
		if o.Apply(req); inf.hasChosen(o.ToolChoice) {
			req.ToolChoice = nil
		}
	}
}

// hasChosen reports whether the run has made a call of the kind that the choice of its request forces.
func (inf *inference) hasChosen(choice *llm.ToolChoice) bool {
	if choice == nil || choice.Mode != "required" && choice.Mode != "tool" {
		return false
	}
	fits := func(name string) bool {
		switch {
		case choice.Mode == "tool":
			return name == choice.Name
		case inf.tools.offersClients():
			return inf.tools.ofClient(name) != nil
		}
		return true
	}
	return len(inf.rec.Tools) == maxTools || slices.ContainsFunc(inf.rec.Tools, fits) || slices.ContainsFunc(inf.conv.added, func(m *llm.Message) bool {
		return m.Role == llm.Assistant && slices.ContainsFunc(m.ToolCalls, func(c llm.ToolCall) bool { return fits(c.Name) })
	})
}

// bound sets the limits of a request whose model and parameters are known.
func (inf *inference) bound(req *llm.Request) error {
	clampOutput(inf.agent, req)
	if priced := inf.agent.ModelSpec.UpstreamModel; inf.wallet.spending != nil && req.Model != priced {
		return fmt.Errorf("%w: the run has a budget, but the price of model %q is unknown; only %q may be used",
			awaken.ErrInvalid, req.Model, priced)
	}
	if req.IdleTimeout = time.Duration(inf.agent.Retry.StreamIdleTimeoutSecs) * time.Second; req.ReasoningEffort != nil || thinks(req.Model) {
		req.IdleTimeout *= 2
	}
	req.Patience = inf.agent.Patience
	return nil
}

// converse adds the conversation to a request that is otherwise complete, between the given messages.
func (inf *inference) converse(ctx context.Context, req *llm.Request, before, after []*llm.Message) error {
	if w := inf.conv.window; w != nil {
		w.before, w.after, w.plain = before, after, nil
		return inf.fitFirst(ctx, req)
	}
	if req.Messages = inf.conv.msgs.Clip(); len(before)+len(after) > 0 {
		req.Messages = around(before, req.Messages, after)
	}
	return inf.phases.transform(ctx, req)
}

// fitFirst is fitRequest for a request that may have to be fitted again.
func (inf *inference) fitFirst(ctx context.Context, req *llm.Request) error {
	if len(inf.agent.Transforms) > 0 {
		inf.conv.window.plain = new(*req)
	}
	return inf.fitRequest(ctx, req)
}

// takeOverride applies the override of the step, and removes it from the state.
func (inf *inference) takeOverride(req *llm.Request, used *state.Batch) {
	if o, ok := builtin.StepOverride.Lookup(inf.st); ok {
		o.Apply(req)
		inf.made().Overridden = true
		builtin.StepOverride.Clear(used)
	}
}

// takeFilter applies the tool filters of the step, and removes them from the state.
func (inf *inference) takeFilter(req *llm.Request, used *state.Batch) {
	if f, ok := builtin.ToolFilter.Lookup(inf.st); ok {
		all := len(req.Tools)
		req.Tools = f.Apply(req.Tools)
		if n := all - len(req.Tools); n > 0 {
			inf.made().Withheld = n
		}
		builtin.ToolFilter.Clear(used)
	}
	if c := req.ToolChoice; c != nil && c.Mode == "tool" && !offers(req.Tools, c.Name) {
		req.ToolChoice = nil // a filter or a hand-off has taken the tool away
	}
}

// fitRequest adds as much of the conversation to a request as its window has room for.
func (inf *inference) fitRequest(ctx context.Context, req *llm.Request) error {
	if err := inf.conv.fit(req); err != nil {
		return err
	}
	if len(inf.agent.Transforms) == 0 {
		return nil
	}
	if err := inf.phases.transform(ctx, req); err != nil {
		return err
	}
	return inf.conv.window.refit(req)
}

// clampOutput lowers the limit of the answer to that of the model. Without a context policy, which
// may leave the limit to the provider, the model's limit is the default.
func clampOutput(agent *registry.Agent, req *llm.Request) {
	m := agent.ModelSpec
	if req.Model != m.UpstreamModel {
		return
	}
	if n := m.MaxOutputTokens; n > 0 && (req.MaxTokens == nil && agent.Limits == nil || req.MaxTokens != nil && *req.MaxTokens > n) {
		req.MaxTokens = &m.MaxOutputTokens
		if m.ContextWindow > 0 && n >= m.ContextWindow {
			req.MaxTokens = new(max(1, m.ContextWindow/2)) // leave room for the request
		}
	}
	if req.MaxTokens == nil {
		return
	}
	if l := agent.Limits; l != nil && *req.MaxTokens >= l.Context {
		req.MaxTokens = new(max(1, l.Context/2))
	}
}

// placeContext adds context messages to the system prompt, and returns those that go before and
// after the conversation. It removes those that are used once from the state.
func (inf *inference) placeContext(req *llm.Request, stored map[string]awaken.ContextMessage, used *state.Batch) (before, after []*llm.Message) {
	list := make([]awaken.ContextMessage, 0, len(stored)+1)
	var once []string
	if _, own := stored[cutoffKey]; !own && inf.agent.Cutoff != "" && req.Model == inf.agent.ModelSpec.UpstreamModel {
		list = append(list, cutoffContext(inf.agent.Cutoff, inf.rt.cfg.Now()))
	}
	for _, m := range stored {
		list = append(list, m)
		if !m.Persistent || m.ConsumeAfterEmit {
			once = append(once, m.Key)
		}
	}
	if len(once) > 0 {
		slices.Sort(once)
		builtin.ContextMessages.Update(used, builtin.ContextUpdate{Remove: once})
	}
	slices.SortFunc(list, func(a, b awaken.ContextMessage) int {
		return cmp.Or(targetOrder[a.Target]-targetOrder[b.Target], a.Priority-b.Priority, strings.Compare(a.Key, b.Key))
	})
	req.System = slices.Clip(req.System)
	for _, m := range list {
		inf.noteContext(&m)
		msg := &llm.Message{Role: m.Role, Content: m.Content, Visibility: m.Visibility}
		switch {
		case m.Target == awaken.TargetSuffix:
			after = append(after, msg)
		case m.Target == awaken.TargetSystem && m.Role == llm.System:
			req.System = append(req.System, m.Content...)
		default:
			before = append(before, msg)
		}
	}
	return before, after
}

var targetOrder = map[awaken.ContextTarget]int{awaken.TargetSystem: 0, awaken.TargetSession: 1, awaken.TargetConversation: 2, awaken.TargetSuffix: 3}

// thinks reports, by its name, whether a model may be silent for long.
func thinks(model string) bool {
	return strings.Contains(model, "thinking") || strings.Contains(model, "reasoning") ||
		strings.HasPrefix(model, "o1") || strings.HasPrefix(model, "o3") || strings.HasPrefix(model, "o4")
}

// longestAnswer is the longest answer allowed, in tokens.
func (inf *inference) longestAnswer() int64 {
	switch {
	case inf.request.MaxTokens != nil:
		return int64(max(*inf.request.MaxTokens, 1))
	case inf.agent.ModelSpec.MaxOutputTokens > 0:
		return int64(inf.agent.ModelSpec.MaxOutputTokens)
	case inf.agent.Spec.ContextPolicy != nil && inf.agent.Spec.ContextPolicy.MaxOutputTokens > 0:
		return int64(inf.agent.Spec.ContextPolicy.MaxOutputTokens)
	}
	return defaultAnswer
}

// cutoffKey is the key of the context message about the model's knowledge cutoff. A plugin may
// replace the message by adding one with this key.
const cutoffKey = "knowledge_cutoff.context"

// cutoffContext tells the model the date and its knowledge cutoff.
func cutoffContext(cutoff string, now time.Time) awaken.ContextMessage {
	return awaken.ContextMessage{Key: cutoffKey, Source: "runtime", Role: llm.System, Priority: -100, Content: []llm.Block{llm.Text(fmt.Sprintf(
		"Today is %s (UTC). Your knowledge ends at %s: you do not know what happened after that unless this conversation or a tool tells you.",
		now.UTC().Format(time.DateOnly), cutoff))}}
}
