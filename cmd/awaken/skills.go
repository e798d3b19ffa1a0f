package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/plugin/skills"
	"github.com/awaken-go/awaken/protocol/mcp"
)

// skillShop is where the skills of a server come from: the folders in the settings, and documents.
type skillShop struct {
	library *skills.Library
	runner  *skills.Runner // nil if scripts are not enabled
}

// openSkills reads the folders in the settings.
func openSkills(s *settings.Settings, log *slog.Logger) (*skillShop, error) {
	var sources []skills.Source
	for _, dir := range s.Skills.Dirs {
		sources = append(sources, skills.Folder(dir))
	}
	lib, err := skills.Open(sources...)
	if err != nil {
		return nil, configError("skills.dirs: %w", err)
	}
	for _, w := range lib.Warnings() {
		log.Warn("skill", "warning", w)
	}
	shop := &skillShop{library: lib}
	if s.Skills.Scripts {
		shop.runner = skills.NewRunner(skills.RunnerOptions{Env: s.Skills.ScriptEnv})
	}
	return shop, nil
}

// plugins returns the plugins of a version with these documents.
func (shop *skillShop) plugins(docs []*config.SkillSpec) ([]awaken.Plugin, error) {
	o := skills.Options{Library: shop.library, Runner: shop.runner}
	var errs []error
	for _, d := range docs {
		s, err := skillOf(d)
		if err != nil {
			errs = append(errs, fmt.Errorf("skill %q: %w", d.ID, err))
			continue
		}
		o.Documents = append(o.Documents, s)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return skills.New(o)
}

// skillOf converts a document.
func skillOf(d *config.SkillSpec) (*skills.Skill, error) {
	s := &skills.Skill{Name: d.ID, Title: d.Name, Description: d.Description, WhenToUse: d.WhenToUse, Body: d.InstructionsMD, AllowedTools: d.AllowedTools, ArgumentHint: d.ArgumentHint,
		UserOnly: d.ModelInvocable != nil && !*d.ModelInvocable, ModelOnly: d.UserInvocable != nil && !*d.UserInvocable, Model: d.ModelOverride, Fork: d.Context == "fork"}
	for _, a := range d.Arguments {
		s.Arguments = append(s.Arguments, skills.Argument(a))
	}
	return s.Seal()
}

// skillDocument is the opposite of skillOf, for skills without files.
func skillDocument(s *skills.Skill) *config.SkillSpec {
	d := &config.SkillSpec{ID: s.Name, Name: s.Name, Description: s.Description, InstructionsMD: s.Body, AllowedTools: s.AllowedTools, WhenToUse: s.WhenToUse, ArgumentHint: s.ArgumentHint, ModelOverride: s.Model}
	if s.Title != "" {
		d.Name = s.Title
	}
	if s.Fork {
		d.Context = "fork"
	}
	if s.UserOnly {
		d.ModelInvocable = new(false)
	}
	if s.ModelOnly {
		d.UserInvocable = new(false)
	}
	for _, a := range s.Arguments {
		d.Arguments = append(d.Arguments, config.SkillArgument(a))
	}
	return d
}

// skillPrompts are the prompts of MCP clients: the skills that people may call.
type skillPrompts struct {
	shop    *skillShop
	manager *config.Manager
}

// callable returns the skills that people may call, by name. A document takes precedence over a file.
func (p *skillPrompts) callable(ctx context.Context) ([]*skills.Skill, error) {
	byName := map[string]*skills.Skill{}
	set := p.shop.library.Set()
	for _, name := range set.Names() {
		byName[name] = set.Get(name)
	}
	for v, err := range p.manager.All(ctx, config.Skills) {
		if err != nil {
			return nil, err
		}
		if !v.Live {
			continue
		}
		var d config.SkillSpec
		if err := json.Unmarshal(v.Spec, &d); err != nil {
			continue // written by another version
		}
		if s, err := skillOf(&d); err == nil {
			byName[s.Name] = s
		}
	}
	var out []*skills.Skill
	for _, s := range byName {
		if !s.ModelOnly {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b *skills.Skill) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// List returns the prompts.
func (p *skillPrompts) List(ctx context.Context) ([]mcp.Prompt, error) {
	list, err := p.callable(ctx)
	if err != nil {
		return nil, err
	}
	var out []mcp.Prompt
	for _, s := range list {
		m := mcp.Prompt{Name: s.Name, Title: s.Title, Description: s.Description}
		for _, a := range s.Arguments {
			m.Arguments = append(m.Arguments, mcp.Argument(a))
		}
		if len(s.Arguments) == 0 && s.ArgumentHint != "" {
			m.Arguments = []mcp.Argument{{Name: skills.ArgumentsName, Description: s.ArgumentHint}}
		}
		out = append(out, m)
	}
	return out, nil
}

// Get returns the instructions of a skill with its arguments.
func (p *skillPrompts) Get(ctx context.Context, name string, arguments map[string]string) ([]mcp.PromptMessage, error) {
	list, err := p.callable(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(s *skills.Skill) bool { return s.Name == name })
	if i < 0 {
		return nil, awaken.ErrNotFound
	}
	text, err := list[i].Prompt(arguments)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", awaken.ErrInvalid, err)
	}
	content, err := json.Marshal(map[string]string{"type": "text", "text": text})
	if err != nil {
		return nil, err
	}
	return []mcp.PromptMessage{{Role: "user", Content: content}}, nil
}
