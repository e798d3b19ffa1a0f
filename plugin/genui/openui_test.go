package genui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/genui"
	"github.com/awaken-go/awaken/state/builtin"
)

const orderCode = `root = Card([header, form])
header = CardHeader("Order", "One \"step\"")
form = Form("order", buttons, [who])
who = FormControl("Your name", name)
name = Input("name", "Ann")
buttons = Buttons([send])
send = Button("Send", Action([@ToAssistant("Send the order"), @OpenUrl("https://example.com")]), "primary")`

// Programs with every construct of the language are accepted.
func TestParseOpenUI_Accepts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		code  string
		count int
	}{
		"a form":           {orderCode, 7},
		"fenced":           {"Here:\n```openui\n" + orderCode + "\n```\nDone.", 7},
		"comments":         {"// a card\nroot = Card([]) # drawn\n", 1},
		"several lines":    {"root = Card([\n  a,\n  b\n])\na = TextContent(\n\"x\"\n)\nb = TextContent('it\\'s')", 3},
		"variables":        {"$n = 1\nroot = Card([TextContent(\"n \" + $n)])", 2},
		"operators":        {"root = Card([a])\na = TextContent((1 + 2) * -3 >= 4 && !false || 5 % 2 == 1 ? \"y\" : \"n\")", 2},
		"a conditional":    {"root = Card([a])\na = $x == 1\n  ? TextContent(\"y\")\n  : TextContent(\"n\")\n$x = 1", 3},
		"queries":          {"root = Card([t])\nt = Table([Col(\"A\", d.rows.a), Col(\"B\", @Each(d.rows, \"r\", Tag(r.b[0])))])\nd = Query(\"list\", {limit: 3, \"q\": $q}, {rows: []})", 3},
		"an assignment":    {"root = Card([Button(\"x\", Action([@Set($n, $n + 1), @Reset($n)]))])", 1},
		"a trailing comma": {"root = Card([a,],)\na = Separator()", 2},
		"null and numbers": {"root = Card([Slider(\"s\", null, 1.5e3, -2, true)])", 1},
		"other alphabets":  {"root = Card([TextContent(\"Grüße, 世界\")])", 1},
	} {
		got, err := genui.ParseOpenUI(tt.code, limits)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got.Count != tt.count || strings.Contains(got.Code, "```") {
			t.Errorf("%s: %d statements, want %d, in %s", name, got.Count, tt.count, got.Code)
		}
	}
}

