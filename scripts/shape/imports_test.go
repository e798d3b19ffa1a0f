package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken/internal/testenv"
)

// TestImports holds every package of the module to the rules.
func TestImports(t *testing.T) {
	root := testenv.ModuleRoot(t)
	touchSources(t, root)
	pkgs, err := goList(root)
	if err != nil {
		t.Fatal(err)
	}

	byPath := make(map[string]pkg)
	for _, p := range pkgs {
		byPath[p.ImportPath] = p
	}
	for _, want := range mustExist {
		if _, ok := byPath[absolute(want)]; !ok {
			t.Errorf("package %s is missing: the rules about it check nothing", absolute(want))
		}
	}
	for _, v := range checkImports(pkgs) {
		t.Error(v)
	}
}

// TestTree holds the tree to every limit: sizes, exported names, and the exact table of imports.
func TestTree(t *testing.T) {
	root := testenv.ModuleRoot(t)
	touchSources(t, root)
	tree, err := readModule(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.packages) < 50 {
		t.Fatalf("%d packages: the tree was not read", len(tree.packages))
	}
	for _, v := range tree.violations() {
		t.Error(v)
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

// TestImportsCheckerFindsViolations feeds the checker made-up packages: each rule must fire on what
// it forbids, and stay silent on what it allows.
func TestImportsCheckerFindsViolations(t *testing.T) {
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
			name: "money and plugins import what they may",
			pkgs: []pkg{our("./limit/money", "./internal/strict"), our("./plugin/stop", ".", "./state/builtin", "./state", "./internal/glob")},
		},
		{
			name: "money imports the root, a plugin imports the registry",
			pkgs: []pkg{our("./limit/money", "."), our("./plugin/stop", "./registry")},
			want: []violation{{moneyRule, "./limit/money", "."}, {pluginRule, "./plugin/stop", "./registry"}},
		},
		{
			name: "profile imports the root",
			pkgs: []pkg{our("./state/profile", ".")},
			want: []violation{{onlyStdRule, "./state/profile", "."}},
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

		{name: "root imports what it may", pkgs: []pkg{our(".", "./state", "./llm", "./state/profile", "./internal/ids")}},
		{
			name: "root imports a plugin and an llm adapter",
			pkgs: []pkg{our(".", "./plugin/stop", "./llm/openai")},
			want: []violation{{rootRule, ".", "./plugin/stop"}, {rootRule, ".", "./llm/openai"}},
		},

		{name: "programs and kits import the engine", pkgs: []pkg{our("./cmd/awaken", "./engine"), our("./awakentest", "./engine"), our("./examples/embed", "./engine")}},
		{
			name: "server and mailbox import the engine",
			pkgs: []pkg{our("./server", "./engine"), our("./mailbox", "./engine")},
			want: []violation{{engineRule, "./mailbox", "./engine"}, {engineRule, "./server", "./engine"}},
		},
		{name: "server imports the registry", pkgs: []pkg{our("./server", "./registry")}},
		{
			name: "mailbox imports the registry",
			pkgs: []pkg{our("./mailbox", "./registry")},
			want: []violation{{mailboxRule, "./mailbox", "./registry"}},
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
			name: "wings",
			pkgs: []pkg{
				our("./server", "./server/figures"),
				our("./server/evals", "./server", "./server/automation"),
				our("./server/servertest", "./server/evals", "./server/figures"),
			},
			want: []violation{{wingRule, "./server", "./server/figures"}, {wingRule, "./server/evals", "./server/automation"}},
		},

		{
			name: "no siblings",
			pkgs: []pkg{
				our("./store/postgres", ".", "./store/postgres/schema"),
				our("./store/sqlite", "./store/internal/sqlstore"),
				our("./protocol/agui", "./protocol"),
				our("./plugin/mcp", "./internal/sse"),
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
				our("./store/internal/sqlstore", "./store/sqlite"),
			},
			want: []violation{
				{siblingRule, "./plugin/skills", "./plugin/mcp"},
				{siblingRule, "./protocol/aisdk/wire", "./protocol/agui"},
				{siblingRule, "./store/internal/sqlstore", "./store/sqlite"},
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

		{name: "longest chain", pkgs: chain(9)},
		{
			name: "chain too long",
			pkgs: chain(10),
			want: []violation{{chainRule, "./c1", strings.Join([]string{
				"./c2", "./c3", "./c4", "./c5", "./c6", "./c7", "./c8", "./c9", "./c10",
			}, " -> ") + ": 10 packages, at most 9"}},
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
				want = append(want, violation{v.rule, v.where, "imports " + v.what})
			}
			if got := checkImports(tt.pkgs); !slices.Equal(got, want) {
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
