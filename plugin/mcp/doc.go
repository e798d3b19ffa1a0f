// Package mcp gives agents the tools of MCP servers.
//
// A server is a program that the package starts and talks to over standard input and output, or a URL. Its tools have the IDs
// mcp__<server>__<tool>:
//
//	tools, err := mcp.New(mcp.Config{Servers: []mcp.Server{
//		{ID: "files", Command: "mcp-server-filesystem", Args: []string{"/srv/docs"}},
//		{ID: "issues", URL: "https://mcp.example/mcp", Headers: map[string]awaken.Secret{"Authorization": token}},
//	}})
//	…
//	defer tools.Close()
//	cfg.Plugins = append(cfg.Plugins, tools)
//	cfg.Agents[0].PluginIDs = []string{mcp.PluginID}
//
// The parts, by file: A [Server] (server.go) configures a server. A [Connection] (connection.go) maintains a connection to it in a
// goroutine of its own, so that nothing else waits for a server: it connects, lists the tools, waits until the connection is lost or the
// list changes, and reconnects after a pause. While connected, it has a session (session.go) of the official SDK, over a transport
// (transport.go) and, for a program, a process (process.go). A tool (tool.go) calls the server through the current session; its exchange
// (exchange.go) collects the server's messages during the call, and result.go converts the response. During a call, a server may ask the
// user a question (question.go), which suspends the call, or request a sample from a model (sampling.go), if its Server configures one. For
// servers with resources or prompts there are tools that list and read them (catalogue.go). A server that requires authorization gets
// tokens from package oauth: a shared token, or the token of the run's user, over a connection per user (account.go); a call without the
// user's authorization is suspended. The [Plugin] (plugin.go) registers the tools with agents. When the tools change, agents see the new
// ones from their next step, never within a step.
//
// Servers are not trusted:
//
//   - The tools of a server are pinned when they are first listed (pin.go). A tool whose title, description, schema or hints change
//     later, or that is added later, is held: agents cannot use it until [Connection.Approve] is called, because models obey
//     descriptions.
//   - Hints are displayed, but take effect only if the operator trusts them.
//   - Messages, lists and results have size limits; larger ones are truncated or refused. Log messages and progress reports are
//     dropped if they arrive faster than they can be shown.
//   - A program runs without a shell, in a folder of its own, with only the environment variables that its Server lists. It is ended
//     together with all processes that it has started.
//   - URLs must have public addresses, unless Options.Client allows others.
//   - A call is made once. If the connection is lost during the call, its result says that it may have taken effect.
//
// Server.Effects sets the effect of a tool. Without an entry, it is the server's hint if TrustHints is set (awaken.ReadOnly for
// readOnlyHint, awaken.Idempotent for idempotentHint), and otherwise awaken.Effectful.
package mcp
