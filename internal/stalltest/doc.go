// Package stalltest lets providers and an MCP server of the program fail, and measures whether prompts that have nothing to do with the
// failures notice.
//
//	go test ./internal/stalltest -v                           # some seconds
//	AWAKEN_LONG=1 go test ./internal/stalltest -v -timeout 20m # more than 600 prompts in each cell of the table
//
// The server is the real program in a process of its own, with SQLite, and runs are durable. The test is its clients, the providers of its
// models and the MCP server. Windows without and with failures alternate in one run, with the same load.
package stalltest
