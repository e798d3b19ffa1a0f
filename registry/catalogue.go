package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/glob"
	"github.com/awaken-go/awaken/internal/toolname"
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
func (c *catalogue) offers(t toolname.Tool) bool {
	excluded := func(name string) bool {
		return slices.Contains(c.excluded, name) || slices.ContainsFunc(c.denyPatterns, func(p namedPattern) bool { return p.Match(name) })
	}
	if t.Restricted(excluded) {
		return false
	}
	return c.all || slices.ContainsFunc(c.allowed, t.Named) ||
		slices.ContainsFunc(c.allowPatterns, func(p namedPattern) bool { return t.Permitted(p.Match) })
}

// everything reports whether the catalogue allows every tool.
func (c *catalogue) everything() bool {
	return c.all && len(c.excluded) == 0 && len(c.denyPatterns) == 0
}

// choose returns the sorted ids of the allowed tools. It examines all known tools only if the
// catalogue does not list the ids of the allowed ones.
func (c *catalogue) choose(known knownTools, names *toolname.Names) []string {
	var ids []string
	candidates := known.ids
	isID := func(entry string) bool { return known.get(entry) != nil }
	if !c.all && len(c.allowPatterns) == 0 && !slices.ContainsFunc(c.allowed, func(entry string) bool { return !isID(entry) }) {
		candidates = slices.Values(c.allowed)
	}
	for id := range candidates {
		if c.offers(names.Tool(id)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// diagnose returns warnings about the lists. Names are the tools before filtering.
func (c *catalogue) diagnose(agent string, names *toolname.Names) []awaken.Diagnostic {
	var out []awaken.Diagnostic
	warn := func(code, format string, args ...any) {
		out = append(out, awaken.Diagnostic{Code: code, Severity: awaken.Warning, Namespace: "agents", ID: agent, Message: fmt.Sprintf(format, args...)})
	}
	literals := func(field string, list []string, permits bool) {
		for _, entry := range list {
			switch {
			case looksLikeCall(entry):
				warn("catalog_entry_has_arguments", "%s has %q, which looks like a permission rule; put rules in sections[\"permission\"]", field, entry)
			case glob.HasStar(entry):
				warn("catalog_literal_has_star", "%s has %q, but its entries are literal; move patterns to %s", field, entry, strings.TrimSuffix(field, "s")+"_patterns")
			default:
				if code, text := literal(entry, permits, names); code != "" {
					warn(code, "%s has %s", field, text)
				}
			}
		}
	}
	literals("allowed_tools", c.allowed, true)
	literals("excluded_tools", c.excluded, false)
	for _, p := range slices.Concat(c.allowPatterns, c.denyPatterns) {
		if looksLikeCall(p.text) {
			warn("catalog_entry_has_arguments", "%s has %q, which looks like a permission rule; put rules in sections[\"permission\"]", p.field, p.text)
			continue
		}
		if p.text == "*" || len(names.IDs(func(t toolname.Tool) bool { return t.Restricted(p.Match) })) > 0 {
			continue
		}
		d := names.Doubt(p.text, "")
		if len(d.Waiting) > 0 {
			warn("catalog_pattern_unknown_yet", "%s has %s", p.field, d.Text)
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

// literal returns the code and the text of the warning about an entry that means no tool. The code is "" if it means one.
func literal(entry string, permits bool, names *toolname.Names) (code, text string) {
	has := func(t toolname.Tool) bool { return t.Restricted(func(name string) bool { return name == entry }) }
	switch ids := names.IDs(has); {
	case len(ids) == 0:
		if d := names.Doubt(entry, entry); len(d.Waiting) > 0 {
			return "catalog_literal_unknown_yet", d.Text
		}
		return "catalog_literal_matches_nothing", fmt.Sprintf("%q, which is not a registered tool; available: %q", entry,
			names.IDs(func(toolname.Tool) bool { return true }))
	case permits && !slices.ContainsFunc(ids, func(id string) bool { return names.Tool(id).Named(entry) }):
		return "catalog_literal_ambiguous", fmt.Sprintf(
			"%q, which is the name of several tools, so it permits none of them; want one of their ids: %q", entry, ids)
	}
	return "", ""
}

// looksLikeCall reports whether an entry has the form name(args).
func looksLikeCall(entry string) bool {
	open := strings.IndexByte(entry, '(')
	return open > 0 && strings.HasSuffix(entry, ")")
}