// A mistake is reported with its line and column, what was found and what is accepted.
func TestParseOpenUI_Refuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ code, want string }{
		"nothing":             {"", `1:1: has no root, want a statement root = Type(…), which is drawn`},
		"no root":             {"a = Card([])", `1:1: has no root`},
		"a root that is none": {"root = [1]", `1:1: root is no component, want a component, such as Card([…])`},
		"words":               {"I cannot draw.\nroot = Card([])", `1:3: found cannot, want = after I`},
		"a symbol":            {"root = Card([])\n§", `2:1: found '§', want a statement such as`},
		"a name":              {"root = Card([a, b])\na = Separator()", `1:17: b is not defined, want one of a, root`},
		"a name twice":        {"root = Card([])\nroot = Card([])", `2:1: root is defined in line 1 already, want a name of its own`},
		"a bracket":           {"root = Card([a\na = Separator()", `2:1: found a, want , or ]`},
		"no comma":            {"root = Card([1 2])", `1:16: found 2, want , or ]`},
		"a text":              {"root = Card([\"a)", `1:14: the text is not closed, want " at its end`},
		"a small type":        {"root = card([])", `1:8: found card, want a type with a capital letter, or @card for a function`},
		"a named argument":    {"root = Card([], gap: 1)", `1:20: found :, want , or )`},
		"something after it":  {"root = Card([]) Card([])", `1:17: found Card, want the end of the line`},
		"no value":            {"root =\na = 1", `1:7: found the end of the line, want a value`},
		"no field":            {"root = Card([a.])\na = 1", `1:16: found ], want the name of a field`},
		"no call":             {"root = Card([@Count])", `1:20: found ], want ( after @Count`},
		"no member":           {"root = Card([{1 2}])", `1:17: found 2, want :`},
		"no else":             {"root = Card([true ? 1])", `1:22: found ], want :`},
		"itself":              {"root = Card([a])\na = Card([root])", `contains itself, want statements that do not contain themselves`},
	} {
		_, err := genui.ParseOpenUI(tt.code, limits)
		var p *genui.Problem
		if err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &p) {
			t.Errorf("%s: the error is\n%v\nwant\n%s", name, err, tt.want)
		}
	}
	var deep strings.Builder
	for i := range 9 {
		fmt.Fprintf(&deep, "s%d = Card([s%d])\n", i, i+1)
	}
	for want, code := range map[string]string{
		`1:1: has 51, want at most 50 components`:    "root = Card([" + strings.Repeat("Tag(1),", 50) + "])",
		`has 9 levels of statements, want at most 8`: "root = Card([s0])\n" + strings.ReplaceAll(deep.String(), "s9", "1"),
		`want at most 65536`:                         "root = Card([\"" + strings.Repeat("x", 64<<10) + "\"])",
		`is nested more than 64 levels deep`:         "root = Card(" + strings.Repeat("[", 100) + strings.Repeat("]", 100) + ")",
	} {
		if _, err := genui.ParseOpenUI(code, limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

// Whatever a model writes, parsing ends with a program that parses again, or with problems.
func FuzzParseOpenUI(f *testing.F) {
	f.Add(orderCode)
	f.Add("root = Card([t])\nt = Table([Col(\"A\", d.rows.a), Col(\"B\", @Each(d.rows, \"r\", Tag(r.b[0])))])\nd = Query(\"list\", {limit: 3})")
	f.Add("root = Card([a])\na = $x == 1\n  ? TextContent('y')\n  : TextContent(\"n\")\n$x = -1.5e3")
	f.Fuzz(func(t *testing.T, code string) {
		got, err := genui.ParseOpenUI(code, limits)
		if err != nil {
			var p *genui.Problem
			if !errors.As(err, &p) {
				t.Fatalf("the error has no position: %v", err)
			}
			return
		}
		if again, err := genui.ParseOpenUI(got.Code, limits); err != nil || again.Count != got.Count {
			t.Fatalf("the program does not parse again: %v\n%s", err, got.Code)
		}
	})
}

// A sub-agent draws with OpenUI: the activity grows by its lines, and the result has the program.
func TestRenderOpenUI(t *testing.T) {
	t.Parallel()
	h := pair(t, `{"formats":["openui-lang"],"openui_agent":"artist"}`,
		llmtest.Use(genui.RenderOpenUI, `{"prompt":"an order"}`), llmtest.Turn{Text: strings.SplitAfter(orderCode, ")")},
		llmtest.Use(genui.RenderOpenUI, `{"source":"root = Card([])","surface_id":"two"}`), llmtest.Use(genui.RenderOpenUI, `{"code":"root = Card([a])"}`), llmtest.Say("ok"))
	rec := h.Say("go")
	got := results(h, rec.Result.ThreadID)
	if !strings.HasPrefix(got[0], `{"rendered":true,"count":7,"surface_id":"`) || !strings.Contains(got[0], `"code":"root = Card([header, form])\n`) {
		t.Errorf("the result is %s", got[0])
	}
	if got[1] != `{"rendered":true,"count":1,"surface_id":"two","code":"root = Card([])"}` || !strings.Contains(got[2], "1:14: a is not defined, want one of root") {
		t.Errorf("the results are %s and %s", got[1], got[2])
	}
	if n := len(awakentest.All[*awaken.ActivityDelta](rec.Entries)); n != 6 { // the last line has no end
		t.Errorf("the activity grew %d times, want 6", n)
	}
	raw, err := h.Store.ThreadState(t.Context(), rec.Result.ThreadID)
	if want := `"two":{"format":"openui-lang","actions":{"root":["continue_conversation"]},"drawn":2}`; err != nil || !strings.Contains(string(raw[builtin.Surfaces.Name()]), want) ||
		!strings.Contains(string(raw[builtin.Surfaces.Name()]), `["continue_conversation","open_url"]`) {
		t.Errorf("the surfaces are %s, %v, want %s", raw[builtin.Surfaces.Name()], err, want)
	}
}
