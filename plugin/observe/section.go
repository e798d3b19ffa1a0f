package observe

import (
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
)

// Config is the section "observability".
type Config struct {
	Disabled   bool     `json:"disabled,omitempty" jsonschema:"do not observe the agent"`
	SampleRate *float64 `json:"sample_rate,omitempty" jsonschema:"share of the runs whose spans are recorded, from 0 to 1; failures always are"`
	Content    bool     `json:"content,omitempty" jsonschema:"record what the model is told and says"`
	ToolIO     ToolIO   `json:"tool_io,omitempty" jsonschema:"what of tool calls is recorded: disabled, arguments, results or both"`
	MaxBytes   int      `json:"max_bytes,omitempty" jsonschema:"longest content that is recorded"`
	Fields     []string `json:"fields,omitempty" jsonschema:"fields of arguments and results that are recorded; empty records all"`
	Redact     []string `json:"redact,omitempty" jsonschema:"fields of arguments and results, at any depth, whose value is recorded as ***"`
}

// ToolIO selects the content of tool calls to record.
type ToolIO string

// The values of ToolIO.
const (
	NoToolIO  ToolIO = "disabled"
	Arguments ToolIO = "arguments"
	Results   ToolIO = "results"
	Both      ToolIO = "both"
)

const (
	defaultMaxBytes = 8 << 10
	limitMaxBytes   = 1 << 20
)

// withDefaults returns c with the defaults of the fields that have one.
func (c Config) withDefaults() Config {
	if c.SampleRate == nil {
		c.SampleRate = new(1.0)
	}
	if c.ToolIO == "" {
		c.ToolIO = NoToolIO
	}
	if c.MaxBytes == 0 {
		c.MaxBytes = defaultMaxBytes
	}
	return c
}

// Validate reports the first problem.
func (c *Config) Validate() error {
	if r := c.SampleRate; r != nil && !(*r >= 0 && *r <= 1) {
		return fmt.Errorf("sample_rate is %v, want 0 to 1", *r)
	}
	switch c.ToolIO {
	case "", NoToolIO, Arguments, Results, Both:
	default:
		return fmt.Errorf("tool_io is %q, want disabled, arguments, results or both", c.ToolIO)
	}
	if c.MaxBytes < 0 || c.MaxBytes > limitMaxBytes {
		return fmt.Errorf("max_bytes is %d, want 1 to %d", c.MaxBytes, limitMaxBytes)
	}
	for name, list := range map[string][]string{"fields": c.Fields, "redact": c.Redact} {
		for i, field := range list {
			if strings.TrimSpace(field) == "" {
				return fmt.Errorf("%s[%d] is blank, want the name of a field", name, i)
			}
		}
	}
	return nil
}

// newSection returns the section with the given defaults.
func newSection(def Config) *awaken.Section[Config] {
	s := awaken.NewSection(Name, def)
	s.Info = awaken.SectionInfo{DisplayName: "Observability", Category: "operations",
		Description: "What is recorded of the agent's runs, as spans of OpenTelemetry and events for sinks."}
	return s
}
