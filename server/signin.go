package server

import (
	"net/http"
	"time"

	"github.com/awaken-go/awaken/protocol"
)

// signIns has the handlers with which a client learns what it may do here, and a browser signs in.
type signIns struct {
	auth     *auth
	lasts    time.Duration // how long a session lasts without renewal
	most     time.Duration // how long it lasts at most
	features features
	version  string
	now      func() time.Time
}

func (h *signIns) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/session", Handle: Handle(h.get),
			Summary: "Get what the caller may do, and what this server has", Replies: map[int]any{200: sessionBody{}}, Failures: []int{401, 429, 500, 503}},
		{Method: "POST", Path: "/v1/session", Access: protocol.Readers, Scope: protocol.Shared, Handle: Handle(h.begin),
			Summary: "Sign in with a key and get a cookie for it, or renew the cookie", Replies: map[int]any{200: sessionBody{}}},
		{Method: "DELETE", Path: "/v1/session", Handle: Handle(h.end),
			Summary: "Sign out", Replies: map[int]any{204: nil}, Failures: []int{500, 503}},
	}
}

type sessionBody struct {
	Open     bool          `json:"open"`              // clients without a key may run agents
	Key      *sessionKey   `json:"key"`               // null if the request has none
	User     string        `json:"user,omitempty"`    // that the request is for
	Tenant   string        `json:"tenant"`            // whose data the request is about; "" is the default tenant
	Session  *sessionTerms `json:"session,omitempty"` // if the request has the key by a cookie
	May      abilities     `json:"may"`
	Features features      `json:"features"`
	Version  string        `json:"version"`
	NowMS    int64         `json:"now_ms"`
}

// sessionKey is the key of the caller.
type sessionKey struct {
	ID       string `json:"id"`
	Kind     Kind   `json:"kind"`
	Label    string `json:"label"`
	Tenant   string `json:"tenant"`
	User     string `json:"user"`
	Operator bool   `json:"operator"` // acts for all users of the tenant
}

// sessionTerms says how long a session lasts.
type sessionTerms struct {
	ExpiresMS int64 `json:"expires_ms"` // unless it is renewed
	LastMS    int64 `json:"last_ms"`    // no renewal extends it beyond
}

// abilities says which routes a caller may use: those for read, run and admin keys, and those that
// change the configuration of the whole server.
type abilities struct {
	Read   bool `json:"read"`
	Run    bool `json:"run"`
	Admin  bool `json:"admin"`
	Config bool `json:"config"`
}

// features says which parts this server has.
type features struct {
	Config    bool `json:"config"`
	Audit     bool `json:"audit"`
	Budgets   bool `json:"budgets"`
	Evals     bool `json:"evals"`
	Schedules bool `json:"schedules"`
	Webhooks  bool `json:"webhooks"`
	Triggers  bool `json:"triggers"`
	Traces    bool `json:"traces"`
	Assistant bool `json:"assistant"`
}

func newSignIns(cfg *Config, a *auth) *signIns {
	config := cfg.Control != nil && !cfg.HideConfig
	most := cfg.Limits.SessionMax
	if most <= 0 {
		most = 10 * 365 * 24 * time.Hour
	}
	lasts := min(cfg.Limits.SessionTime, most)
	if lasts <= 0 {
		lasts = most
	}
	return &signIns{auth: a, lasts: lasts, most: most, version: cfg.Version, now: time.Now,
		features: features{Config: config, Audit: config && !cfg.NoAudit, Budgets: BudgetOf(cfg.Mailbox.Tenant("")) != nil, Evals: cfg.has("evals"), Schedules: cfg.has("schedules"), Webhooks: cfg.has("webhooks"), Triggers: cfg.has("triggers"), Traces: cfg.has("traces"), Assistant: config && cfg.has("assistant")}}
}

// get replies to every client. Only one that sends a wrong key or token, or asks from a page of another
// origin, is refused; a session that has ended is no key.
func (h *signIns) get(req *Request) error {
	c, err := credentialOf(req.HTTP())
	if err != nil {
		return err
	}
	req.Caller, err = h.auth.identify(req.HTTP(), protocol.Readers)
	f := &protocol.Failure{}
	if err != nil {
		f = FailureOf(err)
	}
	switch {
	case err == nil:
	case f == errSession:
		dropCookie(req.Writer(), req.HTTP())
		c = credential{}
	case c.secret != "" || req.HTTP().Header.Get(tokenHeader) != "" || f.Status >= 500:
		return err
	}
	var s *session
	if c.session && req.Key != nil {
		if _, s, err = h.auth.keys.session(req.Context(), c.secret); err != nil {
			return err
		}
	}
	return h.reply(req, s)
}

// begin signs the caller in. With a key it begins a session, with the cookie of one it renews that. A page of another
// origin, which may have a key of its own, cannot sign a browser in here.
func (h *signIns) begin(req *Request) error {
	c, err := credentialOf(req.HTTP())
	if err != nil {
		return err
	}
	if req.HTTP().Header.Get("Origin") != "" {
		if err := checkPage(req.HTTP()); err != nil {
			return err
		}
	}
	var s *session
	switch {
	case req.Key == nil:
		return Unauthorized("there is no key to sign in with; send it in the Authorization header")
	case !c.session && h.auth.users.Tokens != nil && isToken(c.secret), c.secret == "":
		return protocol.BadRequest("a user's token cannot sign in, want a key; send the token with every request")
	case c.session:
		s, err = h.auth.keys.renew(req.Context(), c.secret, h.lasts, h.most)
	default:
		c.secret, s, err = h.auth.keys.signIn(req.Context(), c.secret, h.lasts)
	}
	if err != nil {
		return err
	}
	setCookie(req.Writer(), req.HTTP(), c.secret, time.UnixMilli(s.Expires).Sub(h.now()))
	return h.reply(req, s)
}

// end signs the caller out. Without a session it does nothing.
func (h *signIns) end(req *Request) error {
	value := sessionOf(req.HTTP())
	if value == "" || h.auth.keys == nil {
		return req.Done(nil)
	}
	if err := checkPage(req.HTTP()); err != nil {
		return err
	}
	if err := h.auth.keys.signOut(req.Context(), value); err != nil {
		return err
	}
	dropCookie(req.Writer(), req.HTTP())
	return req.Done(nil)
}

// reply describes the caller, and its session if it has one.
func (h *signIns) reply(req *Request, s *session) error {
	out := sessionBody{Open: h.auth.open, User: req.User, Tenant: req.TenantName(), Features: h.features, Version: h.version, NowMS: h.now().UnixMilli()}
	if k := req.Key; k != nil {
		out.Key = &sessionKey{k.ID, k.Kind, k.Label, k.Tenant, k.User, k.operates()}
		out.May = abilities{Read: true, Run: k.Kind.allows(protocol.Runners), Admin: k.Kind.allows(protocol.Admins), Config: req.Governs() && h.features.Config}
	} else if h.auth.open && h.auth.checkForwarded(req.HTTP()) == nil {
		out.May = abilities{Read: true, Run: true}
	}
	if s != nil {
		out.Session = &sessionTerms{s.Expires, s.Created + h.most.Milliseconds()}
	}
	req.Writer().Header().Set("Cache-Control", "no-store")
	return req.Reply(http.StatusOK, out)
}
