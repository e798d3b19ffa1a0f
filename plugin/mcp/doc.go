// Package mcp gives agents the tools of MCP servers.
//
// A server is a program that the package starts and speaks to over standard input and output, or an
// address. Its tools have the ids mcp__<server>__<tool>:
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
// The story, by file. A [Server] (server.go) says how to reach a server. A [Connection]
// (connection.go) keeps a connection to one: it opens, lists the tools, waits until the connection
// is lost or the list changes, and opens again after a pause, in a goroutine of its own, so that
// nothing else ever waits for a server. One time that the connection is open is a session
// (session.go) of the official SDK, over a transport (transport.go) and perhaps a process
// (process.go). A tool (tool.go) is a call through the session that is open when it is called; what
// the server says meanwhile, and the answer, belong to its exchange (exchange.go); result.go turns
// the answer into a result. A server may ask in a call (question.go): the user, which suspends the call,
// or a model (sampling.go), if its Server says which. For a server that has resources or prompts there are
// tools that list and read them (catalogue.go). A server that has to be authorized gets the tokens of
// package oauth: one for all, or that of the user whose run calls it, over a connection of the user
// (account.go); a call of a user who has not authorized the server is suspended. The [Plugin] (plugin.go) registers the tools with agents. When they
// change, agents take the new ones in before their next step, never within one.
//
// What a server says is not trusted:
//
//   - The tools of a server are pinned when they are first listed (pin.go). One whose title, description, schema
//     or hints differ later, or that is new, is held: agents do not have it until [Connection.Approve] is called,
//     because what a model reads about a tool is what the tool can make a model do.
//   - Hints are shown, and count only if the operator trusts the server for them.
//   - Messages, lists and results have a limit, and what exceeds it is cut off or refused. Log
//     messages and progress reports are dropped if they come faster than they are shown.
//   - A program is started without a shell, in a folder of its own, with the environment variables
//     that its Server lists. It is ended with all that it has started.
//   - An address must be public, unless Options.Client allows others.
//   - A call is made once. If the connection is lost in it, the model is told that the call may have
//     taken effect.
//
// The effect of a tool is what Server.Effects says, or else the hint of a server with TrustHints (readOnlyHint makes it
// awaken.ReadOnly, idempotentHint awaken.Idempotent), or else awaken.Effectful.
package mcp
