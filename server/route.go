package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// table returns the routes of a server: its own, as far as their dependencies are configured, and
// those of protocols.
func (s *Server) table(cfg *Config) ([]protocol.Route, error) {
	cfg.Metrics.words.use(s.kernel.Registry)
	all := slices.Concat(
		(&health{serving: s.serving, logger: cfg.Logger, box: cfg.Mailbox}).routes(),
		(&system{version: cfg.Version, started: time.Now(), control: cfg.Control != nil, hidden: cfg.HideConfig, traces: cfg.has("traces"), audit: cfg.Control != nil && !cfg.NoAudit, stats: cfg.has("stats")}).routes(),
		(&settings{list: cfg.Settings}).routes(),
		(&figures{metrics: cfg.Metrics, auth: s.auth, public: cfg.PublicMetrics}).routes(),
	)
	for _, w := range cfg.Wings {
		routes, err := w.Mount(s.kernel)
		if err != nil {
			return nil, err
		}
		all = append(all, routes...)
	}
	for _, r := range cfg.Routes {
		if r.Control && (cfg.Control == nil || cfg.HideConfig) {
			continue
		}
		if (r.Own || r.Preview || r.Control) && !permit.Server.Has(r.Needs) {
			return nil, fmt.Errorf("route %s %s needs the permission %s, want one that concerns the whole server", r.Method, r.Path, r.Needs)
		}
		all = append(all, r)
	}
	for i := range all {
		if r := &all[i]; !r.Needs.Valid() || permit.Wide.Has(r.Needs) {
			return nil, fmt.Errorf("route %s %s needs the permission %s, want one that a route can need", r.Method, r.Path, r.Needs)
		}
	}
	return all, nil
}

// Handle adapts a handler of the server itself, which takes the request instead of a call.
func Handle(handle func(req *Request) error) func(protocol.Call) error {
	return func(c protocol.Call) error { return handle(&c.(*call).req) }
}

// HandleBody adapts a handler of the server itself that takes the decoded body.
func HandleBody[T any](handle func(req *Request, body *T) error) func(protocol.Call) error {
	return Handle(func(req *Request) error {
		var body T
		if err := req.Decode(&body); err != nil {
			return err
		}
		return handle(req, &body)
	})
}

func Param(name, kind, doc string) protocol.Param {
	return protocol.Param{Name: name, Kind: kind, Doc: doc}
}

var (
	PageParams = []protocol.Param{Param("offset", "integer", "number of items to skip; default 0"), Param("limit", "integer", "maximum number of items, 1 to 200; default 50")}
	// ListParams are the parameters of a list with cursors.
	ListParams = append([]protocol.Param{Param("cursor", "string", "next_cursor of the previous page, with the same filters")}, PageParams...)
	// ConfigPage are the parameters of a list of config documents, which has larger pages.
	ConfigPage = []protocol.Param{Param("offset", "integer", "number of items to skip; default 0"), Param("limit", "integer", "maximum number of items, 1 to 1000; default 100")}
	OnceOnly   = []protocol.Param{Param("Idempotency-Key", "string", "makes retries safe: a repeated request with the same key has no effect and gets the first response")}
)

// MatchHeaders are the headers of a change that is conditional and audited.
var MatchHeaders = []protocol.Param{Param("If-Match", "string", "the ETag that the record must have"),
	Param("If-None-Match", "string", "only * is accepted: the record must not exist yet"),
	Param("X-Awaken-Actor", "string", "name of the caller, for the audit log"),
	Param("X-Awaken-Gate-Override", "string", "why the evaluation gates of agents do not count for what the change publishes, for the audit log; at most 500 characters, percent-encoded if they are not ASCII")}

// Text is a response that is not JSON.
type Text string

// HTML is a response for browsers. One that is an error can be JSON too.
type HTML string

// RawFile is a response that is the bytes of a file.
type RawFile struct{}

// NDJSON is a response of one JSON value per line.
type NDJSON string
