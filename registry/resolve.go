package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/internal/toolname"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
)

// Agent is a resolved agent, ready to run. It is immutable; its runs share it. Most programs
// never see one: it is for code that runs agents.
//
// Besides the fields below it has promoted ones, which go doc does not show:
//
//	ModelSpec   *awaken.ModelSpec             the model, or what the members of its pool have in common
//	Model       llm.Model                     calls the model or the pool
//	Retry       llm.RetryPolicy
//	Breaker     *llm.Breaker                  nil for a pool, whose members have one each
//	System      []llm.Block                   the system prompt
//	Members     map[string]*awaken.ModelSpec  of a pool, by id
//	Worst       awaken.Prices                 highest prices of the model, or of any member
//	Native      bool                          the provider enforces output schemas, or the agent is remote
//	Cutoff      string                        knowledge cutoff that the model is told, or ""
//
//	Limits      *ContextLimits                nil if the agent has no context policy
//	Artifact    ArtifactCompaction            which tool results are shortened
//	Summariser  *Summariser                   nil if conversations are not summarised
//
//	Plugins     []awaken.Plugin               in the order in which they are loaded
//	Hooks       [...][]Hook                   by awaken.Phase
//	Gates, Transforms                         in the order of registration
//	Guards      map[awaken.GuardPoint][]Guard
//	Actions     map[string]Action             by name
//	Effects     map[string]Effect             by name
//	Policies    []awaken.StopPolicy           without max_rounds
//	MaxRounds   awaken.StopPolicy
//	Tolerant    bool                          continue after an inference error, because a policy counts them
//
//	Tools       map[string]*Tool              that the catalogue allows, by id
//	Offered     []llm.Tool                    those that are not hidden, sorted by id
type Agent struct {
	source *awaken.AgentSpec // as configured
	Spec   *awaken.AgentSpec // a copy of the agent's spec, with decoded sections
	Remote RemoteAgent       // takes the place of the model; nil if the agent runs here

	agentModel
	agentContext
	behaviour
	toolbox
	Output   *OutputPlan // nil if the agent has no output schema
	keys     []state.AnyKey
	Schema   *state.Schema     // its state keys: built-in, of the registry and of its plugins
	variants map[string]*Agent // by name

	sections     []awaken.AnySection
	sectionOwner map[string]string
	uses         uses
	problems     []awaken.Diagnostic
	warnings     []awaken.Diagnostic
}

// agentModel is the model of an agent, and how it is called.
type agentModel struct {
	ModelSpec *awaken.ModelSpec
	Model     llm.Model
	Retry     llm.RetryPolicy
	Patience  *llm.Patience                // of its requests, as Retry says
	Breaker   *llm.Breaker                 // nil for a pool, whose members have one each
	System    []llm.Block                  // the system prompt
	Members   map[string]*awaken.ModelSpec // of a pool, by id
	Worst     awaken.Prices                // highest prices of the model, or of any member of the pool
	Native    bool                         // the provider enforces output schemas
	Cutoff    string                       // knowledge cutoff that the model is told, or ""
}

// agentContext limits the context of an agent.
type agentContext struct {
	Limits     *ContextLimits // nil if the agent has no context policy
	Artifact   ArtifactCompaction
	Summariser *Summariser // nil if conversations are not summarised
}

// behaviour holds the contributions of plugins, and the stop conditions.
type behaviour struct {
	Plugins    []awaken.Plugin
	Hooks      [awaken.PhaseRunEnd + 1][]Hook
	Gates      []Gate
	Transforms []Transform
	Guards     map[awaken.GuardPoint][]Guard
	Actions    map[string]Action
	Effects    map[string]Effect
	Answers    []func(text string) error // checks of answers
	Policies   []awaken.StopPolicy       // without max_rounds
	MaxRounds  awaken.StopPolicy
	Tolerant   bool // continue after an inference error, because a policy counts them
	revisers   []revised
}

// toolbox holds the tools of an agent.
type toolbox struct {
	Tools   map[string]*Tool // that the catalogue allows, by id
	Offered []llm.Tool       // those that are not hidden, sorted by id
	// Lists has the digests of the tools of MCP servers, by server, for servers with a tool of the agent; see [ListDigest]. It is nil if
	// there is no such server and all servers are connected.
	Lists   map[string]string
	hidden  []hider
	reviews []review

	pluginTools map[string]*Tool // before the catalogue
	toolSource  map[string]string
	names       *toolname.Names // of all tools before the catalogue; set when they are collected
	away        []string        // MCP servers whose tools are not known
}

