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
// [New] collects the routes of every noun and of the protocols ([Config.Routes]) in one
// table: route.go. A line of it is a [protocol.Route]: the path, who may use it, the handler,
// and what goes in and comes out, from which openapi.go makes /openapi.json. A request then
// passes, in this order:
//
//	observe    id of the request, log, metrics, panics                    observe.go
//	protect    Host, Origin and CORS                                      auth.go
//	mux        the route, or 404 and 405                                  answer.go
//	identify   the key and the user: who the caller is                    auth.go, user.go
//	admit      rate of the key, requests and streams at the same time     limits.go
//	answer     global routes, ids in the path, tenant, query              answer.go
//	bound      bytes of the body, time of the request                     limits.go
//	Handle     the handler of the noun                                    thread.go, run.go, …
//
// A handler is a method of its noun, such as threads or runs: a type with the dependencies of
// its handlers and no others, whose method routes lists them. It gets a request, reads the
// path, the query and the body from it and answers with Reply (request.go), or passes it to
// streams, which sends events until the run ends, the client disconnects or the server stops
// (stream.go, and translation.go for the frames of protocols). Handlers hand input for runs to
// submit (submit.go) and people's decisions to decide (decision.go). The handlers of protocols
// get a call, which is a request behind the interface [protocol.Call] (call.go).
//
// failureOf turns the error that a handler returns into a status, a code and a message:
// errors.go. Limits and their defaults are in limits.go.
//
// # Files
//
// Each noun has a file with its routes, the types of its bodies and its handlers. Running
// agents: thread, message, run, approval, event, pending, dispatch, usage, budget. Operating
// the server: health, system, keyring, activity. The control plane: document, override, check,
// version, canary, connection, audit, assistant, capability, permission; control.go has what
// they share.
package server
