package skills

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// The tools of agents that have skills.
const (
	toolSkill      = "skill"
	toolDeactivate = "deactivate_skill"
	toolResource   = "load_skill_resource"
	toolScript     = "skill_script"
)

// ownTools lists the tools that no skill takes away.
var ownTools = []string{toolSkill, toolDeactivate, toolResource, toolScript}

// find returns the skill with that name, if the run may use it. Otherwise it returns the result of
// a call that asks for it.
func (o *offer) find(r state.Reader, name string) (*Skill, *awaken.ToolResult) {
	u := used.Get(r)
	set := o.at(u.Set)
	name, _ = normalName(strings.TrimPrefix(strings.TrimSpace(name), "/"))
	s := set.byName[name]
	if s == nil || !o.cfg.allows(name) {
		return nil, awaken.ErrorResult("unknown_skill", fmt.Sprintf("there is no skill %q, want one of %q", cut(name, maxName), o.visible(set, &u)))
	}
	if slices.Contains(u.Asked, name) || u.active(name) != nil {
		return s, nil
	}
	if s.UserOnly {
		return nil, awaken.ErrorResult("model_invocation_disabled", fmt.Sprintf("only people may call the skill %q, with /%s", name, name))
	}
	if !near(s, &u) {
		return nil, awaken.ErrorResult("skill_not_applicable", fmt.Sprintf("the skill %q is for files that match %q, and this run has not used one", name, s.Paths))
	}
	return s, nil
}

// visible lists the skills that the model may load.
func (o *offer) visible(set *Set, u *use) []string {
	out := []string{}
	for _, name := range set.names {
		if s := set.byName[name]; o.cfg.allows(name) && !s.UserOnly && near(s, u) {
			out = append(out, name)
		}
	}
	return out
}

// activation returns the state of a skill that is activated with these arguments, and remarks on
// what the agent cannot give it.
func (o *offer) activation(s *Skill, a *arguments, tools []llm.Tool) (*active, []string, error) {
	text, err := s.render(a)
	if err != nil {
		return nil, nil, err
	}
	act := &active{Name: s.Name, Digest: s.Digest(), Instructions: text}
	var notes []string
	for _, token := range s.AllowedTools {
		p := o.translate(token)
		compiled, err := pattern.Compile(p)
		if err != nil {
			return nil, nil, fmt.Errorf("allowed-tools: %w", err)
		}
		if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return compiled.Permits(o.names.Tool(t.Name)) }) {
			notes = append(notes, fmt.Sprintf("the skill names the tool %s, which this agent does not have", token))
		}
		act.Tools = append(act.Tools, p)
	}
	if s.Model != "" {
		up, known := o.models[s.Model]
		if act.Model = up; !known {
			notes = append(notes, fmt.Sprintf("the skill names the model %s, which this agent does not have; its own model is used", s.Model))
		}
	}
	return act, notes, nil
}

// translate returns the pattern of an allowed tool, with the agent's name for the tool.
func (o *offer) translate(token string) string {
	head, rest, scoped := strings.Cut(token, "(")
	if name, ok := o.cfg.Tools[head]; ok {
		if token = name; scoped {
			token += "(" + rest
		}
	}
	return ourPattern(token)
}

// begin records the activation of a skill: its text, what it allows, and the deferred tools that it
// needs.
func (o *offer) begin(rec interface {
	state.Reader
	state.Writer
	awaken.Recorder
}, act *active, tools []llm.Tool) {
	used.Update(rec, change{activate: act})
	o.grant(rec, act)
	if o.defers && len(act.Tools) > 0 {
		if ids := o.matching(act.Tools, tools); len(ids) > 0 {
			promoteTools.Schedule(rec, ids)
		}
	}
}

// grant records which calls need no approval while the skill is active. What an earlier text of the skill
// allowed is taken back.
func (o *offer) grant(rec interface {
	state.Reader
	state.Writer
}, act *active) {
	if _, had := builtin.Grants.Get(rec)[grantor(act.Name)]; had || o.cfg.Grant && len(act.Tools) > 0 {
		builtin.Grants.Update(rec, builtin.Grant{By: grantor(act.Name), Tools: act.Tools})
	}
}

func grantor(skill string) string { return "skill:" + skill }

// deferredTools is the plugin that defers tools, and promoteTools its action.
const deferredTools = "ext-deferred-tools"

var promoteTools = awaken.NewAction[[]string]("deferred_tools.promote", awaken.PhaseBeforeInference)

