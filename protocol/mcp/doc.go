// Package mcp is a server of the Model Context Protocol: agents, and tools that the configuration
// chooses, are tools of clients such as editors and other agents.
//
//	routes, err := mcp.Routes(mcp.Config{})
//	…
//	srv, err := server.New(server.Config{Mailbox: box, Routes: routes})
//
// It speaks two eras of the protocol at one address. Revisions up to 2025-11-25 begin with initialize and
// have sessions; 2026-07-28 has neither, and every request says what its client can do. A request belongs to
// the newer era if its _meta or its MCP-Protocol-Version header says so.
//
// # A call is a run
//
// tools/call submits a run and streams what its entries tell ([Encoder]): progress, messages of the log,
// questions, and the result. A tool of an agent takes a message and, as an explicit argument, the thread; a tool
// of the registry is a run of one planned call, which passes the same checks and the same ledger.
//
// Nothing is kept in memory between two requests, so every replica serves every request:
//
//   - The id of a session is a signed token with what the client said at initialize. It gives no rights: those are
//     the key's, with every request.
//   - The id of a run follows from the session and the id of the JSON-RPC request. A request that is sent again
//     gets the same run, and notifications/cancelled finds it.
//   - The id of a frame has all that is needed to continue its stream: the run, the request that the stream
//     answers, and the position in the log.
//   - The id of an elicitation names the run and its question. The answer is a decision, which the store keeps. In the newer
//     era, the question is a result of type input_required, whose signed requestState names the run.
package mcp
