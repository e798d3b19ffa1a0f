// Package basics gives agents tools that need nothing outside the process: the time (time_now), a calculator
// (calculate), a to-do list (todo_write, todo_read), and a question to the user (ask_user).
//
//	cfg.Plugins = append(cfg.Plugins, basics.New())
//
// An agent that lists "basics" in plugin_ids has them; its section of the same name chooses among them:
//
//	"basics": {"tools": ["calculate", "ask_user"], "time_zone": "Europe/Berlin", "ask_timeout_seconds": 86400}
//
// None of them has an effect outside the run: the to-do list is state of the thread, which is
// committed with the result, and the answer to a question is the result of its call. So all are read-only, and rules about
// tainted runs leave them alone.
package basics

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// Name is the name of the plugin and of its section.
const Name = "basics"

// The ids of the tools.
const (
	TimeNow   = "time_now"
	Calculate = "calculate"
	TodoWrite = "todo_write"
	TodoRead  = "todo_read"
	AskUser   = "ask_user"
)

var toolIDs = []string{TimeNow, Calculate, TodoWrite, TodoRead, AskUser}

// Config is the section "basics".
type Config struct {
	Tools    []string `json:"tools" jsonschema:"the tools that the agent has: time_now, calculate, todo_write, todo_read, ask_user"`
	TimeZone string   `json:"time_zone" jsonschema:"IANA name of the time zone of time_now, unless a call names another"`
	MaxTodos int      `json:"max_todos" jsonschema:"maximum number of items of the to-do list"`
	// AskTimeoutSeconds limits how long a question waits for its answer. 0 waits for ever.
	AskTimeoutSeconds int `json:"ask_timeout_seconds" jsonschema:"after so many seconds a question counts as refused; 0 means never"`
}

// Validate reports every mistake in the section.
func (c *Config) Validate() error {
	var errs []error
	for i, id := range c.Tools {
		if !slices.Contains(toolIDs, id) {
			errs = append(errs, fmt.Errorf("tools[%d] is %q, want one of %s", i, id, strings.Join(toolIDs, ", ")))
		}
	}
	if _, err := zone(c.TimeZone); err != nil {
		errs = append(errs, fmt.Errorf("time_zone: %w", err))
	}
	if c.MaxTodos < 1 || c.MaxTodos > 1000 {
		errs = append(errs, fmt.Errorf("max_todos is %d, want 1 to 1000", c.MaxTodos))
	}
	if c.AskTimeoutSeconds < 0 {
		errs = append(errs, fmt.Errorf("ask_timeout_seconds is %d, want 0 or more", c.AskTimeoutSeconds))
	}
	return errors.Join(errs...)
}

// New returns the plugin.
func New() awaken.Plugin {
	s := awaken.NewSection(Name, Config{Tools: toolIDs, TimeZone: "UTC", MaxTodos: 100})
	s.Info = awaken.SectionInfo{DisplayName: "Basic tools", Category: "tools", Description: "The time, a calculator, a to-do list, and questions to the user."}
	return &plugin{s}
}

type plugin struct{ section *awaken.Section[Config] }

func (*plugin) Name() string { return Name }

func (p *plugin) Register(r *awaken.Registrar) error {
	r.Section(p.section)
	r.Key(todoList)
	cfg, err := p.section.Read(r.Agent)
	if err != nil {
		return nil // the registry reports an invalid section
	}
	for _, t := range []awaken.Tool{newTimeNow(cfg), newCalculate(), newTodoWrite(cfg), newTodoRead(), askTool{time.Duration(cfg.AskTimeoutSeconds) * time.Second}} {
		if slices.Contains(cfg.Tools, t.Spec().ID) {
			r.Tool(t)
		}
	}
	return nil
}
