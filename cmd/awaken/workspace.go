package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/plugin/workspace"
)

// openWorkspace makes the folder of workspaces, if there is one in the settings. Sweep removes the workspaces of threads that
// are deleted, until its context is done.
func openWorkspace(ctx context.Context, s *settings.Settings, b *backend, log *slog.Logger) (sweep func(ctx context.Context), err error) {
	w := &s.Workspace
	if w.Dir == "" {
		if w.Shell {
			return nil, configError("workspace.shell is true, but workspace.dir is empty: want the folder that commands run in")
		}
		return func(context.Context) {}, nil
	}
	if err := os.MkdirAll(w.Dir, 0o711); err != nil { // the users that commands run as pass through
		return nil, configError("workspace.dir: %w", err)
	}
	if err := sandbox.Available(); w.Shell && err != nil {
		log.Warn("workspace.shell: commands will be refused", "error", err)
	}
	origin, err := fleetID(ctx, b.keys)
	if err != nil {
		return nil, failed(err)
	}
	sweeper := &workspace.Sweeper{Dir: w.Dir, Origin: origin, Logger: log, Thread: func(ctx context.Context, tenant, id string) (*awaken.Thread, error) {
		return b.queue.Handle(tenant).Thread(ctx, id)
	}}
	return func(ctx context.Context) { sweeper.Run(ctx, sweepEvery) }, nil
}

// sweepEvery is how often the workspaces of deleted threads are looked for.
const sweepEvery = time.Minute

// workspacePlugins returns the plugin of agents that work with files, if there is a folder for it.
func workspacePlugins(ctx context.Context, s *settings.Settings, b *backend) ([]awaken.Plugin, error) {
	if s.Workspace.Dir == "" {
		return nil, nil
	}
	origin, err := fleetID(ctx, b.keys)
	if err != nil {
		return nil, failed(err)
	}
	return []awaken.Plugin{workspacePlugin(s, origin)}, nil
}

// workspacePlugin returns the plugin for the threads of a database.
func workspacePlugin(s *settings.Settings, origin string) awaken.Plugin {
	w := &s.Workspace
	o := workspace.Options{Dir: w.Dir, Scope: workspace.Scope(w.Scope), Origin: origin, MaxBytes: int64(w.MaxBytes), MaxFiles: w.MaxFiles}
	if w.Shell {
		o.Shell = &workspace.Shell{Network: w.ShellNetwork, Env: w.ShellEnv}
	}
	return workspace.New(o)
}
