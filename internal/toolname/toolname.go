// Package toolname turns the names that people write into tools.
//
// A tool has one id, by which models call it. It may have other names: the aliases that its program gives it, the id of
// the agent that it runs and, for a tool of an MCP server, the server's own name for it, alone or qualified by the
// server's id. Permission rules,
// catalogues, guards, deferred tools, skills, reminders and fixtures accept every name of a tool, and all of them ask
// this package what a name means, so that a name means the same tools everywhere.
//
// What restricts calls fails closed: a rule that denies applies to every tool that has the name, whatever its kind
// ([Tool.Restricted]). What permits calls is exact: a name that several tools have permits none of them but the one
// that has it as its id ([Tool.Named]), and a pattern is compared with ids and with names that no server can choose to
// look like the names of another ([Tool.Permitted]).
package toolname

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Spec has the names of a tool.
type Spec struct {
	ID      string
	Server  string   // operator's id of the MCP server that has the tool; "" if the program has it
	Own     string   // the server's name for the tool, or the id of the agent that the tool runs
	Aliases []string // other names, which the program gives the tool
}

// Under returns a name with every run of characters other than letters and digits replaced by _, without any at its
// ends. It is how ids of MCP tools are made, because providers do not accept other characters.
func Under(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return !alphanumeric(r) }), "_")
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// entry is a tool with all names.
type entry struct {
	id string
	// names are the names besides the id. The first open of them may be matched by patterns that permit.
	names []string
	open  int
}

// writtenForms are the forms in which the tool of a server is written: before the server, and between server and tool.
var writtenForms = [...][2]string{
	{"mcp__", "__"},
	{"", "__"}, {"", "/"}, {"", "."}, {"", ":"},
	{"mcp:", "/"}, {"mcp:", ":"}, {"mcp/", "/"}, {"mcp.", "."},
}

func newEntry(s *Spec) *entry {
	e := &entry{id: s.ID}
	add := func(name string) {
		if name != "" && name != s.ID && !slices.Contains(e.names, name) {
			e.names = append(e.names, name)
		}
	}
	for _, a := range s.Aliases {
		add(a)
	}
	if s.Server == "" || s.Own == "" {
		e.open = len(e.names)
		add(s.Own)
		return e
	}
	servers, owns := []string{s.Server, Under(s.Server)}, []string{s.Own, Under(s.Own)}
	each := func(before, between string) {
		for _, server := range servers {
			for _, own := range owns {
				if own != "" {
					add(before + server + between + own)
				}
			}
		}
	}
	if plain(s.Own) {
		each("mcp__", "__")
	}
	e.open = len(e.names)
	for _, form := range writtenForms {
		each(form[0], form[1])
	}
	for _, own := range owns {
		add(own)
	}
	return e
}

// plain reports whether a server's name for a tool differs from the end of its id by single separators only. Other
// names could be chosen to match patterns that are meant for the tools of another server.
func plain(own string) bool {
	between := true
	for _, r := range own {
		switch {
		case alphanumeric(r):
			between = false
		case between || r != '-' && r != '_' && r != '.':
			return false
		default:
			between = true
		}
	}
	return !between
}

// Names are the tools that an agent knows, by all their names. The zero Names, and a nil one, knows none: every tool
// then has its id only. Set it once, before it is used concurrently.
type Names struct {
	base  *Names
	tools map[string]*entry
	users map[string]int // how many tools have a name besides their id
	away  []string
}

// New returns the names of tools.
func New(tools iter.Seq[Spec]) *Names {
	n := new(Names)
	n.Set(nil, tools, nil)
	return n
}

// Set makes n know the tools of base and others. Away are the ids of MCP servers that are not connected, so that their
// tools are not known yet.
func (n *Names) Set(base *Names, tools iter.Seq[Spec], away []string) {
	n.base, n.tools, n.users, n.away = base, map[string]*entry{}, map[string]int{}, away
	for s := range tools {
		e := newEntry(&s)
		n.tools[s.ID] = e
		for _, name := range e.names {
			n.users[name]++
		}
	}
}

func (n *Names) entry(id string) *entry {
	for ; n != nil; n = n.base {
		if e := n.tools[id]; e != nil {
			return e
		}
	}
	return nil
}

// unique reports whether only one tool has a name, and none has it as its id.
func (n *Names) unique(name string) bool {
	users := 0
	for at := n; at != nil; at = at.base {
		if at.tools[name] != nil {
			return false
		}
		users += at.users[name]
	}
	return users == 1
}

// all yields the known tools, in no particular order.
func (n *Names) all(yield func(Tool) bool) {
	for at := n; at != nil; at = at.base {
		for id, e := range at.tools {
			if !yield(Tool{ID: id, entry: e, names: n}) {
				return
			}
		}
	}
}

