package glob_test

import (
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/glob"
)

func match(t testing.TB, pattern, value string) bool {
	t.Helper()
	p, err := glob.Compile(pattern)
	if err != nil {
		t.Fatalf("compile %q: %v", pattern, err)
	}
	return p.Match(value)
}

// The first block is the conformance table that the original system publishes for
// its tool catalogues.
func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, value string
		want           bool
	}{
		{"Bash", "Bash", true},
		{"Bash", "Read", false},
		{"Bash", "BashExtra", false},
		{"*", "anything", true},
		{"*", "mcp:weather/forecast", true},
		{"*", "", true},
		{"mcp:*", "mcp:weather/forecast", true},
		{"mcp:*", "plugin:reminder/add", false},
		{"mcp:weather/*", "mcp:weather/foo/bar", true},
		{"mcp__github__*", "mcp__github__read_issue", true},
		{"mcp__github__*", "mcp__gitlab__issue", false},
		{"*issue", "read_issue", true},
		{"*weather*", "mcp:weather/forecast", true},
		{"a*b", "a/b", true},
		{"a*/b", "a/x/b", true},
		{`\*literal`, "*literal", true},
		{`\*literal`, "Xliteral", false},
		{`foo\\bar`, `foo\bar`, true},
		{"!Bash", "!Bash", true},
		{"!Bash", "Bash", false},
		{`\!Bash`, "!Bash", true},
		{`\!Bash`, "Bash", false},
		{"{Bash}", "{Bash}", true},
		{"{Bash}", "Bash", false},
		{"[abc]", "[abc]", true},
		{"[abc]", "a", false},
		{"tool?id", "tool?id", true},
		{"tool?id", "toolXid", false},
		{"Bash(npm *)", "Bash", false},
		{"/B.*/", "Bash", false},

		{"a*a", "a", false}, // the two must not share it
		{"ab*ba", "aba", false},
		{"*ab*ab*", "xabab", true},
		{"*ab*ab*", "xab", false},
		{"a**b", "ab", true},
		{"**", "", true},
		{"a*b*c", "a_b_b_c", true},
		{"a*b*c", "a_c_b", false},
		{`a\*b*`, "a*bc", true},
		{"crème*", "crème brûlée", true},
		{"*é", "e", false},
		{`\é`, "é", true},
		{"*\xff", "a\xff", true},
	} {
		if got := match(t, tt.pattern, tt.value); got != tt.want {
			t.Errorf("%q matches %q: %v, want %v", tt.pattern, tt.value, got, tt.want)
		}
	}
}

func TestCompile_ErrorsNameTheProblemAndItsOffset(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"":        "pattern is empty",
		`abc\`:    `offset 3: \ escapes nothing`,
		`*\\\`:    `offset 3: \ escapes nothing`,
		"é" + `\`: `offset 2: \ escapes nothing`,
	} {
		if _, err := glob.Compile(pattern); err == nil || err.Error() != want {
			t.Errorf("compile %q: error is %v, want %s", pattern, err, want)
		}
	}
}

func TestHasStar_IgnoresEscapedStars(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]bool{"mcp:*": true, `a\*`: false, `a\\*`: true, "": false, "plain": false, `\`: false} {
		if got := glob.HasStar(s); got != want {
			t.Errorf("HasStar(%q) is %v", s, got)
		}
	}
}

// A backtracking matcher would hang on this one.
func TestMatch_DoesNotBacktrack(t *testing.T) {
	t.Parallel()
	pattern := strings.Repeat("*a", 2000) + "*b"
	value := strings.Repeat("a", 200_000)
	if match(t, pattern, value) {
		t.Error("it ends in b, the value does not")
	}
	if !match(t, pattern, value+"b") {
		t.Error("it must match when the value ends in b")
	}
}

// naive is the definition of a match. It takes quadratic time.
func naive(pattern, value string) bool {
	type token struct {
		star bool
		c    byte
	}
	var toks []token
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '*':
			toks = append(toks, token{star: true})
		case pattern[i] == '\\':
			i++
			toks = append(toks, token{c: pattern[i]})
		default:
			toks = append(toks, token{c: pattern[i]})
		}
	}
	// reach[j] reports whether the tokens so far match value[:j].
	reach := make([]bool, len(value)+1)
	reach[0] = true
	for _, tok := range toks {
		next := make([]bool, len(value)+1)
		for j := range reach {
			switch {
			case tok.star:
				next[j] = reach[j] || j > 0 && next[j-1]
			case j > 0:
				next[j] = reach[j-1] && value[j-1] == tok.c
			}
		}
		reach = next
	}
	return reach[len(value)]
}

func FuzzCatalogueGlob(f *testing.F) {
	for _, s := range [][2]string{{"*", ""}, {"a*b", "ab"}, {`\*a*`, "*a"}, {"*ab*ab", "ababab"}, {"a**", "a"}, {`\\*`, `\x`}, {"aa*aa", "aaa"}, {"é*", "é"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, value string) {
		if len(pattern) > 200 || len(value) > 200 {
			return
		}
		p, err := glob.Compile(pattern)
		if err != nil {
			// Only these two are errors.
			odd := (len(pattern) - len(strings.TrimRight(pattern, `\`))) % 2
			if pattern != "" && odd == 0 {
				t.Fatalf("%q is refused: %v", pattern, err)
			}
			return
		}
		if got, want := p.Match(value), naive(pattern, value); got != want {
			t.Errorf("%q matches %q: %v, want %v", pattern, value, got, want)
		}
		// A pattern matches itself, unless an escape makes it stand for something else.
		if !strings.Contains(pattern, `\`) && !p.Match(pattern) {
			t.Errorf("%q does not match itself", pattern)
		}
	})
}
