package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/internal/pattern"
	"github.com/awaken-go/awaken/internal/toolname"
)

const patternHelp = `Explain whether a pattern of a permission or reminder rule matches a tool call. Without
--tool, only check the pattern.

Exit status:
  0  the pattern matches
  1  it does not match
  2  invalid pattern or command line`

func patternCommand(con *console) *cobra.Command {
	var tool, args string
	cmd := &cobra.Command{
		Use:     "pattern PATTERN",
		Short:   "Explain whether a pattern matches a tool call",
		Long:    patternHelp,
		Example: `  awaken pattern 'Bash(npm *)' --tool Bash --args '{"command":"npm install"}'`,
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&tool, "tool", "", "`tool` of the call; without it, the pattern is only checked")
	cmd.Flags().StringVar(&args, "args", "{}", "arguments of the call, as `JSON`")
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		p, err := pattern.Compile(list[0])
		if err != nil {
			if e, ok := errors.AsType[*pattern.Error](err); ok {
				return &exitError{code: exitUsage, err: fmt.Errorf("offset %d: %s", e.Offset, e.Message), hint: underline(list[0], e.Offset)}
			}
			return usageError("%w", err)
		}
		if !json.Valid([]byte(args)) {
			return usageError("--args is %.60q, want JSON", args)
		}
		if !cmd.Flags().Changed("tool") {
			_, err := fmt.Fprintf(con.out, "%s is a valid pattern\n", printable(p.String(), false))
			return written(err)
		}
		return explain(con, p, pattern.NewCall(toolname.Plain(tool), json.RawMessage(args)))
	}
	return cmd
}

func explain(con *console, p *pattern.Pattern, c *pattern.Call) error {
	w := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
	for _, part := range p.Explain(c) {
		found := "missing"
		if len(part.Found) > 0 {
			found = fmt.Sprintf("%.200q", part.Found[0])
		}
		if n := len(part.Found); n > 1 {
			found += fmt.Sprintf(" and %d more", n-1)
		}
		verdict := "no"
		if part.OK {
			verdict = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(part.Name, false), printable(part.Wants, false), found, verdict)
	}
	if err := w.Flush(); err != nil {
		return written(err)
	}
	if !p.Match(c) {
		fmt.Fprintln(con.out, "the pattern does not match")
		if p.MatchAny(c) {
			fmt.Fprintln(con.out, "in a rule that denies, it matches: such a rule looks for its argument in every value")
		}
		return &exitError{code: exitFailed}
	}
	_, err := fmt.Fprintln(con.out, "the pattern matches")
	return written(err)
}

// underline marks an offset in a text.
func underline(text string, offset int) string {
	if strings.ContainsAny(text, "\r\n\t") {
		return ""
	}
	return "  " + printable(text, false) + "\n  " + strings.Repeat(" ", len([]rune(text[:offset]))) + "^"
}
