package automation

import (
	"errors"
	"net/http"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// webhooks has the handlers of webhook endpoints.
type webhooks struct {
	router    *deliver.Router
	endpoints webhook.EndpointStore
	hooks     webhook.Store
	audit     *config.Manager // nil keeps no audit log
	newID     func() string
}

// WebhookConfig configures webhooks, which notify endpoints of the runs of tenants.
type WebhookConfig struct {
	Router    *deliver.Router // with a sender; the caller runs both
	Endpoints webhook.EndpointStore
}

func (h *webhooks) routes() []protocol.Route {
	const all, one = "/v1/webhooks", "/v1/webhooks/{webhook_id}"
	page := []protocol.Param{server.Param("cursor", "string", "next_cursor of the previous page"), server.Param("limit", "integer", "maximum number of items, 1 to 200; default 50")}
	return []protocol.Route{
		{Method: "GET", Path: all, Needs: permit.ReadAutomation, Handle: server.Handle(h.list), Query: page,
			Summary: "List the webhooks, by id", Replies: map[int]any{200: webhookList{}}},
		{Method: "POST", Path: all, Needs: permit.WriteAutomation, Handle: server.HandleBody(h.create), Body: newWebhook{},
			Summary: "Create a webhook; only this reply has the secret that signs its messages", Replies: map[int]any{201: webhookView{}}, Failures: []int{409}},
		{Method: "GET", Path: one, Needs: permit.ReadAutomation, Handle: server.Handle(h.get),
			Summary: "Get a webhook", Replies: map[int]any{200: webhookView{}}},
		{Method: "PUT", Path: one, Needs: permit.WriteAutomation, Handle: server.HandleBody(h.put), Body: putWebhook{},
			Summary: "Replace a webhook; its secret stays", Replies: map[int]any{200: webhookView{}}, Failures: []int{409}},
		{Method: "DELETE", Path: one, Needs: permit.WriteAutomation, Handle: server.Handle(h.delete),
			Summary: "Delete a webhook; undelivered messages are dropped", Replies: map[int]any{204: nil}},
		{Method: "POST", Path: one + "/rotate", Needs: permit.WriteAutomation, Handle: server.Handle(h.rotate),
			Summary: "Rotate the secret of a webhook; messages are signed with both secrets for 24 hours", Replies: map[int]any{200: webhookView{}}, Failures: []int{409}},
		{Method: "POST", Path: one + "/test", Needs: permit.WriteAutomation, Handle: server.Handle(h.test),
			Summary: "Send a test message to a webhook, once", Replies: map[int]any{200: webhook.Attempt{}}},
		{Method: "GET", Path: one + "/deliveries", Needs: permit.ReadAutomation, Handle: server.Handle(h.deliveries), Query: page,
			Summary: "List the deliveries of a webhook by run, latest first", Replies: map[int]any{200: webhookDeliveries{}}},
		{Method: "POST", Path: one + "/redeliver", Needs: permit.WriteAutomation, Handle: server.HandleBody(h.redeliver), Body: redelivery{},
			Summary: "Redeliver the messages about a run to a webhook", Replies: map[int]any{202: nil}, Failures: []int{409}},
	}
}

// webhookView is a webhook as clients see it.
type webhookView struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"` // increases with changes by clients, not with progress
	webhook.EndpointSpec
	Secret string `json:"secret,omitempty"` // only when it is new
	// PausedReason says why the server paused the webhook, and Lost which messages may have been lost.
	PausedReason string `json:"paused_reason,omitempty"`
	Lost         string `json:"lost,omitempty"`
}

func webhookViewOf(e *webhook.Endpoint, secret awaken.Secret) webhookView {
	v := webhookView{ID: e.ID, Revision: e.State.Edits, EndpointSpec: e.Spec, Secret: secret.Expose(), Lost: e.State.Lost}
	if e.Spec.Paused {
		v.PausedReason = e.State.Paused
	}
	return v
}

