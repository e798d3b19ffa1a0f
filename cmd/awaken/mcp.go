package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/cmd/awaken/internal/settings"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/mcp"
	"github.com/awaken-go/awaken/server"
)

// openMCP returns the routes of MCP.
func openMCP(ctx context.Context, s *settings.Settings, b *backend, c *control) ([]protocol.Route, error) {
	key, err := mcpKey(ctx, b)
	if err != nil {
		return nil, failed(err)
	}
	v := &s.Server.MCP
	local, err := server.IsLocal(s.Server.Address)
	if err != nil {
		return nil, configError("server.address: %w", err)
	}
	routes, err := mcp.Routes(mcp.Config{RequireKey: s.Server.RequireKey || !local, Issuer: s.Server.JWT.Issuer, URL: v.URL, Agents: v.Agents, Tools: v.Tools, ToolAgent: v.ToolAgent, Levels: b.keys, Version: moduleVersion(), Key: key, Prompts: &skillPrompts{c.skills, c.manager}})
	if err != nil {
		return nil, configError("server.mcp_tools: %w", err)
	}
	return routes, nil
}

// mcpKey returns the key that signs the ids of sessions. It is in the database, so all servers that share that have the
// same; the first makes it.
func mcpKey(ctx context.Context, b *backend) (awaken.Secret, error) {
	const namespace, name = "mcp", "signing_key"
	made, err := json.Marshal(rand.Text() + rand.Text())
	if err != nil {
		return awaken.Secret{}, err
	}
	if _, err := b.keys.CompareAndSet(ctx, namespace, name, nil, made); err != nil {
		return awaken.Secret{}, err
	}
	e, err := b.keys.Get(ctx, namespace, name)
	if err != nil {
		return awaken.Secret{}, err
	}
	var text string
	if err := json.Unmarshal(e.Value, &text); err != nil {
		return awaken.Secret{}, err
	}
	return awaken.NewSecret(text), nil
}

const mcpHelp = `Serve agents to an MCP client, such as an editor, on standard input and output.

The client starts this command by itself. Every agent is a tool, and so are the tools that
server.mcp_tools chooses. It needs no key and opens no port: it acts for the user who starts
it. docs/mcp.md shows the settings of editors.

Threads, agents and settings are in a folder of the user, as for 'awaken acp':
$XDG_DATA_HOME/awaken or ~/.local/share/awaken, on macOS ~/Library/Application Support/awaken,
on Windows %LocalAppData%\awaken. --storage-dir or --database name another store, such as
a server's.

With --url, the command forwards messages to a server, with the key in $AWAKEN_KEY, and opens
no store. Calls survive a restart of that server.

Standard output has only the protocol. Messages for people go to standard error. The command
ends when its standard input ends.`

const mcpExamples = `  awaken mcp
  awaken mcp -f agents.yaml
  awaken mcp --storage-dir .awaken --seed demo
  AWAKEN_KEY=… awaken mcp --url https://agents.example`

func mcpCommand(con *console) *cobra.Command {
	cmd := &cobra.Command{Use: "mcp", Short: "Serve agents to an MCP client", Long: mcpHelp, Example: mcpExamples, Args: cobra.NoArgs}
	load := addSettingsOf(cmd, dataFolder, acpFlags...)
	user := cmd.Flags().String("user", "", "`id` of the user that threads belong to, in a store that keeps users apart")
	remote := cmd.Flags().String("url", "", "`address` of a server to forward messages to")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := protocol.CheckID("--user", *user); err != nil {
			return usageError("%w", err)
		}
		sig := listen()
		defer sig.stop()
		var err error
		if *remote != "" {
			u, parseErr := url.Parse(*remote)
			if parseErr != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
				return usageError("--url is %q, want an http or https address such as https://agents.example", *remote)
			}
			sig.during(cmd.Context(), func(ctx context.Context) { err = bridgeTo(ctx, con, u) })
			return err
		}
		s, err := load()
		if err != nil {
			return configError("%w", err)
		}
		sig.during(cmd.Context(), func(ctx context.Context) {
			err = serveLocally(ctx, con, s, func(b *backend, k *core, log *slog.Logger) error { return serveMCP(ctx, con, s, b, k, *user, log) })
		})
		return err
	}
	return cmd
}

// bridgeTo passes messages on to another server.
func bridgeTo(ctx context.Context, con *console, u *url.URL) error {
	b := &mcp.Bridge{Client: &http.Client{}, URL: u.JoinPath("/v1/mcp").String(), Header: http.Header{}, Drain: editorDrain}
	if key := os.Getenv("AWAKEN_KEY"); key != "" {
		b.Header.Set("Authorization", "Bearer "+key)
	}
	if err := b.Serve(ctx, con.in, con.out); err != nil {
		return failed(err)
	}
	return nil
}

// mcpUser is the header that names the user of 'awaken mcp' to its own server.
const mcpUser = "X-Awaken-User"

// serveMCP serves the client that has started the command, until it closes the standard input: by a server that only this
// process can reach.
func serveMCP(ctx context.Context, con *console, s *settings.Settings, b *backend, k *core, user string, log *slog.Logger) error {
	routes, err := openMCP(ctx, s, b, k.control)
	if err != nil {
		return err
	}
	sc := serverConfig(s, k.box, nil, k.metrics, log)
	sc.Address, sc.DebugAddress, sc.Open, sc.Users, sc.Routes = "127.0.0.1:0", "", new(true), server.Users{}, routes
	bridge := &mcp.Bridge{URL: "http://127.0.0.1/v1/mcp", Header: http.Header{}, Drain: editorDrain}
	if user != "" {
		sc.Users.Header = mcpUser
		bridge.Header.Set(mcpUser, user)
	}
	srv, err := server.New(sc)
	if err != nil {
		return configError("%w", err)
	}
	defer k.control.work(ctx, log)()
	l := newPipeListener()
	bridge.Client = &http.Client{Transport: &http.Transport{DialContext: l.dial}}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(serving, l) }()
	err = bridge.Serve(ctx, con.in, con.out)
	stop()
	if err = errors.Join(err, <-served); err != nil {
		return failed(err)
	}
	return nil
}

// pipeListener accepts the connections of its own process.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, srv := net.Pipe()
	select {
	case l.conns <- srv:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "127.0.0.1:0" }
