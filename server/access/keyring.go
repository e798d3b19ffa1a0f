package access

import (
	"context"
	"errors"
	"slices"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// keyring has the handlers of API keys, for admins only.
type keyring struct {
	keys    *Keys
	mailbox *mailbox.Mailbox
	control *config.Manager // has the audit log; may be nil
}

// audit returns what records the caller's actions.
func (h *keyring) audit(req *server.Request) Audit {
	if h.control == nil {
		return nil
	}
	return func(ctx context.Context, action, resource string) error {
		return h.control.Audit().Add(ctx, action, resource, server.ActorOf(req), nil)
	}
}

func (h *keyring) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/keys", Needs: permit.ReadKeys, Handle: server.Handle(h.list),
			Summary: "List API keys, without their secrets", Replies: map[int]any{200: keyList{}}},
		{Method: "POST", Path: "/v1/keys", Needs: permit.WriteKeys, Handle: server.HandleBody(h.make),
			Summary: "Create an API key", Headers: server.MatchHeaders[2:], Body: keyBody{}, Replies: map[int]any{201: keyMade{}}},
		{Method: "DELETE", Path: "/v1/keys/{id}", Needs: permit.WriteKeys, Handle: server.Handle(h.revoke),
			Summary: "Revoke an API key", Headers: server.MatchHeaders[2:], Replies: map[int]any{204: nil}, Failures: []int{409}},
	}
}

type keyBody struct {
	Kind   server.Kind `json:"kind"`
	Tenant string      `json:"tenant,omitempty"`
	User   string      `json:"user,omitempty"` // the key's owner
	// Operator keys act for all users of the tenant; admin keys do anyway.
	Operator bool   `json:"operator,omitempty"`
	Label    string `json:"label,omitempty"`
	// BudgetUSD limits what the key's tenant may spend with all its keys together.
	BudgetUSD *float64 `json:"budget_usd,omitempty"`
}

type keyMade struct {
	server.Key
	Secret string `json:"secret"`
}

type keyList struct {
	Items []server.Key `json:"items"`
}

// known returns the keys that the caller may see: its tenant's keys, or all if its key belongs to
// no tenant.
func (h *keyring) known(req *server.Request) ([]server.Key, error) {
	keys, err := h.keys.List(req.Context())
	tenant := req.TenantName()
	if err != nil || tenant == "" {
		return keys, err
	}
	return slices.DeleteFunc(keys, func(k server.Key) bool { return k.Tenant != tenant }), nil
}

func (h *keyring) list(req *server.Request) error {
	keys, err := h.known(req)
	if err != nil {
		return err
	}
	return req.Reply(200, keyList{keys})
}

func (h *keyring) make(req *server.Request, body *keyBody) error {
	if own := req.TenantName(); own != "" {
		if body.Tenant != "" && body.Tenant != own {
			return server.Forbidden("a key of tenant %s cannot create keys of other tenants", own)
		}
		body.Tenant = own
	}
	var limit *money.Amount
	if v := body.BudgetUSD; v != nil {
		var err error
		if limit, err = tenantLimit(req, *v); err != nil {
			return err
		}
	}
	want := server.Key{Kind: body.Kind, Tenant: body.Tenant, User: body.User, Operator: body.Operator, Label: body.Label}
	key, secret, err := h.keys.Make(req.Context(), want, h.audit(req))
	if err != nil {
		return err
	}
	if limit != nil {
		t := h.mailbox.Tenant(body.Tenant)
		if err := money.SetBudget(req.Context(), server.BudgetOf(t), money.Account{Scope: money.TenantScope}, limit); err != nil {
			return errors.Join(err, h.keys.Revoke(req.Context(), key.ID, h.audit(req))) // no key rather than one without a limit
		}
	}
	return req.Reply(201, keyMade{*key, secret.Expose()})
}

// tenantLimit validates a spending limit for the tenant of a new key.
func tenantLimit(req *server.Request, usd float64) (*money.Amount, error) {
	switch {
	case !req.May(permit.ActForTenants):
		return nil, server.Forbidden("a tenant cannot set its own budget; use an admin key without a tenant")
	case server.BudgetOf(req.Tenant()) == nil:
		return nil, protocol.BadRequest("budget_usd needs the setting budget.enabled")
	}
	return server.AmountOf("budget_usd", usd)
}

func (h *keyring) revoke(req *server.Request) error {
	keys, err := h.known(req)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(keys, func(k server.Key) bool { return k.ID == req.Path("id") }) {
		return protocol.NotFound("key", req.Path("id"))
	}
	return req.Done(h.keys.Revoke(req.Context(), req.Path("id"), h.audit(req)))
}
