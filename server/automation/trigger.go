package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/trigger"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/failpoint"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// TriggerConfig configures triggers, with which other systems start runs of tenants.
type TriggerConfig struct {
	Store  trigger.Store
	Sealer deliver.Sealer // encrypts the secrets
	URL    string         // base URL for links; "" means the URL of the admin's request
}

// triggers has the handlers of the triggers of a tenant, for its admins.
type triggers struct {
	store  trigger.Store
	sealer deliver.Sealer
	launch launcher
	audit  *config.Manager // nil keeps no audit log
	newID  func() string
	kernel *server.Kernel
	url    string // see [TriggerConfig.URL]
	base   string
	// strangers has a place for each request that is not known to be authentic yet.
	strangers chan struct{}
}

func newTriggers(cfg *TriggerConfig, k *server.Kernel) *triggers {
	return &triggers{store: cfg.Store, sealer: cfg.Sealer, launch: launcher{k.Mailbox, k.TrustClients}, audit: k.Control, newID: k.NewID, kernel: k,
		url: strings.TrimSuffix(cfg.URL, "/"), base: k.BasePath, strangers: make(chan struct{}, 16)}
}

func (h *triggers) routes() []protocol.Route {
	const all, one = "/v1/triggers", "/v1/triggers/{trigger_id}"
	page := []protocol.Param{server.Param("cursor", "string", "next_cursor of the previous page"), server.Param("limit", "integer", "maximum number of items, 1 to 200; default 50")}
	routes := []protocol.Route{
		{Method: "GET", Path: all, Needs: permit.ReadAutomation, Handle: server.Handle(h.list), Query: page,
			Summary: "List the triggers, by id", Replies: map[int]any{200: triggerList{}}},
		{Method: "POST", Path: all, Needs: permit.WriteAutomation, Handle: server.HandleBody(h.create), Body: newTrigger{},
			Summary: "Create a trigger; only this reply has its secret and its URL", Replies: map[int]any{201: triggerView{}}, Failures: []int{409}},
		{Method: "GET", Path: one, Needs: permit.ReadAutomation, Handle: server.Handle(h.get),
			Summary: "Get a trigger", Replies: map[int]any{200: triggerView{}}},
		{Method: "PUT", Path: one, Needs: permit.WriteAutomation, Handle: server.HandleBody(h.put), Body: putTrigger{},
			Summary: "Replace a trigger; its secret and its URLs stay", Replies: map[int]any{200: triggerView{}}, Failures: []int{409}},
		{Method: "DELETE", Path: one, Needs: permit.WriteAutomation, Handle: server.Handle(h.delete),
			Summary: "Delete a trigger and its log; its runs stay", Replies: map[int]any{204: nil}},
		{Method: "POST", Path: one + "/rotate", Needs: permit.WriteAutomation, Handle: server.HandleBody(h.rotate), Body: rotation{},
			Summary: "Rotate the secret of a trigger; URLs and signatures of the previous secret are accepted for 24 hours, or not at all", Replies: map[int]any{200: triggerView{}}, Failures: []int{409}},
		{Method: "POST", Path: one + "/url", Needs: permit.WriteAutomation, Handle: server.HandleBody(h.sign), Body: linkBody{},
			Summary: "Create a signed URL of a trigger", Replies: map[int]any{200: linkReply{}}},
		{Method: "POST", Path: one + "/run", Needs: permit.WriteAutomation, Handle: server.HandleBody(h.run), Body: requestBody{},
			Summary: "Start a run of a trigger, as a request of another system would", Replies: map[int]any{202: firedReply{}}, Failures: []int{409}},
		{Method: "GET", Path: one + "/firings", Needs: permit.ReadAutomation, Handle: server.Handle(h.firings), Query: page,
			Summary: "List the firings of a trigger, latest first", Replies: map[int]any{200: triggerFirings{}}},
	}
	return append(routes, h.door())
}

// triggerView is a trigger as its admins see it.
type triggerView struct {
	ID       string `json:"id"`
	Revision int64  `json:"revision"`
	trigger.Spec
	Secret string `json:"secret,omitempty"` // only when it is new
	URL    string `json:"url,omitempty"`    // only when the secret is new
	// FormerUntil is until when URLs and signatures of the previous secret are accepted.
	FormerUntil *time.Time `json:"former_until,omitempty"`
}

