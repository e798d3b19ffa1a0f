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
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// Config is what a Server is made of. Mailbox is needed; everything else has a useful
// zero value.
type Config struct {
	Mailbox *mailbox.Mailbox
	// ManualMailbox leaves it to the caller to let the mailbox work. Otherwise Run does.
	ManualMailbox bool

	Address string // where Run listens; default 127.0.0.1:3000
	// DebugAddress is where Run serves profiles, for this machine only. "" serves none.
	DebugAddress string
	// Keys are who may do what. Nil means that nobody has a key.
	Keys *Keys
	// Open lets everyone use the routes that run agents, without a key. Nil does so if
	// Address is on this machine.
	Open *bool
	// Hosts are the names under which the server may be asked for, beside its address.
	// Requests for another name are refused if Open, so that no page in a browser can reach
	// it by a name of its own.
	Hosts []string
	// Origins are the pages that may use the server from a browser. Pages on this machine
	// may if Open.
	Origins []string

	// Control is the control plane. Nil has none of its routes. Keys have to be set with it.
	// HideConfig leaves out what is about documents, the audit log, connections, the admin
	// assistant, and what agents did; capabilities stay.
	Control    *config.Manager
	HideConfig bool
	// Assistant is the server's own agent; nil has none.
	Assistant *assistant.Assistant
	// Adapters are the names of the providers' adapters, for who writes documents.
	Adapters []string
	// Permissions says what an agent may do by itself. Nil cannot tell.
	Permissions func(reg *registry.Registry, agentID string) (*PermissionPreview, error)
	// Stats is what the agents did lately. Nil does not know.
	Stats *Stats
	// UserHeader is a header in which a proxy in front of the server says which user asks.
	// Runs are for that user, whatever the request says. It is believed without proof: set
	// it only if nobody reaches the server except through a proxy that sets the header
	// itself and removes what clients send under its name. "" believes no header.
	UserHeader string

	Limits  Limits
	Metrics *Metrics // nil counts for this server alone
	Version string

	Logger *slog.Logger // nil discards
	NewID  func() string
	// Routes adds those of protocols.
	Routes []protocol.Route
	// Handlers adds what is no route, each under its pattern.
	Handlers map[string]http.Handler
}

// withDefaults fills in what was left out, and says what is wrong with the rest.
func (c Config) withDefaults() (Config, error) {
	if c.Mailbox == nil {
		return c, errors.New("server: Mailbox is needed")
	}
	c.Address, c.Version = cmp.Or(c.Address, "127.0.0.1:3000"), cmp.Or(c.Version, "dev")
	local, err := IsLocal(c.Address)
	if err != nil {
		return c, fmt.Errorf("server: address is %q, want host:port: %w", c.Address, err)
	}
	if c.Open == nil {
		c.Open = &local
	}
	if !local && (*c.Open || c.Keys == nil) {
		return c, fmt.Errorf("server: address %s can be reached from other machines: keys are needed, and open access is not possible", c.Address)
	}
	if c.Control != nil && c.Keys == nil {
		return c, errors.New("server: the control plane needs keys, because only who has an admin key may use it")
	}
	if c.Assistant != nil && c.Control == nil {
		return c, errors.New("server: the admin assistant needs the control plane")
	}
	if c.DebugAddress != "" {
		if local, err := IsLocal(c.DebugAddress); err != nil || !local {
			return c, fmt.Errorf("server: debug address is %q, want an address of this machine such as 127.0.0.1:6060", c.DebugAddress)
		}
	}
	if err := checkUserHeader(c.UserHeader); err != nil {
		return c, fmt.Errorf("server: user header is %q, %w", c.UserHeader, err)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewID == nil {
		c.NewID = ids.New
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	c.Hosts, c.Origins = slices.Clone(c.Hosts), slices.Clone(c.Origins)
	c.Limits.setDefaults()
	return c, nil
}

// IsLocal reports whether only this machine can reach an address.
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
