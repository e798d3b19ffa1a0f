package server

import (
	"context"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
)

type healthBody struct {
	Status     string            `json:"status"` // healthy or unhealthy
	Components map[string]string `json:"components"`
}

func (c *call) health() error {
	ctx, cancel := context.WithTimeout(c.ctx, 5*time.Second)
	defer cancel()
	out := healthBody{Status: "healthy", Components: map[string]string{"store": "ok", "runtime": "ok"}}
	status := 200
	if err := probeStore(ctx, c.tenant); err != nil {
		out.Status, out.Components["store"], status = "unhealthy", "error", 503
		if ctx.Err() != nil {
			out.Components["store"] = "timeout"
		}
		c.srv.cfg.Logger.Warn("the store is not healthy", "error", err)
	}
	if c.srv.serving.Err() != nil {
		out.Status, out.Components["runtime"], status = "unhealthy", "stopping", 503
	}
	return c.Reply(status, out)
}

func (c *call) alive() error { return c.Reply(200, nil) }

func (c *call) showMetrics() error {
	c.srv.cfg.Metrics.handler().ServeHTTP(c.w, c.r)
	return nil
}

type systemInfo struct {
	Version             string  `json:"version"`
	ScopeID             string  `json:"scope_id"`
	UptimeSeconds       float64 `json:"uptime_seconds"`
	ConfigStoreEnabled  bool    `json:"config_store_enabled"`
	AuditLogEnabled     bool    `json:"audit_log_enabled"`
	RuntimeStatsEnabled bool    `json:"runtime_stats_enabled"`
}

func (c *call) systemInfo() error {
	scope := "default"
	if c.key != nil && c.key.Tenant != "" {
		scope = c.key.Tenant
	}
	return c.Reply(200, systemInfo{Version: c.srv.cfg.Version, ScopeID: scope, UptimeSeconds: time.Since(c.srv.started).Seconds(),
		ConfigStoreEnabled: c.srv.cfg.Control != nil, AuditLogEnabled: c.srv.cfg.Control != nil, RuntimeStatsEnabled: c.srv.cfg.Stats != nil})
}

type moduleList struct {
	Modules []string `json:"modules"`
}

func (c *call) systemModules() error {
	out := moduleList{[]string{"run", "admin", "protocol"}}
	if c.srv.cfg.Control != nil && !c.srv.cfg.HideConfig {
		out.Modules = append(out.Modules, "config")
	}
	out.Modules = append(out.Modules, "events")
	return c.Reply(200, out)
}

// probeStore asks the store for something small.
func probeStore(ctx context.Context, tenant *mailbox.Tenant) error {
	_, err := tenant.Store.ListThreads(ctx, awaken.ThreadQuery{Limit: 1})
	return err
}
