package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/eval"
	"github.com/awaken-go/awaken/eval/runner"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
)

const evalRunHelp = `Run cases and report what the agent did. The cases are in a file, or in the .json files of a
folder: fixtures, or datasets of fixtures.

The scripts of the cases answer instead of a model, so nothing leaves this machine: with a bare
agent, or with the prompts, plugins and tools of the agents that --agent names. --live uses the
agents' own models instead, and --model other models. --variants names a file with prompts and
parameters to compare. Several agents, models and variants make a matrix.

Tools have no effects. A call gets the result in tool_results of its case; without one, a
read-only tool is called, and any other call fails.

Before models are asked, an estimate of tokens, cost and time is printed, with the limits.
Variants are compared by paired tests, case by case.

With --baseline, the reports are compared with a file of reports: see 'awaken eval diff'.

Exit status:
  0  all cases passed; with --baseline, no difference blocks
  1  a case failed; with --baseline, a difference blocks
  2  invalid file or command line
  130  cancelled by Ctrl-C: the reports of finished cases are written (a second Ctrl-C exits immediately)`

const evalRunExamples = `  awaken eval run --fixtures cases --report new.ndjson
  awaken eval run --fixtures cases --report new.ndjson --baseline main.ndjson --format markdown
  awaken eval run --fixtures cases --report new.ndjson -f agent.yaml --agent support
  awaken eval run --fixtures cases --report new.ndjson -f agent.yaml --model openai:gpt-5.5 --samples 5
  awaken eval run --fixtures cases --report new.ndjson -f agent.yaml --live --variants prompts.json`

// evalFlags are the flags of awaken eval run.
type evalFlags struct {
	runFlags
	fixtures, report, baseline, format string
	agents, models                     []string
	variantsFile                       string
	live                               bool
	samples, concurrency               int
	tokens                             int64
	usd                                float64
	time                               time.Duration
	judge, rubric                      string
	votes                              int
	given                              func(flag string) bool // on the command line
}

func evalRunCommand(con *console) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{Use: "run", Short: "Run cases and report", Long: evalRunHelp, Example: evalRunExamples, Args: cobra.NoArgs}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.fixtures, "fixtures", "", "`file` or folder with the cases")
	fl.StringVar(&f.report, "report", "", "`file` to write the reports to, one JSON object per line")
	fl.StringVar(&f.baseline, "baseline", "", "`file` of reports to compare with")
	fl.StringVar(&f.format, "format", "text", "output `format`: text, json, junit or markdown")
	fl.StringVarP(&f.file, "file", "f", "", "YAML or JSON `file` with agents, models and providers")
	fl.StringArrayVar(&f.agents, "agent", nil, "`id` of an agent to run; may be repeated")
	fl.StringArrayVar(&f.models, "model", nil, "`id` of a model in the file, or provider:model, that answers instead of the scripts; may be repeated")
	fl.StringVar(&f.variantsFile, "variants", "", "JSON `file` with a list of variants: id, system_prompt, agent_overrides and parameters")
	fl.StringVar(&f.keyFile, "key-file", "", "`file` with the API key for --model; default the provider's environment variable")
	fl.BoolVar(&f.live, "live", false, "use the agents' own models instead of the scripts")
	fl.IntVar(&f.samples, "samples", 0, "`number` of samples for each case and model")
	fl.IntVar(&f.concurrency, "concurrency", 5, "`number` of cases to run at a time")
	fl.Int64Var(&f.tokens, "max-tokens", 0, "maximum `number` of tokens; then no further case starts. 0 means no limit; the default is 5 times the estimate")
	fl.Float64Var(&f.usd, "max-cost", 0, "maximum cost in `US dollars`; then no further case starts. 0 means no limit; the default is 5 times the estimate")
	fl.DurationVar(&f.time, "max-time", 0, "maximum `time`; then no further case starts. 0 means no limit; the default is 5 times the estimate")
	fl.StringVar(&f.judge, "judge", "", "`id` or provider:model of the model that grades answers")
	fl.StringVar(&f.rubric, "rubric", "", "description of a good answer, for --judge")
	fl.IntVar(&f.votes, "votes", 1, "`number` of grades by --judge for each answer; the median counts")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f.given = cmd.Flags().Changed
		if err := f.check(); err != nil {
			return err
		}
		return evalRun(cmd.Context(), con, &f)
	}
	return cmd
}

func (f *evalFlags) isLive() bool { return f.live || len(f.models) > 0 }

