package pattern_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/toolname"
)

func parse(t testing.TB, text string) *pattern.Pattern {
	t.Helper()
	p, err := pattern.Compile(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func match(t testing.TB, text, tool, args string) bool {
	t.Helper()
	return parse(t, text).Match(pattern.NewCall(toolname.Plain(tool), json.RawMessage(args)))
}

// The first block is the conformance table of the original system.
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, tool, args string
		want                bool
	}{
		{"Bash(npm *)", "Bash", `{"command":"npm install"}`, true},
		{"Bash(npm *)", "Bash", `{"command":"git status"}`, false},
		{`T({"a":1*)`, "T", `{"a": 1, "b": 2}`, true}, // two keys: the JSON text of all
		{"T(1)", "T", `{"a":1,"b":2}`, false},
		{`Edit(file_path ~ "src/**/*.rs")`, "Edit", `{"file_path":"src/main.rs"}`, true},
		{`Edit(file_path ~ "src/**/*.rs")`, "Edit", `{"file_path":"src/sub/lib.rs"}`, true},
		{`Edit(file_path ~ "src/**/*.rs")`, "Edit", `{"file_path":"tests/test.rs"}`, false},
		{`Bash(command = "ls")`, "Bash", `{"command":"ls"}`, true},
		{`Bash(command = "ls")`, "Bash", `{"command":"ls -la"}`, false},
		{`Bash(command =~ "(?i)(eval|exec)")`, "Bash", `{"command":"eval foo"}`, true},
		{`Bash(command =~ "(?i)(eval|exec)")`, "Bash", `{"command":"EXEC bar"}`, true},
		{`Bash(command !~ "rm *")`, "Bash", `{"command":"rm -rf /"}`, false},
		{`Bash(command !~ "rm *")`, "Bash", `{"command":"ls"}`, true},
		{`Bash(command !~ "rm *")`, "Bash", `{}`, false}, // a field that is missing
		{`Tool(config.host = "localhost")`, "Tool", `{"config":{"host":"localhost"}}`, true},
		{`Tool(a.b[*].c ~ "pat")`, "Tool", `{"a":{"b":[{"c":"x"},{"c":"pat"}]}}`, true},
		{`Tool(items[0] = "v")`, "Tool", `{"items":["v"]}`, true},
		{`Tool(items[1] = "v")`, "Tool", `{"items":["v"]}`, false},
		{`Tool(*.id = "v")`, "Tool", `{"x":{"id":"v"}}`, true},
		{"Bash(rm *)", "Bash", `{"command":"rm -rf /"}`, true},
		{"Bash(curl *)", "Bash", `{"command":"curl https://example.com/x"}`, true},
		{`T(f = "say \"hello\"")`, "T", `{"f":"say \"hello\""}`, true},
		{`T(f = "path\\file")`, "T", `{"f":"path\\file"}`, true},
		{`T(f = "hello\nworld")`, "T", `{"f":"hello\\nworld"}`, true},
		{`/foo\/bar/`, "foo/bar", `{}`, true},
		{"Bas?", "Bash", `{}`, true},
		{"Bas[hH]", "BasH", `{}`, true},

		{"Bash", "Bash", `{"command":"rm"}`, true},
		{"Bash", "bash", `{}`, false},
		{"  Bash ( * ) ", "Bash", `{"a":1,"b":2}`, true},
		{"*", "anything", ``, true},
		{"mcp__*", "mcp__github__read", `{}`, true},
		{"/mcp__(gh|gl)__.*/", "mcp__gl__x", `{}`, true},
		{"/mcp__(gh|gl)__.*/", "mcp__bb__x", `{}`, false},
		{"/a(b/c)d/", "ab/cd", `{}`, true}, // a / inside parentheses
		{"/rm/", "do_rm_now", `{}`, true},  // a search
		{"/^rm$/(x)", "rm", `{"a":"x"}`, true},
		{`Bash(command ~ 'rm *')`, "Bash", `{"command":"rm x"}`, true}, // L-52
		{`T(f = 'it\'s "so"')`, "T", `{"f":"it's \"so\""}`, true},
		{`T(f = "a", g != 'b')`, "T", `{"f":"a","g":"c"}`, true},
		{`T(f = "a", g != 'b')`, "T", `{"f":"a","g":"b"}`, false},
		{`T(f[*] != "a")`, "T", `{"f":["a","b"]}`, true}, // some element differs
		{`T(f != "a")`, "T", `{}`, false},
		{`T(f =~ "^x")`, "T", `{"f":"ax"}`, false},
		{`T(f !=~ "x")`, "T", `{"f":"abc"}`, true},
		{`T(dash-ed = "v")`, "T", `{"dash-ed":"v"}`, true},
		{`T(größe = "v")`, "T", `{"größe":"v"}`, true},
		{`T(f ~ "*日本*")`, "T", `{"f":"これは日本語"}`, true}, // L-63
		{"T(naïve*)", "T", `{"a":"naïve é"}`, true},    // L-63
		{"T(*)", "T", `not json`, true},
		{`T(f = "")`, "T", `{"f":null}`, true},
		{`T(f = "true")`, "T", `{"f":true}`, true},
		{`T(f = "1.50")`, "T", `{"f":1.50}`, true},
		{`T(f = "[1,2]")`, "T", `{"f":[1, 2]}`, true},
		{`T(f = "v")`, "T", `not json`, false},
		{`T(f = "v")`, "T", `["v"]`, false},
		{`T([0] = "v")`, "T", `{"a":"0 = \"v\""}`, true}, // no path, so it is a glob
		{`Bash(echo $(date))`, "Bash", `{"c":"echo $(date)"}`, true},
		{`Bash(echo \))`, "Bash", `{"c":"echo )"}`, true},
		{`Bash(FOO\=bar make)`, "Bash", `{"c":"FOO=bar make"}`, true},
		{`T(f = "a) b(")`, "T", `{"f":"a) b("}`, true},
	} {
		if got := match(t, tt.pattern, tt.tool, tt.args); got != tt.want {
			t.Errorf("%s matches %s %s: %v, want %v", tt.pattern, tt.tool, tt.args, got, tt.want)
		}
	}
}