// matching returns the names of the tools that match one of the patterns.
func (o *offer) matching(patterns []string, tools []llm.Tool) (ids []string) {
	for _, text := range patterns {
		p, err := pattern.Compile(text)
		if err != nil {
			continue // it was compiled when the skill was activated
		}
		for i := range tools {
			if p.Permits(o.names.Tool(tools[i].Name)) && !slices.Contains(ids, tools[i].Name) {
				ids = append(ids, tools[i].Name)
			}
		}
	}
	return ids
}

// skillTool activates a skill, or runs it in a run of its own.
type skillTool struct{ *offer }

var _ awaken.Delegator = (*skillTool)(nil)

var skillParameters = json.RawMessage(`{"type":"object","properties":{` +
	`"skill":{"type":"string","description":"name of the skill"},` +
	`"args":{"description":"arguments of the skill: a text, or an object with its arguments by name","anyOf":[{"type":"string"},{"type":"object"},{"type":"null"}]},` +
	`"arguments":{"description":"the same as args, as an object","anyOf":[{"type":"object"},{"type":"null"}]}},"required":["skill"],"additionalProperties":false}`)

func (t *skillTool) Spec() awaken.ToolSpec {
	return awaken.ToolSpec{
		ID:          toolSkill,
		Name:        toolSkill,
		Description: "Loads a skill: its instructions apply from the next step on. A skill that runs on its own returns its answer instead.",
		Category:    "skills",
		Parameters:  skillParameters,
		Effect:      awaken.Idempotent, // a repeated call resumes the same run
		Egress:      awaken.Egress{None: true},
		Timeout:     -1,
	}
}

// skillCall is a call of the tool.
type skillCall struct {
	Skill     string          `json:"skill"`
	Args      json.RawMessage `json:"args,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// activated is the result of the tool.
type activated struct {
	Activated    bool     `json:"activated"`
	SkillID      string   `json:"skill_id"`
	Instructions string   `json:"instructions,omitempty"` // if no plugin shows them
	Notes        []string `json:"notes,omitempty"`
	Files        []string `json:"files,omitempty"` // that load_skill_resource and skill_script take
}

func (t *skillTool) Call(ctx context.Context, call *awaken.ToolCall) (*awaken.ToolResult, error) {
	var in skillCall
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	s, refused := t.find(call, in.Skill)
	if refused != nil {
		return refused, nil
	}
	args, err := parseArguments(s, in.Args, in.Arguments)
	if err != nil {
		return awaken.ErrorResult("invalid_arguments", err.Error()), nil
	}
	act, notes, err := t.activation(s, args, call.Tools)
	if err != nil {
		return awaken.ErrorResult("invalid_arguments", err.Error()), nil
	}
	if s.Fork {
		return t.fork(ctx, call, s, act)
	}
	u := used.Get(call)
	if len(u.Active) >= maxActive && u.active(s.Name) == nil {
		return awaken.ErrorResult("too_many_skills", fmt.Sprintf("%d skills are active, the maximum: deactivate one of %q", maxActive, u.names())), nil
	}
	t.begin(call, act, call.Tools)
	out := activated{Activated: true, SkillID: s.Name, Notes: notes, Files: s.fileNames()}
	if !t.shows {
		out.Instructions = act.Instructions
	}
	return reply(out, "Launching skill: "+s.Name)
}

// deactivateTool ends the use of a skill.
func (o *offer) deactivateTool() awaken.Tool {
	type in struct {
		Skill string `json:"skill" jsonschema:"name of the active skill"`
	}
	type out struct {
		Deactivated bool     `json:"deactivated"`
		SkillID     string   `json:"skill_id"`
		Active      []string `json:"active"`
	}
	return awaken.NewTool(awaken.ToolSpec{ID: toolDeactivate, Egress: awaken.Egress{None: true}, Category: "skills", Effect: awaken.ReadOnly,
		Description: "Ends the use of a skill: its instructions and its limits on tools no longer apply."},
		func(_ context.Context, call *awaken.ToolCall, in in) (*awaken.ToolResult, error) {
			u := used.Get(call)
			name, _ := normalName(strings.TrimSpace(in.Skill))
			act := u.active(name)
			switch {
			case act == nil:
				return awaken.ErrorResult("skill_not_active", fmt.Sprintf("the skill %q is not active, want one of %q", cut(in.Skill, maxName), u.names())), nil
			case act.Own:
				return awaken.ErrorResult("skill_owns_run", fmt.Sprintf("this run was started for the skill %q, which stays active until its end", name)), nil
			}
			used.Update(call, change{deactivate: name})
			builtin.Grants.Update(call, builtin.Grant{By: grantor(name)})
			left := slices.DeleteFunc(u.names(), func(n string) bool { return n == name })
			return reply(out{true, name, left}, "")
		})
}