// compile resolves an agent in three stages: look up its references, register its plugins,
// collect its tools. It continues after a problem, to report all of them.
func (reg *Registry) compile(spec *awaken.AgentSpec) *Agent {
	r := newAgent(spec)
	r.lookUp(reg)
	r.loadPlugins(reg)
	r.collectTools(reg)
	r.holdToSpec(reg)
	r.checkPrices(reg.pricing)
	for name, v := range r.variants {
		v = reg.compile(v.source)
		r.variants[name] = v
		r.uses.models, r.uses.agents, r.uses.plugins = append(r.uses.models, v.uses.models...), append(r.uses.agents, v.uses.agents...), append(r.uses.plugins, v.uses.plugins...)
	}
	return r
}

// newAgent returns an agent before the first stage.
func newAgent(spec *awaken.AgentSpec) *Agent {
	return &Agent{
		source:       spec,
		Spec:         spec.Copy(),
		behaviour:    behaviour{Guards: map[awaken.GuardPoint][]Guard{}, Actions: map[string]Action{}, Effects: map[string]Effect{}},
		toolbox:      toolbox{pluginTools: map[string]*Tool{}, toolSource: map[string]string{}, names: new(toolname.Names)},
		variants:     map[string]*Agent{},
		sectionOwner: map[string]string{},
	}
}

// faults returns the problems of the agent and of its variants.
func (r *Agent) faults() []awaken.Diagnostic {
	out := r.problems
	for _, name := range slices.Sorted(maps.Keys(r.variants)) {
		out = append(out[:len(out):len(out)], r.variants[name].problems...)
	}
	return out
}

// uses lists the dependencies of an agent and its variants: the models and agents that were
// looked up, whether they exist or not, and the plugins.
type uses struct{ models, agents, plugins []string }

// Bare returns an agent of which only the id is known. It has only built-in keys, and cannot
// run; a runtime uses it to end or park a run whose agent cannot be resolved.
func Bare(id string, has Builtin) *Agent {
	spec := &awaken.AgentSpec{ID: id}
	keys, _ := has(spec)
	schema, err := state.NewSchema(keys...)
	if err != nil {
		panic(err) // the built-in keys do not clash
	}
	return &Agent{Spec: spec, Schema: schema}
}

func (r *Agent) problem(code, format string, args ...any) {
	r.problems = append(r.problems, awaken.Diagnostic{Code: code, Severity: awaken.SeverityError, Namespace: "agents", ID: r.Spec.ID, Message: fmt.Sprintf(format, args...)})
}

func (r *Agent) missing(code, namespace, id, format string, args ...any) {
	r.problem(code, format, args...)
	r.problems[len(r.problems)-1].DependsOn = namespace + "/" + id
}

func (r *Agent) warn(code, format string, args ...any) {
	r.warnings = append(r.warnings, awaken.Diagnostic{Code: code, Severity: awaken.Warning, Namespace: "agents", ID: r.Spec.ID, Message: fmt.Sprintf(format, args...)})
}

// Stage 1: model, provider, delegates, stop conditions.
func (r *Agent) lookUp(reg *Registry) {
	spec := r.Spec
	if spec.SystemPrompt != "" {
		r.System = []llm.Block{llm.Text(spec.SystemPrompt)}
	}
	if spec.BackendKind() == "" {
		r.lookUpModel(reg)
	} else {
		r.lookUpRemote(reg)
	}
	r.uses.agents = append(r.uses.agents, spec.Delegates...)
	for _, id := range spec.Delegates {
		if reg.agents[id] == nil {
			r.missing("agent_missing_delegate", "agents", id, "delegates lists %q, which is not defined", id)
		}
	}
	r.MaxRounds, _ = awaken.StopCondition{Type: "max_rounds", Limit: spec.Rounds()}.Policy()
	for _, c := range spec.StopConditions {
		p, err := c.Policy()
		if err != nil {
			continue // reported by Validate
		}
		r.Policies = append(r.Policies, p)
		if c.Type == "cost_budget" && c.MaxUSD > 0 && r.ModelSpec != nil {
			if _, priced := r.ModelSpec.Cost(llm.Usage{PromptTokens: 1}); !priced {
				r.warn("cost_without_prices", "stop_conditions has cost_budget, but model %q has no prices: its cost counts as 0", r.ModelSpec.ID)
			}
		}
		r.Tolerant = r.Tolerant || c.Type == "consecutive_errors" && c.Limit > 0
	}
}

