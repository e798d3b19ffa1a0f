package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/plugin/mcp"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/acp"
)

const acpHelp = `Serve agents to an editor by the Agent Client Protocol, on standard input and output.

An editor starts this command by itself. It needs no key and opens no port: it acts for
the user who starts it. docs/acp.md shows the settings of editors.

Sessions, agents and settings are in a folder of the user, wherever the editor starts the
command: $XDG_DATA_HOME/awaken or ~/.local/share/awaken, on macOS ~/Library/Application
Support/awaken, on Windows %LocalAppData%\awaken. The settings file there is awaken.yaml.
--storage-dir or --database name another store, such as a server's. Any number of
editors and a server can use one store at the same time.

Set $OPENAI_API_KEY, or $OPENAI_BASE_URL for an OpenAI-compatible server, to use a real model;
$AGENT_MODEL selects it. -f reads agents from a file.

Standard output has only the protocol. Messages for people go to standard error. The command
ends when its standard input ends: it lets every run finish its step, and the next command
on the same store continues them.`

const acpExamples = `  awaken acp
  awaken acp -f agents.yaml --agent coder
  awaken acp --storage-dir .awaken --seed demo`

// acpFlags are the settings that have flags here.
var acpFlags = []string{"storage-dir", "database", "seed", "file", "config-dir", "log-level", "log-format"}

func acpCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "acp", Short: "Serve agents to an editor", Long: acpHelp, Example: acpExamples, Args: cobra.NoArgs}
	load := addSettingsOf(cmd, dataFolder, acpFlags...)
	agent := cmd.Flags().String("agent", "", "`id` of the agent for new sessions; without it, the agent named default")
	user := cmd.Flags().String("user", "", "`id` of the user that sessions belong to, in a store that keeps users apart")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := load()
		if err != nil {
			return configError("%w", err)
		}
		if err := protocol.CheckID("--user", *user); err != nil {
			return usageError("%w", err)
		}
		sig := listen()
		defer sig.stop()
		sig.during(cmd.Context(), func(ctx context.Context) {
			err = serveLocally(ctx, con, s, func(_ *backend, k *core, log *slog.Logger) error { return serveEditor(ctx, con, k, *agent, *user, log) })
		})
		return err
	}
	return cmd
}

// dataFolder returns the folder in which programs keep data of the user.
func dataFolder() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "awaken"), nil
	}
	switch runtime.GOOS {
	case "darwin":
		dir, err := os.UserConfigDir()
		return filepath.Join(dir, "awaken"), err
	case "windows":
		dir, err := os.UserCacheDir()
		return filepath.Join(dir, "awaken"), err
	}
	dir, err := os.UserHomeDir()
	return filepath.Join(dir, ".local", "share", "awaken"), err
}

// editorDrain is how long runs may take to finish their step when an editor ends the command.
const editorDrain = 5 * time.Second

// serveLocally opens what is behind the program that has started the command, and calls serve with it.
func serveLocally(ctx context.Context, con *console, s *settings.Settings, serve func(b *backend, k *core, log *slog.Logger) error) (err error) {
	s.Limits.ShutdownTime = min(s.Limits.ShutdownTime, editorDrain)
	log := newLogger(con, s)
	b, err := openBackend(ctx, s, true, log)
	if err != nil {
		return err
	}
	defer b.close(&err)
	k, err := openCore(ctx, b, con, s, newCode(s), nil, log)
	if err != nil {
		return err
	}
	defer k.close()
	return serve(b, k, log)
}

// serveEditor serves the editor that has started the command, until it closes the standard input.
func serveEditor(ctx context.Context, con *console, k *core, agentID, user string, log *slog.Logger) error {
	reg := k.control.manager.Registry()
	if agentID != "" && reg.Agent(agentID) == nil {
		return configError("agent %q not found; available: %s", agentID, strings.Join(reg.AgentIDs(), ", "))
	}
	defer k.control.work(ctx, log)()
	working, stop := context.WithCancel(ctx)
	worked := make(chan error, 1)
	go func() { worked <- k.box.Work(working) }()
	err := acp.Serve(ctx, acp.Config{Tenant: k.box.Tenant(""), Catalogue: func() acp.Catalogue { return k.control.manager.Registry() }, Agent: agentID, User: user,
		Version: moduleVersion(), Logger: log, Connect: func(t acp.ToolServer) (acp.Toolbox, error) { return connectEditor(t, log) }, Decided: func(made []*awaken.Decided) { k.audit(ctx, user, made) }}, con.in, con.out)
	stop()
	if err = errors.Join(err, <-worked); err != nil {
		return failed(err)
	}
	return nil
}

// editorCall is how long a call of an MCP server of the editor may take. The user sees it, and can cancel it.
const editorCall = 10 * time.Minute

// connectEditor connects an MCP server of the editor. The user whose editor names it may reach every
// address, and has seen its tools as they are now: none is held.
func connectEditor(t acp.ToolServer, log *slog.Logger) (acp.Toolbox, error) {
	c, err := mcp.Connect(mcp.Server{ID: t.ID, Command: t.Command, Args: t.Args, Dir: t.Dir, Env: t.Env, URL: t.URL, SSE: t.SSE, Headers: t.Headers,
		Roots: rootsOf(t.Dir), TrustChanges: true, Unattended: true, Timeout: editorCall}, mcp.Options{Client: &http.Client{}, Logger: log})
	if err != nil {
		return nil, err
	}
	c.Start()
	return c, nil
}

// rootsOf returns a folder as the roots of an MCP server.
func rootsOf(dir string) []string {
	if dir == "" {
		return nil
	}
	return []string{(&url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}).String()}
}

// audit adds decisions of the editor's user to the audit log, as the server does.
func (k *core) audit(ctx context.Context, user string, made []*awaken.Decided) {
	after, _ := json.Marshal(map[string]string{"tenant": ""}) // cannot fail
	for _, d := range made {
		action := "approve"
		if d.Action == awaken.ActionCancel {
			action = "reject"
		}
		by := config.Actor{ID: "acp", Label: user}
		if d.Actor != nil {
			by.Label = d.Actor.Label
		}
		_ = k.control.manager.Audit().Add(context.WithoutCancel(ctx), action, "runs/"+d.RunID+"/"+d.TicketID, by, after) // the decision has a record of its own
	}
}
