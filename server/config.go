package server

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/observe"
	"github.com/awaken-go/awaken/protocol"
)

// Config configures a Server. Mailbox is required; every other field has a useful zero value.
type Config struct {
	Mailbox *mailbox.Mailbox
	// ManualMailbox leaves Mailbox.Work to the caller. Otherwise Run and Serve call it.
	ManualMailbox bool

	Address string // on which Run listens; default 127.0.0.1:3000
	// CertFile and KeyFile are PEM files with the certificate of the server, its chain, and its key: Run and
	// Serve then speak TLS. They may be replaced while the server runs.
	CertFile, KeyFile string
	// NoHTTP2 leaves Run and Serve with HTTP/1.1. Otherwise they speak HTTP/2 too, with and without TLS.
	NoHTTP2 bool
	// DebugAddress is where Run serves profiles and all metrics, to this machine only. "" serves
	// none.
	DebugAddress string
	// Keys authenticates clients. Nil means that no client has a key.
	Keys Keys
	// Open lets clients without a key use the routes that run agents. Nil means that they may if
	// Address is reachable from this machine only.
	Open *bool
	// Hosts are further host names of the server. If Open, requests for any other name are refused,
	// so that no web page can reach the server through a name of its own.
	Hosts []string
	// Origins are the origins whose pages may use the server. If Open, pages on this machine may
	// too.
	Origins []string

	// Control is the control plane, which needs Keys. Nil disables its routes. HideConfig disables
	// all of them but capabilities: documents, audit log, connections, admin assistant, stats.
	Control    *config.Manager
	HideConfig bool
	// NoAudit says that Control keeps no audit log.
	NoAudit bool
	// Users configures how the server identifies the users of a tenant.
	Users Users
	// TrustClients lets clients instruct the agents: system messages and context join the system
	// prompt, and tools of clients replace an agent's tools of the same name. Otherwise the model
	// is shown the former as data of the user, and the latter are left out. Trust clients only if
	// none of them is a browser. [awaken.AgentSpec.TrustClients] takes precedence.
	TrustClients bool

	// AllowUnpriced admits runs of models without prices although budgets hold for all runs. Set it if the runtime's
	// [engine.Config.AllowUnpriced] is.
	AllowUnpriced bool

	// KeyRates keeps what the keys have used of Limits.KeyRate, for the servers that share it: the rate is one of all
	// together. Nil means one of this server.
	KeyRates limit.Store

	Limits  Limits
	Files   FileLimits
	Metrics *Metrics // nil means metrics of this server alone
	// Observer, if set, makes spans of requests and receives the judgements of runs.
	Observer *observe.Plugin
	// PublicMetrics shows the metrics by model and tool to clients without an admin key too.
	PublicMetrics bool
	Version       string
	// Settings are the program's settings, shown to admins.
	Settings []Setting

	Logger *slog.Logger // nil discards
	NewID  func() string
	// Console is the web console, see package console. Nil means that the server has none.
	Console Console
	// BasePath is a path such as /awaken at which clients see the server, for example behind a proxy. Requests are
	// served with and without it, so the proxy may remove it or not.
	BasePath string
	// Wings are the parts of the server beyond its kernel.
	Wings []Wing
	// Routes are the routes of protocols.
	Routes []protocol.Route
	// Handlers are further handlers by their http.ServeMux pattern. None of the checks of a
	// route apply to them.
	Handlers map[string]http.Handler
}

// Console serves requests without a route: browsers' requests for its pages and files.
type Console interface {
	// Serve answers a request and reports true, or does nothing and reports false.
	Serve(w http.ResponseWriter, r *http.Request) (served bool)
}

// withDefaults returns c with defaults in place of zero fields, or an error if c is invalid.
func (c Config) withDefaults() (Config, error) {
	if c.Mailbox == nil {
		return c, errors.New("server: Config.Mailbox is nil")
	}
	c.Address, c.Version = cmp.Or(c.Address, "127.0.0.1:3000"), cmp.Or(c.Version, "dev")
	local, err := IsLocal(c.Address)
	if err != nil {
		return c, fmt.Errorf("server: address is %q, want host:port: %w", c.Address, err)
	}
	c.Open = cmp.Or(c.Open, &local)
	if !local && (*c.Open || c.Keys == nil) {
		return c, fmt.Errorf("server: address %s can be reached from other machines, so Keys are required and Open must be false", c.Address)
	}
	if !local {
		if err := c.Keys.CheckStrength(); err != nil {
			return c, fmt.Errorf("server: address %s can be reached from other machines, but %w", c.Address, err)
		}
	}
	if c.Control != nil && c.Keys == nil {
		return c, errors.New("server: Config.Keys is nil, but Control needs admin keys")
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return c, fmt.Errorf("server: certificate is %q and its key %q, want both or none", c.CertFile, c.KeyFile)
	}
	if c.DebugAddress != "" {
		if local, err := IsLocal(c.DebugAddress); err != nil || !local {
			return c, fmt.Errorf("server: debug address is %q, want an address of this machine such as 127.0.0.1:6060", c.DebugAddress)
		}
	}
	if err := checkBase(c.BasePath); err != nil {
		return c, fmt.Errorf("server: %w", err)
	}
	if err := c.Users.check(); err != nil {
		return c, fmt.Errorf("server: %w", err)
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.NewID == nil {
		c.NewID = ids.New
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	c.Hosts, c.Origins = slices.Clone(c.Hosts), slices.Clone(c.Origins)
	c.Limits.setDefaults()
	c.Files.setDefaults()
	return c, nil
}

// IsLocal reports whether an address can be reached from this machine only.
func IsLocal(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, err
	}
	return isLocalHost(host), nil
}

func isLocalHost(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// has reports whether a wing has a feature.
func (c *Config) has(feature string) bool {
	return slices.ContainsFunc(c.Wings, func(w Wing) bool {
		f, ok := w.(Featured)
		return ok && slices.Contains(f.Features(), feature)
	})
}

// parts returns values of the types that bodies of the wings have as parts.
func (c *Config) parts() (all []any) {
	for _, w := range c.Wings {
		if p, ok := w.(Composed); ok {
			all = append(all, p.Parts()...)
		}
	}
	return all
}

// assistant returns the wing that has an admin assistant, or nil.
func (c *Config) assistant() Assisting {
	for _, w := range c.Wings {
		if a, ok := w.(Assisting); ok && c.has("assistant") {
			return a
		}
	}
	return nil
}