// lookUpModel finds the agent's model or pool, and its retry policy.
func (r *Agent) lookUpModel(reg *Registry) {
	spec := r.Spec
	r.Retry = llm.DefaultRetry
	if raw := spec.Sections["retry"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &r.Retry); err != nil {
			r.problem("invalid_section", "sections[%q]: %v", "retry", err)
		}
	}
	r.Patience = &llm.Patience{MaxPause: max(1, time.Duration(r.Retry.MaxRetryAfterSecs)*time.Second)}
	r.uses.models = append(r.uses.models, spec.ModelID)
	switch m, pool := reg.models[spec.ModelID], reg.pools[spec.ModelID]; {
	case spec.ModelID == "":
		r.problem("agent_missing_model", "model_id is empty")
	case pool != nil:
		r.ModelSpec, r.Model, r.Members, r.Worst, r.Native = pool.spec, pool.model, pool.members, pool.worst, pool.native
	case m == nil:
		r.missing("agent_missing_model", "models", spec.ModelID, "model_id is %q, which is not defined; available: %q", spec.ModelID,
			slices.Sorted(maps.Keys(reg.models)))
	default:
		r.ModelSpec, r.Breaker = m, reg.breakers[m.ID]
		if r.Model = reg.model(m); r.Model == nil {
			r.missing("model_missing_provider", "providers", m.ProviderID, "model %q has provider_id %q, which is not defined; available: %q",
				spec.ModelID, m.ProviderID, slices.Sorted(maps.Keys(reg.providers)))
			return
		}
		r.Worst, r.Native = m.Prices.Worst(&m.Prices), enforcesSchema(m, r.Model)
	}
}

// checkEffort warns about models that take no reasoning effort.
func (r *Agent) checkEffort(reg *Registry) {
	if r.Spec.ReasoningEffort == nil {
		return
	}
	specs := r.Members
	if specs == nil {
		specs = map[string]*awaken.ModelSpec{r.ModelSpec.ID: r.ModelSpec}
	}
	for _, id := range slices.Sorted(maps.Keys(specs)) {
		m := specs[id]
		if llm.KnowledgeOf(reg.model(m), m.UpstreamModel).Capabilities().Reasoning == llm.NoReasoning {
			r.warn("reasoning_unsupported", "reasoning_effort is set, but model %q (%s) takes none: requests to it omit it", id, m.UpstreamModel)
		}
	}
}

// holdToSpec checks that the model supports the agent's spec: its output schema, and prices if
// it has a budget.
func (r *Agent) holdToSpec(reg *Registry) {
	if r.Model == nil && r.Remote == nil {
		return
	}
	if r.Model != nil {
		r.checkEffort(reg)
	}
	if raw := r.Spec.OutputSchema; len(raw) > 0 {
		var err error
		if r.Output, err = NewOutputPlan(raw, r.Native); err != nil {
			r.problem("invalid_output_schema", "output_schema: %v", err)
		} else if r.Output.Finish != nil && r.Tools[awaken.FinalOutputTool] != nil {
			r.problem("tool_conflict", "tool name %q is reserved: model %q uses it to give an answer that matches output_schema", awaken.FinalOutputTool, r.ModelSpec.ID)
		}
	}
	if r.Spec.Budget != nil && !r.Worst.Priced() {
		r.problem("budget_without_prices", "budget is set, but model %q has no input_token_price_per_million_usd and output_token_price_per_million_usd", r.ModelSpec.ID)
	}
}

