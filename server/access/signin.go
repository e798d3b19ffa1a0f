package access

import (
	"net/http"
	"time"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// signIns has the handlers with which a client learns what it may do here, and a browser signs in.
type signIns struct {
	keys     *Keys // nil if no client has a key
	kernel   *server.Kernel
	lasts    time.Duration // how long a session lasts without renewal
	most     time.Duration // how long it lasts at most
	features features
	now      func() time.Time
}

func (h *signIns) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/session", Needs: permit.Public, Handle: server.Handle(h.get),
			Summary: "Get the permissions of the caller and the features of this server",
			Replies: map[int]any{200: sessionBody{}}, Failures: []int{401, 429, 500, 503}},
		{Method: "POST", Path: "/v1/session", Needs: permit.SignIn, Scope: protocol.Shared, Handle: server.Handle(h.begin),
			Summary: "Sign in with a key and get a cookie for it, or renew the cookie", Replies: map[int]any{200: sessionBody{}}},
		{Method: "DELETE", Path: "/v1/session", Needs: permit.Public, Handle: server.Handle(h.end),
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
	ID       string      `json:"id"`
	Kind     server.Kind `json:"kind"`
	Label    string      `json:"label"`
	Tenant   string      `json:"tenant"`
	User     string      `json:"user"`
	Operator bool        `json:"operator"` // acts for all users of the tenant
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

func newSignIns(cfg *Config, keys *Keys, k *server.Kernel) *signIns {
	config := k.Control != nil && !k.HideConfig
	most := cfg.SessionMax
	if most <= 0 {
		most = 10 * 365 * 24 * time.Hour
	}
	lasts := min(cfg.SessionTime, most)
	if lasts <= 0 {
		lasts = most
	}
	return &signIns{keys: keys, kernel: k, lasts: lasts, most: most, now: time.Now,
		features: features{Config: config, Audit: config && !k.NoAudit, Budgets: server.BudgetOf(k.Mailbox.Tenant("")) != nil,
			Evals: k.Has("evals"), Schedules: k.Has("schedules"), Webhooks: k.Has("webhooks"), Triggers: k.Has("triggers"),
			Traces: k.Has("traces"), Assistant: config && k.Has("assistant")}}
}

// get replies to every client. Only one that sends a wrong key or token, or asks from a page of another
// origin, is refused; a session that has ended is no key.
func (h *signIns) get(req *server.Request) error {
	c, err := server.CredentialOf(req.HTTP())
	if err != nil {
		return err
	}
	req.Caller, err = h.kernel.Identify(req.HTTP(), permit.Public)
	f := &protocol.Failure{}
	if err != nil {
		f = server.FailureOf(err)
	}
	switch {
	case err == nil:
	case f == server.ErrSession:
		server.DropCookie(req.Writer(), req.HTTP())
		c = server.Credential{}
		without := req.HTTP().Clone(req.Context())
		without.Header.Del("Cookie")
		req.Caller, _ = h.kernel.Identify(without, permit.Public) // or none, if the server needs a key
	case c.Secret != "" || req.HTTP().Header.Get(server.TokenHeader) != "" || f.Status >= 500:
		return err
	}
	var s *session
	if c.Session && req.Key != nil {
		if _, s, err = h.keys.session(req.Context(), c.Secret); err != nil {
			return err
		}
	}
	return h.reply(req, s)
}

// begin signs the caller in. With a key it begins a session, with the cookie of one it renews that. A page of another
// origin, which may have a key of its own, cannot sign a browser in here.
func (h *signIns) begin(req *server.Request) error {
	c, err := server.CredentialOf(req.HTTP())
	if err != nil {
		return err
	}
	if req.HTTP().Header.Get("Origin") != "" {
		if err := server.CheckPage(req.HTTP()); err != nil {
			return err
		}
	}
	var s *session
	switch {
	case req.Key == nil:
		return server.Unauthorized("the key to sign in with is missing; send it in the Authorization header")
	case !c.Session && h.kernel.IsToken(c.Secret), c.Secret == "":
		return protocol.BadRequest("a user's token cannot sign in, want a key; send the token with every request")
	case c.Session:
		s, err = h.keys.renew(req.Context(), c.Secret, h.lasts, h.most)
	default:
		c.Secret, s, err = h.keys.signIn(req.Context(), c.Secret, h.lasts)
	}
	if err != nil {
		return err
	}
	server.SetCookie(req.Writer(), req.HTTP(), c.Secret, time.UnixMilli(s.Expires).Sub(h.now()))
	return h.reply(req, s)
}

// end signs the caller out. Without a session it does nothing.
func (h *signIns) end(req *server.Request) error {
	value := server.SessionOf(req.HTTP())
	if value == "" || h.keys == nil {
		return req.Done(nil)
	}
	if err := server.CheckPage(req.HTTP()); err != nil {
		return err
	}
	if err := h.keys.signOut(req.Context(), value); err != nil {
		return err
	}
	server.DropCookie(req.Writer(), req.HTTP())
	return req.Done(nil)
}

// reply describes the caller, and its session if it has one.
func (h *signIns) reply(req *server.Request, s *session) error {
	out := sessionBody{Open: h.kernel.Open, User: req.User, Tenant: req.TenantName(), Features: h.features, Version: h.kernel.Version,
		NowMS: h.now().UnixMilli()}
	if k := req.Key; k != nil {
		out.Key = &sessionKey{k.ID, k.Kind, k.Label, k.Tenant, k.User, req.May(permit.ActForUsers)}
	}
	may := req.Permissions()
	out.May = abilities{Read: may.Includes(permit.Reader), Run: may.Includes(permit.Runner), Admin: may.Includes(permit.Admin &^ permit.Server),
		Config: may.Has(permit.WriteConfig) && h.features.Config}
	if s != nil {
		out.Session = &sessionTerms{s.Expires, s.Created + h.most.Milliseconds()}
	}
	req.Writer().Header().Set("Cache-Control", "no-store")
	return req.Reply(http.StatusOK, out)
}
