package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// sources is a tree made up for a test: path of a file to its text.
type sources map[string]string

// read measures the tree as readModule does.
func (s sources) read(t *testing.T) *tree {
	t.Helper()
	files := make(fstest.MapFS)
	byDir := make(map[string]*pkg)
	for name, text := range s {
		files[name] = &fstest.MapFile{Data: []byte(text)}
		dir := path.Dir(name)
		if byDir[dir] == nil {
			byDir[dir] = &pkg{ImportPath: path.Join(module, dir)}
		}
		byDir[dir].GoFiles = append(byDir[dir].GoFiles, path.Base(name))
	}
	var listed []pkg
	for _, p := range byDir {
		listed = append(listed, *p)
	}
	tr, err := readTree(listed, files)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// lines is n lines of text, each made with its number.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

func structOf(name string, fields int, format string) string {
	return "package x\n\ntype " + name + " struct {\n" + lines(fields, format) + "}\n"
}

func funcOf(lineCount int) string {
	return "func f() {\n" + lines(lineCount-2, "\t_ = %d") + "}\n"
}

// packageOf is a package with n lines of code and a package clause, in files of 500.
func packageOf(n int) sources {
	s := sources{}
	for i := 0; i*500 < n; i++ {
		s[fmt.Sprintf("server/f%d.go", i)] = strings.TrimSuffix(lines(min(500, n-i*500), "var v%d int"), "\n")
	}
	for name, text := range s {
		s[name] = "package x; " + text // on a line that counts anyway
	}
	s["server/f0.go"] = strings.Replace(s["server/f0.go"], "; ", "\n", 1)
	return s
}

// TestLimitsFindViolations feeds made-up trees to the checker: each limit must fire on what is above
// it, and stay silent on what is not.
func TestLimitsFindViolations(t *testing.T) {
	big := sources{"server/a.go": structOf("call", 21, "\tf%d int")}
	excepted := exception{fieldsRule, "server.call", 21, "for the test"}
	eleven := sources{"a.go": "package x\n"}
	var elevenExcepted []exception
	for i := range 11 {
		eleven["a.go"] += fmt.Sprintf("type s%d struct {\n", i) + lines(21, "\tf%d int") + "}\n"
		elevenExcepted = append(elevenExcepted, exception{fieldsRule, fmt.Sprintf("awaken.s%d", i), 21, "for the test"})
	}
	tests := []struct {
		name       string
		tree       sources
		exceptions []exception
		want       []violation
	}{
		{name: "20 fields", tree: sources{"a.go": structOf("run", 20, "\tf%d int")}},
		{
			name: "21 fields",
			tree: sources{"a.go": structOf("run", 21, "\tf%d int")},
			want: []violation{{fieldsRule, "awaken.run", "has 21 fields"}},
		},
		{
			name: "21 fields in a kit",
			tree: sources{"store/storetest/a.go": structOf("Kit", 21, "\tF%d int")},
			want: []violation{{fieldsRule, "store/storetest.Kit", "has 21 fields"}},
		},
		{
			name: "several names of one type, and an embedded type",
			tree: sources{"a.go": "package x\n\ntype run struct {\n\tsync.Mutex\n" + lines(10, "\ta%[1]d, b%[1]d int") + "}\n"},
			want: []violation{{fieldsRule, "awaken.run", "has 21 fields"}},
		},
		{
			name: "a struct in a function and one without a name",
			tree: sources{"a.go": "package x\n\nfunc f() {\n\ttype big struct {\n" + lines(21, "\tf%d int") + "\t}\n}\n\nvar v struct {\n" + lines(21, "\tf%d int") + "}\n"},
			want: []violation{{fieldsRule, "awaken.f.big", "has 21 fields"}, {fieldsRule, "awaken.struct at line 29", "has 21 fields"}},
		},
		{name: "a wire type", tree: sources{"a.go": structOf("Run", 30, "\tF%[1]d int `json:\"f%[1]d\"`")}},
		{
			name: "a wire type with a field that is not sent",
			tree: sources{"a.go": strings.Replace(structOf("Run", 30, "\tF%[1]d int `json:\"f%[1]d\"`"), "{\n", "{\n\tcached string\n", 1)},
		},
		{
			name: "an exported field without a tag",
			tree: sources{"a.go": strings.Replace(structOf("Run", 30, "\tF%[1]d int `json:\"f%[1]d\"`"), "{\n", "{\n\tCached string\n", 1)},
			want: []violation{{fieldsRule, "awaken.Run", "has 31 fields"}},
		},
		{
			name: "more fields that are not sent than are",
			tree: sources{"a.go": strings.Replace(structOf("Run", 20, "\tf%d int"), "{\n", "{\n\tID string `json:\"id\"`\n", 1)},
			want: []violation{{fieldsRule, "awaken.Run", "has 21 fields"}},
		},
		{
			name: "configuration types",
			tree: sources{
				"a.go": structOf("Config", 30, "\tF%d int"), "b.go": structOf("serveOptions", 30, "\tf%d int"),
				"c.go": structOf("limits", 30, "\tf%d int"), "d.go": structOf("Settings", 30, "\tF%d int"),
			},
		},
		{
			name: "a name that looks like a configuration's",
			tree: sources{"a.go": structOf("reconfig", 21, "\tf%d int")},
			want: []violation{{fieldsRule, "awaken.reconfig", "has 21 fields"}},
		},

		{name: "9 methods", tree: sources{"a.go": "package x\ntype Store interface {\n\tio.Closer\n" + lines(9, "\tM%d()") + "}\n"}},
		{
			name: "an interface",
			tree: sources{"a.go": "package x\ntype Store interface {\n\tio.Closer\n" + lines(10, "\tM%d()") + "}\n"},
			want: []violation{{interfaceRule, "awaken.Store", "has 10 methods"}},
		},
		{name: "many methods of a type", tree: sources{"a.go": "package x\n" + lines(50, "func (r *run) a%d() {}")}},

		{name: "600 lines", tree: sources{"llm/a.go": "package x\n" + lines(599, "// %d")}},
		{
			name: "601 lines",
			tree: sources{"llm/a.go": "package x\n" + lines(600, "// %d")},
			want: []violation{{fileRule, "llm/a.go", "has 601 lines"}},
		},
		{name: "100 lines", tree: sources{"a.go": "package x\n\n" + funcOf(100)}},
		{
			name: "101 lines",
			tree: sources{"a.go": "package x\n\n" + funcOf(101), "llm/a.go": "package x\n\n" + strings.Replace(funcOf(101), "f()", "(r *run) f()", 1)},
			want: []violation{{functionRule, "awaken.f", "has 101 lines"}, {functionRule, "llm.(*run).f", "has 101 lines"}},
		},
		{
			name: "a literal",
			tree: sources{"a.go": "package x\n\nvar handlers = []func(){\n" + strings.Replace(strings.TrimSuffix(funcOf(101), "\n"), "f()", "()", 1) + ",\n}\n"},
			want: []violation{{functionRule, "awaken.handlers (literal)", "has 101 lines"}},
		},
		{
			name: "what is not held to limits",
			tree: sources{
				"a_test.go":        "package x\n\n" + funcOf(101),
				"generated.go":     "// Code generated by hand. DO NOT EDIT.\n\npackage x\n\n" + funcOf(101),
				"examples/e/a.go":  "package x\n\n" + funcOf(101),
				"scripts/say/a.go": "package x\n\n" + funcOf(101),
			},
		},

		{name: "as many names as the limit", tree: sources{"engine/a.go": "package x\n" + lines(260, "type T%d int")}},
		{
			name: "too many names",
			tree: sources{
				"engine/a.go":   "package x\n" + lines(200, "type T%[1]d int\nfunc (T%[1]d) M() {}") + lines(61, "func F%d() {}"),
				"registry/a.go": "package x\n" + lines(261, "var V%[1]d, v%[1]d int"),
			},
			want: []violation{
				{exportedRule, "engine", "exports 261 names"},
				{exportedRule, "registry", "exports 261 names"},
			},
		},
		{name: "as much code as the limit", tree: packageOf(9_999)},
		{
			name: "too much code",
			tree: packageOf(10_000),
			want: []violation{{packageRule, "server", "has 10001 lines of code"}},
		},

		{name: "an exception", tree: big, exceptions: []exception{excepted}},
		{
			name:       "more than the exception allows",
			tree:       big,
			exceptions: []exception{{fieldsRule, "server.call", 20, "for the test"}},
			want:       []violation{{fieldsRule, "server.call", "has 21 fields, its exception allows 20"}},
		},
		{
			name:       "an exception from another rule",
			tree:       big,
			exceptions: []exception{excepted, {functionRule, "server.call", 500, "for the test"}},
			want:       []violation{{exceptionRule, "server.call", "is excepted from a limit that it does not break: " + functionRule}},
		},
		{
			name:       "an exception that is not needed any more",
			tree:       sources{"server/a.go": structOf("call", 20, "\tf%d int")},
			exceptions: []exception{excepted},
			want:       []violation{{exceptionRule, "server.call", "is excepted from a limit that it does not break: " + fieldsRule}},
		},
		{
			name:       "an exception without a reason",
			tree:       big,
			exceptions: []exception{{fieldsRule, "server.call", 21, ""}},
			want:       []violation{{exceptionRule, "server.call", "is excepted without a reason"}},
		},
		{
			name:       "too many exceptions",
			tree:       eleven,
			exceptions: elevenExcepted,
			want:       []violation{{exceptionRule, "the list", "has 11 exceptions"}},
		},
	}
	fired := make(map[string]bool)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, v := range tt.want {
				fired[v.rule] = true
			}
			got := tt.tree.read(t).checkLimits(tt.exceptions)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %d violations:\n%v\nwant %d:\n%v", len(got), got, len(tt.want), tt.want)
			}
		})
	}
	for _, rule := range list(fieldsRule, interfaceRule, fileRule, functionRule, packageRule, exportedRule, exceptionRule) {
		if !fired[rule] {
			t.Errorf("no case violates the rule %q", rule)
		}
	}
}

