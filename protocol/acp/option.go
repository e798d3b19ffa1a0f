package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// options are what a client chooses for a session.
type options struct {
	Agent  string `json:"agent"`           // the mode
	Model  string `json:"model,omitempty"` // id of a model of the agent's provider; "" is the agent's
	Effort string `json:"effort,omitempty"`
	// Allowed are the tools of the client that it may use without asking.
	Allowed []string `json:"allowed,omitempty"`
}

// Ids of options.
const (
	modeOption   = "mode"
	modelOption  = "model"
	effortOption = "effort"
)

// agentDefault is the choice that leaves the decision to the agent.
const agentDefault = "default"

var efforts = []string{"none", "low", "medium", "high", "max"}

// agents returns the agents that a session can have.
func (a *agent) agents() (out []*awaken.AgentSpec) {
	c := a.Catalogue()
	for _, id := range c.AgentIDs() {
		if spec := c.Agent(id); spec != nil {
			out = append(out, spec)
		}
	}
	return out
}

// agentOf returns an agent, or nil.
func (a *agent) agentOf(id string) *awaken.AgentSpec {
	list := a.agents()
	if i := slices.IndexFunc(list, func(s *awaken.AgentSpec) bool { return s.ID == id }); i >= 0 {
		return list[i]
	}
	return nil
}

// defaults returns the options of a new session.
func (a *agent) defaults() (options, error) {
	list := a.agents()
	for _, id := range []string{a.Agent, "default"} {
		if slices.ContainsFunc(list, func(s *awaken.AgentSpec) bool { return s.ID == id }) {
			return options{Agent: id}, nil
		}
	}
	if len(list) == 0 {
		return options{}, &Failure{Code: codeInternal, Message: "there is no agent; define one with awaken config apply"}
	}
	return options{Agent: list[0].ID}, nil
}

// restored returns the options of a session that is begun again. What does not exist any more is replaced
// by the defaults.
func (a *agent) restored(o options) (options, error) {
	if o.Agent == "" || a.agentOf(o.Agent) == nil {
		d, err := a.defaults()
		o.Agent, o.Model = d.Agent, ""
		if err != nil {
			return o, err
		}
	}
	if o.Model != "" && a.model(o.Agent, o.Model) == nil {
		o.Model = ""
	}
	if !slices.Contains(efforts, o.Effort) {
		o.Effort = ""
	}
	return o, nil
}

// models returns the models that an agent can use: those of the provider of its own. An agent whose model
// is chosen by a pool has none.
func (a *agent) models(agentID string) (own *awaken.ModelSpec, all []*awaken.ModelSpec) {
	spec := a.agentOf(agentID)
	if spec == nil {
		return nil, nil
	}
	list := a.Catalogue().Models()
	if i := slices.IndexFunc(list, func(m *awaken.ModelSpec) bool { return m.ID == spec.ModelID }); i >= 0 {
		own = list[i]
	} else {
		return nil, nil
	}
	for _, m := range list {
		if m.ProviderID == own.ProviderID {
			all = append(all, m)
		}
	}
	return own, all
}

// model returns a model that an agent can use, or nil.
func (a *agent) model(agentID, id string) *awaken.ModelSpec {
	_, all := a.models(agentID)
	if i := slices.IndexFunc(all, func(m *awaken.ModelSpec) bool { return m.ID == id }); i >= 0 {
		return all[i]
	}
	return nil
}

// window returns the context window of the session's model, or 0 if it is unknown.
func (s *session) window(o options) int64 {
	own, _ := s.models(o.Agent)
	if m := s.model(o.Agent, o.Model); m != nil {
		own = m
	}
	if own == nil {
		return 0
	}
	return int64(own.ContextWindow)
}

// overrides returns what the options change in the requests to the model.
func (s *session) overrides(o options) *awaken.InferenceOverride {
	var out awaken.InferenceOverride
	if m := s.model(o.Agent, o.Model); m != nil && o.Model != "" {
		out.UpstreamModel = m.UpstreamModel
	}
	if o.Effort != "" {
		out.ReasoningEffort = &llm.Effort{Level: o.Effort}
	}
	if out.IsZero() {
		return nil
	}
	return &out
}

