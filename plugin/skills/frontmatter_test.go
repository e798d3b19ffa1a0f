package skills

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Every field of the format is read, and what other agents write is understood.
func TestParse_ReadsEveryField(t *testing.T) {
	t.Parallel()
	s, warnings, err := Parse("full", []byte("\ufeff---\r\nname: full\ndescription: Does it all.\nlicense: MIT\ncompatibility: needs git\nmetadata: {author: me, version: 1.5}\n"+
		"allowed-tools: Bash(git add:*) Read, \"mcp__x__*\"\nwhen-to-use: always\narguments:\n  - name: file\n    description: which\n    required: true\n  - name: mode\n"+
		"argument-hint: '<file> [mode]'\nuser-invocable: false\ndisable-model-invocation: yes\nmodel: strong\ncontext: fork\npaths: [src/**/*.go, '*.md']\n---\nDo it.\n"))
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := &Skill{Name: "full", Description: "Does it all.", License: "MIT", Compatibility: "needs git", Metadata: map[string]string{"author": "me", "version": "1.5"},
		AllowedTools: []string{"Bash(git add:*)", "Read", `"mcp__x__*"`}, WhenToUse: "always", Arguments: []Argument{{"file", "which", true}, {"mode", "", false}},
		ArgumentHint: "<file> [mode]", ModelOnly: true, UserOnly: true, Model: "strong", Fork: true, Paths: []string{"src/**/*.go", "*.md"}, Body: "Do it."}
	got := *s
	if got.seal = nil; !reflect.DeepEqual(&got, want) {
		t.Errorf("got  %+v\nwant %+v", got, *want)
	}
}

func TestParse_MendsAndWarns(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, warning string }{
		{"an unknown field", "name: x\ndescription: d\nhooks: {a: b}", `unknown field "hooks" is ignored`},
		{"a colon in a text", "name: x\ndescription: Use it: always", "is not YAML"},
		{"two hints in brackets", "name: x\ndescription: d\nargument-hint: [a] [b]", "is not YAML"},
		{"no name", "description: d", "name is missing"},
		{"a title as name", "name: My Skill!\ndescription: d", "which is no valid name"},
		{"another name than the folder's", "name: y\ndescription: d", `but the folder is "x"`},
		{"no description", "name: x", "description is missing"},
		{"a long description", "name: x\ndescription: " + strings.Repeat("ä", 2000), "is cut"},
		{"a long compatibility", "name: x\ndescription: d\ncompatibility: " + strings.Repeat("a", 600), "is cut"},
		{"an unknown field of an argument", "name: x\ndescription: d\narguments: [{name: a, type: int}]", `unknown field "type"`},
	} {
		s, warnings, err := Parse("x", []byte("---\n"+tt.text+"\n---\nFirst words.\n"))
		if err != nil || !strings.Contains(strings.Join(warnings, "\n"), tt.warning) {
			t.Errorf("%s: %v, warnings %q, want %q", tt.name, err, warnings, tt.warning)
			continue
		}
		if s.Description == "" || s.Name == "" {
			t.Errorf("%s: %+v", tt.name, s)
		}
	}
}

func TestParse_RefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, err string }{
		{"no frontmatter", "# Hello", "does not begin with"},
		{"an open frontmatter", "---\nname: x", "does not end with"},
		{"NUL", "---\nname: x\n---\n\x00", "NUL"},
		{"no UTF-8", "---\nname: \xff\n---\n", "UTF-8"},
		{"too long", "---\nname: x\n---\n" + strings.Repeat("a", maxText), "want at most"},
		{"a list as name", "---\nname: [a]\ndescription: d\n---\n", "name: is"},
		{"a number as tools", "---\ndescription: d\nallowed-tools: 5\n---\n", "allowed-tools: is int"},
		{"another context", "---\ndescription: d\ncontext: thread\n---\n", `context: is "thread", want inline or fork`},
		{"no boolean", "---\ndescription: d\nuser-invocable: perhaps\n---\n", `is "perhaps", want true or false`},
		{"a bad pattern", "---\ndescription: d\nallowed-tools: 'Bash(('\n---\n", "allowed-tools[0]"},
		{"a bad glob", "---\ndescription: d\npaths: ['[a']\n---\n", "paths[0]"},
		{"an argument twice", "---\ndescription: d\narguments: a a\n---\n", `lists "a" twice`},
		{"metadata as text", "---\ndescription: d\nmetadata: x\n---\n", "metadata: is"},
		{"an alias bomb", "---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nmetadata: {x: *f}\n---\n", "excessive aliasing"},
	} {
		if _, _, err := Parse("x", []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.err)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a": true, "a-1": true, "über": true, "1": true, "A": false, "a--b": false, "-a": false, "a-": false, "a_b": false, "a b": false,
		"": false, "../a": false, strings.Repeat("a", 64): true, strings.Repeat("a", 65): false, "ａ": true} {
		if got, ok := normalName(name); ok != want {
			t.Errorf("%q is %q, %t, want %t", name, got, ok, want)
		}
	}
	if got, _ := normalName("ａｂ"); got != "ab" {
		t.Errorf("the normal form is %q", got)
	}
}

