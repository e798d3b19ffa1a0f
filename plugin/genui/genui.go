package genui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/state/builtin"
)

// Name is the name of the plugin and of its section.
const Name = "generative-ui"

// RenderA2UI is the id of the tool that draws with A2UI.
const RenderA2UI = "render_a2ui"

// FormatA2UI is the format of the surfaces that render_a2ui draws, as [builtin.Surface] names it.
const FormatA2UI = "a2ui"

// A2UIActivity is the type of the activity that shows the messages of a call of render_a2ui, normalised:
// {"messages": […]}.
const A2UIActivity = "generative-ui.a2ui"

// Config is the section "generative-ui".
type Config struct {
	CatalogID    string `json:"catalog_id" jsonschema:"the catalogue of components that the page has; empty means that of the A2UI project for the version"`
	Examples     string `json:"examples" jsonschema:"examples for the model, added to the instructions"`
	Instructions string `json:"instructions" jsonschema:"replaces the instructions that the plugin gives the model"`
	A2UIVersion  string `json:"a2ui_version" jsonschema:"enum=v0.8,enum=v0.9,description=the version of A2UI that the instructions teach; messages of both are accepted"`
	// Formats are those that the agent has tools for.
	Formats         []string `json:"formats" jsonschema:"the formats that the agent draws with: a2ui (render_a2ui), json-render (render_json_ui), openui-lang (render_openui_ui)"`
	JSONRenderAgent string   `json:"json_render_agent" jsonschema:"the agent that draws for render_json_ui; empty means that the model of this agent does"`
	OpenUIAgent     string   `json:"openui_agent" jsonschema:"the agent that draws for render_openui_ui; empty means that the model of this agent does"`
	Answer          string   `json:"answer" jsonschema:"the format of the agent's answers themselves: json-render or openui-lang; empty means words"`
	MaxComponents   int      `json:"max_components" jsonschema:"maximum number of components in one call"`
	MaxDepth        int      `json:"max_depth" jsonschema:"maximum depth of the tree of components"`
	MaxBytes        int      `json:"max_bytes" jsonschema:"maximum size of one call in bytes"`
}

var formats = []string{FormatA2UI, FormatJSONRender, FormatOpenUI}

