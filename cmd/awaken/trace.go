package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/trace"
)

func traceCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "trace", Short: "Show what runs did"}
	cmd.AddCommand(traceListCommand(con), traceShowCommand(con), traceExportCommand(con), tracePinCommand(con), traceUnpinCommand(con))
	return cmd
}

// runStatuses and runOutcomes are what --status and --outcome of awaken trace list accept.
var (
	runStatuses = []string{string(awaken.RunCreated), string(awaken.RunRunning), string(awaken.RunWaiting), string(awaken.RunDone)}
	runOutcomes = []string{string(awaken.NaturalEnd), string(awaken.BehaviorRequested), string(awaken.Stopped), string(awaken.Cancelled), string(awaken.Blocked), string(awaken.Failed)}
)

// momentOf returns a time that a flag gives, or how long ago it is, as Unix ms; 0 for "".
func momentOf(flag, text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if ago, agoErr := time.ParseDuration(text); agoErr == nil && ago > 0 {
		at, err = now.Add(-ago), nil
	}
	if err != nil || at.UnixMilli() <= 0 {
		return 0, usageError("%s is %q, want a time such as 2026-01-02T15:04:05Z, or how long ago it is, such as 24h", flag, text)
	}
	return at.UnixMilli(), nil
}

func traceListCommand(con *console) *cobra.Command {
	var q awaken.RunQuery
	var tenant, status, outcome, user, since, until string
	var asJSON bool
	var longer time.Duration
	cmd := &cobra.Command{Use: "list", Short: "List runs, newest first", Args: cobra.NoArgs, Example: "  awaken trace list --agent desk --outcome error"}
	fl := cmd.Flags()
	fl.StringVar(&tenant, "tenant", "", "`name` of the tenant; default none")
	fl.StringVar(&q.AgentID, "agent", "", "only runs of the agent with this `id`")
	fl.StringVar(&q.Version, "version-id", "", "only runs of this registry `version`")
	fl.StringVar(&status, "status", "", "only runs with this `status`: created, running, waiting or done")
	fl.StringVar(&outcome, "outcome", "", "only runs that ended with this `outcome`, such as error")
	fl.StringVar(&q.Tool, "tool", "", "only runs that called the tool with this `id`")
	fl.Float64Var(&q.MinCostUSD, "min-cost", 0, "only runs that cost at least this many `US dollars`")
	fl.DurationVar(&longer, "min-duration", 0, "only runs with at least this `duration`, such as 30s")
	fl.StringVar(&since, "since", "", "only runs created at or after this `time`: 2026-01-02T15:04:05Z, or an age, such as 24h")
	fl.StringVar(&until, "until", "", "only runs created before this `time`, as for --since")
	fl.StringVar(&user, "user", "", "only runs on threads of the user with this `id`")
	fl.BoolVar(&q.Pinned, "pinned", false, "only pinned runs")
	fl.StringVar(&q.ErrorCode, "error", "", "only runs that failed with this `code`")
	fl.StringVar(&q.Text, "text", "", "only runs whose ids, agent, reason, error or answer contain this `text`")
	fl.IntVar(&q.Limit, "limit", 50, "maximum `number` of runs")
	fl.BoolVar(&asJSON, "json", false, "print every run as a line of JSON")
	with := withBackend(cmd, false)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if q.Limit < 1 {
			return usageError("--limit is %d, want 1 or more", q.Limit)
		}
		if !(q.MinCostUSD >= 0) {
			return usageError("--min-cost is %v, want 0 or more", q.MinCostUSD)
		}
		if q.MinDuration = longer.Milliseconds(); longer < 0 {
			return usageError("--min-duration is %v, want 0 or more", longer)
		}
		if user != "" {
			q.Owner = &user
		}
		var err error
		if q.Since, err = momentOf("--since", since, time.Now()); err != nil {
			return err
		}
		if q.Until, err = momentOf("--until", until, time.Now()); err != nil {
			return err
		}
		if status != "" && !slices.Contains(runStatuses, status) {
			return usageError("--status is %q, want %s", status, strings.Join(runStatuses, ", "))
		}
		if outcome != "" && !slices.Contains(runOutcomes, outcome) {
			return usageError("--outcome is %q, want %s", outcome, strings.Join(runOutcomes, ", "))
		}
		q.Status, q.Outcome = awaken.RunStatus(status), awaken.TerminationType(outcome)
		return with(cmd.Context(), func(_ *settings.Settings, b *backend) error {
			source, err := sourceOf(b, tenant)
			if err != nil {
				return err
			}
			runs, err := source.ListRuns(cmd.Context(), q)
			if err != nil {
				return err
			}
			if asJSON {
				return printLines(con, runs)
			}
			w := tabwriter.NewWriter(con.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "RUN\tAGENT\tSTATUS\tSTEPS\tUSD\tSTARTED")
			for _, r := range runs {
				end := string(r.Status)
				if r.Status == awaken.RunDone {
					end = r.Termination.String()
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%.4f\t%s\n", cell(r.RunID), cell(r.AgentID), cell(end), r.Steps, r.CostUSD, when(r.StartedAt))
			}
			return written(w.Flush())
		})
	}
	return cmd
}