func (f *evalFlags) check() error {
	if _, ok := diffFormats[f.format]; !ok {
		return usageError("--format is %q; want text, json, junit or markdown", f.format)
	}
	switch {
	case f.fixtures == "":
		return usageError("--fixtures is missing: the file or folder with the cases")
	case f.report == "":
		return usageError("--report is missing: the file to write the reports to")
	case f.samples < 0 || f.samples > 0 && !f.isLive():
		return usageError("--samples is %d; want 1 or more, with --live or --model: a script always answers alike", f.samples)
	case f.concurrency < 1:
		return usageError("--concurrency is %d; want 1 or more", f.concurrency)
	case f.votes < 1 || f.votes > 1 && f.judge == "":
		return usageError("--votes is %d; want 1 or more, with --judge", f.votes)
	case f.rubric != "" && f.judge == "":
		return usageError("--rubric needs --judge, the model that grades by it")
	case f.tokens < 0:
		return usageError("--max-tokens is %d; want 0 or more", f.tokens)
	case !(f.usd >= 0):
		return usageError("--max-cost is %v; want 0 or more", f.usd)
	case f.time < 0:
		return usageError("--max-time is %v; want 0 or more", f.time)
	case f.keyFile != "" && len(f.models) == 0 && f.judge == "":
		return usageError("--key-file needs --model or --judge")
	case f.variantsFile != "" && !f.isLive():
		return usageError("--variants needs --live or --model: a script answers every prompt alike")
	case f.judge != "" && !f.isLive():
		return usageError("--judge needs --live or --model: scripted answers need no grade")
	}
	for flag, values := range map[string][]string{"--agent": f.agents, "--model": f.models} {
		for i, v := range values {
			if slices.Contains(values[:i], v) {
				return usageError("%s is %q twice; want each once, or --samples to ask a model several times", flag, v)
			}
		}
	}
	return nil
}

// checkReport refuses a report that cannot be written, or that would overwrite what the evaluation reads, before anything is asked.
func (f *evalFlags) checkReport() error {
	report, err := os.Stat(f.report)
	if err == nil && report.IsDir() {
		return configError("--report is %q, which is a folder; want a file", f.report)
	}
	for _, input := range []string{f.fixtures, f.baseline, f.file, f.variantsFile, f.keyFile} {
		if in, inErr := os.Stat(input); err == nil && inErr == nil && os.SameFile(in, report) {
			return configError("--report is %q, which the evaluation reads; want another file", f.report)
		}
	}
	if err == nil && !report.Mode().IsRegular() { // such as /dev/null
		return nil
	}
	folder, err := os.Stat(filepath.Dir(f.report))
	if cases, casesErr := os.Stat(f.fixtures); err == nil && casesErr == nil && os.SameFile(folder, cases) && filepath.Ext(f.report) == ".json" {
		return configError("--report is %q, which would become a case; want a name that does not end with .json, or another folder", f.report)
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.report), ".awaken-*")
	if err != nil {
		return configError("--report is %q: %w", f.report, errors.Unwrap(err))
	}
	return fileError(errors.Join(tmp.Close(), os.Remove(tmp.Name())))
}

func evalRun(ctx context.Context, con *console, f *evalFlags) error {
	dataset, err := eval.Load(f.fixtures)
	if err != nil {
		return configError("--fixtures: %w", err)
	}
	for i := range dataset.Fixtures {
		if c := &dataset.Fixtures[i]; c.Expect.MinJudgeScore != nil && f.judge == "" {
			return configError("%s: fixture %q has expect.min_judge_score; want --judge, with --live or --model", f.fixtures, c.ID)
		}
	}
	var baseline []eval.Item
	if f.baseline != "" {
		if baseline, err = reportsOf(f.baseline); err != nil {
			return configError("--baseline: %w", err)
		}
	}
	if err := f.checkReport(); err != nil {
		return err
	}
	plan := &runner.Plan{Fixtures: dataset.Fixtures, Samples: f.samples, Limits: runner.Limits{Concurrency: f.concurrency, Time: f.time, Tokens: f.tokens, USD: f.usd}}
	if err := f.vary(ctx, con, plan); err != nil {
		return err
	}
	f.estimate(con, plan)
	sig := listen()
	defer sig.stop()
	var items []eval.Item
	ctx = sig.during(ctx, func(ctx context.Context) { items, err = runCells(ctx, con, plan) })
	if err != nil && len(items) == 0 {
		return outcome(ctx, nil, err)
	}
	if writeErr := writeReports(f.report, items); writeErr != nil {
		return failed(errors.Join(writeErr, err))
	}
	if err != nil {
		e, _ := errors.AsType[*exitError](outcome(ctx, nil, err))
		return &exitError{code: e.code, err: fmt.Errorf("%w after %d of %d cases; their reports are in %s", e.err, len(items), plan.Len(), f.report)}
	}
	changes := eval.Diff(baseline, items)
	if f.baseline == "" && f.format == "text" {
		err = printItems(con, items)
	} else {
		err = diffFormats[f.format](con, changes, items)
	}
	if err != nil {
		return written(err)
	}
	comparisons := eval.CompareVariants(items, 0)
	if f.baseline != "" {
		comparisons = eval.Compare(baseline, items)
	}
	if err := printComparisons(con, f.format, items, comparisons); err != nil {
		return written(err)
	}
	return blocked(changes)
}