// Default returns the section of an agent that configures nothing.
func Default() Config {
	return Config{A2UIVersion: "v0.8", Formats: []string{FormatA2UI}, MaxComponents: 500, MaxDepth: 32, MaxBytes: 256 << 10}
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error {
	var errs []error
	if !slices.Contains([]string{"v0.8", "v0.9"}, c.A2UIVersion) {
		errs = append(errs, fmt.Errorf("a2ui_version is %q, want v0.8 or v0.9", c.A2UIVersion))
	}
	for i, f := range c.Formats {
		if !slices.Contains(formats, f) {
			errs = append(errs, fmt.Errorf("formats[%d] is %q, want one of %s", i, f, strings.Join(formats, ", ")))
		}
	}
	if !slices.Contains([]string{"", FormatJSONRender, FormatOpenUI}, c.Answer) {
		errs = append(errs, fmt.Errorf("answer is %q, want %s, %s or nothing", c.Answer, FormatJSONRender, FormatOpenUI))
	}
	for _, f := range []struct {
		name     string
		n        int
		from, to int
	}{{"max_components", c.MaxComponents, 1, 10_000}, {"max_depth", c.MaxDepth, 1, 256}, {"max_bytes", c.MaxBytes, 1024, 4 << 20}} {
		if f.n < f.from || f.n > f.to {
			errs = append(errs, fmt.Errorf("%s is %d, want %d to %d", f.name, f.n, f.from, f.to))
		}
	}
	return errors.Join(errs...)
}

// limits returns what one call may draw.
func (c *Config) limits() Limits { return Limits{c.MaxComponents, c.MaxDepth, c.MaxBytes} }

// catalog returns the catalogue of surfaces that name none.
func (c *Config) catalog() string {
	if c.A2UIVersion == "v0.9" {
		return cmp.Or(c.CatalogID, BasicCatalog)
	}
	return cmp.Or(c.CatalogID, StandardCatalog)
}

// New returns the plugin.
func New() awaken.Plugin {
	s := awaken.NewSection(Name, Default())
	s.Info = awaken.SectionInfo{DisplayName: "Generative UI", Category: "ui", Description: "Lets the agent draw user interfaces, with A2UI, JSON Render or OpenUI.", Editor: "generative-ui"}
	return &plugin{s}
}

type plugin struct{ section *awaken.Section[Config] }

func (*plugin) Name() string { return Name }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	r.Key(builtin.Surfaces)
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	for _, f := range cfg.Formats {
		switch f {
		case FormatA2UI:
			r.Tool(a2uiTool{cfg})
		case FormatJSONRender:
			r.Tool(JSONTool(cfg.JSONRenderAgent, cfg.limits()))
		case FormatOpenUI:
			r.Tool(OpenUITool(cfg.OpenUIAgent, cfg.limits()))
		}
	}
	for _, f := range []struct{ name, id string }{{"json_render_agent", cfg.JSONRenderAgent}, {"openui_agent", cfg.OpenUIAgent}} {
		if f.id != "" && r.Lookup(f.id) == nil {
			return fmt.Errorf("%s is %q, want an agent that exists", f.name, f.id)
		}
	}
	if slices.Contains(cfg.Formats, FormatJSONRender) || slices.Contains(cfg.Formats, FormatOpenUI) {
		r.Transform(slim)
	}
	switch cfg.Answer {
	case FormatJSONRender:
		r.CheckAnswer(func(text string) error { _, err := CompileJSONRender(text, cfg.limits()); return err })
	case FormatOpenUI:
		r.CheckAnswer(func(text string) error { _, err := ParseOpenUI(text, cfg.limits()); return err })
	}
	if text := instructions(&cfg); text != "" {
		r.On(awaken.PhaseBeforeInference, func(_ context.Context, h *awaken.HookCall) error {
			builtin.AddContextMessage.Schedule(h, builtin.SystemContext("generative_ui.instructions", text))
			return nil
		})
	}
	return nil
}

// instructions returns what the model is told about drawing.
func instructions(c *Config) string {
	if strings.TrimSpace(c.Instructions) != "" {
		return c.Instructions
	}
	var parts []string
	for _, f := range c.Formats {
		switch {
		case f == FormatA2UI:
			parts = append(parts, c.aboutA2UI())
		case f == FormatJSONRender && c.JSONRenderAgent != "":
			parts = append(parts, fmt.Sprintf(aboutPrompt, RenderJSON))
		case f == FormatJSONRender:
			parts = append(parts, fmt.Sprintf(aboutOwn, RenderJSON, "spec")+aboutJSONRender)
		case f == FormatOpenUI && c.OpenUIAgent != "":
			parts = append(parts, fmt.Sprintf(aboutPrompt, RenderOpenUI))
		case f == FormatOpenUI:
			parts = append(parts, fmt.Sprintf(aboutOwn, RenderOpenUI, "code")+aboutOpenUI)
		}
	}
	if len(parts) > 0 {
		parts = append(parts, aboutActions)
	}
	switch c.Answer {
	case FormatJSONRender:
		parts = append(parts, answerJSONRender+aboutJSONRender)
	case FormatOpenUI:
		parts = append(parts, answerOpenUI+aboutOpenUI)
	}
	if e := strings.TrimSpace(c.Examples); e != "" {
		parts = append(parts, "---BEGIN A2UI EXAMPLES---\n"+e+"\n---END A2UI EXAMPLES---\n")
	}
	return strings.Join(parts, "\n")
}

// aboutA2UI returns what the model is told about A2UI.
func (c *Config) aboutA2UI() string {
	text := fmt.Sprintf(instructions08, c.catalog())
	if c.A2UIVersion == "v0.9" {
		text = fmt.Sprintf(instructions09, c.catalog())
	}
	switch c.catalog() {
	case StandardCatalog:
		return text + components08
	case BasicCatalog:
		return text + components09
	}
	return text + "Use only components of that catalogue.\n"
}