func triggerViewOf(t *trigger.Trigger) triggerView {
	v := triggerView{ID: t.ID, Revision: t.Revision, Spec: t.Spec}
	if until := t.State.FormerUntil; time.Now().Before(until) {
		v.FormerUntil = &until
	}
	return v
}

type triggerList struct {
	Items      []triggerView `json:"items"`
	NextCursor string        `json:"next_cursor,omitempty"`
}

const triggerCursor = "g."

func (h *triggers) list(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	filters := server.FiltersOf(req, nil)
	from, err := req.Behind(triggerCursor, filters)
	if err != nil {
		return err
	}
	limit := req.Number("limit", 50, 1, 200)
	found, err := h.store.List(req.Context(), req.Tenant().Name(), from.At, limit+1)
	if err != nil {
		return err
	}
	out := triggerList{Items: []triggerView{}}
	for i, t := range found {
		if i == limit {
			out.NextCursor = server.CursorText(triggerCursor, server.Keyset{At: found[i-1].ID, Of: filters})
			break
		}
		out.Items = append(out.Items, triggerViewOf(t))
	}
	return req.Reply(200, out)
}

type newTrigger struct {
	ID string `json:"id,omitempty"` // generated if absent
	trigger.Spec
}

// maxTriggers is how many triggers a tenant may have.
const maxTriggers = 200

func (h *triggers) create(req *server.Request, body *newTrigger) error {
	t := &trigger.Trigger{Tenant: req.Tenant().Name(), ID: cmp.Or(body.ID, h.newID()), Spec: body.Spec}
	if err := protocol.CheckID("id", t.ID); err != nil {
		return err
	}
	if err := h.check(req, &t.Spec); err != nil {
		return err
	}
	if found, err := h.store.List(req.Context(), t.Tenant, "", maxTriggers); err != nil {
		return err
	} else if len(found) == maxTriggers {
		return server.Fail(http.StatusConflict, "too_many_triggers", "the tenant has %d triggers, the maximum; delete one first", maxTriggers)
	}
	secret, err := h.newSecret(t)
	if err != nil {
		return err
	}
	if made, err := h.store.Swap(req.Context(), t); err != nil {
		return err
	} else if !made {
		return server.Fail(http.StatusConflict, "conflict", "trigger %q already exists", t.ID)
	}
	t.Revision++
	return h.changed(req, "create", http.StatusCreated, t, secret)
}

// check checks what the owner of a trigger writes, as if its run were started now.
func (h *triggers) check(req *server.Request, spec *trigger.Spec) error {
	if err := spec.Normalize(); err != nil {
		return protocol.BadRequest("%s", err)
	}
	t, err := templateOf(spec.Run)
	if err != nil {
		return protocol.BadRequest("%s", server.Plain(err.Error()))
	}
	if n := strings.Count(string(spec.Run), payloadWord); n > mostPayloads {
		return protocol.BadRequest("run has %s %d times; want it at most %d times", payloadWord, n, mostPayloads)
	}
	if spec.ThreadFrom != "" && t.ThreadID != "" {
		return protocol.BadRequest("thread_from and run.thread_id are both set; want at most one of them")
	}
	return t.check(req)
}

// newSecret gives a trigger a new secret.
func (h *triggers) newSecret(t *trigger.Trigger) (string, error) {
	secret := webhook.NewSecret()
	sealed, err := h.sealer.Seal(triggerSecret(t), []byte(secret))
	if err != nil {
		return "", server.Unavailable("the secret of the trigger cannot be encrypted: " + server.Plain(err.Error()))
	}
	t.State.Secret = sealed
	return secret, nil
}

// triggerSecret says where the secret of a trigger belongs.
func triggerSecret(t *trigger.Trigger) string {
	return "trigger " + strconv.Quote(t.Tenant) + " " + strconv.Quote(t.ID)
}