// Stage 2: plugins, sections, state keys.
func (r *Agent) loadPlugins(reg *Registry) {
	spec := r.Spec
	keys, handlers := reg.builtin(spec)
	r.keys = slices.Concat(keys, reg.keys)
	for _, s := range []awaken.AnySection{CompactionSection, ContextTransformSection, KnowledgeCutoffSection, EvalGateSection} {
		r.sections, r.sectionOwner[s.Describe().Key] = append(r.sections, s), "runtime"
	}
	for _, h := range handlers {
		r.Actions[h.Name()] = Action{"runtime", h}
	}
	r.uses.plugins = slices.Concat(spec.PluginIDs, reg.applying(spec))
	for _, id := range r.uses.plugins {
		p := reg.plugins[id]
		if p == nil {
			r.missing("agent_missing_plugin", "plugins", id, "plugin_ids lists %q, which is not defined; available: %q", id, slices.Sorted(maps.Keys(reg.plugins)))
			continue
		}
		r.Plugins = append(r.Plugins, p)
		r.contribute(reg, p, id)
	}
	if r.Remote != nil {
		r.contribute(reg, r.Remote, r.Remote.Name())
	}
	for _, id := range spec.ActiveHookFilter {
		if !slices.Contains(spec.PluginIDs, id) {
			r.problem("agent_hook_filter_plugin_not_loaded", "active_hook_filter lists %q, which plugin_ids does not list", id)
		}
	}
	r.checkSections()
	r.boundContext(reg)
	var err error
	if r.Schema, err = state.NewSchema(r.keys...); err != nil {
		r.problem("key_conflict", "%v", err)
	}
}

// applying returns the ids of plugins that the agent needs but does not list.
func (reg *Registry) applying(spec *awaken.AgentSpec) (ids []string) {
	for _, id := range slices.Sorted(maps.Keys(reg.plugins)) {
		if a, ok := reg.plugins[id].(awaken.Applier); ok && !slices.Contains(spec.PluginIDs, id) && a.Applies(spec) {
			ids = append(ids, id)
		}
	}
	return ids
}

// runtimeSections are sections that the runtime reads itself, without an AnySection.
var runtimeSections = []string{"retry"}

// boundContext sets the limits of the agent's context.
func (r *Agent) boundContext(reg *Registry) {
	if r.ModelSpec == nil || r.Remote != nil { // a remote agent has a context of its own
		return
	}
	if c, err := KnowledgeCutoffSection.Read(r.Spec); err == nil && c.Enabled {
		r.Cutoff = r.ModelSpec.KnowledgeCutoff
	}
	if r.Spec.ContextPolicy == nil {
		for _, key := range []string{CompactionSection.Name(), ContextTransformSection.Name()} {
			if r.Spec.Sections[key] != nil {
				r.warn("section_without_policy", "sections has %q, which has no effect without a context_policy", key)
			}
		}
		return
	}
	r.Limits = NewContextLimits(r.Spec.ContextPolicy, r.ModelSpec)
	if c, err := ContextTransformSection.Read(r.Spec); err == nil {
		r.Artifact = c.ArtifactCompaction
	}
	r.Summariser = r.newSummariser(reg)
}

func (r *Agent) checkSections() {
	for _, s := range r.sections {
		d := s.Describe()
		raw := r.Spec.Sections[d.Key]
		if len(raw) > 0 {
			if sch, err := schema.Compile(d.Schema); err != nil {
				r.problem("invalid_section_schema", "section %q: %v", d.Key, err)
			} else if err := sch.Check(raw); err != nil {
				for _, e := range flatten(err) {
					r.problem("invalid_section", "sections[%q]%v", d.Key, e)
				}
				continue
			}
		}
		if err := r.Spec.Decode(s); err != nil {
			r.problem("invalid_section", "%v", err)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Spec.Sections)) {
		if _, ok := r.sectionOwner[key]; !ok && !slices.Contains(runtimeSections, key) {
			r.warn("unclaimed_section", "sections has %q, which no loaded plugin reads; check its spelling", key)
		}
	}
}

