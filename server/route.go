package server

import (
	"slices"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// table returns the routes of a server: its own, as far as their dependencies are configured, and
// those of protocols.
func (s *Server) table(cfg *Config) []protocol.Route {
	registry := func() *registry.Registry { return runtimeOf(cfg.Mailbox.Tenant("")).Registry() }
	cfg.Metrics.words.use(registry)
	all := slices.Concat(
		(&health{serving: s.serving, logger: cfg.Logger, box: cfg.Mailbox}).routes(),
		newSignIns(cfg, s.auth).routes(),
		(&system{version: cfg.Version, started: time.Now(), control: cfg.Control != nil, hidden: cfg.HideConfig, traces: cfg.Traces, audit: cfg.Control != nil && !cfg.NoAudit, stats: cfg.Stats != nil}).routes(),
		(&settings{list: cfg.Settings}).routes(),
		(&figures{metrics: cfg.Metrics, auth: s.auth, public: cfg.PublicMetrics}).routes(),
		(&threads{newID: cfg.NewID}).routes(),
		(&messages{}).routes(),
		(&runs{streams: s.streams}).routes(),
		(&approvals{decisionLog{cfg.Control, cfg.Logger}}).routes(),
		(&batches{approvals{decisionLog{cfg.Control, cfg.Logger}}}).routes(),
		(&restored{batches{approvals{decisionLog{cfg.Control, cfg.Logger}}}}).routes(),
		(&events{streams: s.streams}).routes(),
		(&pending{}).routes(),
		(&files{limits: cfg.Files, serving: s.serving}).routes(),
		(&dispatches{}).routes(),
		(&queues{}).routes(),
		(&searches{registry: registry}).routes(),
		(&explanations{}).routes(),
		(&timelines{}).routes(),
		(&forks{newID: cfg.NewID, control: cfg.Control, registry: registry}).routes(),
		(&trees{registry: registry}).routes(),
		(&budgets{mailbox: cfg.Mailbox, registry: registry}).routes(),
		(&usage{figures: cfg.Rollups}).routes(),
		(&modelHealth{registry: registry}).routes(),
	)
	if cfg.Traces {
		all = append(all, (&traces{control: cfg.Control, live: cfg.Evals.live()}).routes()...)
		all = append(all, (&pins{audit: cfg.Control}).routes()...)
	}
	all = append(all, (&remembered{audit: cfg.Control}).routes()...)
	if cfg.Rollups != nil {
		all = append(all, (&series{store: cfg.Rollups}).routes()...)
	}
	if cfg.Evals != nil {
		all = append(all, s.evaluations(cfg, registry)...)
	}
	if cfg.Hooks != nil {
		all = append(all, (&deliveries{hooks: cfg.Hooks}).routes()...)
	}
	if w := cfg.Webhooks; w != nil {
		all = append(all, (&webhooks{router: w.Router, endpoints: w.Endpoints, hooks: cfg.Hooks, audit: cfg.Control, newID: cfg.NewID}).routes()...)
	}
	if cfg.Triggers != nil {
		all = append(all, newTriggers(cfg, s.auth, s.limiter).routes()...)
	}
	if cfg.Schedules != nil {
		s.schedules = newSchedules(cfg)
		all = append(all, s.schedules.routes()...)
	}
	if cfg.Changes != nil {
		all = append(all, newChanges(cfg, s.streams).routes()...)
	}
	if cfg.Replicas != nil {
		all = append(all, (&fleet{replicas: cfg.Replicas, config: s.configVersion}).routes()...)
	}
	if cfg.Keys != nil {
		all = append(all, s.tenants.routes()...)
		all = append(all, (&keyring{keys: cfg.Keys, mailbox: cfg.Mailbox, control: cfg.Control}).routes()...)
	}
	if cfg.Limiter != nil {
		all = append(all, (&providerLimits{limiter: cfg.Limiter}).routes()...)
	}
	if budgetOf(cfg.Mailbox.Tenant("")) != nil {
		all = append(all, (&budgets{mailbox: cfg.Mailbox, registry: registry}).limits()...)
	}
	if !cfg.HideConfig {
		all = append(all, (&timelines{}).requests()...)
		all = append(all, (&activity{stats: cfg.Stats, registry: registry}).routes()...)
	}
	if cfg.Control != nil && !cfg.HideConfig {
		all = append(all, controlTable(cfg, registry)...)
	}
	if a := s.authorizations(); a != nil {
		all = append(all, a.routes()...)
	}
	if cfg.Control != nil {
		all = append(all, (&inventory{control: cfg.Control, assistant: cfg.Assistant, adapters: cfg.Adapters, registry: registry}).routes()...)
	}
	for _, r := range cfg.Routes {
		if r.Control && (cfg.Control == nil || cfg.HideConfig) {
			continue
		}
		r.Global = r.Global || r.Own || r.Control
		all = append(all, r)
	}
	for i := range all {
		if all[i].Access == protocol.Admins {
			all[i].Scope = protocol.Operators // admins act for all users
		}
	}
	return all
}

// controlTable returns the routes of a control plane that is not hidden.
func controlTable(cfg *Config, registry func() *registry.Registry) []protocol.Route {
	return slices.Concat(
		(&documents{control: cfg.Control, registry: registry}).routes(),
		(&checks{control: cfg.Control}).routes(),
		(&overrides{control: cfg.Control}).routes(),
		(&versions{control: cfg.Control}).routes(),
		(&forks{newID: cfg.NewID, control: cfg.Control, registry: registry}).replays(),
		(&canaries{control: cfg.Control}).routes(),
		(&connections{control: cfg.Control, registry: registry}).routes(),
		(&audits{control: cfg.Control, mailbox: cfg.Mailbox}).routes(),
		(&permissions{plugin: cfg.Permission, registry: registry, control: cfg.Control}).routes(),
		(&assistants{control: cfg.Control}).routes(),
	)
}

// evaluations returns the routes of evaluations.
func (s *Server) evaluations(cfg *Config, registry func() *registry.Registry) []protocol.Route {
	s.evals = newEvaluations(cfg, s.streams, registry)
	all := append((&datasets{newID: cfg.NewID, most: s.evals.limits.Imports, audit: cfg.Control}).routes(), s.evals.routes()...)
	if s.lives = newLives(cfg, s.evals); s.lives != nil {
		all = append(all, s.lives.routes()...)
	}
	return all
}

// forGlobalAdmins restricts routes to admin keys that belong to no tenant.
func forGlobalAdmins(routes []protocol.Route) []protocol.Route {
	for i := range routes {
		routes[i].Access, routes[i].Global = protocol.Admins, true
	}
	return routes
}

// own adapts a handler of the server itself, which takes the request instead of a call.
func own(handle func(req *request) error) func(protocol.Call) error {
	return func(c protocol.Call) error { return handle(&c.(*call).request) }
}

// withBody adapts a handler of the server itself that takes the decoded body.
func withBody[T any](handle func(req *request, body *T) error) func(protocol.Call) error {
	return own(func(req *request) error {
		var body T
		if err := req.Decode(&body); err != nil {
			return err
		}
		return handle(req, &body)
	})
}

func param(name, kind, doc string) protocol.Param {
	return protocol.Param{Name: name, Kind: kind, Doc: doc}
}

var (
	pageParams = []protocol.Param{param("offset", "integer", "number of items to skip; default 0"), param("limit", "integer", "maximum number of items, 1 to 200; default 50")}
	// listParams are those of a list that has cursors, too.
	listParams = append([]protocol.Param{param("cursor", "string", "next_cursor of the previous page, with the same filters")}, pageParams...)
	onceOnly   = []protocol.Param{param("Idempotency-Key", "string", "makes retries safe: a repeated request with the same key has no effect and gets the first response")}
)

// text is a response that is not JSON.
type text string

// page is a response for browsers. One that is an error can be JSON too.
type page string