// secrets returns the secrets of a trigger that are valid now, the newest first.
func (h *triggers) secrets(t *trigger.Trigger) ([]string, error) {
	sealed := [][]byte{t.State.Secret}
	if t.State.Former != nil && time.Now().Before(t.State.FormerUntil) {
		sealed = append(sealed, t.State.Former)
	}
	out := make([]string, len(sealed))
	for i, data := range sealed {
		secret, err := h.sealer.Open(triggerSecret(t), data)
		if err != nil {
			return nil, server.Unavailable("the secret of the trigger cannot be decrypted: " + server.Plain(err.Error()))
		}
		out[i] = string(secret)
	}
	return out, nil
}

// changed records that a trigger was changed, and replies with it and with its secret if that is new.
func (h *triggers) changed(req *server.Request, action string, status int, t *trigger.Trigger, secret string) error {
	if err := server.RecordChange(req, h.audit, action, "triggers/"+t.ID); err != nil {
		return err
	}
	v := triggerViewOf(t)
	if secret != "" {
		v.Secret, v.URL = secret, h.link(req, trigger.Link{Tenant: t.Tenant, ID: t.ID}, secret)
	}
	return req.Reply(status, v)
}

// link returns a URL that starts runs.
func (h *triggers) link(req *server.Request, l trigger.Link, secret string) string {
	at := h.url
	if at == "" {
		scheme := "http"
		if server.IsSecure(req.HTTP()) {
			scheme = "https"
		}
		at = scheme + "://" + req.HTTP().Host + h.base
	}
	return at + "/v1/triggers/" + url.PathEscape(l.ID) + "/fire?" + l.Sign(secret)
}

// of returns the trigger of a request.
func (h *triggers) of(req *server.Request) (*trigger.Trigger, error) {
	t, err := h.store.Get(req.Context(), req.Tenant().Name(), req.Path("trigger_id"))
	if errors.Is(err, awaken.ErrNotFound) {
		err = protocol.NotFound("trigger", req.Path("trigger_id"))
	}
	return t, err
}

func (h *triggers) get(req *server.Request) error {
	t, err := h.of(req)
	if err != nil {
		return err
	}
	return req.Reply(200, triggerViewOf(t))
}

// change changes the trigger of a request.
func (h *triggers) change(req *server.Request, change func(t *trigger.Trigger) error) (*trigger.Trigger, error) {
	for range 10 {
		t, err := h.of(req)
		if err != nil {
			return nil, err
		}
		if err := change(t); err != nil {
			return nil, err
		}
		if done, err := h.store.Swap(req.Context(), t); err != nil {
			return nil, err
		} else if done {
			t.Revision++
			return t, nil
		}
	}
	return nil, server.Fail(http.StatusConflict, "conflict", "trigger %q is being changed", req.Path("trigger_id"))
}

type putTrigger struct {
	// ExpectedRevision, if set, must be the current revision.
	ExpectedRevision *int64 `json:"expected_revision,omitempty"`
	trigger.Spec
}

func (h *triggers) put(req *server.Request, body *putTrigger) error {
	if err := h.check(req, &body.Spec); err != nil {
		return err
	}
	t, err := h.change(req, func(t *trigger.Trigger) error {
		t.Spec = body.Spec
		return expect("trigger", t.ID, t.Revision, body.ExpectedRevision)
	})
	if err != nil {
		return err
	}
	return h.changed(req, "update", http.StatusOK, t, "")
}

func (h *triggers) delete(req *server.Request) error {
	id := req.Path("trigger_id")
	if existed, err := h.store.Drop(req.Context(), req.Tenant().Name(), id); err != nil {
		return err
	} else if !existed {
		return protocol.NotFound("trigger", id)
	}
	return req.Done(server.RecordChange(req, h.audit, "delete", "triggers/"+id))
}

type rotation struct {
	AtOnce bool `json:"at_once,omitempty"` // refuse URLs and signatures of the previous secret immediately
}

// formerTime is how long URLs and signatures of a trigger's secret are accepted after it was replaced.
const formerTime = 24 * time.Hour