func TestTableFindsViolations(t *testing.T) {
	const table = "# a comment\n\n.\n\t./llm\n\t./state\n\n./gone\n\n./llm\n\n./state\n"
	listed := []pkg{
		{ImportPath: module, Imports: []string{"fmt", absolute("./llm"), absolute("./state/profile")}},
		{ImportPath: absolute("./llm")},
		{ImportPath: absolute("./new")},
		{ImportPath: absolute("./state")},
		{ImportPath: absolute("./examples/e"), Imports: []string{module}},
		{ImportPath: "fmt", Standard: true},
	}
	want := []violation{
		{tableRule, ".", "imports ./state/profile"},
		{tableRule, ".", "does not import ./state"},
		{tableRule, "./new", "is not in the table"},
		{tableRule, "./gone", "does not exist"},
	}
	if got := checkTable(table, listed); !slices.Equal(got, want) {
		t.Errorf("got:\n%v\nwant:\n%v", got, want)
	}

	var written strings.Builder
	if err := (&tree{listed: listed}).writeImports(&written); err != nil {
		t.Fatal(err)
	}
	if got := checkTable(written.String(), listed); len(got) > 0 {
		t.Errorf("the tree does not fit the table that was written for it:\n%v", got)
	}
}

func TestCodeLines(t *testing.T) {
	const src = `// A comment.
package x

/* of
two lines */

const text = ` + "`one\n\n// three\n`" + ` // and one behind

func f() { // a line
	// not a line

	f() /* a line */
}
`
	// The package clause, three lines of the string, and three of the function.
	if got, want := codeLines([]byte(src)), 1+3+3; got != want {
		t.Errorf("got %d lines of code, want %d", got, want)
	}
}

