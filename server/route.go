package server

import (
	"slices"

	"github.com/awaken-go/awaken/protocol"
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
	pageParams  = []protocol.Param{param("offset", "integer", "how many to leave out; default 0"), param("limit", "integer", "how many at most; default 50, 1 to 200")}
	onceOnly    = []protocol.Param{param("Idempotency-Key", "string", "the same request sent again with the same key does nothing, and is answered as the first")}
	tenantParam = param("tenant", "string", "of another tenant; only for an admin key that belongs to none")

	configPage   = []protocol.Param{param("offset", "integer", "how many to leave out; default 0"), param("limit", "integer", "how many at most; default 100, 1 to 1000")}
	matchHeaders = []protocol.Param{param("If-Match", "string", "the ETag that the record has to have"), param("If-None-Match", "string", "*: there must be no record yet"), param("X-Awaken-Actor", "string", "who does it, for the audit log")}
	publishParam = param("publish", "true|false", "false keeps the document as a draft; default true")
	windowParam  = param("window", "string", "how far back: 600, 10m, 6h, 1d; default a day, which is all that is kept")
)

// table returns the routes of a server: its own, as far as it has what they need, and those
// of protocols.
func (s *Server) table(cfg *Config) []protocol.Route {
	in := &inbox{maxMessages: cfg.Limits.MessagesPerRun, userHeader: cfg.UserHeader}
	all := slices.Concat(
		commonRoutes(),
		(&threads{newID: cfg.NewID}).routes(),
		(&messages{inbox: in}).routes(),
		(&runs{inbox: in, streams: s.streams, waitTime: cfg.Limits.WaitTime}).routes(),
		(&approvals{}).routes(),
		(&events{streams: s.streams}).routes(),
		(&pending{inbox: in}).routes(),
		(&dispatches{}).routes(),
	)
	if cfg.Keys != nil {
		all = append(all, keyRoutes()...)
	}
	if cfg.Mailbox.Tenant("").Runtime.Budget() != nil { // else they would promise what is not kept
		all = append(all, budgetRoutes()...)
	}
	if !cfg.HideConfig {
		all = append(all, activityRoutes()...)
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

func commonRoutes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/health", Handle: whole((*call).health), Summary: "Whether the server can work", Replies: map[int]any{200: healthBody{}, 503: healthBody{}}},
		{Method: "GET", Path: "/health/live", Handle: whole((*call).alive), Summary: "Whether the process lives", Replies: map[int]any{200: nil}},
		{Method: "GET", Path: "/metrics", Handle: whole((*call).showMetrics), Summary: "Metrics for Prometheus", Replies: map[int]any{200: text("")}},
		{Method: "GET", Path: "/openapi.json", Handle: whole((*call).openAPI), Summary: "This document", Replies: map[int]any{200: object{}}},
		{Method: "GET", Path: "/v1/system/info", Access: protocol.Admins, Handle: whole((*call).systemInfo), Summary: "What this server is", Replies: map[int]any{200: systemInfo{}}},
		{Method: "GET", Path: "/v1/system/modules", Access: protocol.Admins, Handle: whole((*call).systemModules), Summary: "What this server can do", Replies: map[int]any{200: moduleList{}}},

		{Method: "GET", Path: "/v1/usage", Access: protocol.Readers, Handle: whole((*call).usage), Summary: "What runs have used and cost, by agent", Query: []protocol.Param{param("thread_id", "string", "only runs on that thread"), param("agent_id", "string", "only runs of that agent")}, Replies: map[int]any{200: usageBody{}}, Failures: []int{400}},
	}
}

func keyRoutes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/keys", Access: protocol.Admins, Handle: whole((*call).listKeys), Summary: "The keys, without their secrets", Replies: map[int]any{200: keyList{}}},
		{Method: "POST", Path: "/v1/keys", Access: protocol.Admins, Handle: whole((*call).makeKey), Summary: "Make a key", Body: keyBody{}, Replies: map[int]any{201: keyMade{}}, Failures: []int{400}},
		{Method: "DELETE", Path: "/v1/keys/{id}", Access: protocol.Admins, Handle: whole((*call).revokeKey), Summary: "Revoke a key", Replies: map[int]any{204: nil}, Failures: []int{404, 409}},
	}
}

func budgetRoutes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/budget", Access: protocol.Readers, Handle: whole((*call).getBudget), Summary: "What the tenant has spent, and may", Query: []protocol.Param{tenantParam}, Replies: map[int]any{200: balance{}}, Failures: []int{400}},
		{Method: "PUT", Path: "/v1/budget", Access: protocol.Admins, Handle: whole((*call).putBudget), Summary: "Limit what the tenant may spend", Query: []protocol.Param{tenantParam}, Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400}},
		{Method: "GET", Path: "/v1/agents/{agent_id}/budget", Access: protocol.Readers, Handle: whole((*call).getBudget), Summary: "What an agent has spent, and may", Replies: map[int]any{200: balance{}}, Failures: []int{404}},
		{Method: "PUT", Path: "/v1/agents/{agent_id}/budget", Access: protocol.Admins, Handle: whole((*call).putBudget), Summary: "Limit what an agent may spend", Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400, 404}},
		{Method: "GET", Path: "/v1/threads/{thread_id}/budget", Access: protocol.Readers, Handle: whole((*call).getBudget), Summary: "What a thread has spent, and may", Replies: map[int]any{200: balance{}}, Failures: []int{404}},
		{Method: "PUT", Path: "/v1/threads/{thread_id}/budget", Access: protocol.Admins, Handle: whole((*call).putBudget), Summary: "Limit what a thread may spend", Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400, 404}},
		{Method: "GET", Path: "/v1/runs/{run_id}/budget", Access: protocol.Readers, Handle: whole((*call).getBudget), Summary: "What a run has spent, and may", Replies: map[int]any{200: balance{}}, Failures: []int{404}},
		{Method: "PUT", Path: "/v1/runs/{run_id}/budget", Access: protocol.Admins, Handle: whole((*call).putBudget), Summary: "Limit what a run may spend", Body: budgetBody{}, Replies: map[int]any{200: balance{}}, Failures: []int{400, 404}},
	}
}

// text is an answer that is not JSON.
type text string