// withRecording opens the store for a command about one run.
func withRecording(cmd *cobra.Command, fn func(rec *trace.Recording) error) {
	var tenant string
	cmd.Flags().StringVar(&tenant, "tenant", "", "`name` of the tenant; default none")
	with := withBackend(cmd, false)
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return with(cmd.Context(), func(_ *settings.Settings, b *backend) error {
			rec, err := recordingOf(cmd.Context(), b, tenant, args[0])
			if err != nil {
				return err
			}
			return fn(rec)
		})
	}
}

// recordingOf returns the recording of the run that an argument names.
func recordingOf(ctx context.Context, b *backend, tenant, arg string) (*trace.Recording, error) {
	source, err := sourceOf(b, tenant)
	if err != nil {
		return nil, err
	}
	id, err := runOf(ctx, source, arg)
	if err != nil {
		return nil, err
	}
	return (&trace.Recorder{Source: source, Before: true, Bodies: true}).Record(ctx, id)
}

func traceShowCommand(con *console) *cobra.Command {
	var bodies bool
	cmd := &cobra.Command{Use: "show RUN", Short: "Print what a run did, as a tree",
		Long: "Print what a run did, as a tree.\n\nRUN is the ID of a run, or of a thread, whose latest run is shown.\nRequests to models are shown if the server stored them: see traces.bodies in the settings."}
	cmd.Flags().BoolVar(&bodies, "bodies", false, "print the stored requests to models, word for word, as JSON")
	withRecording(cmd, func(rec *trace.Recording) error { return written(showTrace(con.out, rec, 0, bodies)) })
	return cmd
}

// showTrace prints a run with the runs below it.
func showTrace(w io.Writer, rec *trace.Recording, depth int, bodies bool) error {
	in := strings.Repeat("  ", depth)
	end := string(rec.Run.Status)
	if rec.Run.Status == awaken.RunDone {
		end = rec.Run.Termination.String()
	}
	fmt.Fprintf(w, "%srun %s  %s  %s  $%.4f\n", in, cell(rec.Run.RunID), cell(rec.Run.AgentID), cell(end), rec.Run.CostUSD)
	for _, ev := range rec.Lines(true) {
		switch {
		case ev.Inference != nil:
			fmt.Fprintf(w, "%s  step %d  %s  %d+%d tokens  %d ms  %s\n", in, *ev.StepIndex, cell(ev.Inference.Model), ev.Inference.InputTokens, ev.Inference.OutputTokens, ev.DurationMS, short(ev.Inference.ResponseContent))
			if err := showRequests(w, in, ev.Inference, bodies); err != nil {
				return err
			}
		case ev.Tool != nil:
			fmt.Fprintf(w, "%s    %s %s  %s  %d ms\n", in, cell(ev.Tool.Name), short(string(ev.Tool.Arguments)), cmp.Or(string(ev.Tool.Outcome), string(ev.Tool.Status)), ev.DurationMS)
		case ev.Suspension != nil:
			who := "waits for a decision"
			if d := ev.Suspension.Decision; d != nil {
				if who = string(d.Action); d.Actor != nil {
					who += " by " + d.Actor.String()
				}
			}
			fmt.Fprintf(w, "%s    %s asks: %s  %s\n", in, cell(ev.Suspension.ToolName), short(ev.Suspension.Message), cell(who))
		}
	}
	for _, c := range rec.Children {
		if err := showTrace(w, c, depth+1, bodies); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "")
	return err
}

// showRequests prints the digest of a step's request, its parameters, and the requests that were kept.
func showRequests(w io.Writer, in string, inf *trace.Inference, bodies bool) error {
	if inf.RequestDigest != "" {
		fmt.Fprintf(w, "%s    request %.12s%s\n", in, inf.RequestDigest, parameters(inf))
	}
	for _, r := range inf.Requests {
		if !bodies {
			fmt.Fprintf(w, "%s    kept %.12s  %d messages, %d tools  %s\n", in, r.Digest, len(r.Request.Messages), len(r.Request.Tools), short(r.Error))
			continue
		}
		data, err := json.MarshalIndent(r, in+"    ", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s    %s\n", in, printable(string(data), true))
	}
	return nil
}

// parameters returns the parameters of a request, each after a blank.
func parameters(inf *trace.Inference) string {
	text := ""
	if v := inf.Temperature; v != nil {
		text += fmt.Sprintf(" temperature=%g", *v)
	}
	if v := inf.TopP; v != nil {
		text += fmt.Sprintf(" top_p=%g", *v)
	}
	if v := inf.MaxTokens; v != nil {
		text += fmt.Sprintf(" max_tokens=%d", *v)
	}
	if v := inf.ReasoningEffort; v != nil {
		effort, _ := json.Marshal(v) // a word or a number
		text += " reasoning_effort=" + strings.Trim(string(effort), `"`)
	}
	return text
}

// short returns the beginning of a text on one line.
func short(s string) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > 80 {
		r = append(r[:79], '…')
	}
	return cell(string(r))
}

