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

	var free, types, wide []figure
	for _, m := range t.packages {
		for _, s := range m.structs {
			if s.free {
				free = append(free, s)
			}
		}
		types = append(types, m.typeFigures()...)
		wide = append(wide, m.figure(m.wide)...)
	}
	for _, l := range limits {
		var all []figure
		for _, m := range t.packages {
			all = append(all, slices.DeleteFunc(slices.Clone(l.figures(m)), func(f figure) bool { return f.free })...)
		}
		printBiggest(w, l.title, l.max, all)
	}
	printBiggest(w, "wire and configuration types by fields", 0, free)
	printBiggest(w, "types by methods", 0, types)
	printBiggest(w, fmt.Sprintf("packages by lines of more than %d columns", maxColumns), 0, wide)
	t.printNearest(w)
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

// nearest is how many things are listed that are nearest to their limits.
const nearest = 10

// printNearest writes the things that are at or just below a limit. Look at them, and do not squeeze them.
func (t *tree) printNearest(w io.Writer) {
	type near struct {
		figure
		limit
	}
	var all []near
	for _, m := range t.packages {
		for _, l := range limits {
			for _, f := range l.figures(m) {
				if f.n <= l.max && !f.free {
					all = append(all, near{f, l})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b near) int {
		return cmp.Or(cmp.Compare(float64(b.n)/float64(b.max), float64(a.n)/float64(a.max)), strings.Compare(a.name, b.name))
	})
	fmt.Fprintf(w, "\nnearest to a limit\n")
	for _, n := range all[:min(nearest, len(all))] {
		fmt.Fprintf(w, "  %d of %d %s\t%s\t\n", n.n, n.max, n.unit, n.name)
	}
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
