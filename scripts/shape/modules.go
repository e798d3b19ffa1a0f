package main

import (
	"slices"
	"strings"
)

// moduleRule is about the module graph of every program that imports the library: it has what this module requires, for tests too.
const moduleRule = "modules that only tests use are small and on their list; programs of others are in internal/thirdparty"

// testModules are for moduleRule. Each is small and requires nothing that the product does not.
var testModules = list(
	"github.com/anishathalye/porcupine",
	"github.com/google/go-cmp",
	"github.com/rogpeppe/go-internal",
	"golang.org/x/tools",
	"pgregory.net/rapid",
)

// checkModules returns the packages of other modules that only tests and test kits import, and that no listed module has. It has a violation
// for each listed module that no test imports, too.
func checkModules(pkgs []pkg) []violation {
	modules := map[string]bool{} // that the product links
	owner := map[string]string{}
	for _, p := range pkgs {
		if p.Module != nil {
			owner[p.ImportPath] = p.Module.Path
		}
	}
	for _, p := range pkgs {
		if isOurs(p.ImportPath) && kindOf(relative(p.ImportPath)) != kit {
			for _, dep := range p.Deps {
				modules[owner[dep]] = true
			}
		}
	}
	has := func(module, path string) bool {
		return module != "" && (path == module || strings.HasPrefix(path, module+"/"))
	}
	var out []violation
	used := map[string]bool{}
	for _, p := range pkgs {
		if !isOurs(p.ImportPath) {
			continue
		}
		imported := slices.Concat(p.TestImports, p.XTestImports)
		if kindOf(relative(p.ImportPath)) == kit {
			imported = append(imported, p.Imports...)
		}
		slices.Sort(imported)
		for _, path := range slices.Compact(imported) {
			if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") || isOurs(path) {
				continue
			}
			if i := slices.IndexFunc(testModules, func(m string) bool { return has(m, path) }); i >= 0 {
				used[testModules[i]] = true
				continue
			}
			linked := false
			for m := range modules {
				linked = linked || has(m, path)
			}
			if !linked {
				out = append(out, imports(moduleRule, p.ImportPath+" (test)", path))
			}
		}
	}
	for _, m := range testModules {
		if !used[m] {
			out = append(out, violation{moduleRule, m, "is listed, and no test imports it"})
		}
	}
	return out
}
