package main

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// importTable lists, for each package of product code and each kit, exactly which packages of this
// module its non-test files import. The rules in imports.go forbid imports for a reason; the table
// makes every new or removed import a line in a diff.
//
//go:embed imports.txt
var importTable string

const tableRule = "a package imports exactly what imports.txt lists (go run ./scripts/shape -imports writes it)"

// writeImports writes the table of imports of the tree.
func (t *tree) writeImports(out io.Writer) error {
	var b strings.Builder
	b.WriteString("# Which packages of this module each package imports, tests left out.\n" +
		"# Written by: go run ./scripts/shape -imports >scripts/shape/imports.txt\n")
	have := tableOf(t.listed)
	for _, path := range slices.Sorted(maps.Keys(have)) {
		fmt.Fprintf(&b, "\n%s\n", path)
		for _, imp := range have[path] {
			fmt.Fprintf(&b, "\t%s\n", imp)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// checkTable compares the imports of the listed packages with the table.
func checkTable(table string, listed []pkg) []violation {
	var out []violation
	want, have := parseTable(table), tableOf(listed)
	for _, path := range slices.Sorted(maps.Keys(have)) {
		allowed, ok := want[path]
		if !ok {
			out = append(out, violation{tableRule, path, "is not in the table"})
			continue
		}
		for _, imp := range have[path] {
			if !slices.Contains(allowed, imp) {
				out = append(out, violation{tableRule, path, "imports " + imp})
			}
		}
		for _, imp := range allowed {
			if !slices.Contains(have[path], imp) {
				out = append(out, violation{tableRule, path, "does not import " + imp})
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if _, ok := have[path]; !ok {
			out = append(out, violation{tableRule, path, "does not exist"})
		}
	}
	return out
}

func tableOf(listed []pkg) map[string][]string {
	table := make(map[string][]string)
	for _, p := range listed {
		rel := relative(p.ImportPath)
		if !isOurs(p.ImportPath) || kindOf(rel) == beside {
			continue
		}
		var ours []string
		for _, imp := range p.Imports {
			if isOurs(imp) {
				ours = append(ours, relative(imp))
			}
		}
		slices.Sort(ours)
		table[rel] = ours
	}
	return table
}

func parseTable(text string) map[string][]string {
	table := make(map[string][]string)
	path := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch imp, indented := strings.CutPrefix(line, "\t"); {
		case line == "", strings.HasPrefix(line, "#"):
		case indented:
			table[path] = append(table[path], imp)
		default:
			path = line
			table[path] = nil
		}
	}
	return table
}
