// Package server puts agents behind HTTP: runs that outlive requests, processes and
// connections, and streams that can be taken up again where they broke off.
//
//	rt, err := engine.New(cfg)                                  // agents, tools, models
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
// # How a request is answered
//
// [New] asks every noun for its routes and puts them into one table, with those of
// protocols ([Config.Routes]): route.go. A line of it is a [protocol.Route]: the path, who
// may use it, the handler, and what goes in and comes out, from which openapi.go makes
// /openapi.json. A request then goes
//
//	observe     gets an id; is logged and counted; survives a panic      observe.go
//	protect     Host, Origin and CORS                                    auth.go
//	mux         finds the route, or answers 404 and 405                  answer.go
//	identify    Authorization and the user header become a caller        auth.go, user.go
//	admit       rate of the key, requests and streams at the same time   limits.go
//	answer      global routes, ids of the path, tenant, query            answer.go
//	bound       bytes of the body, time of the request                   limits.go
//	Handle      the handler of the noun                                  thread.go, run.go, …
//
// A handler belongs to its noun, such as threads or runs, which has what its handlers need
// and no more, and lists them in its method routes. It gets a request, reads the path, the
// query and the body from it (request.go), and answers with [request.Reply], or hands it to
// streams, which sends events until the run ends, the client is gone or the server stops
// (stream.go). Input for runs goes through inbox (submit.go), decisions of people through
// decide (decision.go). The handlers of protocols get a call instead, which is a request
// behind the interface [protocol.Call] (call.go).
//
// An error that a handler returns becomes a status, a code and a message in one place:
// failureOf, in errors.go. Limits, and what a limit is if nobody sets it, are in limits.go.
//
// # Files
//
// Each noun has a file with its routes, the types of its bodies and its handlers. What
// every server has: health, system, thread, message, run, approval, event, pending,
// dispatch, usage, budget, keyring, activity. The control plane: document, override, check,
// version, canary, connection, audit, assistant, capability, permission, with what they
// share in control.go.
package server
