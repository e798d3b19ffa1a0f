package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// biggest is the number of entries in each list of the biggest things.
const biggest = 15

// print writes the figures of the tree.
func (t *tree) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	t.printPackages(w, product, "product package")
	t.printPackages(w, kit, "kit")

	fmt.Fprintf(w, "\ntotal\t\n")
	for _, k := range []kind{product, kit} {
		var packages, exported, methods, code int
		for _, m := range t.packages {
			if m.kind == k {
				packages++
				exported += len(m.exported)
				methods += len(m.methods)
				code += m.code
			}
		}
		name := map[kind]string{product: "product", kit: "kits"}[k]
		fmt.Fprintf(w, "%s\t%d packages\t%d exported names\t%d exported methods\t%d code lines\t\n", name, packages, exported, methods, code)
	}

	chain := longestChain(t.listed)
	fmt.Fprintf(w, "\nlongest import chain: %d\n", len(chain))
	for i, path := range chain {
		fmt.Fprintf(w, "  %d\t%s\t\n", i+1, relative(path))
	}

	var structs, free, types, files, functions []figure
	for _, m := range t.packages {
		for _, s := range m.structs {
			if s.free {
				free = append(free, s)
			} else {
				structs = append(structs, s)
			}
		}
		types = append(types, m.typeFigures()...)
		files = append(files, m.files...)
		functions = append(functions, m.functions...)
	}
	printBiggest(w, "structs by fields", maxFields, structs)
	printBiggest(w, "wire and configuration types by fields", 0, free)
	printBiggest(w, "types by methods", maxMethods, types)
	printBiggest(w, "files by lines", maxFileLines, files)
	printBiggest(w, "functions by lines", maxFunctionLines, functions)
	return w.Flush()
}

func (t *tree) printPackages(w io.Writer, k kind, title string) {
	fmt.Fprintf(w, "%s\texported names\texported methods\tcode lines\t\n", title)
	for _, m := range t.packages {
		if m.kind == k {
			fmt.Fprintf(w, "%s\t%d\t%d\t%d\t\n", m.path, len(m.exported), len(m.methods), m.code)
		}
	}
	fmt.Fprintln(w)
}

// printBiggest writes the biggest figures, and how many exceed the limit, if there is one.
func printBiggest(w io.Writer, title string, limit int, figures []figure) {
	slices.SortStableFunc(figures, func(a, b figure) int {
		return cmp.Or(cmp.Compare(b.n, a.n), strings.Compare(a.name, b.name))
	})
	fmt.Fprintf(w, "\n%s", title)
	if limit > 0 {
		above := 0
		for _, f := range figures {
			if f.n > limit {
				above++
			}
		}
		fmt.Fprintf(w, " (%d above %d)", above, limit)
	}
	fmt.Fprintln(w)
	for _, f := range figures[:min(biggest, len(figures))] {
		fmt.Fprintf(w, "  %d\t%s\t\n", f.n, f.name)
	}
}
