package awaken

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/awaken-go/awaken/internal/strict"
)

// StopPolicy decides after each inference whether the run may continue. The runtime asks it
// only if the model called tools: otherwise the run ends by itself, with [NaturalEnd]. A run
// that is stopped does not execute the calls of the last answer.
//
// All runs of an agent share the policy; it must not keep state, and is safe for concurrent
// use.
type StopPolicy interface {
	// ID returns the name of the policy.
	ID() string
	// Evaluate returns nil to continue the run, or the reason to stop it.
	Evaluate(stats *StopStats) *StopDecision
}

// StopDecision is the reason to stop a run. Code and Detail become part of its [Termination].
type StopDecision struct {
	Code   string
	Detail string
}

// StopStats are the statistics that a policy evaluates. They cover the whole run, including
// waits and restarts.
type StopStats struct {
	Steps             int           // including the current one
	InputTokens       int64         // including those of child runs
	OutputTokens      int64         // including those of child runs
	CostUSD           float64       // including child runs, by the prices of the models; models without prices count as 0
	Elapsed           time.Duration // since the run started
	ConsecutiveErrors int           // failed inferences and steps in which every call failed
	LastToolNames     []string      // tools that the last answer calls, in order
	LastText          string        // text of the last answer
	// Recent holds fingerprints of the last responses, newest last: equal strings mean
	// equal text and equal calls.
	Recent []string
}

// StopCondition is a stop policy as data, in AgentSpec.StopConditions. Each type uses one field,
// which has a name of its own in JSON:
//
//	Type                field     JSON       stops the run
//	max_rounds          Limit     rounds     after that many steps
//	timeout             Limit     seconds    after that many seconds, at most 86400
//	token_budget        Limit     max_total  above that many input and output tokens together
//	cost_budget         MaxUSD    max_usd    above that cost, in US dollars
//	consecutive_errors  Limit     max        after that many errors in a row
//	stop_on_tool        ToolName  tool_name  when the model calls that tool
//	content_match       Pattern   pattern    when the model's answer matches, a Go regular expression
//	loop_detection      Limit     window     after that many equal answers in a row, 2 to 64
//
// Child runs count. A value of 0, or an empty pattern, turns the condition off.
type StopCondition struct {
	Type     string
	Limit    int
	ToolName string
	Pattern  string
	MaxUSD   float64
}

// stopFields holds the JSON field of each type and its maximum; 0 means no maximum.
var stopFields = map[string]struct {
	field string
	most  int
}{
	"max_rounds":         {"rounds", 0},
	"timeout":            {"seconds", 86_400},
	"token_budget":       {"max_total", 100_000_000},
	"cost_budget":        {"max_usd", 0},
	"consecutive_errors": {"max", 0},
	"stop_on_tool":       {"tool_name", 0},
	"content_match":      {"pattern", 0},
	"loop_detection":     {"window", 64},
}

const stopTypes = "max_rounds, timeout, token_budget, cost_budget, consecutive_errors, stop_on_tool, content_match or loop_detection"

