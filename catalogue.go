package awaken

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/internal/glob"
)

// catalogue is the compiled form of an agent's four tool lists.
type catalogue struct {
	all                         bool // no allow list at all
	allowed, excluded           []string
	allowPatterns, denyPatterns []namedPattern
}

type namedPattern struct {
	field, text string
	*glob.Pattern
}

// newCatalogue compiles the lists; invalid patterns are errors.
func newCatalogue(s *AgentSpec) (*catalogue, error) {
	c := &catalogue{
		all:      s.AllowedTools == nil && s.AllowedToolPatterns == nil,
		allowed:  s.AllowedTools,
		excluded: s.ExcludedTools,
	}
	var errs []error
	compile := func(field string, patterns []string) []namedPattern {
		var out []namedPattern
		for i, text := range patterns {
			p, err := glob.Compile(text)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s[%d]: pattern %q: %w", field, i, text, err))
				continue
			}
			out = append(out, namedPattern{field, text, p})
		}
		return out
	}
	c.allowPatterns = compile("allowed_tool_patterns", s.AllowedToolPatterns)
	c.denyPatterns = compile("excluded_tool_patterns", s.ExcludedToolPatterns)
	return c, errors.Join(errs...)
}

// offers reports whether the catalogue lets the tool through. Exclusion wins.
func (c *catalogue) offers(id string) bool {
	match := func(ps []namedPattern) bool {
		return slices.ContainsFunc(ps, func(p namedPattern) bool { return p.Match(id) })
	}
	if slices.Contains(c.excluded, id) || match(c.denyPatterns) {
		return false
	}
	return c.all || slices.Contains(c.allowed, id) || match(c.allowPatterns)
}

// diagnose returns the warnings about the lists, given the ids of all tools that
// exist before filtering.
func (c *catalogue) diagnose(agent string, tools []string) []Diagnostic {
	var out []Diagnostic
	warn := func(code, format string, args ...any) {
		out = append(out, Diagnostic{Code: code, Severity: Warning, Namespace: "agents", ID: agent, Message: fmt.Sprintf(format, args...)})
	}
	literals := func(field string, list []string) {
		for _, entry := range list {
			switch {
			case looksLikeCall(entry):
				warn("catalog_entry_has_arguments", "%s has %q, which is shaped like a permission rule: rules belong in sections[\"permission\"]", field, entry)
			case glob.HasStar(entry):
				warn("catalog_literal_has_star", "%s has %q: entries there are literal, move it to %s", field, entry, strings.TrimSuffix(field, "s")+"_patterns")
			case !slices.Contains(tools, entry):
				warn("catalog_literal_matches_nothing", "%s has %q, which is no registered tool, have %q", field, entry, tools)
			}
		}
	}
	literals("allowed_tools", c.allowed)
	literals("excluded_tools", c.excluded)
	for _, p := range slices.Concat(c.allowPatterns, c.denyPatterns) {
		if looksLikeCall(p.text) {
			warn("catalog_entry_has_arguments", "%s has %q, which is shaped like a permission rule: rules belong in sections[\"permission\"]", p.field, p.text)
			continue
		}
		if p.text == "*" || slices.ContainsFunc(tools, p.Match) {
			continue
		}
		hint := ""
		if rest, ok := strings.CutPrefix(p.text, "mcp:"); ok {
			hint = fmt.Sprintf("; ids of MCP tools look like mcp__server__tool, did you mean %q?", "mcp__"+rest)
		}
		warn("catalog_pattern_matches_nothing", "%s has %q, which matches no registered tool%s", p.field, p.text, hint)
	}
	return out
}

// looksLikeCall reports whether an entry is shaped name(args).
func looksLikeCall(entry string) bool {
	open := strings.IndexByte(entry, '(')
	return open > 0 && strings.HasSuffix(entry, ")")
}
