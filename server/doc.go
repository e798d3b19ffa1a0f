// Package server puts agents behind HTTP: runs that outlive requests, processes and
// connections, and streams that can be taken up again where they broke off.
//
//	rt, err := awaken.New(cfg)                                  // agents, tools, models
//	box, err := mailbox.New(mailbox.Config{Queue: db}, rt.With) // a durable queue
//	srv, err := server.New(server.Config{Mailbox: box})
//	err = srv.Run(ctx)                                          // or mount srv.Handler() anywhere
//
// A request is accepted when its input is stored; whoever sent it may go away. A stream
// reads the thread's log of events, so it makes no difference whether it is the first or
// a second one, in this process or another, now or after a restart: every frame has an
// id, and Last-Event-ID or ?cursor= goes on right after it.
//
// # Who may do what
//
// A server that listens on this machine only needs no credentials for running agents.
// Any other address needs keys ([Keys]): a read key reads, a run key also runs, an admin
// key does everything. A key belongs to a tenant, and sees nothing of another's.
//
// # Configuration
//
// With [Config.Control] the agents, models and providers are documents that are written
// over HTTP while the server runs: see package config. That is about the whole server, and
// needs an admin key that belongs to no tenant.
//
// # Files
//
// route.go is the table of all routes, from which openapi.go makes /openapi.json. The
// routes are in the file of their noun: thread.go, message.go, run.go, event.go,
// mailbox.go, budget.go, health.go, key.go. Those of the control plane have a table of
// their own, controlroutes.go: control.go (documents), version.go, audit.go, connection.go,
// capability.go, assistant.go, stats.go.
package server
