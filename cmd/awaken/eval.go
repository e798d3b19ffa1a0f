package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken/eval"
)

func evalCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "eval", Short: "Evaluate agents"}
	cmd.AddCommand(evalRunCommand(con), evalDiffCommand(con), evalBaselineCommand(con))
	return cmd
}

const evalDiffHelp = `Compare a file of reports with a baseline, case by case. A file has one report per line,
as written by evaluations.

A variant is compared with the one of the same name, or else with the only one of the
baseline, so that two models or prompts can be compared.

Four differences block a release: a regression, a missing case, a case that passes with its
script but differs, and a new case that fails. If models answered, paired tests by case show
whether the differences may be chance.

Exit status:
  0  no difference blocks
  1  a difference blocks
  2  invalid file or command line`

// diffFormats are the formats of awaken eval diff.
var diffFormats = map[string]func(con *console, changes []eval.Change, latest []eval.Item) error{
	"text": func(con *console, changes []eval.Change, _ []eval.Item) error {
		for i := range changes {
			c := &changes[i]
			if c.Kind == eval.Unchanged {
				continue
			}
			mark := " "
			if c.Blocking() {
				mark = "!"
			}
			if _, err := fmt.Fprintf(con.out, "%s %s: %s\n", mark, printable(c.Title(), false), printable(c.Explain(), false)); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(con.out, eval.Summary(changes))
		return err
	},
	"json": func(con *console, changes []eval.Change, _ []eval.Item) error {
		return json.NewEncoder(con.out).Encode(changes)
	},
	"junit": func(con *console, changes []eval.Change, latest []eval.Item) error {
		return eval.WriteJUnit(con.out, "awaken eval", changes, latest)
	},
	"markdown": func(con *console, changes []eval.Change, _ []eval.Item) error {
		return eval.WriteMarkdown(con.out, changes)
	},
}

func evalDiffCommand(con *console) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "diff BASELINE NEW",
		Short:   "Compare reports with a baseline",
		Long:    evalDiffHelp,
		Example: "  awaken eval diff main.ndjson branch.ndjson --format markdown",
		Args:    cobra.ExactArgs(2),
	}
	cmd.Flags().StringVar(&format, "format", "text", "`format` of the comparison: text, json, junit or markdown")
	cmd.RunE = func(_ *cobra.Command, files []string) error {
		write, ok := diffFormats[format]
		if !ok {
			return usageError("--format is %q; want text, json, junit or markdown", format)
		}
		baseline, err := reportsOf(files[0])
		if err != nil {
			return err
		}
		latest, err := reportsOf(files[1])
		if err != nil {
			return err
		}
		if len(baseline)+len(latest) == 0 {
			return configError("neither %s nor %s has a report; want the reports of evaluations", files[0], files[1])
		}
		changes := eval.Diff(baseline, latest)
		if err := write(con, changes, latest); err != nil {
			return written(err)
		}
		if err := printComparisons(con, format, latest, eval.Compare(baseline, latest)); err != nil {
			return written(err)
		}
		return blocked(changes)
	}
	return cmd
}

// printComparisons prints paired tests of variants whose answers came from models: scripts leave nothing to chance. Formats for programs do not have them.
func printComparisons(con *console, format string, latest []eval.Item, all []eval.Comparison) error {
	if format != "text" || !slices.ContainsFunc(latest, func(it eval.Item) bool { return it.Live() }) {
		return nil
	}
	for i := range all {
		if _, err := fmt.Fprintln(con.out, printable(all[i].String(), false)); err != nil {
			return err
		}
	}
	return nil
}

// blocked fails if one of the changes blocks.
func blocked(changes []eval.Change) error {
	var blocking []string
	for i := range changes {
		if changes[i].Blocking() {
			blocking = append(blocking, changes[i].Title())
		}
	}
	if n := len(blocking); n > 5 {
		blocking = append(blocking[:5], fmt.Sprintf("and %d more", n-5))
	}
	if len(blocking) > 0 {
		return failed(fmt.Errorf("blocked by %s", strings.Join(blocking, ", ")))
	}
	return nil
}

func reportsOf(file string) ([]eval.Item, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, configError("%w", err)
	}
	defer f.Close()
	items, err := eval.ReadReports(f)
	if err != nil {
		return nil, configError("%s: %w", file, err)
	}
	return items, nil
}

// writeReports writes a file of reports, all or nothing.
func writeReports(file string, items []eval.Item) (err error) {
	if st, err := os.Stat(file); err == nil && !st.Mode().IsRegular() { // such as /dev/null, which must stay what it is
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(eval.WriteReports(f, items), f.Close())
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", file, errors.Unwrap(err))
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if err := eval.WriteReports(tmp, items); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Chmod(0o644), tmp.Close()); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