// Two skills that differ in anything have different digests.
func TestDigest_CoversEverything(t *testing.T) {
	t.Parallel()
	base := Skill{Name: "a", Description: "d", Body: "b"}
	seen := map[string]int{}
	for i, change := range []func(*Skill){
		func(*Skill) {}, func(s *Skill) { s.Name = "b" }, func(s *Skill) { s.Title = "t" }, func(s *Skill) { s.Description = "e" }, func(s *Skill) { s.WhenToUse = "w" },
		func(s *Skill) { s.Body = "c" }, func(s *Skill) { s.License = "l" }, func(s *Skill) { s.Compatibility = "c" }, func(s *Skill) { s.Metadata = map[string]string{"a": "b"} },
		func(s *Skill) { s.AllowedTools = []string{"x"} }, func(s *Skill) { s.Paths = []string{"x"} }, func(s *Skill) { s.Arguments = []Argument{{Name: "x"}} },
		func(s *Skill) { s.Arguments = []Argument{{Name: "x", Required: true}} }, func(s *Skill) { s.ArgumentHint = "h" }, func(s *Skill) { s.UserOnly = true },
		func(s *Skill) { s.ModelOnly = true }, func(s *Skill) { s.Model = "m" }, func(s *Skill) { s.Fork = true },
		func(s *Skill) { s.Files = map[string]File{"x": {Data: []byte("a")}} }, func(s *Skill) { s.Files = map[string]File{"x": {Data: []byte("b")}} },
		func(s *Skill) { s.Files = map[string]File{"x": {Data: []byte("a"), Exec: true}} }, func(s *Skill) { s.Files = map[string]File{"y": {Data: []byte("a")}} },
	} {
		s := base
		change(&s)
		sealed, err := s.Seal()
		if err != nil {
			t.Fatal(err)
		}
		if was, ok := seen[sealed.Digest()]; ok {
			t.Errorf("changes %d and %d have the same digest", was, i)
		}
		seen[sealed.Digest()] = i
	}
	if n := reflect.TypeFor[Skill]().NumField(); n != 18 {
		t.Errorf("a skill has %d fields: extend this test and sum", n)
	}
}

// What replaces a variable is not searched for variables again, and unknown variables stay.
func TestRender(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ declared, body, args, want string }{
		{"", "Do $ARGUMENTS.", `"a b"`, "Do a b."},
		{"", "First $0, then $1, $2 and ${x} cost 5$.", `"a 'b c'"`, "First a, then b c, $2 and ${x} cost 5$."},
		{"", "Only $ARGUMENTS[1]$ARGUMENTS[9].", `"a b"`, "Only b."},
		{"", "No variable.", `"a"`, "No variable.\n\nARGUMENTS: a"},
		{"", "No variable.", `null`, "No variable."},
		{"", "awk '{print $1}'", `null`, "awk '{print $1}'"},
		{"x y", "${x}/${y}/$x", `{"x":"${y}","y":"$ARGUMENTS"}`, "${y}/$ARGUMENTS/${y}"},
		{"x y", "${x}|${y}", `"one two three"`, "one|two three"},
		{"x y", "${x}|${y}", `{"x":5}`, "5|"},
		{"x", "$xy $x-z", `"1"`, "$xy 1-z"},
		{"", "See ${CLAUDE_SKILL_DIR}/a.md", `null`, "See ./a.md"},
		{"", "Given ${CLAUDE_SKILL_DIR}", `"q"`, "Given .\n\nARGUMENTS: q"},
	} {
		s := &Skill{Body: tt.body}
		for _, n := range strings.Fields(tt.declared) {
			s.Arguments = append(s.Arguments, Argument{Name: n})
		}
		a, err := parseArguments(s, []byte(tt.args), nil)
		if err != nil {
			t.Errorf("%s: %v", tt.args, err)
			continue
		}
		if got, err := s.render(a); err != nil || got != tt.want {
			t.Errorf("%q with %s is %q (%v), want %q", tt.body, tt.args, got, err, tt.want)
		}
	}
	declared := &Skill{Arguments: []Argument{{Name: "x", Required: true}}}
	for args, want := range map[string]string{`{}`: `"x" is missing`, `{"x":null}`: `"x" is missing`, `{"y":1}`: `no argument "y"`, `null`: `"x" is missing`, `5`: "neither a text nor an object", `[1]`: "neither"} {
		if _, err := parseArguments(declared, []byte(args), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	if _, err := parseArguments(declared, []byte(`"a"`), []byte(`{"x":1}`)); err == nil {
		t.Error("both forms of arguments are accepted at once")
	}
}

// The parser neither panics nor returns a skill that breaks its own limits; what it returns can be
// rendered.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"---\nname: a\ndescription: b\n---\nc", "---\nname: a\ndescription: b: c\nallowed-tools: A(b:*) C\n---\n$0 ${x}", "---\n---\n", "---\n? [a]\n: b\n---\n",
		"---\narguments: [{name: x, required: true}]\ndescription: d\npaths: a/**, b\n---\n$x", "---\nmetadata: {1: 2}\n<<: {a: b}\n---"} {
		f.Add([]byte(text), "a b")
	}
	f.Fuzz(func(t *testing.T, text []byte, args string) {
		s, _, err := Parse("folder", text)
		if err != nil {
			return
		}
		if name, ok := normalName(s.Name); !ok || name != s.Name {
			t.Errorf("the name is %q", s.Name)
		}
		if s.Description == "" || len([]rune(s.Description)) > maxDescription || s.Digest() == "" {
			t.Errorf("%+v", s)
		}
		if a, err := withText(s, args); err == nil {
			if _, err := s.render(a); err != nil && len(s.Body) < maxText/100 && len(args) < 100 {
				t.Error(err)
			}
		}
		again, _, err := Parse("folder", text)
		if err != nil || again.Digest() != s.Digest() {
			t.Errorf("read again, the digest differs (%v)", err)
		}
		if slices.Contains(s.AllowedTools, "") {
			t.Error("an empty tool")
		}
	})
}