// modes returns the agents as modes.
func (a *agent) modes(current string) *modeState {
	out := &modeState{Current: current}
	for _, spec := range a.agents() {
		out.Available = append(out.Available, mode{ID: spec.ID, Name: spec.ID, Description: spec.Description})
	}
	return out
}

// configOptions returns the options with what can be chosen.
func (s *session) configOptions() []configOption {
	s.mu.Lock()
	o := s.options
	s.mu.Unlock()
	agents := configOption{ID: modeOption, Name: "Agent", Category: "mode", Type: "select", Current: o.Agent}
	for _, m := range s.modes(o.Agent).Available {
		agents.Options = append(agents.Options, optionChoice{m.ID, m.Name, m.Description})
	}
	out := []configOption{agents}
	if own, all := s.models(o.Agent); own != nil {
		models := configOption{ID: modelOption, Name: "Model", Category: "model", Type: "select", Current: cmp.Or(o.Model, own.ID)}
		for _, m := range all {
			models.Options = append(models.Options, optionChoice{Value: m.ID, Name: m.ID, Description: m.UpstreamModel})
		}
		out = append(out, models)
	}
	effort := configOption{ID: effortOption, Name: "Reasoning effort", Category: "thought_level", Type: "select", Current: cmp.Or(o.Effort, agentDefault),
		Options: []optionChoice{{Value: agentDefault, Name: "Default", Description: "what the agent says"}}}
	for _, e := range efforts {
		effort.Options = append(effort.Options, optionChoice{Value: e, Name: e})
	}
	return append(out, effort)
}

// result replies to a method that begins the session.
func (s *session) result(isNew bool) sessionResult {
	options := s.configOptions()
	out := sessionResult{Modes: s.modes(options[0].Current), ConfigOptions: options}
	if isNew {
		out.SessionID = s.id
	}
	return out
}

func (a *agent) setMode(ctx context.Context, m *message) (any, error) {
	var p setModeParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return nil, noSession(p.SessionID)
	}
	if err := s.choose(ctx, modeOption, "modeId", p.ModeID); err != nil {
		return nil, err
	}
	return &followed{empty{}, func() { s.update(&Update{SessionUpdate: "config_option_update", Options: s.configOptions()}) }}, nil
}

func (a *agent) setOption(ctx context.Context, m *message) (any, error) {
	var p setOptionParams
	if err := decode(m, &p); err != nil {
		return nil, err
	}
	s := a.session(p.SessionID)
	if s == nil {
		return nil, noSession(p.SessionID)
	}
	var value string
	if err := json.Unmarshal(p.Value, &value); err != nil || isNull(p.Value) {
		return nil, invalidParams("value is %.80s, want the value of a choice", p.Value)
	}
	if err := s.choose(ctx, p.ConfigID, "value", value); err != nil {
		return nil, err
	}
	out := optionsResult{s.configOptions()}
	if p.ConfigID != modeOption {
		return out, nil
	}
	return &followed{out, func() { s.update(&Update{SessionUpdate: "current_mode_update", Mode: value}) }}, nil
}

// choose sets an option and stores it. It holds for the next prompt.
func (s *session) choose(ctx context.Context, id, field, value string) error {
	list := s.configOptions()
	i := slices.IndexFunc(list, func(o configOption) bool { return o.ID == id })
	if i < 0 {
		return invalidParams("configId is %.80q, want %s, %s or %s", id, modeOption, modelOption, effortOption)
	}
	if !slices.ContainsFunc(list[i].Options, func(c optionChoice) bool { return c.Value == value }) {
		var values []string
		for _, c := range list[i].Options {
			values = append(values, c.Value)
		}
		return invalidParams("%s is %.80q, want one of %.400q", field, value, values)
	}
	s.mu.Lock()
	before := s.options
	switch id {
	case modeOption:
		s.options.Agent, s.options.Model = value, ""
	case modelOption:
		s.options.Model = value
	case effortOption:
		s.options.Effort = value
		if value == agentDefault {
			s.options.Effort = ""
		}
	}
	s.mu.Unlock()
	if err := s.keep(ctx, ""); err != nil {
		s.mu.Lock()
		s.options = before
		s.mu.Unlock()
		return err
	}
	return nil
}