// MarshalJSON encodes the type and its one field.
func (c StopCondition) MarshalJSON() ([]byte, error) {
	f, ok := stopFields[c.Type]
	if !ok {
		return nil, fmt.Errorf("stop condition: type is %q, want %s", c.Type, stopTypes)
	}
	data, err := json.Marshal(c.value())
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"type":%q,%q:%s}`, c.Type, f.field, data), nil
}

// value returns a pointer to the field that the type uses.
func (c *StopCondition) value() any {
	switch c.Type {
	case "stop_on_tool":
		return &c.ToolName
	case "content_match":
		return &c.Pattern
	case "cost_budget":
		return &c.MaxUSD
	}
	return &c.Limit
}

// UnmarshalJSON decodes a condition and rejects fields that its type does not have.
func (c *StopCondition) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := strict.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("stop condition: %w", err)
	}
	var out StopCondition
	if err := json.Unmarshal(fields["type"], &out.Type); err != nil {
		return fmt.Errorf(`stop condition: field "type" is missing or not a string, want %s`, stopTypes)
	}
	f, ok := stopFields[out.Type]
	if !ok {
		return fmt.Errorf("stop condition: type is %q, want %s", out.Type, stopTypes)
	}
	for name := range fields {
		if name != "type" && name != f.field {
			return fmt.Errorf("stop condition %q: unknown field %q, want %s", out.Type, name, f.field)
		}
	}
	raw, ok := fields[f.field]
	if !ok {
		return fmt.Errorf("stop condition %q: field %q is missing", out.Type, f.field)
	}
	if err := strict.Unmarshal(raw, out.value()); err != nil {
		return fmt.Errorf("stop condition %q: %w", out.Type, err)
	}
	*c = out
	return nil
}

// validate checks everything except the syntax of the pattern.
func (c *StopCondition) validate() error {
	f, ok := stopFields[c.Type]
	switch {
	case !ok:
		return fmt.Errorf("type is %q, want %s", c.Type, stopTypes)
	case c.Limit < 0:
		return fmt.Errorf("%s is %d, want 0 or more", f.field, c.Limit)
	case f.most > 0 && c.Limit > f.most:
		return fmt.Errorf("%s is %d, want at most %d", f.field, c.Limit, f.most)
	case c.MaxUSD < 0:
		return fmt.Errorf("max_usd is %g, want 0 or more", c.MaxUSD)
	case c.Type == "loop_detection" && c.Limit == 1:
		return errors.New("window is 1, want 0 (off), or 2 or more")
	case c.Type == "stop_on_tool" && c.ToolName == "":
		return errors.New("tool_name is empty")
	case len(c.Pattern) > 1024:
		return fmt.Errorf("pattern is %d characters long, want at most 1024", len(c.Pattern))
	}
	return nil
}

// Policy returns a policy that enforces the condition, or an error if it is invalid.
func (c StopCondition) Policy() (StopPolicy, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	re, err := regexp.Compile(c.Pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", c.Pattern, err)
	}
	return stopPolicy{c, re}, nil
}

type stopPolicy struct {
	StopCondition
	re *regexp.Regexp // Pattern
}

func (p stopPolicy) ID() string { return p.Type }

func (p stopPolicy) Evaluate(s *StopStats) *StopDecision {
	n := p.Limit
	stop := func(format string, args ...any) *StopDecision {
		return &StopDecision{Code: p.Type, Detail: fmt.Sprintf(format, args...)}
	}
	switch p.Type {
	case "max_rounds":
		if n > 0 && s.Steps >= n {
			return stop("%d of %d rounds", s.Steps, n)
		}
	case "timeout":
		if limit := time.Duration(n) * time.Second; n > 0 && s.Elapsed > limit {
			return stop("%s of %s", s.Elapsed.Round(time.Millisecond), limit)
		}
	case "token_budget":
		if total := s.InputTokens + s.OutputTokens; n > 0 && total > int64(n) {
			return stop("%d of %d tokens", total, n)
		}
	case "cost_budget":
		if p.MaxUSD > 0 && s.CostUSD > p.MaxUSD {
			return stop("$%.4f of $%.4f", s.CostUSD, p.MaxUSD)
		}
	case "consecutive_errors":
		if n > 0 && s.ConsecutiveErrors >= n {
			return stop("%d errors in a row", s.ConsecutiveErrors)
		}
	case "stop_on_tool":
		if slices.Contains(s.LastToolNames, p.ToolName) {
			return stop("tool %q was asked for", p.ToolName)
		}
	case "content_match":
		if p.Pattern != "" && p.re.MatchString(s.LastText) {
			return stop("the answer matches %q", p.Pattern)
		}
	case "loop_detection":
		if n >= 2 && len(s.Recent) >= n {
			last := s.Recent[len(s.Recent)-n:]
			if same := slices.Compact(slices.Clone(last)); len(same) == 1 {
				return stop("%d equal responses in a row", n)
			}
		}
	}
	return nil
}