// estimate prints what a live plan probably takes, and its limits: the flags, or else limits that leave room above the estimate.
func (f *evalFlags) estimate(con *console, plan *runner.Plan) {
	if !f.isLive() {
		return
	}
	asked := plan.Limits
	e := plan.Fit(nil)
	if f.given("max-tokens") {
		plan.Limits.Tokens = asked.Tokens
	}
	if f.given("max-cost") {
		plan.Limits.USD = asked.USD
	}
	if f.given("max-time") {
		plan.Limits.Time = asked.Time
	}
	var limits []string
	if l := plan.Limits; l.Tokens > 0 {
		limits = append(limits, fmt.Sprintf("%d tokens", l.Tokens))
	}
	if l := plan.Limits; l.USD > 0 {
		limits = append(limits, fmt.Sprintf("%.4g US dollars", l.USD))
	}
	if l := plan.Limits; l.Time > 0 {
		limits = append(limits, l.Time.String())
	}
	if len(limits) == 0 {
		limits = []string{"none"}
	}
	fmt.Fprintf(con.err, "%s; limits: %s\n", e.String(), strings.Join(limits, ", "))
}

// runCells runs a plan, and returns the reports of the cells that were run, in their order. A terminal shows how far it is.
func runCells(ctx context.Context, con *console, plan *runner.Plan) ([]eval.Item, error) {
	all := make([]*eval.Item, plan.Len())
	done, bad := 0, 0
	err := (&runner.Runner{Open: openCell}).Run(ctx, plan, func(n int, item eval.Item) error {
		all[n] = &item
		if done++; !item.Report.Passed {
			bad++
		}
		if con.errTTY {
			fmt.Fprintf(con.err, "\r\x1b[K%d of %d run, %d failed", done, len(all), bad)
		}
		return nil
	})
	if con.errTTY && done > 0 {
		fmt.Fprint(con.err, "\r\x1b[K")
	}
	items := make([]eval.Item, 0, done)
	for _, it := range all {
		if it != nil {
			items = append(items, *it)
		}
	}
	return items, err
}

// openCell returns the runtime of a cell.
func openCell(s runner.Setup) (runner.Runtime, error) {
	return engine.New(engine.Config{Versions: s.Versions, Executor: s.Executor, Store: memory.New(), Profile: memory.NewProfile()})
}

// vary adds the variants and the judge that the flags name.
func (f *evalFlags) vary(ctx context.Context, con *console, plan *runner.Plan) error {
	if !f.isLive() && len(f.agents) == 0 {
		plan.Variants = []runner.Variant{runner.Scripted()}
		return nil
	}
	f.quiet = true
	cfg, err := configure(con, &f.runFlags, outbound{})
	if err != nil {
		return err
	}
	for i, name := range slices.Concat(f.models, []string{f.judge}) {
		known := slices.ContainsFunc(cfg.Models, func(m awaken.ModelSpec) bool { return m.ID == name }) || slices.ContainsFunc(cfg.Pools, func(p awaken.ModelPoolSpec) bool { return p.ID == name })
		if name == "" || known {
			continue
		}
		flag := "--model"
		if i == len(f.models) {
			flag = "--judge"
		}
		if err := (outbound{}).addModel(&cfg, flag, name, name, f.keyFile); err != nil {
			return configError("%w", err)
		}
	}
	discover(ctx, &cfg, slog.New(slog.DiscardHandler))
	rt, err := engine.New(cfg)
	if err != nil {
		return configError("%w", inFile(f.file, err))
	}
	reg := rt.Registry()
	if len(f.agents) == 0 {
		f.agents = []string{""}
	}
	for i, id := range f.agents {
		agent, err := chooseAgent(cfg.Agents, id)
		if err != nil {
			return configError("%w", inFile(f.file, err))
		}
		f.agents[i] = agent.ID
	}
	if plan.Variants, err = f.variants(reg); err != nil {
		return err
	}
	if f.judge != "" {
		plan.Judge = &runner.Judge{Registry: reg, ModelID: f.judge, Rubric: f.rubric, Votes: f.votes}
	}
	return nil
}

