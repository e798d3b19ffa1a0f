// Package stalltest lets providers and an MCP server of the program fail, and measures whether prompts that have nothing to do with the
// failures notice.
//
//	go test ./internal/stalltest -v                            # some seconds
//	AWAKEN_LONG=1 go test ./internal/stalltest -v -timeout 20m # some four minutes, 800 prompts in each cell of the table
//
// Two servers, each the real program in a process of its own, with SQLite and durable runs, get the same prompts at the same moments. The
// test is their clients, the providers of their models and their MCP servers. In a window the failures happen to one of the servers, and in
// the next window that server recovers: it still knows of a pause, of a limit that it learnt, of an MCP server that was away. The other
// server is the control, which is measured at the same moments, so that whatever else the machine does happens to both. Then the servers
// change places. What was learnt is reset before a server is the control again.
package stalltest
