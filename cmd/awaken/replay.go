package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/store/memory"
	"github.com/awaken-go/awaken/trace"
	"github.com/awaken-go/awaken/trace/replay"
)

const replayHelp = `Replay recorded runs offline, and report the differences from their records.

The run's version of the agent runs on a separate store. The recorded answers of models, remote
agents, tools and people are used: the replay asks no model, has no effects, and makes no
connection. It compares every event.

RUN is the ID of a run, or of a thread, whose latest run is replayed. Each run is replayed
separately; a difference does not stop the remaining runs.

The runs of a server need no file: their versions are in the database. -f has the agents of
runs made by 'awaken run -f'; without it, and without documents, the demo agents are used.

Exit status:
  0  no run differs from its record
  1  a run differs from its record, or cannot be replayed
  2  invalid command line or configuration, or no such run`

func replayCommand(con *console) *cobra.Command {
	var tenant, file string
	var asJSON bool
	cmd := &cobra.Command{Use: "replay RUN...", Short: "Replay recorded runs and compare", Long: replayHelp, Args: cobra.MinimumNArgs(1),
		Example: "  awaken replay 019a2b6e-6f7e-7c1d-a6a5-5d3a3a8f2f60"}
	cmd.Flags().StringVar(&tenant, "tenant", "", "`name` of the tenant; default none")
	cmd.Flags().StringVarP(&file, "file", "f", "", "YAML or JSON `file` with the agents of the run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	with := withBackend(cmd, false, "seed")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return with(cmd.Context(), func(s *settings.Settings, b *backend) error {
			ctx := cmd.Context()
			source, err := sourceOf(b, tenant)
			if err != nil {
				return err
			}
			ids := make([]string, len(args))
			for i, arg := range args {
				if ids[i], err = runOf(ctx, source, arg); err != nil {
					return err
				}
			}
			if len(ids) == 1 {
				return replayRun(ctx, con, s, b, source, ids[0], file, asJSON)
			}
			var parted []error
			for _, id := range ids {
				if err := replayRun(ctx, con, s, b, source, id, file, asJSON); err != nil {
					parted = append(parted, fmt.Errorf("run %s: %w", id, err))
				}
			}
			if len(parted) > 0 {
				return failed(errors.Join(parted...))
			}
			return nil
		})
	}
	return cmd
}

// replayRun replays one run, and prints what came of it.
func replayRun(ctx context.Context, con *console, s *settings.Settings, b *backend, source records, id, file string, asJSON bool) error {
	rec, err := (&trace.Recorder{Source: source, Before: true}).Record(ctx, id)
	if err != nil {
		return err
	}
	past := &pastVersions{settings: s, backend: b, run: rec.Run}
	defer past.close()
	reg, retool, err := past.registry(ctx, con, file)
	if err != nil {
		return err
	}
	res, err := (&replay.Player{Registry: reg, Retool: retool, Store: memory.New(), Profile: memory.NewProfile(), Open: openReplay}).Play(ctx, rec)
	if err != nil {
		return failed(err)
	}
	return printReplay(con, rec, res, asJSON)
}

// records is the store that recordings are read from.
type records interface {
	trace.Source
	Thread(ctx context.Context, id string) (*awaken.Thread, error)
}

// runOf returns the id of the run that an argument names: by its own id, or as the latest one of a thread.
func runOf(ctx context.Context, from records, id string) (string, error) {
	if _, err := from.LoadRun(ctx, id); err == nil || !errors.Is(err, awaken.ErrNotFound) {
		return id, err
	}
	t, err := from.Thread(ctx, id)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && t.LatestRunID == "" {
		return "", configError("no run or thread with ID %q", id)
	}
	if err != nil {
		return "", err
	}
	return t.LatestRunID, nil
}

// sourceOf returns what recordings of a tenant are read from.
func sourceOf(b *backend, tenant string) (records, error) {
	source, ok := b.queue.Handle(tenant).(records)
	if !ok {
		return nil, failed(errors.New("the store keeps no events"))
	}
	return source, nil
}

func openReplay(s replay.Setup) (replay.Runtime, error) {
	limits := engine.Limits{BudgetWait: 1} // a run that found no money finds none again
	return engine.New(engine.Config{Limits: limits, Versions: s.Versions, Store: s.Store, Profile: s.Profile, Executor: s.Executor, Detached: s.Detached, Budgets: s.Budgets, Now: s.Now, NewID: s.NewID, Tap: s.Tap})
}

// pastVersions opens the version of a run, with recorded lists of the tools of MCP servers.
type pastVersions struct {
	settings *settings.Settings
	backend  *backend
	run      *awaken.Run
	open     []*config.Manager
}

// pinned returns the version with the lists that have the digests, by server, or with those that were current when the run started.
func (v *pastVersions) pinned(ctx context.Context, digests map[string]string) (*registry.Registry, error) {
	quiet := slog.New(slog.DiscardHandler)
	shop, err := openSkills(v.settings, quiet)
	if err != nil {
		return nil, err
	}
	servers := &recordedServers{&toolLists{v.backend.profile(systemTenant)}, v.run.StartedAt, digests}
	m, err := openManager(ctx, v.settings, v.backend, newCode(v.settings), shop, outbound{keyless: true, servers: servers}, quiet)
	if err != nil {
		return nil, err
	}
	v.open = append(v.open, m)
	return m.Pinned(ctx, v.run.ResolutionID)
}

// close closes what was opened.
func (v *pastVersions) close() {
	for _, m := range v.open {
		_ = m.Close()
	}
}

// registry returns the registry of the run, its version of the documents or a file's, and how to get it with other tools of MCP servers.
func (v *pastVersions) registry(ctx context.Context, con *console, file string) (*registry.Registry, replay.Retool, error) {
	if file == "" {
		reg, err := v.pinned(ctx, nil)
		if err == nil && reg.Agent(v.run.AgentID) != nil {
			return reg, v.pinned, nil
		}
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return nil, nil, err
		}
	}
	cfg, err := configure(con, &runFlags{file: file, quiet: true, thread: v.run.ThreadID}, outbound{keyless: true})
	if err != nil {
		return nil, nil, err
	}
	reg, err := registry.New(cfg.Registry())
	if err != nil {
		return nil, nil, configError("%w", err)
	}
	return reg, nil, nil
}

// replayed is the result of a replay in JSON.
type replayed struct {
	RunID       string             `json:"run_id"`
	Equal       bool               `json:"equal"`
	Exact       bool               `json:"exact"`
	Runs        int                `json:"runs"`
	Events      int                `json:"events"`
	Difference  *replay.Difference `json:"difference,omitempty"`
	NotCompared []string           `json:"not_compared,omitempty"`
}

// counted returns a number with its noun, in the singular or plural.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func printReplay(con *console, rec *trace.Recording, res *replay.Result, asJSON bool) error {
	d := res.Difference
	var err error
	switch {
	case asJSON:
		err = json.NewEncoder(con.out).Encode(replayed{rec.Run.RunID, d == nil, res.Exact, res.Runs, res.Events, d, res.NotCompared})
	case d == nil:
		_, err = fmt.Fprintf(con.out, "replayed %s, %s: identical\n", counted(res.Runs, "run"), counted(res.Events, "event"))
		for _, note := range res.NotCompared {
			if err == nil {
				_, err = fmt.Fprintf(con.out, "not compared: %s\n", printable(note, false))
			}
		}
	default:
		_, err = fmt.Fprintln(con.out, printable(d.String(), true))
	}
	if err != nil {
		return written(err)
	}
	if d != nil {
		return failed(errors.New("the replay parts from the record"))
	}
	return nil
}
