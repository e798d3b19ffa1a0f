package main

import (
	"fmt"
	"maps"
	"slices"
)

// maxExceptions limits the list of exceptions.
const maxExceptions = 10

// limit is a limit of product code and kits.
type limit struct {
	rule    string // as a failing test prints it
	title   string // of its figures
	verb    string // "has" or "exports"
	unit    string
	max     int
	figures func(m *measure) []figure
}

// limits lists all limits.
var limits = []limit{
	{fieldsRule, "structs by fields", "has", "fields", 20, func(m *measure) []figure { return m.structs }},
	{interfaceRule, "interfaces by methods", "has", "methods", 9, func(m *measure) []figure { return m.interfaces }},
	{fileRule, "files by lines", "has", "lines", 600, func(m *measure) []figure { return m.files }},
	{functionRule, "functions by lines", "has", "lines", 100, func(m *measure) []figure { return m.functions }},
	{packageRule, "packages by code", "has", "lines of code", 10_000, func(m *measure) []figure { return m.figure(m.code) }},
	{exportedRule, "packages by exported names", "exports", "names", 260, func(m *measure) []figure { return m.figure(len(m.exported)) }},
	{importedRule, "packages by imports of ours", "has", "imports of ours", 30, (*measure).importFigure},
}

// The names of the limits.
const (
	fieldsRule    = "a struct has at most 20 fields, unless it is a wire or configuration type"
	interfaceRule = "an interface names at most 9 methods itself"
	fileRule      = "a file has at most 600 lines"
	functionRule  = "a function has at most 100 lines"
	packageRule   = "a package has at most 10,000 lines of code"
	exportedRule  = "a package exports at most 260 names"
	importedRule  = "a package imports at most 30 of our packages, cmd/awaken aside"
	exceptionRule = "there are at most 10 exceptions, and each is needed"
)

// exception raises a limit to max for one name.
type exception struct {
	rule   string
	name   string // as the figures print it
	max    int
	reason string
}

// exceptions lists all exceptions.
var exceptions = []exception{
	{fieldsRule, "awaken.RunQuery", 23, "the filters of a list, one for each field"},
	{fieldsRule, "llm/openai.Preset", 21, "what servers that speak like OpenAI do differently, one fact for each field: configuration in all but its name"},
	{exportedRule, "awaken", 291, "the vocabulary; what a tool continues with and what its call did to the run, what a run has read, where calls carry data, whether a call took effect and what a restored database has came after 260"},
	{interfaceRule, "cmd/awaken.database", 11, "one method for each port of a database"},
	{fieldsRule, "plugin/mcp.Server", 23, "how to reach and trust a server, read from a document: configuration in all but its name"},
}

// violations returns all violations of the rules.
func (t *tree) violations() []violation {
	return slices.Concat(t.checkLimits(exceptions), checkImports(t.listed), checkTable(importTable, t.listed))
}

// checkLimits returns the violations of limits, and unneeded exceptions.
func (t *tree) checkLimits(exceptions []exception) []violation {
	var out []violation
	used := make(map[int]bool)
	for _, m := range t.packages {
		for _, l := range limits {
			for _, f := range l.figures(m) {
				if f.n <= l.max || f.free {
					continue
				}
				what := fmt.Sprintf("%s %d %s", l.verb, f.n, l.unit)
				if i := slices.IndexFunc(exceptions, func(e exception) bool { return e.rule == l.rule && e.name == f.name }); i >= 0 {
					if used[i] = true; f.n <= exceptions[i].max {
						continue
					}
					what += fmt.Sprintf(", its exception allows %d", exceptions[i].max)
				}
				out = append(out, violation{l.rule, f.name, what})
			}
		}
	}
	for i, e := range exceptions {
		if !used[i] {
			out = append(out, violation{exceptionRule, e.name, "is excepted from a limit that it does not break: " + e.rule})
		}
		if e.reason == "" {
			out = append(out, violation{exceptionRule, e.name, "is excepted without a reason"})
		}
	}
	if n := len(exceptions); n > maxExceptions {
		out = append(out, violation{exceptionRule, "the list", fmt.Sprintf("has %d exceptions", n)})
	}
	return out
}

// figure returns a figure of the package itself.
func (m *measure) figure(n int) []figure { return []figure{{name: m.name(), n: n}} }

// importFigure returns how many of our packages the package imports.
func (m *measure) importFigure() []figure {
	return []figure{{name: m.name(), n: m.imports, free: m.path == "./cmd/awaken"}}
}

// typeFigures returns the number of methods of each type of a package.
func (m *measure) typeFigures() []figure {
	var out []figure
	for _, name := range slices.Sorted(maps.Keys(m.types)) {
		out = append(out, figure{name: m.name() + "." + name, n: m.types[name]})
	}
	return out
}