// L-52: values in single quotes were refused, although the documents use them.
func TestMatchAny_TakesEveryValueAsThePrimaryArgument(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, args string
		want          bool
	}{
		{"T(rm *)", `{"command":"rm -rf /"}`, true},
		{"T(rm *)", `{"command":"rm -rf /","timeout":5}`, true},
		{"T(rm *)", `{"timeout":5,"steps":[{"run":"ls"},{"run":"rm -rf /"}]}`, true},
		{"T(rm *)", `{"rm x":"ls","timeout":5}`, false}, // a name is not a value
		{"T(5)", `{"command":"ls","timeout":5}`, true},
		{"T(5)", `{"a":[[5]],"b":1}`, true},
		{"T(true)", `{"a":{"force":true},"b":1}`, true},
		{"T([1,2])", `{"a":[1, 2],"b":1}`, true},
		{`T({"a":1*)`, `{"a": 1, "b": 2}`, true},
		{`T(mode = "w")`, `{"path":"w","mode":"r"}`, false}, // a field is a field
		{"T(rm *)", `{"command":`, false},
		{"T(rm *)", `{}`, false},
	} {
		p := parse(t, tt.pattern)
		if got := p.MatchAny(pattern.NewCall(toolname.Plain("T"), json.RawMessage(tt.args))); got != tt.want {
			t.Errorf("%s matches %s: %v, want %v", tt.pattern, tt.args, got, tt.want)
		}
		if p.MatchAny(pattern.NewCall(toolname.Plain("U"), json.RawMessage(tt.args))) {
			t.Errorf("%s matches another tool", tt.pattern)
		}
	}
}