// Stage 3: tools.
func (r *Agent) collectTools(reg *Registry) {
	if r.Remote != nil {
		r.collectRemoteTools()
		return
	}
	global := reg.tools
	for _, id := range slices.Sorted(maps.Keys(r.pluginTools)) { // global tools take precedence over those of plugins
		if global.byID[id] != nil {
			r.problem("tool_conflict", "tool %q of %s is also a global tool", id, r.toolSource[id])
			delete(r.pluginTools, id)
		}
	}
	known := knownTools{global, r.pluginTools}
	r.names.Set(global.names(), namesOf(r.pluginTools), slices.Concat(reg.away, r.away))
	c, err := newCatalogue(r.Spec)
	if err != nil {
		return // reported by Validate
	}
	r.warnings = append(r.warnings, c.diagnose(r.Spec.ID, r.names)...)
	if c.everything() && len(r.pluginTools) == 0 && len(r.hidden) == 0 {
		r.Tools, r.Offered = global.byID, global.offered
	} else {
		r.Tools = map[string]*Tool{}
		for _, id := range c.choose(known, r.names) {
			e := known.get(id)
			r.Tools[id] = e
			hidden, err := r.Hides(id)
			if err != nil {
				r.problem("plugin_failed", "%v", err)
			}
			if !hidden {
				r.Offered = append(r.Offered, e.Desc)
			}
		}
	}
	r.Offered = slices.Clip(r.Offered)
	r.Lists = global.listsOf(r.Tools, len(reg.away) > 0)
	if len(r.Spec.Delegates) > 0 && !known.delegates() {
		r.warn("delegates_unused", "delegates is set, but no tool uses delegates; load a plugin that provides one")
	}
	r.checkPermissionRules()
	r.reviewTools()
}

// knownTools are the tools of an agent before its catalogue is applied.
type knownTools struct {
	global *toolSet
	plugin map[string]*Tool // no ids in common with global
}

func (k knownTools) get(id string) *Tool {
	if e := k.global.byID[id]; e != nil {
		return e
	}
	return k.plugin[id]
}

// ids yields all ids, in no particular order.
func (k knownTools) ids(yield func(string) bool) {
	for _, id := range k.global.ids {
		if !yield(id) {
			return
		}
	}
	maps.Keys(k.plugin)(yield)
}

func (k knownTools) delegates() bool {
	if k.global.delegates {
		return true
	}
	for _, e := range k.plugin {
		if _, ok := e.Tool.(awaken.Delegator); ok {
			return true
		}
	}
	return false
}

// reviewTools lets plugins inspect the tools.
func (r *Agent) reviewTools() {
	if len(r.reviews) == 0 {
		return
	}
	tools := make(map[string]json.RawMessage, len(r.Tools))
	for id, e := range r.Tools {
		tools[id] = e.Spec.Parameters
	}
	for _, rv := range r.reviews {
		messages, err := rv.run(tools)
		if err != nil {
			r.problem("plugin_failed", "%v", err)
		}
		for _, message := range messages {
			r.warn(rv.code, "%s", message)
		}
	}
}

// Hides reports whether a plugin hides the tool from the model. It returns a panic of the
// plugin as an error.
func (r *Agent) Hides(id string) (bool, error) {
	for i := range r.hidden {
		if hidden, err := r.hidden[i].hides(id); hidden || err != nil {
			return hidden, err
		}
	}
	return false, nil
}

func (r *Agent) addTool(reg *Registry, t awaken.Tool, source string) {
	e, err := NewTool(t)
	if err != nil {
		r.problem("invalid_tool", "tool %q of %s: %v", t.Spec().ID, source, err)
		return
	}
	if first, dup := r.toolSource[e.Spec.ID]; dup {
		r.problem("tool_conflict", "tool %q comes from %s and from %s", e.Spec.ID, first, source)
		return
	}
	r.pluginTools[e.Spec.ID], r.toolSource[e.Spec.ID] = e.described(reg.descriptions[e.Spec.ID]), source
}

// checkPermissionRules warns about rules for tools that the catalogue removes.
func (r *Agent) checkPermissionRules() {
	var section struct {
		Rules []struct {
			Tool string `json:"tool"`
		} `json:"rules"`
	}
	if raw := r.Spec.Sections["permission"]; len(raw) == 0 || json.Unmarshal(raw, &section) != nil {
		return
	}
	for i, rule := range section.Rules {
		name, _, _ := strings.Cut(rule.Tool, "(")
		name = strings.TrimSpace(name)
		ids := r.names.IDs(func(t toolname.Tool) bool { return t.Restricted(func(n string) bool { return n == name }) })
		if len(ids) > 0 && !slices.ContainsFunc(ids, func(id string) bool { return r.Tools[id] != nil }) {
			r.warn("permission_rule_for_removed_tool", `sections["permission"].rules[%d] names tool %q, which the tool catalogue removes`, i, name)
		}
	}
}
