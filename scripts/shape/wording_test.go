package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// matching are the functions that compare a text with another.
var matching = map[string]bool{"Contains": true, "HasPrefix": true, "HasSuffix": true, "TrimPrefix": true, "TrimSuffix": true, "CutPrefix": true, "CutSuffix": true,
	"Cut": true, "Index": true, "EqualFold": true, "MustCompile": true, "Compile": true, "Sscanf": true}

// wordings are the files that match on the texts of other packages all the same, with the reason.
var wordings = map[string]string{
	"config/problem.go": "the diagnostics of agents and sections are texts that begin with the field; awaken.Diagnostic has no path that validators could set",
	"llm/provider/classify.go": "the texts come from providers, which are other programs: some send an error with neither a status, a type nor a code; " +
		"that other packages write the same words is a coincidence",
}

// words is a text for people: two words at least.
var words = regexp.MustCompile(`[a-z]{2,} [a-z]{2,}`)

// source is a file of the module, without tests.
type source struct {
	name    string   // slash-separated, from the root
	texts   string   // that it has, each on a line of its own
	matched []string // that it compares others with
}

func readSource(name string, data []byte) (source, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, data, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	s := source{name: name}
	literal := func(e ast.Node) (string, bool) {
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(lit.Value)
		return text, err == nil && words.MatchString(text)
	}
	match := func(list ...ast.Expr) {
		for _, e := range list {
			ast.Inspect(e, func(n ast.Node) bool { // also the format of a text that is made to be compared
				if text, ok := literal(n); ok {
					s.matched = append(s.matched, text)
				}
				return true
			})
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if text, ok := literal(n); ok {
				s.texts += text + "\n"
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && matching[f.Sel.Name] {
				match(n.Args...)
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				match(n.X, n.Y)
			}
		case *ast.CaseClause:
			match(n.List...)
		}
		return true
	})
	return s, nil
}

// checkWordings returns the places that match on a text that another package writes.
func checkWordings(files []source) (out []string) {
	for _, f := range files {
		for _, text := range f.matched {
			i := slices.IndexFunc(files, func(o source) bool {
				return path.Dir(o.name) != path.Dir(f.name) && strings.Contains(o.texts, strings.TrimSpace(text))
			})
			if i >= 0 {
				out = append(out, fmt.Sprintf("%s matches on %q, which %s writes: record the fact as a typed field", f.name, text, files[i].name))
			}
		}
	}
	return out
}

// TestWordings forbids code that matches on a text that another package writes.
func TestWordings(t *testing.T) {
	root := testenv.ModuleRoot(t)
	var files []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		rel := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{".git", "node_modules", "testdata", "examples", "e2e", "scripts"}, d.Name()) || strings.HasSuffix(d.Name(), "test")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") || wordings[rel] != "":
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s, err := readSource(rel, data)
		files = append(files, s)
		return err
	})
	if err != nil || len(files) < 500 {
		t.Fatalf("%d files were read: %v", len(files), err)
	}
	for _, v := range checkWordings(files) {
		t.Error(v)
	}
	for name := range wordings {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Errorf("the exception %s: %v", name, err)
		}
	}
}

func TestWordings_AreFound(t *testing.T) {
	writer := `package a; import "fmt"; func f(n int) string { return fmt.Sprintf("the result is %d bytes long", n) }`
	for body, want := range map[string]int{
		`strings.Contains(s, "the result is ")`:              1,
		`s == "bytes long"`:                                  1,
		`regexp.MustCompile("bytes long")`:                   1,
		`s == fmt.Sprintf("the result is %d bytes long", 7)`: 1,
		`strings.HasPrefix(s, "Bearer ")`:                    0,
		`strings.Contains(s, "other text")`:                  0,
	} {
		var files []source
		for name, src := range map[string]string{"a/a.go": writer, "b/b.go": "package b; var x = " + body} {
			f, err := readSource(name, []byte(src))
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		if got := checkWordings(files); len(got) != want {
			t.Errorf("%s: found %q, want %d", body, got, want)
		}
	}
}
