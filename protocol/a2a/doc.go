// Package a2a serves the Agent2Agent protocol, version 1.0: its HTTP+JSON and JSON-RPC bindings, and the agent card.
//
//	routes, err := a2a.Routes(a2a.Config{})
//	…
//	srv, err := server.New(server.Config{Mailbox: box, Routes: routes})
//
// A context is a thread, and a task is a run: they have the same ids. The agent is the tenant of the protocol. A task is a projection of
// the entries of its run ([projection]), whether a client gets or streams it, so all replicas answer alike, also after a restart.
//
// The client's messageId is an idempotency key: a repeated message returns the task of the first one. A task that waits for a person has
// the state INPUT_REQUIRED or AUTH_REQUIRED, with its questions as data; the client answers with a message that has the task's ID.
//
// Clients that do not stay connected get push notifications. Each push configuration is a hook (package automate/webhook/deliver), whose
// receiver gets every new state of the task and, when the task waits or has ended, its artifacts.
package a2a
