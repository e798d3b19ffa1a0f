package builtin

import "github.com/awaken-go/awaken/state"

// ToolLists has, by MCP server, the digest of the tools that the server had when the run's latest step began. Only servers with a tool
// of the agent are in it; a server that was not connected is not. A replay reads from it which tools a request offered. Only the
// runtime writes it.
var ToolLists = state.NewValue[map[string]string]("__runtime.tool_lists", state.Options{})
