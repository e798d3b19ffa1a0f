package main

import (
	"fmt"
	"slices"
	"strings"
)

// The rules.
//
// Packages of this module are written relative to its root: "." is the root package, "./state" is
// one package, "./llm/*" is every package below ./llm at any depth but not ./llm itself, "./..." is
// every package. "./*test" is every package whose path ends in "test". "std" is every package of
// the standard library. Anything else is an import path, with the same "/*".

// The names of the rules, as a failing test prints them.
const (
	onlyStdRule  = "state, llm and profile import only the standard library, the JSON decoder and encoder, and ropes"
	moneyRule    = "money imports of ours only internal packages"
	pluginRule   = "plugins import of ours only the vocabulary, builtin, state, llm, profile, the words of traces and internal packages"
	internalRule = "internal packages import nothing of ours outside internal, the kit of process tests aside"
	rootRule     = "the root package imports of ours only state, llm, money, profile and internal packages"
	engineRule   = "only commands, test kits and examples import the engine"
	mailboxRule  = "the queue does not know the registry"
	httpRule     = "net/http stays at the edges"
	testingRule  = "only test packages import testing"
	wingRule     = "the kernel of the server knows no wing, and no wing knows another"
	siblingRule  = "siblings do not import each other"
	linkRule     = "the root package links only the modules on its list"
	chainRule    = "import chains are short"
)

// importRules limit what the non-test files of a package import directly.
var importRules = []importRule{
	{
		name:  onlyStdRule,
		of:    list("./state", "./llm", "./state/profile"),
		allow: list("std", "./internal/strict", "./internal/appendjson", "./internal/rope"),
	},
	{
		name:  moneyRule,
		of:    list("./limit/money"),
		allow: list("std", "./internal/*"),
	},
	{
		name:   pluginRule,
		of:     list("./plugin/*"),
		forbid: list("./..."),
		allow:  list(".", "./state/builtin", "./state", "./llm", "./state/profile", "./trace", "./plugin/*", "./internal/*"),
	},
	{
		name:   internalRule,
		of:     list("./internal/*"),
		except: list("./internal/rigtest"),
		forbid: list("./..."),
		allow:  list("./internal/*"),
	},
	{
		name:   rootRule,
		of:     list("."),
		forbid: list("./..."),
		allow:  list("./state", "./llm", "./limit/money", "./state/profile", "./internal/*"),
	},
	{
		name:   engineRule,
		of:     list("./..."),
		except: list("./engine", "./cmd/*", "./*test", "./examples/*", "./scripts/conformance"),
		forbid: list("./engine", "./engine/*"),
	},
	{
		name:   mailboxRule,
		of:     list("./mailbox"),
		forbid: list("./registry", "./registry/*"),
	},
	{
		name: httpRule,
		of:   list("./..."),
		except: list("./llm/*", "./protocol", "./protocol/*", "./server", "./server/*", "./console", "./plugin/mcp", "./plugin/mcp/oauth", "./plugin/mcp/oauth/oauthtest", "./plugin/web", "./automate/webhook/deliver",
			"./internal/sse", "./internal/httpguard", "./internal/httpguard/guardtest", "./internal/otlptest", "./internal/rigtest", "./examples/*", "./cmd/awaken", "./scripts/conformance"),
		forbid: list("net/http", "net/http/*"),
	},
	{
		name:   wingRule,
		of:     append(list("./server"), wings...),
		forbid: wings,
	},
	{
		name:   testingRule,
		of:     list("./..."),
		except: list("./*test", "./internal/testenv"),
		forbid: list("testing", "testing/*"),
	},
}

// wings are the packages of routes that a program adds to a server.
var wings = list("./server/access", "./server/automation", "./server/control", "./server/evals", "./server/figures", "./server/runs")

// siblingFolders are for siblingRule: packages below different children of one of these folders must
// not import each other, neither in tests nor elsewhere. Tests may import a sibling that ends in "test",
// such as ./store/storetest. All of them may import a folder internal among them, such as ./store/internal.
var siblingFolders = list("./store", "./plugin", "./protocol")

// rootModules are for linkRule: the root package links only these modules, directly or indirectly.
// Every program that imports the library links them, so the list is short and exact.
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

// maxChain is for chainRule: the maximum length of a chain of our packages, each importing the next. The longest is
// cmd/awaken, a wing, server, protocol, mailbox, eventlog, the root, llm, internal/appendjson.
const maxChain = 9

// mustExist names packages that must exist, so that the rules check something.
var mustExist = list(".", "./state", "./llm")

// The checker.

type importRule struct {
	name   string
	of     []string // packages that the rule applies to
	except []string // exceptions from of
	forbid []string // what they must not import; empty means everything
	allow  []string // exceptions from forbid
}

// checkImports returns the violations of the rules about imports, ordered by rule and package.
func checkImports(pkgs []pkg) []violation {
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
					out = append(out, imports(r.name, p.ImportPath, imp))
				}
			}
		}
	}
	out = append(out, checkSiblings(ours)...)
	out = append(out, checkRootLinks(byPath)...)
	out = append(out, checkChain(pkgs)...)
	return out
}

func imports(rule, from, what string) violation {
	return violation{rule, relative(from), "imports " + relative(what)}
}

func checkSiblings(ours []pkg) []violation {
	var out []violation
	for _, p := range ours {
		for _, imp := range p.Imports {
			if areSiblings(p.ImportPath, imp) {
				out = append(out, imports(siblingRule, p.ImportPath, imp))
			}
		}
		testImports := slices.Concat(p.TestImports, p.XTestImports)
		slices.Sort(testImports)
		for _, imp := range slices.Compact(testImports) {
			if areSiblings(p.ImportPath, imp) && !strings.HasSuffix(imp, "test") {
				out = append(out, imports(siblingRule, p.ImportPath+" (test)", imp))
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
			return childA != childB && childB != "internal"
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
			out = append(out, imports(linkRule, module, dep+" of "+owner))
		}
	}
	return out
}

func checkChain(listed []pkg) []violation {
	chain := longestChain(listed)
	if len(chain) <= maxChain {
		return nil
	}
	for i, path := range chain {
		chain[i] = relative(path)
	}
	what := fmt.Sprintf("imports %s: %d packages, at most %d", strings.Join(chain[1:], " -> "), len(chain), maxChain)
	return []violation{{chainRule, chain[0], what}}
}

func list(items ...string) []string { return items }

// isStd reports whether path is in the standard library, according to go list. For packages that
// were not listed, it looks at the path.
func isStd(path string, byPath map[string]pkg) bool {
	if p, ok := byPath[path]; ok {
		return p.Standard
	}
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
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