// variants returns every agent with every model and every choice.
func (f *evalFlags) variants(reg *registry.Registry) (out []runner.Variant, err error) {
	models, choices := f.models, []runner.Choice{{}}
	if len(models) == 0 {
		models = []string{""}
	}
	if f.variantsFile != "" {
		if choices, err = readChoices(f.variantsFile); err != nil {
			return nil, configError("--variants: %w", err)
		}
	}
	for _, agent := range f.agents {
		for _, model := range models {
			base, err := runner.Patched(reg, agent, model, nil)
			if err != nil {
				return nil, configError("%w", inFile(f.file, err))
			}
			for i := range choices {
				c := &choices[i]
				v := runner.Variant{Registry: base, AgentID: agent, Scripted: !f.isLive(), Parameters: c.Parameters}
				if f.variantsFile != "" {
					if v.Registry, err = chosen(base, agent, model, c); err != nil {
						return nil, configError("%w", inFile(f.variantsFile, err))
					}
				}
				cell := eval.Cell{ModelID: model, Variant: c.ID}
				if len(f.agents) > 1 {
					cell.AgentID = agent
				}
				if cell != (eval.Cell{}) {
					v.Cell = &cell
				}
				out = append(out, v)
			}
		}
	}
	return out, nil
}

// chosen returns a registry with what a variant changes of an agent.
func chosen(reg *registry.Registry, agent, model string, c *runner.Choice) (*registry.Registry, error) {
	overrides, err := c.Overrides(nil)
	if err != nil {
		return nil, err
	}
	if reg, err = runner.Patched(reg, agent, model, overrides); err != nil {
		return nil, fmt.Errorf("variant %q: %w", c.ID, err)
	}
	if c.Parameters != nil {
		err = protocol.CheckOverride(fmt.Sprintf("variant %q: parameters", c.ID), c.Parameters, reg, agent)
	}
	return reg, err
}

// readChoices reads a file of variants.
func readChoices(file string) (out []runner.Choice, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := strict.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: the list of variants is empty", file)
	}
	seen := map[string]bool{}
	for i := range out {
		if id := out[i].ID; id == "" || len(id) > 100 || seen[id] {
			return nil, fmt.Errorf("%s: [%d].id is %.100q; want a name of up to 100 bytes that no other variant has", file, i, id)
		}
		seen[out[i].ID] = true
	}
	return out, nil
}

// printItems prints the cases that failed, and how many passed.
func printItems(con *console, items []eval.Item) error {
	passed := 0
	for i := range items {
		it := &items[i]
		if it.Report.Passed {
			passed++
			continue
		}
		var why []string
		for j := range it.Report.Failures {
			why = append(why, it.Report.Failures[j].Explain())
		}
		if _, err := fmt.Fprintf(con.out, "! %s: %s\n", printable(it.Title(), false), printable(strings.Join(why, "; "), false)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(con.out, "%d of %d passed\n", passed, len(items))
	return err
}

const evalBaselineHelp = `Save the reports of a file as the baseline for later comparisons. The baseline has no
durations, and its cases are sorted, so it changes only if the agents' behaviour changes: keep
it with the code.

If the baseline exists, the changes are printed as by 'awaken eval diff'.`

func evalBaselineCommand(con *console) *cobra.Command {
	return &cobra.Command{
		Use:     "baseline REPORTS BASELINE",
		Short:   "Save reports as the baseline",
		Long:    evalBaselineHelp,
		Example: "  awaken eval baseline new.ndjson main.ndjson",
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, files []string) error {
			items, err := reportsOf(files[0])
			if err != nil {
				return err
			}
			if len(items) == 0 {
				return configError("%s has no report; want the reports of an evaluation", files[0])
			}
			var before []eval.Item
			if before, err = reportsOf(files[1]); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			for i := range items {
				items[i].Report.SessionDurationMS = 0
			}
			slices.SortStableFunc(items, func(a, b eval.Item) int { return strings.Compare(a.Title(), b.Title()) })
			if err := writeReports(files[1], items); err != nil {
				return failed(err)
			}
			return written(diffFormats["text"](con, eval.Diff(before, items), items))
		},
	}
}