// Tool returns the tool with that id. One that is not known, such as a client's, has no other name.
func (n *Names) Tool(id string) Tool { return Tool{ID: id, entry: n.entry(id), names: n} }

// Resolve returns the id of the only tool with a name, or the name itself if it is an id, means no known tool, or means
// several.
func (n *Names) Resolve(name string) string {
	if n.entry(name) != nil {
		return name
	}
	for t := range n.all {
		if t.Named(name) {
			return t.ID
		}
	}
	return name
}

// IDs returns the sorted ids of the tools for which match returns true.
func (n *Names) IDs(match func(Tool) bool) []string {
	var out []string
	for t := range n.all {
		if match(t) {
			out = append(out, t.ID)
		}
	}
	slices.Sort(out)
	return out
}

// Tool is a tool as rules see it.
type Tool struct {
	ID    string
	entry *entry // nil if the tool has no other names
	names *Names
}

// Plain returns a tool that has no name besides its id.
func Plain(id string) Tool { return Tool{ID: id} }

// Restricted reports whether a rule that restricts calls applies to the tool: match returns true for one of its names.
func (t Tool) Restricted(match func(name string) bool) bool {
	return match(t.ID) || t.entry != nil && slices.ContainsFunc(t.entry.names, match)
}

// Named reports whether a rule that permits calls and names one tool means this one: by its id, or by a name that no
// other tool has.
func (t Tool) Named(name string) bool {
	return t.ID == name || t.entry != nil && slices.Contains(t.entry.names, name) && t.names.unique(name)
}

// Permitted reports whether a pattern that permits calls applies to the tool: match returns true for its id, for an
// alias, or for the id of its server and the server's name for it, written as in ids (mcp__server__name).
func (t Tool) Permitted(match func(name string) bool) bool {
	return match(t.ID) || t.entry != nil && slices.ContainsFunc(t.entry.names[:t.entry.open], match)
}

// Doubt says why something that people wrote means no tool.
type Doubt struct {
	// Waiting are the MCP servers that are not connected and may have the tool. If there are none, no known tool is
	// meant.
	Waiting []string
	Text    string
}

// Doubt explains a text that means no known tool: written is its name of a tool, or "" if it is a pattern.
func (n *Names) Doubt(text, written string) Doubt {
	d := Doubt{Waiting: n.waiting(written)}
	switch near := n.near(written); {
	case len(d.Waiting) > 0:
		d.Text = fmt.Sprintf("%q matches no tool that is known yet: the tools of %s are not known, because it is not connected",
			text, servers(d.Waiting))
	case near != "":
		d.Text = fmt.Sprintf("%q matches no known tool; did you mean %q?", text, near)
	default:
		d.Text = fmt.Sprintf("%q matches no known tool", text)
	}
	return d
}

// waiting returns the servers that are not connected, as far as a name may be one of their tools.
func (n *Names) waiting(written string) []string {
	var away []string
	for at := n; at != nil; at = at.base {
		away = append(away, at.away...)
	}
	slices.Sort(away)
	away = slices.Compact(away)
	if server := serverOf(written); server != "" {
		away = slices.DeleteFunc(away, func(id string) bool { return id != server && Under(id) != server })
	}
	return away
}

// serverOf returns the server in a name that is written as an id, or "".
func serverOf(written string) string {
	if rest, ok := strings.CutPrefix(written, "mcp__"); ok {
		server, _, _ := strings.Cut(rest, "__")
		return server
	}
	return ""
}

func servers(ids []string) string {
	quoted := make([]string, len(ids))
	for i, id := range ids {
		quoted[i] = fmt.Sprintf("%q", id)
	}
	if len(ids) == 1 {
		return "MCP server " + quoted[0]
	}
	return "one of the MCP servers " + strings.Join(quoted, ", ")
}

// near returns the id of the tool that a name differs from by case and separators only, or "".
func (n *Names) near(written string) string {
	want := fold(written)
	if want == "" {
		return ""
	}
	ids := n.IDs(func(t Tool) bool { return t.Restricted(func(name string) bool { return fold(name) == want }) })
	return strings.Join(ids[:min(1, len(ids))], "")
}

// fold returns the letters and digits of a name, in lower case.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		if alphanumeric(r) {
			return r
		}
		return -1
	}, strings.ToLower(name))
}

// Shared returns the sorted ids of the tools that have a name, if there are several, and otherwise nil.
func (n *Names) Shared(name string) []string {
	ids := n.IDs(func(t Tool) bool { return t.Restricted(func(o string) bool { return o == name }) })
	if len(ids) < 2 {
		return nil
	}
	return ids
}
