package server

import (
	"cmp"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// system has the handlers of information about the server.
type system struct {
	version string
	started time.Time
	control bool // whether there is a control plane
	hidden  bool // whether it is hidden
	traces  bool // there are routes of traces
	audit   bool // whether there is an audit log
	stats   bool // whether there are stats of agents
}

func (h *system) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/system/info", Needs: permit.ReadSystem, Handle: Handle(h.info),
			Summary: "Get information about this server", Replies: map[int]any{200: systemInfo{}}},
		{Method: "GET", Path: "/v1/system/modules", Needs: permit.ReadSystem, Handle: Handle(h.modules),
			Summary: "List the modules of this server", Replies: map[int]any{200: moduleList{}}},
	}
}

type systemInfo struct {
	Version             string  `json:"version"`
	ScopeID             string  `json:"scope_id"`
	UptimeSeconds       float64 `json:"uptime_seconds"`
	ConfigStoreEnabled  bool    `json:"config_store_enabled"`
	AuditLogEnabled     bool    `json:"audit_log_enabled"`
	RuntimeStatsEnabled bool    `json:"runtime_stats_enabled"`
}

func (h *system) info(req *Request) error {
	return req.Reply(200, systemInfo{Version: h.version, ScopeID: cmp.Or(req.TenantName(), "default"), UptimeSeconds: time.Since(h.started).Seconds(),
		ConfigStoreEnabled: h.control, AuditLogEnabled: h.audit, RuntimeStatsEnabled: h.stats})
}

type moduleList struct {
	Modules []string `json:"modules"`
}

func (h *system) modules(req *Request) error {
	out := moduleList{[]string{"run", "admin", "protocol"}}
	if h.control && !h.hidden {
		out.Modules = append(out.Modules, "config")
	}
	out.Modules = append(out.Modules, "events")
	if h.traces {
		out.Modules = append(out.Modules, "trace")
	}
	return req.Reply(200, out)
}
