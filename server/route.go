package server

import (
	"slices"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// own adapts a handler of the server itself, which gets the request and not a call.
func own(handle func(req *request) error) func(protocol.Call) error {
	return func(c protocol.Call) error { return handle(&c.(*call).request) }
}

func whole(handle func(c *call) error) func(protocol.Call) error {
	return func(c protocol.Call) error { return handle(c.(*call)) }
}

func param(name, kind, doc string) protocol.Param {
	return protocol.Param{Name: name, Kind: kind, Doc: doc}
}

var (
	pageParams = []protocol.Param{param("offset", "integer", "how many to leave out; default 0"), param("limit", "integer", "how many at most; default 50, 1 to 200")}
	onceOnly   = []protocol.Param{param("Idempotency-Key", "string", "the same request sent again with the same key does nothing, and is answered as the first")}

	configPage   = []protocol.Param{param("offset", "integer", "how many to leave out; default 0"), param("limit", "integer", "how many at most; default 100, 1 to 1000")}
	matchHeaders = []protocol.Param{param("If-Match", "string", "the ETag that the record has to have"), param("If-None-Match", "string", "*: there must be no record yet"), param("X-Awaken-Actor", "string", "who does it, for the audit log")}
	publishParam = param("publish", "true|false", "false keeps the document as a draft; default true")
)

// table returns the routes of a server: its own, as far as it has what they need, and those
// of protocols.
func (s *Server) table(cfg *Config) []protocol.Route {
	registry := func() *registry.Registry { return runtimeOf(cfg.Mailbox.Tenant("")).Registry() }
	in := &inbox{maxMessages: cfg.Limits.MessagesPerRun, userHeader: cfg.UserHeader}
	all := slices.Concat(
		(&health{serving: s.serving, logger: cfg.Logger}).routes(),
		(&system{version: cfg.Version, started: time.Now(), control: cfg.Control != nil, hidden: cfg.HideConfig, stats: cfg.Stats != nil}).routes(),
		cfg.Metrics.routes(),
		(&threads{newID: cfg.NewID}).routes(),
		(&messages{inbox: in}).routes(),
		(&runs{inbox: in, streams: s.streams, waitTime: cfg.Limits.WaitTime}).routes(),
		(&approvals{}).routes(),
		(&events{streams: s.streams}).routes(),
		(&pending{inbox: in}).routes(),
		(&dispatches{}).routes(),
		(&usage{}).routes(),
	)
	if cfg.Keys != nil {
		all = append(all, (&keyring{keys: cfg.Keys, mailbox: cfg.Mailbox}).routes()...)
	}
	if budgetOf(cfg.Mailbox.Tenant("")) != nil { // else they would promise what is not kept
		all = append(all, (&budgets{mailbox: cfg.Mailbox, registry: registry}).routes()...)
	}
	if !cfg.HideConfig {
		all = append(all, (&activity{stats: cfg.Stats, registry: registry}).routes()...)
	}
	if cfg.Control != nil && !cfg.HideConfig {
		all = append(all, controlRoutes()...)
	}
	if cfg.Control != nil {
		all = append(all, capabilityRoutes()...)
	}
	for _, r := range cfg.Routes {
		if r.Control && (cfg.Control == nil || cfg.HideConfig) {
			continue
		}
		r.Global = r.Global || r.Own || r.Control
		all = append(all, r)
	}
	return all
}

// forOperators makes routes about the whole server: they need an admin key that belongs to
// no tenant.
func forOperators(routes ...protocol.Route) []protocol.Route {
	for i := range routes {
		routes[i].Access, routes[i].Global = protocol.Admins, true
	}
	return routes
}

// text is an answer that is not JSON.
type text string
