package config

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// SkillSpec is a set of instructions that an agent can take up.
type SkillSpec struct {
	// ID is 1 to 64 lower-case letters, digits and -.
	ID string `json:"id"`
	// Name is for people, at most 128 characters.
	Name string `json:"name"`
	// Description says what the skill does, in at most 1024 characters.
	Description string `json:"description"`
	// InstructionsMD is what an agent that takes the skill up is told, in Markdown.
	InstructionsMD string `json:"instructions_md"`
	// AllowedTools are the tools that the skill needs.
	AllowedTools []string `json:"allowed_tools,omitempty"`
	// WhenToUse tells the model when to take the skill up.
	WhenToUse string `json:"when_to_use,omitempty"`
	// Arguments are what the skill has to be told.
	Arguments []SkillArgument `json:"arguments,omitempty"`
	// ArgumentHint shows people how to write the arguments.
	ArgumentHint string `json:"argument_hint,omitempty"`
	// UserInvocable says whether people can use the skill. Nil means true.
	UserInvocable *bool `json:"user_invocable,omitempty"`
	// ModelInvocable says whether models can take the skill up. Nil means true.
	ModelInvocable *bool `json:"model_invocable,omitempty"`
	// ModelOverride is another model for the skill.
	ModelOverride string `json:"model_override,omitempty"`
	// Context is inline, which is the default, or fork.
	Context string `json:"context,omitempty"`
	// Paths are of skills in files. Those of records have none.
	Paths []string `json:"paths,omitempty"`
}

// SkillArgument is something that a skill has to be told.
type SkillArgument struct {
	// Name is what the argument is called.
	Name string `json:"name"`
	// Description says what it is.
	Description string `json:"description,omitempty"`
	// Required says whether it cannot be left out.
	Required bool `json:"required,omitempty"`
}

func (s *SkillSpec) fill() {
	s.UserInvocable = cmp.Or(s.UserInvocable, new(true))
	s.ModelInvocable = cmp.Or(s.ModelInvocable, new(true))
	s.Context = cmp.Or(s.Context, "inline")
}

// Validate reports every mistake at once.
func (s *SkillSpec) Validate() error {
	var m mistakes
	m.when(!skillID.MatchString(s.ID), "id is %q, want 1 to 64 lower-case letters, digits and -", s.ID)
	required := func(field, value string, most int) {
		m.when(blank(value), "%s is empty", field)
		n := utf8.RuneCountInString(value)
		m.when(most > 0 && n > most, "%s is %d characters long, want at most %d", field, n, most)
	}
	required("name", s.Name, 128)
	required("description", s.Description, 1024)
	required("instructions_md", s.InstructionsMD, 0)
	m.when(!slices.Contains([]string{"", "inline", "fork"}, s.Context), "context is %q, want inline or fork", s.Context)
	m.when(slices.ContainsFunc(s.AllowedTools, blank), "allowed_tools has an empty id")
	var names []string
	for i, a := range s.Arguments {
		required(fmt.Sprintf("arguments[%d].name", i), a.Name, 0)
		m.when(slices.Contains(names, a.Name), "arguments lists %q twice", a.Name)
		names = append(names, a.Name)
	}
	m.when(len(s.Paths) > 0, "paths has %d entries, want none: only skills in files have them", len(s.Paths))
	return m.join()
}
