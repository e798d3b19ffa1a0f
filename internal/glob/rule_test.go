package glob

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCompileRule_Match(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, value string
		want           bool
	}{
		{"npm *", "npm install", true},
		{"npm *", "npm", false},
		{"rm *", "rm -rf /", true}, // a star crosses folders
		{"curl *", "curl https://example.com/a/b", true},
		{"*/**/*.rs", "src/sub/lib.rs", true},
		{"***", "any/thing", true},
		{"src/**/*.rs", "src/main.rs", true},
		{"src/**/*.rs", "src/a/b/lib.rs", true},
		{"src/**/*.rs", "tests/test.rs", false},
		{"src/**/*.rs", "src/main.go", false},
		{"src/**", "src/a/b", true},
		{"src/**", "srcs/a", false},
		{"**/x", "x", true},
		{"**/x", "a/b/x", true},
		{"**/x", "a/bx", false},
		{"*/**", "a/b/c", true},
		{"*/**", "a", false}, // a star before /** stays in its folder
		{"a**b", "a/x/b", true},
		{"Bas?", "Bash", true},
		{"Bas?", "Bas", false},
		{"a?b", "a/b", false},
		{"a?b", "aéb", true}, // characters, not bytes
		{"Bas[hH]", "BasH", true},
		{"Bas[hH]", "Basx", false},
		{"[!a-c]", "d", true},
		{"[^a-c]", "b", false},
		{"[]a]", "]", true},
		{"[a-]", "-", true},
		{`[\]]`, "]", true},
		{"[à-ÿ]", "é", true},
		{"{get,put}_*", "put_file", true},
		{"{get,put}_*", "del_file", false},
		{"{a,b{c,d}}", "bd", true},
		{"{a,}b", "b", true},
		{"echo ${HOME}", "echo ${HOME}", true}, // without a comma, braces are text
		{"{HOME", "{HOME", true},
		{"a}b", "a}b", true},
		{`\{a,b\}`, "{a,b}", true},
		{`\*`, "*", true},
		{`\*`, "x", false},
		{"crème*", "crème brûlée", true},
		{"*日本*", "これは日本語", true},
		{"a.b", "axb", false},
		{"(a+)", "(a+)", true},
		{"a*b", "a\nb", true},
		{"", "", true},
		{"", "x", false},
	} {
		p, err := CompileRule(tt.pattern)
		if err != nil {
			t.Errorf("compile %q: %v", tt.pattern, err)
			continue
		}
		if got := p.Match(tt.value); got != tt.want {
			t.Errorf("%q matches %q: %v, want %v", tt.pattern, tt.value, got, tt.want)
		}
	}
}

func TestCompileRule_ErrorsNameTheProblemAndItsOffset(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		`ab\`:    `offset 2: \ escapes nothing`,
		"x[abc":  "offset 1: [ is not closed",
		"é[z-a]": "offset 3: range 'z'-'a' is reversed",
		"a{b,c":  "offset 1: { is not closed",
		"a\xffb": "offset 1: not UTF-8 text",
		strings.Repeat("{a,", 17) + strings.Repeat("}", 17): "offset 48: braces are nested deeper than 16",
	} {
		if _, err := CompileRule(pattern); err == nil || err.Error() != want {
			t.Errorf("compile %q: error is %v, want %s", pattern, err, want)
		}
	}
}

// Text and stars are matched by hand, everything else by a regular expression. Both must
// agree.
func FuzzRuleGlob(f *testing.F) {
	for _, s := range [][2]string{{"npm *", "npm i"}, {"a**b", "a/b"}, {"**", ""}, {`\*a`, "*a"}, {"*ab*ab", "abab"}, {"{a", "{a"}, {"é*", "é"}, {"[a-c]?{x,y}", "bzx"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		if len(pattern) > 200 || len(value) > 200 || !utf8.ValidString(value) {
			return // values come out of JSON
		}
		fast, err := compileRule(pattern, true)
		slow, err2 := compileRule(pattern, false)
		if (err == nil) != (err2 == nil) {
			t.Fatalf("%q: %v, and by a regular expression: %v", pattern, err, err2)
		}
		if err != nil {
			return
		}
		if a, b := fast.Match(value), slow.Match(value); a != b {
			t.Errorf("%q matches %q: %v by hand, %v by regular expression", pattern, value, a, b)
		}
		if p, err := Compile(pattern); err == nil && !strings.ContainsAny(pattern, `?[{`) && !strings.Contains(pattern, "**/") && !strings.Contains(pattern, "/**") {
			if a, b := p.Match(value), fast.Match(value); a != b {
				t.Errorf("%q matches %q: %v in a catalogue, %v in a rule", pattern, value, a, b)
			}
		}
	})
}