// TestImportsOfAPackage counts the packages of ours that a package imports.
func TestImportsOfAPackage(t *testing.T) {
	var imports []string
	for i := range 31 {
		imports = append(imports, fmt.Sprintf("%s/p%d", module, i))
	}
	tree, err := readTree([]pkg{{ImportPath: module + "/server", Imports: append(imports, "fmt")}, {ImportPath: module + "/cmd/awaken", Imports: imports},
		{ImportPath: module + "/mailbox", Imports: append(imports[:30:30], "fmt")}}, fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tree.checkLimits(nil), []violation{{importedRule, "server", "has 31 imports of ours"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWideLines(t *testing.T) {
	src := strings.Repeat("é", 140) + "\n" + "\t" + strings.Repeat("x", 137) + "\n" + strings.Repeat("x", 141)[1:] + "\n"
	if got := wideLines([]byte(src)); got != 1 {
		t.Errorf("%d wide lines, want 1", got)
	}
}

func TestFigures(t *testing.T) {
	m := sources{"server/a.go": `package server

const A, b = 1, 2

var C int

type D struct{}

func (*D) E() {}
func (D) f()  {}

type g struct{}

func (g) H() {}

type I interface{ J(); k() }

func L() {}
`}.read(t).packages[0]
	if got := len(m.exported); got != 5 { // A, C, D, I and L
		t.Errorf("%d exported names, want 5: %v", got, m.exported)
	}
	if got := len(m.methods); got != 2 { // D.E and I.J
		t.Errorf("%d exported methods, want 2: %v", got, m.methods)
	}
}
