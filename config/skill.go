package config

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/check"
)

// SkillSpec describes a skill: instructions that an agent can load when it needs them.
type SkillSpec struct {
	// ID is the skill's name: 1 to 64 lower-case letters, digits and -.
	ID string `json:"id"`
	// Name is shown to people, at most 128 characters.
	Name string `json:"name"`
	// Description says what the skill does, in at most 1024 characters. Models read it to
	// choose a skill.
	Description string `json:"description"`
	// InstructionsMD holds the instructions, in Markdown, that an agent gets when it loads
	// the skill.
	InstructionsMD string `json:"instructions_md"`
	// AllowedTools lists the tools, or patterns of tools, that a run may use while the skill is
	// active, without approval. Empty leaves the run its tools.
	AllowedTools []string `json:"allowed_tools,omitempty"`
	// WhenToUse tells the model when to load the skill.
	WhenToUse string `json:"when_to_use,omitempty"`
	// Arguments lists the arguments that the skill takes.
	Arguments []SkillArgument `json:"arguments,omitempty"`
	// ArgumentHint shows people how to write the arguments.
	ArgumentHint string `json:"argument_hint,omitempty"`
	// UserInvocable says whether people can invoke the skill. Nil means true.
	UserInvocable *bool `json:"user_invocable,omitempty"`
	// ModelInvocable says whether models can load the skill. Nil means true.
	ModelInvocable *bool `json:"model_invocable,omitempty"`
	// ModelOverride is the model to use while the skill is active: one of the agent's provider.
	// Empty keeps the agent's model.
	ModelOverride string `json:"model_override,omitempty"`
	// Context is inline (the default) or fork: a run of its own.
	Context string `json:"context,omitempty"`
	// Paths is for skills in files only. It must be empty here.
	Paths []string `json:"paths,omitempty"`
}

// SkillArgument describes an argument of a skill.
type SkillArgument struct {
	// Name is the name of the argument.
	Name string `json:"name"`
	// Description says what the argument means.
	Description string `json:"description,omitempty"`
	// Required says whether the argument must be given.
	Required bool `json:"required,omitempty"`
}

func (s *SkillSpec) fill() {
	s.UserInvocable = cmp.Or(s.UserInvocable, new(true))
	s.ModelInvocable = cmp.Or(s.ModelInvocable, new(true))
	s.Context = cmp.Or(s.Context, "inline")
}

// Validate reports every mistake at once.
func (s *SkillSpec) Validate() error {
	var m check.Problems
	m.When(!skillID.MatchString(s.ID), "id is %q, want 1 to 64 lower-case letters, digits and -", s.ID)
	required := func(field, value string, most int) {
		m.NotBlank(field, value)
		n := utf8.RuneCountInString(value)
		m.When(most > 0 && n > most, "%s is %d characters long, want at most %d", field, n, most)
	}
	required("name", s.Name, 128)
	required("description", s.Description, 1024)
	required("instructions_md", s.InstructionsMD, 0)
	m.OneOf("context", s.Context, "", "inline", "fork")
	m.When(slices.ContainsFunc(s.AllowedTools, blank), "allowed_tools has an empty id")
	var names []string
	for i, a := range s.Arguments {
		required(fmt.Sprintf("arguments[%d].name", i), a.Name, 0)
		m.When(slices.Contains(names, a.Name), "arguments lists %q twice", a.Name)
		names = append(names, a.Name)
	}
	m.When(len(s.Paths) > 0, "paths has %d entries, want none: only skills in files have them", len(s.Paths))
	return m.Err()
}
