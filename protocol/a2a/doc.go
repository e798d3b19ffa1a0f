// Package a2a speaks the Agent2Agent protocol, version 1.0, to clients that are agents or talk to them: its
// HTTP+JSON and its JSON-RPC binding, and the agent card.
//
//	routes, err := a2a.Routes(a2a.Config{})
//	…
//	srv, err := server.New(server.Config{Mailbox: box, Routes: routes})
//
// A context is a thread, and a task is a run: they have the same ids. The agent is the tenant of the
// protocol. A task is what the entries of its run say ([projection]), for those that get it as for those
// that stream it, so every replica answers alike and after a restart as before.
//
// The client's messageId makes a message count once: sent again, it gets the task that it belongs to. A task
// that waits for people has the state INPUT_REQUIRED or AUTH_REQUIRED, with its questions as data; the answer is a
// message with the id of the task.
//
// Clients that do not stay connected are told by push notifications: each configuration is a hook (package automate/webhook/deliver), whose receiver
// gets every new state of the task and, with the states in which the task waits or is over, the artifacts.
package a2a
