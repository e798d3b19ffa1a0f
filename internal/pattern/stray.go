package pattern

import (
	"fmt"
	"slices"

	"github.com/awaken-go/awaken/internal/toolname"
)

// Stray is a pattern that means no tool, or not the tools that it seems to.
type Stray struct {
	// Waiting reports that the tools of an MCP server that is not connected are not known yet, so that the pattern
	// may mean one of them.
	Waiting bool
	Text    string // what is wrong
}

// Stray returns what is wrong with the tool of the pattern, or nil. Permits says that the pattern belongs to a rule that
// permits calls.
func (p *Pattern) Stray(names *toolname.Names, permits bool) *Stray {
	written := p.Tool()
	if written == "" && p.tool.name == "glob" && p.tool.want == "*" {
		return nil // every tool, also if there is none
	}
	if len(names.IDs(p.Restricts)) == 0 {
		d := names.Doubt(p.text, written)
		return &Stray{len(d.Waiting) > 0, d.Text}
	}
	if !permits || len(names.IDs(p.Permits)) > 0 {
		return nil
	}
	if ids := names.Shared(written); written != "" && len(ids) > 0 {
		return &Stray{Text: fmt.Sprintf("%q is the name of several tools, so it permits none of them; want one of their ids: %q", p.text, ids)}
	}
	return &Stray{Text: fmt.Sprintf("%q matches names of tools, but a pattern that permits calls is compared with ids: %q",
		p.text, some(names.IDs(p.Restricts)))}
}

// some returns the first of many ids.
func some(ids []string) []string { return ids[:min(len(ids), 10)] }

// Strays reports the rules whose patterns mean no tool. Waiting selects those that may mean a tool which is not known
// yet, or the others. Permits says which rules permit calls.
func Strays[R any](rules []R, patternOf func(R) *Pattern, permits func(R) bool, names *toolname.Names, waiting bool) (out []string) {
	for _, r := range rules {
		if s := patternOf(r).Stray(names, permits(r)); s != nil && s.Waiting == waiting && !slices.Contains(out, "pattern "+s.Text) {
			out = append(out, "pattern "+s.Text)
		}
	}
	return out
}