func TestL52_BothQuotesMeanTheSame(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"command":"rm it's"}`, `{"command":"ls"}`} {
		single, double := parse(t, `Bash(command ~ 'rm it\'s')`), parse(t, `Bash(command ~ "rm it's")`)
		c := pattern.NewCall(toolname.Plain("Bash"), json.RawMessage(args))
		if got, want := single.Match(c), double.Match(c); got != want || want != strings.Contains(args, "rm") {
			t.Errorf("%s: single quotes %v, double quotes %v", args, got, want)
		}
	}
}

// L-63: a glob with non-ASCII letters matched nothing.
func TestL63_GlobsHaveCharactersNotBytes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{`T(f ~ "*日本*")`: true, `T(f ~ "これは日本?")`: true, `T(f ~ "これは[日月]本語")`: true, `T(f ~ "日本*")`: false, `/日/`: false} {
		if got := parse(t, text).Match(pattern.NewCall(toolname.Plain("T"), json.RawMessage(`{"f":"これは日本語"}`))); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestCompile_ErrorsNameTheProblemAndItsOffset(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                   "offset 0: is empty",
		"   ":                "offset 3: is empty",
		"Bash(npm *":         "offset 4: ( is not closed",
		"//":                 "offset 0: // is an empty regular expression",
		"/[invalid/":         "offset 1: error parsing regexp",
		"/abc":               "offset 0: the regular expression has no closing /",
		"Bash extra":         `offset 5: "extra" follows the tool`,
		"Bash(a) b":          `offset 8: "b" follows the arguments`,
		"T(f = noquote)":     "offset 6: want a quoted value",
		`T(f = "open)`:       `offset 6: the value has no closing "`,
		`T(f = 'open)`:       `offset 6: the value has no closing '`,
		`T(f = "open\`:       `offset 11: \ escapes nothing`,
		`T(f = "a" g = "b")`: "offset 10: want , or ) after the condition",
		`T(f = "a",)`:        "offset 10: want a field",
		`T(f = "a", g)`:      "offset 12: want an operator",
		`T(f = "a"`:          "offset 1: ( is not closed",
		"(x)":                "offset 0: has no tool",
		"T()":                "offset 2: () is empty",
		"T(a[)":              "offset 3: [ is not closed",
		"é[x":                "offset 2: [ is not closed",
		`T(f ~ "a[")`:        "offset 8: [ is not closed",
		"T(\xff)":            "offset 2: not UTF-8 text",
	} {
		_, err := pattern.Compile(text)
		e, ok := errors.AsType[*pattern.Error](err)
		if !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("parse %q: error is %v, want %s", text, err, want)
			continue
		}
		if e.Offset > len(text) {
			t.Errorf("parse %q: offset %d is outside", text, e.Offset)
		}
	}
	if _, err := pattern.Compile(strings.Repeat("a", 4097)); err == nil || !strings.Contains(err.Error(), "4097 bytes long") {
		t.Errorf("a pattern that is too long: %v", err)
	}
}

// Patterns with invalid regular expressions are refused (L-53).
func TestCompile_RefusesInvalidRegularExpressions(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`T(f =~ "[invalid")`, `T(f !=~ "[invalid")`} {
		if _, err := pattern.Compile(text); err == nil || !strings.Contains(err.Error(), "missing closing ]") {
			t.Errorf("compile %s: %v", text, err)
		}
	}
}

