// Package acp serves agents to editors by the Agent Client Protocol, version 1: JSON-RPC 2.0, one
// message a line, over standard input and output.
//
//	err := acp.Serve(ctx, acp.Config{Tenant: box.Tenant(""), Catalogue: catalogue}, os.Stdin, os.Stdout)
//
// A session is a thread. A prompt is a run: it is submitted to the queue like one of any other protocol,
// and what the client sees is what an [Encoder] makes of the entries of its log. A session that is loaded
// is shown by the same encoder. The package keeps nothing that is not in the store: a process that is
// killed and started again shows the same session, and continues with what its run waits for.
//
// A call that waits for a person is a permission request of the client, whose answer is a decision on
// the ticket. The client's file system and terminal are tools of the client: a call of one suspends the
// run as that of any client's tool does, and the connection that has the session makes the call and
// decides the ticket with its result. So the run need not be in the process that the client talks to.
//
// [Conn] reads and writes messages, turn.go follows a run, history.go shows a stored session.
// docs/acp.md is the guide.
package acp
