package toolname_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/awaken-go/awaken/internal/toolname"
)

func names(away []string, tools ...toolname.Spec) *toolname.Names {
	n := new(toolname.Names)
	n.Set(nil, slices.Values(tools), away)
	return n
}

func is(want string) func(string) bool { return func(name string) bool { return name == want } }

var sum = toolname.Spec{ID: "mcp__my-calc__get_sum", Server: "my-calc", Own: "get-sum"}

// Every spelling of a tool restricts it and, as long as no other tool has it, permits it.
func TestNames_EverySpellingOfATool(t *testing.T) {
	t.Parallel()
	n := names(nil, sum, toolname.Spec{ID: "other"})
	for _, name := range []string{
		"mcp__my-calc__get_sum", "mcp__my-calc__get-sum", "mcp__my_calc__get-sum", "mcp__my_calc__get_sum", "my-calc__get-sum", "my-calc/get-sum",
		"my-calc.get_sum", "my-calc:get-sum", "mcp:my-calc/get-sum", "mcp:my-calc:get-sum", "mcp/my-calc/get-sum", "mcp.my-calc.get-sum", "get-sum", "get_sum",
	} {
		if tool := n.Tool(sum.ID); !tool.Restricted(is(name)) || !tool.Named(name) || n.Resolve(name) != sum.ID {
			t.Errorf("%q: restricted %t, named %t, resolved to %q", name, tool.Restricted(is(name)), tool.Named(name), n.Resolve(name))
		}
		if other := n.Tool("other"); other.Restricted(is(name)) || other.Named(name) {
			t.Errorf("%q means another tool, too", name)
		}
	}
	for _, name := range []string{"sum", "get", "my-calc", "mcp__my-calc__", "getsum", "Get-Sum", ""} {
		if tool := n.Tool(sum.ID); tool.Restricted(is(name)) || tool.Named(name) || n.Resolve(name) != name {
			t.Errorf("%q means the tool", name)
		}
	}
}

// A name that several tools have restricts all of them and permits none, except the one that has it as its id.
func TestNames_ASharedNameRestrictsAllAndPermitsNone(t *testing.T) {
	t.Parallel()
	a, b := toolname.Spec{ID: "mcp__a__search", Server: "a", Own: "search"}, toolname.Spec{ID: "mcp__b__search", Server: "b", Own: "search"}
	n := names(nil, a, b)
	for _, id := range []string{a.ID, b.ID} {
		if tool := n.Tool(id); !tool.Restricted(is("search")) || tool.Named("search") || tool.Permitted(is("search")) {
			t.Errorf("%s: restricted %t, named %t", id, tool.Restricted(is("search")), tool.Named("search"))
		}
	}
	if got := n.Shared("search"); !slices.Equal(got, []string{a.ID, b.ID}) {
		t.Errorf("the name is shared by %q", got)
	}
	if !n.Tool(a.ID).Named("a/search") || n.Tool(b.ID).Named("a/search") {
		t.Error("a qualified name does not mean its tool alone")
	}
	// An agent has the tools of all agents, and the tools of its plugins.
	own := new(toolname.Names)
	own.Set(n, slices.Values([]toolname.Spec{{ID: "search"}}), nil)
	if !own.Tool("search").Named("search") || own.Tool(a.ID).Named("search") || !own.Tool(a.ID).Restricted(is("search")) {
		t.Error("an id does not take precedence over other names")
	}
}

// A server cannot choose a name so that a pattern for other tools permits it.
func TestNames_PatternsThatPermitAreNotFooled(t *testing.T) {
	t.Parallel()
	for own, permitted := range map[string]bool{"get-sum": true, "get.sum": true, "x__get_sum": false, "a/get_sum": false, "get--sum": false, "get sum": false} {
		spec := toolname.Spec{ID: "mcp__evil__" + toolname.Under(own), Server: "evil", Own: own}
		tool := names(nil, spec).Tool(spec.ID)
		if got := tool.Permitted(is("mcp__evil__" + own)); got != permitted {
			t.Errorf("%q: permitted by a pattern: %t, want %t", own, got, permitted)
		}
		if !tool.Restricted(is("mcp__evil__"+own)) || !tool.Restricted(is(own)) || !tool.Named(own) {
			t.Errorf("%q: it is not restricted by its name", own)
		}
		if tool.Permitted(is(own)) {
			t.Errorf("%q: a pattern permits a server's own name for a tool", own)
		}
	}
}

func TestNames_DoubtSaysWhyANameMeansNoTool(t *testing.T) {
	t.Parallel()
	n := names([]string{"files", "my-mail"}, sum)
	for _, tt := range []struct{ written, want string }{
		{"mcp__my-calc__getsum", `"mcp__my-calc__getsum" matches no known tool; did you mean "mcp__my-calc__get_sum"?`},
		{"mcp__gone__x", `"mcp__gone__x" matches no known tool`},
		{"mcp__files__read", `"mcp__files__read" matches no tool that is known yet: the tools of MCP server "files" are not known, because it is not connected`},
		{"mcp__my_mail__send", `"mcp__my_mail__send" matches no tool that is known yet: the tools of MCP server "my-mail" are not known, because it is not connected`},
		{"send", `"send" matches no tool that is known yet: the tools of one of the MCP servers "files", "my-mail" are not known, because it is not connected`},
	} {
		if got := n.Doubt(tt.written, tt.written); got.Text != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.written, got.Text, tt.want)
		}
	}
}

// The zero Names, and none, know tools by their ids.
func TestNames_Zero(t *testing.T) {
	t.Parallel()
	for _, n := range []*toolname.Names{nil, {}} {
		if tool := n.Tool("x"); !tool.Named("x") || !tool.Restricted(is("x")) || !tool.Permitted(is("x")) || tool.Named("y") {
			t.Error("a tool is not known by its id")
		}
		if got := fmt.Sprint(n.IDs(func(toolname.Tool) bool { return true }), n.Resolve("x"), n.Doubt("x", "x").Text); got != `[]x"x" matches no known tool` {
			t.Error(got)
		}
	}
}