func TestCompare_OrdersBySpecificity(t *testing.T) {
	t.Parallel()
	order := []string{ // the least specific first
		"/B.*/",
		`/B.*/(f = "x")`,
		"B*",
		"B*(x)",
		`B*(f =~ "x")`,
		`B*(f ~ "x")`,
		`B*(f = "x")`,
		`B*(f =~ "x", g =~ "y")`,
		"Bash",
		"Bash(npm *)",
		`Bash(command =~ "x")`,
		`Bash(command != "x")`,
		`Bash(command = "x", cwd = "y")`,
	}
	for i := range order {
		for j := range order {
			if got := parse(t, order[i]).Compare(parse(t, order[j])); got != sign(i-j) {
				t.Errorf("%s against %s: %d, want %d", order[i], order[j], got, sign(i-j))
			}
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

func TestUnconditional(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"Bash": true, "Bash(*)": true, "B*": true, "/B/": true, "Bash(x)": false, `Bash(f = "x")`: false} {
		if got := parse(t, text).Unconditional(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestExactly_MatchesOnlyThatTool(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"Bash", "a b", "a*", "/x/", "f(x)", "[a]", "mcp:weather/get", "日本"} {
		p, err := pattern.Compile(pattern.Exactly(tool))
		if err != nil {
			t.Errorf("%q: %v", tool, err)
			continue
		}
		if !p.Restricts(toolname.Plain(tool)) || p.Restricts(toolname.Plain(tool+"x")) || p.Restricts(toolname.Plain("x"+tool)) {
			t.Errorf("%q is written %s, which takes something else", tool, p)
		}
	}
}

func TestNewCondition_ReadsNestedValues(t *testing.T) {
	t.Parallel()
	doc := json.RawMessage(`{"error":{"code":403,"tags":["a","b"]}}`)
	for _, tt := range []struct {
		path, kind, value string
		want              bool
	}{
		{"error.code", "exact", "403", true},
		{"error.code", "not_exact", "403", false},
		{"error.code", "glob", "4*", true},
		{"error.code", "not_glob", "5*", true},
		{"error.code", "regex", "^4", true},
		{"error.code", "not_regex", "^4", false},
		{"error.tags[1]", "exact", "b", true},
		{"error.none", "not_exact", "b", false},
	} {
		c, err := pattern.NewCondition(tt.path, tt.kind, tt.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Match(doc); got != tt.want {
			t.Errorf("%s %s %q: %v", tt.path, tt.kind, tt.value, got)
		}
	}
	if _, err := pattern.NewCondition("a..b", "glob", "x"); err == nil || !strings.Contains(err.Error(), `path is "a..b"`) {
		t.Errorf("a bad path: %v", err)
	}
	if _, err := pattern.NewCondition("a", "regex", "["); err == nil {
		t.Error("a bad expression is taken")
	}
	if _, err := pattern.NewCondition("a", "like", "x"); err == nil || !strings.Contains(err.Error(), `like "x": unknown comparison, want glob`) {
		t.Errorf("a bad comparison: %v", err)
	}
}

func TestExplain_ShowsEveryPart(t *testing.T) {
	t.Parallel()
	p := parse(t, `Bash(command ~ "npm *", *.x = 'y')`)
	got := p.Explain(pattern.NewCall(toolname.Plain("Bash"), json.RawMessage(`{"command":"npm i","b":{"x":"z"},"a":{"x":"y"}}`)))
	want := []pattern.Part{
		{Name: "tool", Wants: `= "Bash"`, Found: []string{"Bash"}, OK: true},
		{Name: "command", Wants: `~ "npm *"`, Found: []string{"npm i"}, OK: true},
		{Name: "*.x", Wants: `= "y"`, Found: []string{"y", "z"}, OK: true},
	}
	if !slices.EqualFunc(got, want, func(a, b pattern.Part) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"Bash(npm *)", `E(f ~ "a", g.h[*] !=~ 'b')`, "/a(b/c)/", "[a-z]*{x,y}", `T(f = "\"")`, "é(日本)", "T(*)"} {
		f.Add(s, "Bash", `{"command":"npm install","f":["x"]}`)
	}
	f.Fuzz(func(t *testing.T, text, tool, args string) {
		p, err := pattern.Compile(text)
		if err != nil {
			if e, ok := errors.AsType[*pattern.Error](err); !ok || e.Offset < 0 || e.Offset > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		c := pattern.NewCall(toolname.Plain(tool), json.RawMessage(args))
		got := p.Match(c)
		if again, err := pattern.Compile(p.String()); err != nil || again.Match(c) != got || again.Compare(p) != 0 {
			t.Fatalf("%q is not itself when written again: %v", text, err)
		}
		all := true
		for _, part := range p.Explain(c) {
			all = all && part.OK
		}
		if all != got {
			t.Fatalf("%q: match is %v, the explanation says %v", text, got, all)
		}
		if got && !p.Restricts(toolname.Plain(tool)) {
			t.Fatalf("%q takes a call of %q, but not the tool", text, tool)
		}
	})
}

// A megabyte of arguments, of the kind that makes a backtracking matcher hang. The time per
// byte must not depend on the size. From 16 KiB on it is constant; below, package regexp uses
// an engine for short texts that is two to three times as fast, if text times pattern fits
// into its bitmap of 32 KiB.
func BenchmarkMatch(b *testing.B) {
	for _, p := range []struct{ name, text string }{
		{"primary", "Bash(" + strings.Repeat("*a", 20) + "*b)"},
		{"field", `Bash(command ~ "` + strings.Repeat("*a", 20) + `*b")`},
		{"folders", `Bash(command ~ "**/a?*/**/{x,y}*b")`},
		{"regex", `Bash(command =~ "(a+)+b$")`},
		{"elements", `Bash(list[*] = "b")`},
	} {
		for _, n := range []int{1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20} {
			args := fmt.Sprintf(`{"command":%q}`, strings.Repeat("a", n))
			if p.name == "elements" {
				args = `{"list":[` + strings.Repeat(`"a",`, n/4) + `"a"]}`
			}
			b.Run(fmt.Sprintf("%s/%dKiB", p.name, n>>10), func(b *testing.B) {
				c := parse(b, p.text)
				b.SetBytes(int64(n))
				for b.Loop() {
					if c.Match(pattern.NewCall(toolname.Plain("Bash"), json.RawMessage(args))) {
						b.Fatal("matches")
					}
				}
			})
		}
	}
}
