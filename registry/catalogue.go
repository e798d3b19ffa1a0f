package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
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

// newCatalogue compiles the lists of a valid spec.
func newCatalogue(s *awaken.AgentSpec) (*catalogue, error) {
	c := &catalogue{
		all:      s.AllowedTools == nil && s.AllowedToolPatterns == nil,
		allowed:  s.AllowedTools,
		excluded: s.ExcludedTools,
	}
	var err error
	if c.allowPatterns, err = compilePatterns("allowed_tool_patterns", s.AllowedToolPatterns); err != nil {
		return nil, err
	}
	c.denyPatterns, err = compilePatterns("excluded_tool_patterns", s.ExcludedToolPatterns)
	return c, err
}

func compilePatterns(field string, patterns []string) ([]namedPattern, error) {
	var out []namedPattern
	for _, text := range patterns {
		p, err := glob.Compile(text)
		if err != nil {
			return nil, err
		}
		out = append(out, namedPattern{field, text, p})
	}
	return out, nil
}

// offers reports whether the catalogue allows the tool. Exclusion takes precedence.
func (c *catalogue) offers(id string) bool {
	match := func(ps []namedPattern) bool {
		return slices.ContainsFunc(ps, func(p namedPattern) bool { return p.Match(id) })
	}
	if slices.Contains(c.excluded, id) || match(c.denyPatterns) {
		return false
	}
	return c.all || slices.Contains(c.allowed, id) || match(c.allowPatterns)
}

// everything reports whether the catalogue allows every tool.
func (c *catalogue) everything() bool {
	return c.all && len(c.excluded) == 0 && len(c.denyPatterns) == 0
}

// choose returns the sorted ids of the allowed tools. It examines all known tools only if the
// catalogue does not list the allowed ones.
func (c *catalogue) choose(known knownTools) []string {
	var ids []string
	candidates := known.ids
	if !c.all && len(c.allowPatterns) == 0 {
		candidates = slices.Values(c.allowed)
	}
	for id := range candidates {
		if known.get(id) != nil && c.offers(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// diagnose returns warnings about the lists. Known are the tools before filtering.
func (c *catalogue) diagnose(agent string, known knownTools) []awaken.Diagnostic {
	var out []awaken.Diagnostic
	warn := func(code, format string, args ...any) {
		out = append(out, awaken.Diagnostic{Code: code, Severity: awaken.Warning, Namespace: "agents", ID: agent, Message: fmt.Sprintf(format, args...)})
	}
	literals := func(field string, list []string) {
		for _, entry := range list {
			switch {
			case looksLikeCall(entry):
				warn("catalog_entry_has_arguments", "%s has %q, which looks like a permission rule; put rules in sections[\"permission\"]", field, entry)
			case glob.HasStar(entry):
				warn("catalog_literal_has_star", "%s has %q, but its entries are literal; move patterns to %s", field, entry, strings.TrimSuffix(field, "s")+"_patterns")
			case known.get(entry) == nil:
				warn("catalog_literal_matches_nothing", "%s has %q, which is not a registered tool; available: %q", field, entry, slices.Sorted(known.ids))
			}
		}
	}
	literals("allowed_tools", c.allowed)
	literals("excluded_tools", c.excluded)
	for _, p := range slices.Concat(c.allowPatterns, c.denyPatterns) {
		if looksLikeCall(p.text) {
			warn("catalog_entry_has_arguments", "%s has %q, which looks like a permission rule; put rules in sections[\"permission\"]", p.field, p.text)
			continue
		}
		if p.text == "*" || matches(p, known) {
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

// matches reports whether the pattern matches any known tool.
func matches(p namedPattern, known knownTools) bool {
	for id := range known.ids {
		if p.Match(id) {
			return true
		}
	}
	return false
}

// looksLikeCall reports whether an entry has the form name(args).
func looksLikeCall(entry string) bool {
	open := strings.IndexByte(entry, '(')
	return open > 0 && strings.HasSuffix(entry, ")")
}