func (h *triggers) rotate(req *server.Request, body *rotation) error {
	var secret string
	t, err := h.change(req, func(t *trigger.Trigger) (err error) {
		if t.State.Former, t.State.FormerUntil = nil, (time.Time{}); !body.AtOnce {
			t.State.Former, t.State.FormerUntil = t.State.Secret, time.Now().Add(formerTime).UTC().Truncate(time.Millisecond)
		}
		secret, err = h.newSecret(t)
		return err
	})
	if err != nil {
		return err
	}
	return h.changed(req, "rotate", http.StatusOK, t, secret)
}

type linkBody struct {
	ExpiresAt *time.Time `json:"expires_at,omitempty"` // default never
}

type linkReply struct {
	URL       string     `json:"url"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

func (h *triggers) sign(req *server.Request, body *linkBody) error {
	t, err := h.of(req)
	if err != nil {
		return err
	}
	l := trigger.Link{Tenant: t.Tenant, ID: t.ID}
	if at := body.ExpiresAt; at != nil {
		switch l.Expires = at.UTC().Truncate(time.Second); {
		case !l.Expires.After(time.Now()):
			return protocol.BadRequest("expires_at is %s, which is over", at.Format(time.RFC3339))
		case l.Expires.Year() > 9999:
			return protocol.BadRequest("expires_at is %s; want a time up to the year 9999", at.Format(time.RFC3339))
		}
	}
	secrets, err := h.secrets(t)
	if err != nil {
		return err
	}
	if err := server.RecordChange(req, h.audit, "sign", "triggers/"+t.ID); err != nil {
		return err
	}
	out := linkReply{URL: h.link(req, l, secrets[0])}
	if !l.Expires.IsZero() {
		out.ExpiresAt = &l.Expires
	}
	return req.Reply(200, out)
}

type requestBody struct {
	Payload string `json:"payload,omitempty"` // the body of the request
	// ContentType of the payload; default application/json if it is JSON, otherwise text/plain.
	ContentType string `json:"content_type,omitempty"`
}

func (h *triggers) run(req *server.Request, body *requestBody) error {
	t, err := h.of(req)
	if err != nil {
		return err
	}
	kind := body.ContentType
	if kind == "" && looksJSON(body.Payload) {
		kind = "application/json"
	}
	p, err := payloadOf(t, cmp.Or(kind, "text/plain"), []byte(body.Payload))
	if err != nil {
		return err
	}
	secrets, err := h.secrets(t)
	if err != nil {
		return err
	}
	if err := server.RecordChange(req, h.audit, "run", "triggers/"+t.ID); err != nil {
		return err
	}
	out, err := h.fire(req.Context(), t, &firing{runID: h.newID(), payload: p, seal: secrets[0], manual: true})
	if err != nil {
		return err
	}
	return req.Reply(http.StatusAccepted, out)
}

type triggerFirings struct {
	Items      []trigger.Firing `json:"items"`
	NextCursor string           `json:"next_cursor,omitempty"`
}

func (h *triggers) firings(req *server.Request) error {
	if err := req.CheckKnown(); err != nil {
		return err
	}
	t, err := h.of(req)
	if err != nil {
		return err
	}
	filters := server.FiltersOf(req, t.ID)
	from, err := req.Behind(triggerCursor, filters)
	if err != nil {
		return err
	}
	var before trigger.Place
	if from.At != "" {
		ms, run, ok := strings.Cut(from.At, " ")
		at, err := strconv.ParseInt(ms, 10, 64)
		if !ok || err != nil {
			return server.ErrCursor
		}
		before = trigger.Place{At: time.UnixMilli(at).UTC(), RunID: run}
	}
	limit := req.Number("limit", 50, 1, 200)
	found, err := h.store.Firings(req.Context(), t.Tenant, t.ID, before, limit+1)
	if err != nil {
		return err
	}
	out := triggerFirings{Items: []trigger.Firing{}}
	if out.Items = append(out.Items, found[:min(limit, len(found))]...); len(found) > limit {
		last := found[limit-1]
		out.NextCursor = server.CursorText(triggerCursor, server.Keyset{At: strconv.FormatInt(last.At.UnixMilli(), 10) + " " + last.RunID, Of: filters})
	}
	for i := range out.Items {
		if err := h.settle(req.Context(), t.Tenant, &out.Items[i]); err != nil {
			return err
		}
	}
	return req.Reply(200, out)
}

// firedReply says what a request to a trigger has started.
type firedReply struct {
	RunID    string `json:"run_id"`
	ThreadID string `json:"thread_id"`
	// Duplicate reports that an earlier request with the same ID started the run.
	Duplicate bool `json:"duplicate,omitempty"`
}

// firing is an authentic request to a trigger.
type firing struct {
	runID   string
	request string // the name that it gives itself
	payload *payload
	seal    string // a secret that makes the marks around the payload hard to guess
	manual  bool
}

// fire starts the run of a request and records the outcome.
func (h *triggers) fire(ctx context.Context, t *trigger.Trigger, f *firing) (*firedReply, error) {
	template, err := templateOf(t.Spec.Run)
	if err != nil {
		return nil, err
	}
	n := &launch{tenant: t.Tenant, template: template, runID: f.runID, threadID: t.ThreadID("of run " + f.runID), by: "trigger " + t.ID, fill: f.payload.fill(t, f.runID, f.seal)}
	if f.payload.common != "" {
		n.threadID = t.ThreadID("about " + f.payload.common)
	}
	entry := &trigger.Firing{RunID: f.runID, Request: f.request, Bytes: len(f.payload.text), Outcome: trigger.Starting, Manual: f.manual}
	limit := t.Spec.PerMinute
	if f.manual {
		limit = 0
	}
	switch entered, err := h.store.Enter(ctx, t.Tenant, t.ID, entry, limit); {
	case errors.Is(err, awaken.ErrNotFound):
		return nil, protocol.NotFound("trigger", t.ID)
	case err != nil:
		return nil, err
	case !entered:
		return nil, &protocol.Failure{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: fmt.Sprintf("trigger %q has had %d requests in the last minute, the maximum", t.ID, limit), RetryAfter: 10 * time.Second}
	}
	atEntered.Hit()
	if len(f.payload.text) > 0 && !t.Spec.TrustPayload {
		n.taint = &awaken.Taint{RunID: f.runID, Tool: "trigger " + t.ID, At: entry.At.UnixMilli()}
	}
	receipt, err := h.launch.start(ctx, n)
	switch {
	case errors.Is(err, errRefused):
		entry.Outcome, entry.Reason = trigger.Refused, strings.TrimPrefix(err.Error(), errRefused.Error()+": ")
		err = server.Fail(http.StatusConflict, "refused", "the run of trigger %q was refused: %s", t.ID, entry.Reason)
	case err != nil: // the run may be stored, so the entry stays as it is
		return nil, err
	case receipt.Duplicate && entry.Outcome == trigger.Started:
		return &firedReply{f.runID, receipt.ThreadID, true}, nil
	default:
		entry.Outcome, entry.Reason, entry.ThreadID = trigger.Started, "", receipt.ThreadID
	}
	atLaunched.Hit()
	_ = h.store.Log(ctx, t.Tenant, t.ID, entry) // see settle
	if err != nil {
		return nil, err
	}
	return &firedReply{f.runID, receipt.ThreadID, receipt.Duplicate}, nil
}

// Points at which tests kill a process.
var (
	atEntered  = failpoint.New("trigger.entered")  // in the log, not started
	atLaunched = failpoint.New("trigger.launched") // started, and the log does not say so
)

// settleAfter is how long a process takes at most to start a run.
const settleAfter = time.Minute

// settle determines the outcome of a run that a process was about to start when it last wrote to the log.
func (h *triggers) settle(ctx context.Context, tenant string, f *trigger.Firing) error {
	if f.Outcome != trigger.Starting {
		return nil
	}
	run, err := h.launch.mailbox.Tenant(tenant).Store.LoadRun(ctx, f.RunID)
	switch {
	case err == nil:
		f.Outcome, f.ThreadID = trigger.Started, run.ThreadID
	case !errors.Is(err, awaken.ErrNotFound):
		return err
	case time.Since(f.At) > settleAfter:
		f.Outcome, f.Reason = trigger.Failed, "the server could not start the run, or ended before it did"
	}
	return nil
}
