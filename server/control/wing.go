// Package control serves the control plane: config documents with their checks, overrides, versions, canaries and audit log,
// connections and their authorization, previews of permissions, the admin assistant, and what agents can be made of.
package control

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/limit"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// Config configures a Wing. The control plane itself is [server.Config.Control].
type Config struct {
	// Adapters are the names of the known provider adapters, listed in capabilities.
	Adapters []string
	// Permission is the plugin of package permission that agents load, for previews of what its rules decide. If nil, their routes
	// say so.
	Permission awaken.Plugin
	// Authorizer completes the authorizations of the MCP servers in the documents. If nil, the routes with which users authorize
	// them are not registered.
	Authorizer Authorizer
	// Assistant is the admin assistant, the server's own agent. It needs [server.Config.Control]. If nil, there is none.
	Assistant *assistant.Assistant
	// Limiter has the rate limits of providers. If nil, the route that lists them is not registered.
	Limiter *limit.Limiter
}

// Wing is the control plane of a server.
type Wing struct {
	cfg            Config
	k              *server.Kernel
	authorizations *authorizations // nil if users authorize nothing
}

// New returns a wing.
func New(cfg Config) *Wing { return &Wing{cfg: cfg} }

// Mount returns the routes of the wing.
func (w *Wing) Mount(k *server.Kernel) ([]protocol.Route, error) {
	if w.cfg.Assistant != nil && k.Control == nil {
		return nil, errors.New("Config.Control is nil, but Assistant needs it")
	}
	w.k = k
	all := (&modelHealth{registry: k.Registry}).routes()
	if w.cfg.Limiter != nil {
		all = append(all, (&providerLimits{limiter: w.cfg.Limiter}).routes()...)
	}
	if k.Control == nil {
		return all, nil
	}
	if !k.HideConfig {
		all = append(all, w.documents()...)
	}
	if w.cfg.Authorizer != nil {
		w.authorizations = &authorizations{control: k.Control, authorizer: w.cfg.Authorizer, kernel: k, mailbox: k.Mailbox,
			log: server.DecisionLog{Control: k.Control, Logger: k.Logger}, logger: k.Logger}
		all = append(all, w.authorizations.routes()...)
	}
	return append(all, (&inventory{control: k.Control, assistant: w.cfg.Assistant, adapters: w.cfg.Adapters, registry: k.Registry}).routes()...), nil
}

// documents returns the routes of a control plane that is not hidden.
func (w *Wing) documents() []protocol.Route {
	control, registry := w.k.Control, w.k.Registry
	return slices.Concat(
		(&documents{control: control, registry: registry}).routes(),
		(&checks{control: control}).routes(),
		(&overrides{control: control}).routes(),
		(&versions{control: control}).routes(),
		(&canaries{control: control}).routes(),
		(&connections{control: control, registry: registry}).routes(),
		(&audits{control: control, mailbox: w.k.Mailbox}).routes(),
		(&permissions{plugin: w.cfg.Permission, registry: registry, control: control}).routes(),
		(&assistants{control: control}).routes(),
	)
}

// Features returns the features of the wing.
func (w *Wing) Features() (list []string) {
	if w.cfg.Assistant != nil {
		list = append(list, "assistant")
	}
	return list
}

// Assistant returns the agent of the admin assistant as it is configured now.
func (w *Wing) Assistant(ctx context.Context) (*awaken.AgentSpec, error) {
	spec, err := w.cfg.Assistant.Agent(ctx)
	if errors.Is(err, assistant.ErrNoModel) {
		return nil, server.Fail(http.StatusConflict, "no_model", "%v", err)
	}
	return spec, err
}

// Work completes authorizations whose process was lost, until ctx is done.
func (w *Wing) Work(ctx context.Context) {
	if w.authorizations != nil && !w.k.ManualMailbox {
		w.authorizations.work(ctx)
	}
}