func traceExportCommand(con *console) *cobra.Command {
	var format, out, tenant, file string
	var test testForm
	cmd := &cobra.Command{Use: "export RUN", Short: "Write the traces of a run and its child runs",
		Example: "  awaken trace export 019a2b6e-6f7e-7c1d-a6a5-5d3a3a8f2f60 --format otlp -o trace.json"}
	cmd.Flags().StringVar(&format, "format", "jsonl", "`format`: jsonl, one event per line, or otlp, JSON for OpenTelemetry collectors")
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write; default the standard output")
	cmd.Flags().Var(&test, "as-test", "write a test of the run that passes offline: `form` txtar, a file for package trace/goldentest, or go, that file and a Go test in the folder of --output")
	cmd.Flags().StringVarP(&file, "file", "f", "", "YAML or JSON `file` with the agents of the run, for --as-test")
	cmd.Flags().StringVar(&tenant, "tenant", "", "`name` of the tenant; default none")
	with := withBackend(cmd, false, "seed")
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if format != "jsonl" && format != "otlp" {
			return usageError("--format is %q; want jsonl or otlp", format)
		}
		if test == "go" && strings.HasSuffix(out, ".go") {
			return usageError("--output is %q, want the folder for the Go test, with --as-test go", out)
		}
		return with(cmd.Context(), func(s *settings.Settings, b *backend) error {
			rec, err := recordingOf(cmd.Context(), b, tenant, args[0])
			switch {
			case err != nil:
				return err
			case test != "":
				return exportTest(cmd.Context(), con, s, b, rec, test, file, out)
			}
			return exportTrace(con, rec, format, out)
		})
	}
	return cmd
}

// exportTrace writes a trace to a file, or to the standard output.
func exportTrace(con *console, rec *trace.Recording, format, out string) (err error) {
	w := con.out
	if out != "" {
		f, err := newFile(out)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w = f
	}
	if format == "otlp" {
		return written(json.NewEncoder(w).Encode(trace.OTLP(rec)))
	}
	return written(exportLines(w, rec))
}

// newFile creates a file that does not exist yet.
func newFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, configError("%w", err)
	}
	return f, nil
}

func exportLines(w io.Writer, rec *trace.Recording) error {
	enc := json.NewEncoder(w)
	for _, ev := range rec.Lines(true) {
		if err := enc.Encode(ev); err != nil {
			return err
		}
	}
	for _, c := range rec.Children {
		if err := exportLines(w, c); err != nil {
			return err
		}
	}
	return nil
}

// withPins opens the store for a command about the pins of a run.
func withPins(cmd *cobra.Command, fn func(ctx context.Context, pins trace.Pins, runID string) error) {
	var tenant string
	cmd.Flags().StringVar(&tenant, "tenant", "", "`name` of the tenant; default none")
	with := withBackend(cmd, false)
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return with(cmd.Context(), func(_ *settings.Settings, b *backend) error {
			source, err := sourceOf(b, tenant)
			if err != nil {
				return err
			}
			id, err := runOf(cmd.Context(), source, args[0])
			if err != nil {
				return err
			}
			store, ok := source.(trace.PinStore)
			if !ok {
				return errors.New("the store keeps no pins")
			}
			return fn(cmd.Context(), trace.Pins{Store: store}, id)
		})
	}
}

func tracePinCommand(con *console) *cobra.Command {
	var reason string
	cmd := &cobra.Command{Use: "pin RUN", Short: "Protect a run and its child runs from retention", Example: "  awaken trace pin 0198 --reason 'wrong refund'"}
	cmd.Flags().StringVar(&reason, "reason", "", "reason for the pin")
	withPins(cmd, func(ctx context.Context, pins trace.Pins, id string) error {
		if err := pins.Add(ctx, id, trace.Pin{Kind: trace.PinOperator, Reason: reason, By: "system:cli"}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(con.out, "pinned %s\n", cell(id))
		return written(err)
	})
	return cmd
}

func traceUnpinCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "unpin RUN", Short: "Remove the pin of 'awaken trace pin'"}
	withPins(cmd, func(ctx context.Context, pins trace.Pins, id string) error {
		had, err := pins.Remove(ctx, id, trace.PinOperator, "")
		if err != nil {
			return err
		}
		word := "unpinned"
		if !had {
			word = "no pin of"
		}
		_, err = fmt.Fprintf(con.out, "%s %s\n", word, cell(id))
		return written(err)
	})
	return cmd
}
