package testenv_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

const module = "github.com/awaken-go/awaken"

// The rules.
//
// Packages of this module are written relative to its root: "." is the root package, "./state" is
// one package, "./llm/*" is every package below ./llm at any depth but not ./llm itself, "./..." is
// every package. "./*test" is every package whose path ends in "test". "std" is every package of
// the standard library. Anything else is an import path, with the same "/*".

// The names of the rules, as a failing test prints them.
const (
	onlyStdRule  = "state, llm and profile import only the standard library, and the JSON decoder and encoder"
	internalRule = "internal packages import nothing of ours outside internal"
	rootRule     = "the root package imports of ours only state, llm, profile and internal packages"
	httpRule     = "net/http stays at the edges"
	testingRule  = "only test packages import testing"
	siblingRule  = "siblings do not import each other"
	linkRule     = "the root package links only the modules on its list"
	chainRule    = "import chains are short"
)

// importRules limit what the non-test files of a package import directly.
var importRules = []importRule{
	{
		name:  onlyStdRule,
		of:    list("./state", "./llm", "./profile"),
		allow: list("std", "./internal/strict", "./internal/appendjson"),
	},
	{
		name:   internalRule,
		of:     list("./internal/*"),
		forbid: list("./..."),
		allow:  list("./internal/*"),
	},
	{
		name:   rootRule,
		of:     list("."),
		forbid: list("./..."),
		allow:  list("./state", "./llm", "./profile", "./internal/*"),
	},
	{
		name: httpRule,
		of:   list("./..."),
		except: list("./llm/*", "./protocol", "./protocol/*", "./server", "./console", "./plugin/mcp",
			"./internal/sse", "./internal/httpguard", "./examples/*", "./cmd/awaken"),
		forbid: list("net/http", "net/http/*"),
	},
	{
		name:   testingRule,
		of:     list("./..."),
		except: list("./*test", "./internal/testenv"),
		forbid: list("testing", "testing/*"),
	},
}

// siblingFolders are for siblingRule: packages below different children of one of these folders do
// not import each other, neither in tests nor elsewhere. Tests may import a sibling that ends in "test", such as ./store/storetest.
var siblingFolders = list("./store", "./plugin", "./protocol")

// rootModules are for linkRule: the root package links code of these modules only, directly or not.
// Whoever uses the library gets them all, so the list is short and exact.
var rootModules = list(
	"github.com/google/jsonschema-go",
	"github.com/google/uuid",
	"github.com/santhosh-tekuri/jsonschema/v6",
	"golang.org/x/text", // for santhosh-tekuri/jsonschema

	// The OpenTelemetry API, without its SDK and exporters, and what the API itself needs.
	"go.opentelemetry.io/otel",
	"go.opentelemetry.io/otel/metric",
	"go.opentelemetry.io/otel/trace",
	"go.opentelemetry.io/auto/sdk",
	"github.com/cespare/xxhash/v2",
	"github.com/go-logr/logr",
	"github.com/go-logr/stdr",
)

// maxChain is for chainRule: so many packages of ours at most, each importing the next.
const maxChain = 8

// mustExist names packages without which the rules would check nothing.
var mustExist = list(".", "./state", "./llm")

// The checker.

type importRule struct {
	name   string
	of     []string // the packages under this rule,
	except []string // but not these
	forbid []string // what they must not import; nothing named means everything,
	allow  []string // but not these
}

