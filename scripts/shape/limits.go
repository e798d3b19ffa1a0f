package main

import (
	"fmt"
	"maps"
	"slices"
)

// The limits, for product code and kits.
const (
	maxFields        = 20 // of a struct that is neither a wire nor a configuration type
	maxMethods       = 40 // of a type
	maxFileLines     = 600
	maxFunctionLines = 100
	maxExceptions    = 10
)

// maxExported limits the exported names of packages.
var maxExported = map[string]int{
	// 260, what a tool continues with that was cut off (Step, CallStep, ErrInDoubt), what a run has read (Taint), where
	// calls carry data (Egress, EgressTo, Destined), whether a call took effect (Outcome, Doubt, Settlement and their values),
	// and what becomes of runs that a restored database has (Restoration, RunRestoration, Release, WaitRestored)
	".":          290,
	"./registry": 60,
	"./engine":   60,
	"./builtin":  60,
	"./money":    60,
}

// The names of the limits, as a failing test prints them.
const (
	fieldsRule    = "a struct has at most 20 fields, unless it is a wire or configuration type"
	methodsRule   = "a type has at most 40 methods"
	fileRule      = "a file has at most 600 lines"
	functionRule  = "a function has at most 100 lines"
	exportedRule  = "a package exports no more names than its limit"
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
	hold := func(rule, unit string, limit int, figures []figure) {
		for _, f := range figures {
			if f.n <= limit || f.free {
				continue
			}
			i := slices.IndexFunc(exceptions, func(e exception) bool { return e.rule == rule && e.name == f.name })
			if i >= 0 {
				used[i] = true
				if f.n > exceptions[i].max {
					out = append(out, violation{rule, f.name, fmt.Sprintf("has %d %s, its exception allows %d", f.n, unit, exceptions[i].max)})
				}
				continue
			}
			out = append(out, violation{rule, f.name, fmt.Sprintf("has %d %s", f.n, unit)})
		}
	}
	for _, m := range t.packages {
		hold(fieldsRule, "fields", maxFields, m.structs)
		hold(methodsRule, "methods", maxMethods, m.typeFigures())
		hold(fileRule, "lines", maxFileLines, m.files)
		hold(functionRule, "lines", maxFunctionLines, m.functions)
		if limit, ok := maxExported[m.path]; ok && len(m.exported) > limit {
			out = append(out, violation{exportedRule, m.path, fmt.Sprintf("exports %d names, at most %d", len(m.exported), limit)})
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

// typeFigures returns the number of methods of each type of a package.
func (m *measure) typeFigures() []figure {
	var out []figure
	for _, name := range slices.Sorted(maps.Keys(m.types)) {
		out = append(out, figure{name: m.name() + "." + name, n: m.types[name]})
	}
	return out
}
