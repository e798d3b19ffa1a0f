package main

import (
	"log/slog"
	"os"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/internal/sandbox"
	"github.com/awaken-go/awaken/plugin/workspace"
)

// openWorkspace makes the folder of workspaces, if there is one in the settings.
func openWorkspace(s *settings.Settings, log *slog.Logger) error {
	w := &s.Workspace
	if w.Dir == "" {
		if w.Shell {
			return configError("workspace.shell is true, but workspace.dir is empty: want the folder that commands run in")
		}
		return nil
	}
	if err := os.MkdirAll(w.Dir, 0o711); err != nil { // the users that commands run as pass through
		return configError("workspace.dir: %w", err)
	}
	if err := sandbox.Available(); w.Shell && err != nil {
		log.Warn("workspace.shell: commands will be refused", "error", err)
	}
	return nil
}

// workspacePlugin returns the plugin of agents that work with files.
func workspacePlugin(s *settings.Settings) awaken.Plugin {
	w := &s.Workspace
	o := workspace.Options{Dir: w.Dir, Scope: workspace.Scope(w.Scope), MaxBytes: int64(w.MaxBytes)}
	if w.Shell {
		o.Shell = &workspace.Shell{Network: w.ShellNetwork, Env: w.ShellEnv}
	}
	return workspace.New(o)
}