// pkg is the part of the output of go list that the rules need.
type pkg struct {
	ImportPath   string
	Standard     bool
	Module       *struct{ Path string }
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

type violation struct{ rule, pkg, imports string }

func (v violation) String() string {
	return fmt.Sprintf("%s imports %s\n\trule: %s", v.pkg, v.imports, v.rule)
}

// check returns the violations of all rules, ordered by rule and package.
func check(pkgs []pkg) []violation {
	byPath := make(map[string]pkg)
	var ours []pkg
	for _, p := range pkgs {
		byPath[p.ImportPath] = p
		if isOurs(p.ImportPath) {
			ours = append(ours, p)
		}
	}
	slices.SortFunc(ours, func(a, b pkg) int { return strings.Compare(a.ImportPath, b.ImportPath) })

	var out []violation
	for _, r := range importRules {
		for _, p := range ours {
			if !matchAny(r.of, p.ImportPath, byPath) || matchAny(r.except, p.ImportPath, byPath) {
				continue
			}
			for _, imp := range p.Imports {
				forbidden := len(r.forbid) == 0 || matchAny(r.forbid, imp, byPath)
				if forbidden && !matchAny(r.allow, imp, byPath) {
					out = append(out, violation{r.name, p.ImportPath, imp})
				}
			}
		}
	}
	out = append(out, checkSiblings(ours)...)
	out = append(out, checkRootLinks(byPath)...)
	out = append(out, checkChain(byPath)...)
	return out
}

func checkSiblings(ours []pkg) []violation {
	var out []violation
	for _, p := range ours {
		for _, imp := range p.Imports {
			if areSiblings(p.ImportPath, imp) {
				out = append(out, violation{siblingRule, p.ImportPath, imp})
			}
		}
		testImports := slices.Concat(p.TestImports, p.XTestImports)
		slices.Sort(testImports)
		for _, imp := range slices.Compact(testImports) {
			if areSiblings(p.ImportPath, imp) && !strings.HasSuffix(imp, "test") {
				out = append(out, violation{siblingRule, p.ImportPath + " (test)", imp})
			}
		}
	}
	return out
}

// areSiblings reports whether a and b are below different children of one of the sibling folders.
func areSiblings(a, b string) bool {
	for _, folder := range siblingFolders {
		prefix := absolute(folder) + "/"
		ra, inA := strings.CutPrefix(a, prefix)
		rb, inB := strings.CutPrefix(b, prefix)
		if inA && inB {
			childA, _, _ := strings.Cut(ra, "/")
			childB, _, _ := strings.Cut(rb, "/")
			return childA != childB
		}
	}
	return false
}

func checkRootLinks(byPath map[string]pkg) []violation {
	var out []violation
	for _, dep := range byPath[module].Deps {
		if isStd(dep, byPath) || isOurs(dep) {
			continue
		}
		owner := "an unknown module"
		if m := byPath[dep].Module; m != nil {
			owner = m.Path
		}
		if !slices.Contains(rootModules, owner) {
			out = append(out, violation{linkRule, module, dep + " of " + owner})
		}
	}
	return out
}

func checkChain(byPath map[string]pkg) []violation {
	longest := make(map[string][]string) // the longest chain that starts at a package
	var from func(path string) []string
	from = func(path string) []string {
		if chain, ok := longest[path]; ok {
			return chain
		}
		longest[path] = nil
		var below []string
		for _, imp := range byPath[path].Imports {
			if isOurs(imp) {
				if chain := from(imp); len(chain) > len(below) {
					below = chain
				}
			}
		}
		longest[path] = append([]string{path}, below...)
		return longest[path]
	}
	var worst []string
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		if isOurs(path) {
			if chain := from(path); len(chain) > len(worst) {
				worst = chain
			}
		}
	}
	if len(worst) <= maxChain {
		return nil
	}
	what := fmt.Sprintf("%s: %d packages, at most %d", strings.Join(worst[1:], " -> "), len(worst), maxChain)
	return []violation{{chainRule, worst[0], what}}
}

func list(items ...string) []string { return items }

func isOurs(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// isStd trusts go list. It falls back on the look of the path for packages that were not listed.
func isStd(path string, byPath map[string]pkg) bool {
	if p, ok := byPath[path]; ok {
		return p.Standard
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func absolute(pattern string) string {
	if pattern == "." {
		return module
	}
	if rest, ok := strings.CutPrefix(pattern, "./"); ok {
		return module + "/" + rest
	}
	return pattern
}

func matchAny(patterns []string, path string, byPath map[string]pkg) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		switch pattern {
		case "std":
			return isStd(path, byPath)
		case "./...":
			return isOurs(path)
		case "./*test":
			return isOurs(path) && strings.HasSuffix(path, "test")
		}
		if below, ok := strings.CutSuffix(pattern, "/*"); ok {
			return strings.HasPrefix(path, absolute(below)+"/")
		}
		return path == absolute(pattern)
	})
}

// The tests.

// TestLayout holds every package of the module to the rules.
func TestLayout(t *testing.T) {
	root := testenv.ModuleRoot(t)
	touchSources(t, root)
	pkgs := goList(t, root)

	byPath := make(map[string]pkg)
	for _, p := range pkgs {
		byPath[p.ImportPath] = p
	}
	for _, want := range mustExist {
		if _, ok := byPath[absolute(want)]; !ok {
			t.Errorf("package %s is missing: the rules about it check nothing", absolute(want))
		}
	}
	for _, v := range check(pkgs) {
		t.Error(v)
	}
}

