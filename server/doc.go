// Package server serves agents over HTTP: runs that outlive requests, processes and connections,
// and streams that clients can resume where they broke off.
//
//	rt, err := engine.New(cfg)                                  // agents, tools, models
//	box, err := mailbox.New(mailbox.Config{Queue: db}, rt.With) // a durable queue
//	srv, err := server.New(server.Config{Mailbox: box, Wings: []server.Wing{runs.New(runs.Config{})}})
//	err = srv.Run(ctx)                                          // or mount srv.Handler() anywhere
//
// A request is accepted once its input is stored; the client may then disconnect. A stream reads the
// thread's event log, so every stream of a run has the same frames, in any process, now or after a
// restart. Every frame has an id, and Last-Event-ID or ?cursor= resumes right after it.
//
// # Access
//
// A server that only this machine can reach needs no credentials to run agents. Any other address
// needs [Keys], of package access: a read key may read, a run key may also run agents, an admin key may do everything.
// Each kind is a set of permissions, and each route needs one of them: package permit has the table.
// A key belongs to a tenant and sees nothing of other tenants. [Users] keeps the users of a tenant
// apart.
//
// # Wings
//
// This package is the kernel of a server. Its nouns are in wings, packages below this one that a program
// passes in [Config.Wings]:
//
//	runs        threads, messages, runs, decisions, events, files, the queue, forks, traces
//	access      keys, sessions of browsers, tenants
//	control     config documents, versions, canaries, the audit log, connections
//	evals       datasets, evaluations, judgements of production runs
//	automation  schedules, triggers, webhooks
//	figures     usage, series, budgets, activity, replicas
//
// Other packages below this one serve parts that are no routes of a noun:
//
//	console     the files of the web console
//	jwt         tokens of the users of an identity provider
//	telemetry   spans and metrics, sent to a collector
//
// A [Wing] returns its routes for a [Kernel], the server's shared parts. Its handlers get a
// [Request]. No wing imports another one.
//
// # Configuration
//
// With [Config.Control] and the wing control, agents, models and providers are documents that operators
// edit over HTTP while the server runs: see package config. That concerns the whole server and needs an
// admin key that belongs to no tenant.
//
// # How a request is answered
//
// [New] collects the routes of every noun, of the wings and of the protocols ([Config.Routes]) in one
// table: route.go. An entry is a [protocol.Route]: the path, the permission that it needs, the handler, and the types of
// request and response, from which openapi.go makes /openapi.json. A request passes, in this order:
//
//	observe    id of the request, log, metrics, panics                    observe.go
//	protect    Host, Origin and CORS                                      auth.go
//	mux        the route, or 404 and 405                                  answer.go
//	identify   the key, its permissions and the user                      auth.go, key.go, user.go, token.go
//	answer     ids in the path, tenant, query                             answer.go
//	admit      rate of the key; the body; requests and streams at a time  limits.go, body.go, share.go
//	bound      time of the request                                        limits.go
//	scope      whether the object in the path is the caller's user's       user.go
//	Handle     the handler of the noun, in a wing or here                 runs/thread.go, …
//
// A handler is a method of its noun, such as threads or runs: a type with the dependencies of its
// handlers and no others, whose method routes lists them. The handler gets a [Request], reads path,
// query and body from it and answers with Reply (request.go), or passes it to streams, which sends
// events until the run ends, the client disconnects or the server stops (stream.go, and
// translation.go for the frames of protocols). Handlers pass input for runs to [Submit] (submit.go)
// which passes it through admission (admission.go), and sign decisions with [Vet] (decision.go). The handlers of
// protocols get a call, which is a request behind the interface [protocol.Call] (call.go).
//
// [FailureOf] maps the error of a handler to a status, a code and a message: errors.go. Limits and
// their defaults are in limits.go.
//
// # Files
//
// Each noun has a file with its routes, the types of its bodies and its handlers: here health, system,
// setting and metrics. What wings use: wing, request, route, list, errors,
// stream, submit, decision, query.
package server
