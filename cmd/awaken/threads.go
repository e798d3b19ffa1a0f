package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/threadfile"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/store/sqlite"
)

// threadTool is shared by the commands about threads.
type threadTool struct {
	con   *console
	store string // the flag
}

func threadsCommand(con *console) *cobra.Command {
	t := &threadTool{con: con}
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "threads",
		Short: "List and manage threads",
		Long: `List the stored threads, most recently used first: id, number of messages, outcome of the
last run, time of last use, and the title or the first words.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usageError("--limit is %d, want 1 or more", limit)
			}
			return t.list(cmd.Context(), limit, asJSON)
		},
	}
	addStoreFlag(cmd, &t.store, "`file` that stores the threads")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every thread as a line of JSON")
	cmd.Flags().IntVar(&limit, "limit", 50, "maximum number of threads")
	cmd.AddCommand(t.showCommand(), t.deleteCommand(), t.forkCommand(), t.exportCommand(), t.importCommand(), t.pruneCommand())
	return cmd
}

// with opens the store for fn. It gives errors their exit status.
func (t *threadTool) with(ctx context.Context, create bool, fn func(store *sqlite.Store) error) (err error) {
	db, err := openStore(ctx, t.store, create)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	return withStatus(fn(db.Store("")))
}

// command returns a command that opens the store for fn. Its usage line says whether it takes an
// id.
func (t *threadTool) command(use, short, example string, create bool, fn func(ctx context.Context, store *sqlite.Store, id string) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Example: example, Args: cobra.ExactArgs(strings.Count(use, " "))}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.with(cmd.Context(), create, func(store *sqlite.Store) error { return fn(cmd.Context(), store, strings.Join(args, "")) })
	}
	return cmd
}

// listed is a thread in a listing.
type listed struct {
	*awaken.Thread
	Summary string `json:"summary"` // its title, or the user's first words
	Status  string `json:"status"`  // of the last run
}

func (t *threadTool) list(ctx context.Context, limit int, asJSON bool) error {
	var all []listed
	err := t.with(ctx, false, func(store *sqlite.Store) error {
		threads, err := store.ListThreads(ctx, awaken.ThreadQuery{Limit: limit})
		for _, th := range threads {
			l := listed{Thread: th}
			if l.Summary, err = summaryOf(ctx, store, th); err != nil {
				return err
			}
			if l.Status, err = statusOf(ctx, store, th); err != nil {
				return err
			}
			all = append(all, l)
		}
		return err
	})
	if err != nil && !(t.store == "" && errors.Is(err, errNoStore)) { // a missing store has no threads
		return err
	}
	if asJSON {
		return printLines(t.con, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(t.con.err, "No threads.")
		return nil
	}
	w := tabwriter.NewWriter(t.con.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "THREAD\tMESSAGES\tLAST RUN\tUPDATED\tABOUT")
	for _, l := range all {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", cell(l.ID), l.MessageCount, cell(l.Status), when(l.Metadata.UpdatedAt), cell(l.Summary))
	}
	return written(w.Flush())
}

// printLines prints values as JSON, one per line.
func printLines[T any](con *console, values []T) error {
	enc := json.NewEncoder(con.out)
	enc.SetEscapeHTML(false)
	for i := range values {
		if err := enc.Encode(&values[i]); err != nil {
			return written(err)
		}
	}
	return nil
}

// cell returns s for a table: on one line and without tabs.
func cell(s string) string { return strings.ReplaceAll(printable(s, false), "\t", " ") }

func when(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return time.UnixMilli(ms).Local().Format("2006-01-02 15:04:05")
}

// summaryOf returns the title of a thread, or else the user's first words.
func summaryOf(ctx context.Context, store awaken.Store, t *awaken.Thread) (string, error) {
	const limit = 50
	if t.Metadata.Title != "" {
		return t.Metadata.Title, nil
	}
	records, err := store.Messages(ctx, t.ID, awaken.MessageQuery{Limit: 20})
	if err != nil {
		return "", err
	}
	for _, r := range records {
		if r.Message.Role != llm.User || r.Message.IsInternal() {
			continue
		}
		words := []rune(strings.Join(strings.Fields(r.Message.Text()), " "))
		if len(words) > limit {
			words = append(words[:limit-1], '…')
		}
		return string(words), nil
	}
	return "", nil
}

// statusOf returns the status or outcome of the last run of a thread.
func statusOf(ctx context.Context, store awaken.Store, t *awaken.Thread) (string, error) {
	if t.LatestRunID == "" {
		return "-", nil
	}
	run, err := store.LoadRun(ctx, t.LatestRunID)
	switch {
	case err != nil:
		return "", err
	case run.Status == awaken.RunDone && run.StatusReason == "imported":
		return "imported", nil
	case run.Status == awaken.RunDone && run.Termination.Type != awaken.NaturalEnd && run.Termination.Type != awaken.BehaviorRequested:
		return string(run.Termination.Type), nil
	}
	return string(run.Status), nil
}

func (t *threadTool) showCommand() *cobra.Command {
	var asJSON bool
	var last int
	cmd := t.command("show ID", "Print the messages of a thread", "", false, func(ctx context.Context, store *sqlite.Store, id string) error {
		return t.show(ctx, store, id, last, asJSON)
	})
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("last") && last < 1 {
			return usageError("--last is %d, want 1 or more", last)
		}
		return nil
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print every record of the log as a line of JSON")
	cmd.Flags().IntVar(&last, "last", 0, "print only the last `n` messages")
	return cmd
}

func (t *threadTool) show(ctx context.Context, store awaken.Store, id string, last int, asJSON bool) error {
	records, err := store.Messages(ctx, id, awaken.MessageQuery{Limit: last, Last: last > 0})
	if err != nil {
		return err
	}
	if asJSON {
		return printLines(t.con, records)
	}
	names := map[string]string{} // of calls
	for i := range records {
		if err := t.showRecord(&records[i], names); err != nil {
			return written(err)
		}
	}
	return nil
}

func (t *threadTool) showRecord(r *awaken.MessageRecord, names map[string]string) error {
	m := r.Message
	head := fmt.Sprintf("[%d] %s", r.Seq, m.Role)
	if m.ToolCallID != "" {
		head += " " + cmp.Or(names[m.ToolCallID], m.ToolCallID)
	}
	var notes []string
	if m.IsInternal() {
		notes = append(notes, "internal")
	}
	if md := m.Metadata; md != nil {
		if md.Interrupted {
			notes = append(notes, "interrupted")
		}
		if md.Rewind != nil {
			notes = append(notes, fmt.Sprintf("hides messages from %d", md.Rewind.FromSeq))
		}
		if md.Compaction != nil {
			notes = append(notes, fmt.Sprintf("summary of %d to %d", md.Compaction.FromSeq, md.Compaction.ToSeq))
		}
	}
	if len(notes) > 0 {
		head += " (" + strings.Join(notes, ", ") + ")"
	}
	var sb strings.Builder
	fmt.Fprintf(&sb, "%s  %s\n", printable(head, false), when(r.Created))
	for i := range m.Content {
		if text := blockText(&m.Content[i]); text != "" {
			sb.WriteString(printable(strings.TrimSuffix(text, "\n"), true) + "\n")
		}
	}
	for _, c := range m.ToolCalls {
		names[c.ID] = c.Name
		sb.WriteString(printable("→ "+c.Name+" "+compact(c.Arguments), false) + "\n")
	}
	sb.WriteByte('\n')
	_, err := io.WriteString(t.con.out, sb.String())
	return err
}

// blockText returns a content block as text.
func blockText(b *llm.Block) string {
	switch {
	case b.Type == llm.TextBlock:
		return b.Text
	case b.Text != "":
		return fmt.Sprintf("(%s) %s", b.Type, b.Text)
	case b.Source != nil && b.Source.URL != "":
		return fmt.Sprintf("(%s) %s", b.Type, b.Source.URL)
	}
	return fmt.Sprintf("(%s)", b.Type)
}

var strategies = map[string]awaken.ChildStrategy{"detach": awaken.DetachChildren, "reject": awaken.RejectChildren, "cascade": awaken.CascadeChildren}

func (t *threadTool) deleteCommand() *cobra.Command {
	var children string
	cmd := t.command("delete ID", "Delete a thread and its runs", "", false, func(ctx context.Context, store *sqlite.Store, id string) error {
		return store.DeleteThread(ctx, id, strategies[children])
	})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if _, ok := strategies[children]; !ok {
			return usageError("--children is %q, want detach, reject or cascade", children)
		}
		return nil
	}
	cmd.Flags().StringVar(&children, "children", "detach", "`strategy` for forks and other children: detach keeps them, reject keeps the thread if it has any, cascade deletes them too")
	return cmd
}

func (t *threadTool) forkCommand() *cobra.Command {
	var at int
	var as string
	var cmd *cobra.Command
	cmd = t.command("fork ID", "Copy the beginning of a thread to a new one, and print its id", "", false, func(ctx context.Context, store *sqlite.Store, id string) error {
		if !cmd.Flags().Changed("at") {
			old, err := store.Thread(ctx, id)
			if err != nil {
				return err
			}
			at = old.MessageCount
		}
		return t.printID(store.Fork(ctx, id, at, cmp.Or(as, ids.New()), nil))
	})
	cmd.Flags().IntVar(&at, "at", 0, "`number` of the last message to copy; default all")
	addNewID(cmd, &as, "`id` of the new thread")
	return cmd
}

// addNewID adds the flag for the id of a new thread.
func addNewID(cmd *cobra.Command, as *string, usage string) {
	cmd.Flags().StringVar(as, "as", "", usage)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if cmd.Flags().Changed("as") && strings.TrimSpace(*as) == "" {
			return usageError("--as is empty")
		}
		return nil
	}
}

func (t *threadTool) printID(th *awaken.Thread, err error) error {
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(t.con.out, th.ID)
	return written(err)
}

func (t *threadTool) exportCommand() *cobra.Command {
	return t.command("export ID", "Print a thread in the format that import reads", "  awaken threads export ID > thread.jsonl", false,
		func(ctx context.Context, store *sqlite.Store, id string) error {
			return threadfile.Export(ctx, store, id, t.con.out)
		})
}

func (t *threadTool) importCommand() *cobra.Command {
	var as string
	cmd := t.command("import", "Create a thread from an export on standard input, and print its id", "  awaken threads import < thread.jsonl", true,
		func(ctx context.Context, store *sqlite.Store, _ string) error {
			return t.printID(threadfile.Import(ctx, store, t.con.in, as))
		})
	addNewID(cmd, &as, "`id` of the new thread; default the id in the file")
	checkID := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if t.con.inTTY {
			return usageError("standard input is a terminal, want an exported file")
		}
		return checkID(cmd, args)
	}
	return cmd
}

func (t *threadTool) pruneCommand() *cobra.Command {
	var age time.Duration
	cmd := t.command("prune", "Delete threads without an open run that have not been used for some time", "  awaken threads prune --older-than 720h", false,
		func(ctx context.Context, store *sqlite.Store, _ string) error {
			n, err := store.Prune(ctx, time.Now().Add(-age))
			fmt.Fprintf(t.con.err, "deleted %s\n", count(n, "thread"))
			return err
		})
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if age <= 0 {
			return usageError("--older-than is %s, want a duration such as 720h", age)
		}
		return nil
	}
	cmd.Flags().DurationVar(&age, "older-than", 0, "`duration` since the last use, such as 720h")
	return cmd
}
