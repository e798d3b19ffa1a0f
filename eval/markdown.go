package eval

import (
	"fmt"
	"io"
	"strings"
)

// WriteMarkdown writes changes as a table for a pull request: what blocks first, then what else changed. Cases that did not change are counted.
func WriteMarkdown(w io.Writer, changes []Change) error {
	var b strings.Builder
	blocking := 0
	for i := range changes {
		if changes[i].Blocking() {
			blocking++
		}
	}
	fmt.Fprintf(&b, "**%s** %s\n", verdict(blocking), Summary(changes))
	rows := 0
	for _, first := range []bool{true, false} {
		for i := range changes {
			c := &changes[i]
			if c.Blocking() != first || c.Kind == Unchanged {
				continue
			}
			if rows++; rows == 1 {
				b.WriteString("\n| Case | Change | |\n|---|---|---|\n")
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(c.Title()), cell(c.Explain()), map[bool]string{true: "blocks"}[first])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func verdict(blocking int) string {
	if blocking > 0 {
		return "Blocked:"
	}
	return "Passed:"
}

// cell escapes what ends a cell of a table or begins HTML.
func cell(text string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "\n", " ", "\r", " ", "`", "\\`").Replace(text)
}