type webhookList struct {
	Items      []webhookView `json:"items"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

const webhookCursor = "w."

func (h *webhooks) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	filters := server.FiltersOf(req, nil)
	from, err := req.Behind(webhookCursor, filters)
	if err != nil {
		return err
	}
	limit := req.Number("limit", 50, 1, 200)
	found, err := h.endpoints.List(req.Context(), req.Tenant().Name(), from.At, limit+1)
	if err != nil {
		return err
	}
	out := webhookList{Items: []webhookView{}}
	for i, e := range found {
		if i == limit {
			out.NextCursor = server.CursorText(webhookCursor, server.Keyset{At: found[i-1].ID, Of: filters})
			break
		}
		out.Items = append(out.Items, webhookViewOf(e, awaken.Secret{}))
	}
	return req.Reply(200, out)
}

type newWebhook struct {
	ID string `json:"id,omitempty"` // generated if absent
	webhook.EndpointSpec
}

// maxWebhooks is how many webhooks a tenant may have.
const maxWebhooks = 50

func (h *webhooks) create(req *server.Request, body *newWebhook) error {
	e := &webhook.Endpoint{Tenant: req.Tenant().Name(), ID: body.ID, Spec: body.EndpointSpec}
	if e.ID == "" {
		e.ID = h.newID()
	}
	if err := protocol.CheckID("id", e.ID); err != nil {
		return err
	}
	if err := h.check(&e.Spec); err != nil {
		return err
	}
	if found, err := h.endpoints.List(req.Context(), e.Tenant, "", maxWebhooks); err != nil {
		return err
	} else if len(found) == maxWebhooks {
		return server.Fail(http.StatusConflict, "too_many_webhooks", "the tenant has %d webhooks, the maximum; delete one first", maxWebhooks)
	}
	secret, err := h.router.Add(req.Context(), e)
	if err != nil {
		return h.missing(req, err)
	}
	return h.changed(req, "create", http.StatusCreated, e, secret)
}

func (h *webhooks) check(spec *webhook.EndpointSpec) error {
	if err := spec.Normalize(); err != nil {
		return protocol.BadRequest("%s", err)
	}
	for _, id := range spec.Agents {
		if err := protocol.CheckID("agents[]", id); err != nil {
			return err
		}
	}
	if err := h.router.Sender().CheckURL(spec.URL); err != nil {
		return protocol.BadRequest("%s", err)
	}
	return nil
}

// changed records that a webhook was changed, and replies with it.
func (h *webhooks) changed(req *server.Request, action string, status int, e *webhook.Endpoint, secret awaken.Secret) error {
	if err := server.RecordChange(req, h.audit, action, "webhooks/"+e.ID); err != nil {
		return err
	}
	return req.Reply(status, webhookViewOf(e, secret))
}

// missing answers that the webhook of a request does not exist with status 404, and that the server has no key for secrets with 503.
func (h *webhooks) missing(req *server.Request, err error) error {
	if errors.Is(err, deliver.ErrSeal) {
		return server.Unavailable(server.Plain(err.Error()))
	}
	if errors.Is(err, awaken.ErrNotFound) {
		return protocol.NotFound("webhook", req.Path("webhook_id"))
	}
	return err
}

// of returns the webhook of a request.
func (h *webhooks) of(req *server.Request) (*webhook.Endpoint, error) {
	e, err := h.endpoints.Get(req.Context(), req.Tenant().Name(), req.Path("webhook_id"))
	return e, h.missing(req, err)
}

func (h *webhooks) get(req *server.Request) error {
	e, err := h.of(req)
	if err != nil {
		return err
	}
	return req.Reply(200, webhookViewOf(e, awaken.Secret{}))
}

type putWebhook struct {
	// ExpectedRevision, if set, must be the current revision.
	ExpectedRevision *int64 `json:"expected_revision,omitempty"`
	webhook.EndpointSpec
}

func (h *webhooks) put(req *server.Request, body *putWebhook) error {
	if err := h.check(&body.EndpointSpec); err != nil {
		return err
	}
	e, err := h.router.Change(req.Context(), req.Tenant().Name(), req.Path("webhook_id"), func(e *webhook.Endpoint) error {
		e.Spec, e.State.Paused = body.EndpointSpec, ""
		return expect("webhook", e.ID, e.State.Edits, body.ExpectedRevision)
	})
	if err != nil {
		return h.missing(req, err)
	}
	return h.changed(req, "update", http.StatusOK, e, awaken.Secret{})
}

func (h *webhooks) delete(req *server.Request) error {
	if existed, err := h.endpoints.Drop(req.Context(), req.Tenant().Name(), req.Path("webhook_id")); err != nil {
		return err
	} else if !existed {
		return h.missing(req, awaken.ErrNotFound)
	}
	return req.Done(server.RecordChange(req, h.audit, "delete", "webhooks/"+req.Path("webhook_id")))
}

func (h *webhooks) rotate(req *server.Request) error {
	secret, e, err := h.router.Rotate(req.Context(), req.Tenant().Name(), req.Path("webhook_id"))
	if err != nil {
		return h.missing(req, err)
	}
	return h.changed(req, "rotate", http.StatusOK, e, secret)
}

func (h *webhooks) test(req *server.Request) error {
	a, err := h.router.Test(req.Context(), req.Tenant().Name(), req.Path("webhook_id"))
	if err != nil {
		return h.missing(req, err)
	}
	return req.Reply(200, a)
}

// webhookDeliveries is a page of what a webhook was told.
type webhookDeliveries struct {
	Items      []delivery `json:"items"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

func (h *webhooks) deliveries(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	e, err := h.of(req)
	if err != nil {
		return err
	}
	filters := server.FiltersOf(req, e.ID)
	from, err := req.Behind(webhookCursor, filters)
	if err != nil {
		return err
	}
	limit := req.Number("limit", 50, 1, 200)
	hooks, err := h.hooks.Hooks(req.Context(), webhook.Query{Tenant: e.Tenant, ID: deliver.HookID(e), Latest: true, Before: from.At, Limit: limit + 1})
	if err != nil {
		return err
	}
	out := webhookDeliveries{Items: []delivery{}}
	for i, hook := range hooks {
		if i == limit {
			out.NextCursor = server.CursorText(webhookCursor, server.Keyset{At: hooks[i-1].RunID, Of: filters})
			break
		}
		hook.Target.URL = e.Spec.URL
		out.Items = append(out.Items, deliveryOf(hook, time.Now()))
	}
	return req.Reply(200, out)
}

type redelivery struct {
	RunID string `json:"run_id"`
	From  int    `json:"from,omitempty"` // the number of the first message, counted from 1; default 1
}

func (h *webhooks) redeliver(req *server.Request, body *redelivery) error {
	e, err := h.of(req)
	if err != nil {
		return err
	}
	if body.RunID == "" {
		return protocol.BadRequest("run_id is missing; want the run whose messages to redeliver")
	}
	err = h.router.Sender().Redeliver(req.Context(), e.Tenant, body.RunID, deliver.HookID(e), max(1, body.From))
	if errors.Is(err, awaken.ErrNotFound) {
		return protocol.NotFound("delivery", body.RunID)
	}
	if err != nil {
		return err
	}
	if err := server.RecordChange(req, h.audit, "redeliver", "webhooks/"+e.ID); err != nil {
		return err
	}
	return req.Reply(http.StatusAccepted, nil)
}