// goList describes the packages of the module and everything they import.
func goList(t *testing.T, root string) []pkg {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-json=ImportPath,Standard,Module,Imports,TestImports,XTestImports,Deps", "./...")
	cmd.Dir = root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(strings.NewReader(string(stdout))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		pkgs = append(pkgs, p)
	}
}

// touchSources reads every folder of the module. The go command then sees that the result of this
// test depends on them, and does not reuse a cached result after a source file changed.
func touchSources(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLayoutCheckerFindsViolations feeds the checker made-up packages: each rule must fire on what
// it forbids, and stay silent on what it allows.
func TestLayoutCheckerFindsViolations(t *testing.T) {
	// Shorthand: our(path, imports...) with paths as in the rules.
	our := func(path string, imports ...string) pkg {
		p := pkg{ImportPath: absolute(path)}
		for _, imp := range imports {
			p.Imports = append(p.Imports, absolute(imp))
		}
		return p
	}
	withTests := func(p pkg, inside, outside []string) pkg {
		for _, imp := range inside {
			p.TestImports = append(p.TestImports, absolute(imp))
		}
		for _, imp := range outside {
			p.XTestImports = append(p.XTestImports, absolute(imp))
		}
		return p
	}
	rootLinking := func(deps ...string) pkg {
		p := our(".")
		p.Deps = deps
		return p
	}
	third := func(path, mod string) pkg {
		return pkg{ImportPath: path, Module: &struct{ Path string }{mod}}
	}
	chain := func(n int) []pkg {
		var pkgs []pkg
		for i := 1; i < n; i++ {
			pkgs = append(pkgs, our(fmt.Sprintf("./c%d", i), fmt.Sprintf("./c%d", i+1)))
		}
		return append(pkgs, our(fmt.Sprintf("./c%d", n)))
	}

	tests := []struct {
		name string
		pkgs []pkg
		want []violation
	}{
		{name: "state imports the standard library", pkgs: []pkg{our("./state", "context", "encoding/json")}},
		{
			name: "state imports ours",
			pkgs: []pkg{our("./state", "./internal/ids")},
			want: []violation{{onlyStdRule, "./state", "./internal/ids"}},
		},
		{
			name: "llm imports a third party",
			pkgs: []pkg{our("./llm", "fmt", "github.com/google/uuid"), third("github.com/google/uuid", "github.com/google/uuid")},
			want: []violation{{onlyStdRule, "./llm", "github.com/google/uuid"}},
		},
		{
			name: "profile imports the root",
			pkgs: []pkg{our("./profile", ".")},
			want: []violation{{onlyStdRule, "./profile", "."}},
		},
		{name: "llm adapters import llm and their SDK", pkgs: []pkg{our("./llm/openai", "./llm", "github.com/openai/openai-go/v3")}},
		{
			name: "tests of state import what they like",
			pkgs: []pkg{withTests(our("./state"), list("pgregory.net/rapid"), list(".", "net/http", "testing"))},
		},

		{name: "internal imports internal", pkgs: []pkg{our("./internal/schema", "./internal/ids", "github.com/google/jsonschema-go/jsonschema")}},
		{
			name: "internal imports the root and state",
			pkgs: []pkg{our("./internal/sse", ".", "./state")},
			want: []violation{{internalRule, "./internal/sse", "."}, {internalRule, "./internal/sse", "./state"}},
		},

		{name: "root imports what it may", pkgs: []pkg{our(".", "./state", "./llm", "./profile", "./internal/ids")}},
		{
			name: "root imports a plugin and an llm adapter",
			pkgs: []pkg{our(".", "./plugin/stop", "./llm/openai")},
			want: []violation{{rootRule, ".", "./plugin/stop"}, {rootRule, ".", "./llm/openai"}},
		},

		{
			name: "net/http at the edges",
			pkgs: []pkg{
				our("./llm/openai", "net/http"), our("./protocol", "net/http"), our("./protocol/agui", "net/http"),
				our("./server", "net/http"), our("./console", "net/http"), our("./plugin/mcp", "net/http"),
				our("./internal/sse", "net/http"), our("./internal/httpguard", "net/http"),
			},
		},
		{
			name: "net/http elsewhere",
			pkgs: []pkg{our(".", "net/http"), our("./llm", "net/http"), our("./plugin/stop", "net/http/httputil")},
			want: []violation{{httpRule, ".", "net/http"}, {httpRule, "./llm", "net/http"}, {httpRule, "./plugin/stop", "net/http/httputil"}},
		},

		{
			name: "testing in test packages",
			pkgs: []pkg{our("./awakentest", "testing"), our("./llm/llmtest", "testing"), our("./internal/testenv", "testing")},
		},
		{
			name: "testing elsewhere",
			pkgs: []pkg{our("./state", "testing"), our("./store/memory", "testing/fstest")},
			want: []violation{{testingRule, "./state", "testing"}, {testingRule, "./store/memory", "testing/fstest"}},
		},

		{
			name: "no siblings",
			pkgs: []pkg{
				our("./store/postgres", ".", "./store/postgres/migrations"),
				our("./protocol/agui", "./protocol"),
				our("./plugin/mcp", "./protocol/mcp"),
				withTests(our("./store/memory"), list("./store/storetest"), list("./store/storetest")),
			},
		},
		{
			name: "siblings",
			pkgs: []pkg{
				our("./plugin/skills", "./plugin/mcp"),
				our("./protocol/aisdk/wire", "./protocol/agui"),
				withTests(our("./store/sqlite"), list("./store/memory"), list("./store/memory")),
				our("./store/memory", "./store/storetest"),
			},
			want: []violation{
				{siblingRule, "./plugin/skills", "./plugin/mcp"},
				{siblingRule, "./protocol/aisdk/wire", "./protocol/agui"},
				{siblingRule, "./store/memory", "./store/storetest"},
				{siblingRule, "./store/sqlite (test)", "./store/memory"},
			},
		},

		{
			name: "root links what it may",
			pkgs: []pkg{
				rootLinking("fmt", "vendor/golang.org/x/net/idna", absolute("./state"), "golang.org/x/text/message", "go.opentelemetry.io/otel/trace"),
				{ImportPath: "vendor/golang.org/x/net/idna", Standard: true},
				third("golang.org/x/text/message", "golang.org/x/text"),
				third("go.opentelemetry.io/otel/trace", "go.opentelemetry.io/otel/trace"),
			},
		},
		{
			name: "root links something else",
			pkgs: []pkg{
				rootLinking("github.com/spf13/cobra", "go.opentelemetry.io/otel/sdk/trace", "example.com/unlisted"),
				third("github.com/spf13/cobra", "github.com/spf13/cobra"),
				third("go.opentelemetry.io/otel/sdk/trace", "go.opentelemetry.io/otel/sdk"),
			},
			want: []violation{
				{linkRule, ".", "github.com/spf13/cobra of github.com/spf13/cobra"},
				{linkRule, ".", "go.opentelemetry.io/otel/sdk/trace of go.opentelemetry.io/otel/sdk"},
				{linkRule, ".", "example.com/unlisted of an unknown module"},
			},
		},

		{name: "longest chain", pkgs: chain(8)},
		{
			name: "chain too long",
			pkgs: chain(9),
			want: []violation{{chainRule, "./c1", strings.Join([]string{
				absolute("./c2"), absolute("./c3"), absolute("./c4"), absolute("./c5"),
				absolute("./c6"), absolute("./c7"), absolute("./c8"), absolute("./c9"),
			}, " -> ") + ": 9 packages, at most 8"}},
		},

		{
			name: "a module whose path starts like ours is not ours",
			pkgs: []pkg{our(".", module+"-tools/x")},
		},
	}

	fired := make(map[string]bool)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want []violation
			for _, v := range tt.want {
				fired[v.rule] = true
				want = append(want, violation{v.rule, absolute(v.pkg), absolute(v.imports)})
			}
			if got := check(tt.pkgs); !slices.Equal(got, want) {
				t.Errorf("got %d violations:\n%v\nwant %d:\n%v", len(got), got, len(want), want)
			}
		})
	}

	rules := list(siblingRule, linkRule, chainRule)
	for _, r := range importRules {
		rules = append(rules, r.name)
	}
	for _, rule := range rules {
		if !fired[rule] {
			t.Errorf("no case violates the rule %q", rule)
		}
	}
}
