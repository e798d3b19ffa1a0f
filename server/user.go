package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/jwt"
)

// Users says how the server learns for which user a request is, besides by a key that belongs to
// one. With any of the fields set, users are on: a request without a user may only use what belongs
// to no user, unless its key is an operator's. Otherwise such a request may use everything of its
// tenant. A request with a user may use what belongs to that user, in either case.
type Users struct {
	// On turns users on although neither Header nor Tokens names them, for servers whose users
	// have keys.
	On bool
	// Header is a header in which a proxy in front of the server names the user. The server trusts
	// it: set it only if clients cannot bypass the proxy, and if the proxy replaces what clients
	// send under that name.
	Header string
	// Tokens verifies the JWTs of users. A request has one as its bearer token, or in the header
	// X-Awaken-User-Token beside a key. The key decides what the request may do; without one, a
	// token permits what a run key does, in the tenant that the token names.
	Tokens *jwt.Verifier
}

// on reports whether requests without a user have the fewest rights.
func (u *Users) on() bool { return u.On || u.Header != "" || u.Tokens != nil }

// check validates the configuration.
func (u *Users) check() error {
	if u.Header == "" {
		return nil
	}
	if strings.ContainsFunc(u.Header, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-')
	}) {
		return fmt.Errorf("user header is %q, want the name of a header, such as X-User-Id", u.Header)
	}
	// These have another meaning, and some hold secrets, which a run must not keep.
	if taken := []string{"Authorization", "Cookie", "Host", "Origin", "Content-Type", "Idempotency-Key", "Last-Event-Id"}; slices.Contains(taken, http.CanonicalHeaderKey(u.Header)) {
		return fmt.Errorf("user header is %q, want a header without another meaning, such as X-User-Id", u.Header)
	}
	return nil
}

// user returns the user of a request: the one of its key, of its token, or the one that the proxy
// names. It is "" if none does.
func (a *auth) user(r *http.Request, key *Key, token *jwt.Claims) (string, error) {
	own := ""
	if key != nil {
		own = key.User
	}
	if token != nil {
		switch {
		case own != "" && own != token.User:
			return "", Forbidden("the token is of user %q, but the key belongs to user %q", token.User, own)
		case token.Tenant != "" && key != nil && token.Tenant != key.Tenant:
			return "", Forbidden("the token is of tenant %q, but the key belongs to tenant %q", token.Tenant, key.Tenant)
		}
		own = token.User
	}
	name := a.users.Header
	if name == "" {
		return own, nil
	}
	switch values := r.Header.Values(name); {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return own, nil
	case len(values) > 1:
		return "", protocol.BadRequest("multiple %s headers are not allowed", name)
	case !protocol.ValidID(values[0]):
		return "", protocol.CheckID(name, values[0])
	case own != "" && own != values[0]:
		return "", Forbidden("%s is %q, but the key or token belongs to user %q", name, values[0], own)
	default:
		return values[0], nil
	}
}

// Owner returns the user to filter lists by: the caller's user, or "" for a caller without one. It is nil, for no
// filter, if the caller may see all data of its tenant and names no user.
func (req *Request) Owner() (*string, error) {
	asked := req.Value("user_id")
	switch {
	case !req.Confined && asked == "":
		return nil, nil
	case !req.Confined:
		return new(asked), protocol.CheckID("user_id", asked)
	case asked != "" && asked != req.User:
		return nil, req.WrongUser(asked)
	}
	return &req.User, nil
}

// UserParam is the parameter of lists that [request.owner] reads.
var UserParam = Param("user_id", "string", "only objects of this user; callers that are not operators see only their own")

// WrongUser is the failure of a confined request that names a user.
func (c *Caller) WrongUser(user string) error {
	if c.User == "" {
		return Forbidden("user_id is %q, but the request is made by no user, and its key is not an operator's", user)
	}
	return Forbidden("user_id is %q, but the request is made by user %q", user, c.User)
}

// checkScope refuses what the route's scope does not let a confined caller use.
func (req *Request) checkScope(ids []string) error {
	switch req.route.Scope {
	case protocol.Shared:
		return nil
	case protocol.ByPath, protocol.ByCaller:
		for _, part := range ids {
			if part == "thread_id" || part == "run_id" || part == "dispatch_id" {
				if err := req.Admit(req.Path(part)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return Forbidden("this route is about all users of the tenant; use a key that is marked as an operator's, or an admin key")
}

// Admit fails with status 404 if a thread, a run or a dispatch with one of the ids belongs to
// another user. It looks for all three, because some operations take the id of any of them.
func (req *Request) Admit(ids ...string) error {
	if !req.Confined {
		return nil
	}
	s := req.tenant.Store
	for _, id := range ids {
		if id == "" || slices.Contains(req.admitted, id) {
			continue
		}
		if err := req.AdmitThread("thread", id, id); err != nil {
			return err
		}
		switch run, err := s.LoadRun(req.ctx, id); {
		case err == nil:
			if err := req.AdmitThread("run", id, run.ThreadID); err != nil {
				return err
			}
		case !errors.Is(err, awaken.ErrNotFound):
			return err
		}
		switch d, err := s.Dispatch(req.ctx, id); {
		case err == nil:
			if err := req.AdmitThread("dispatch", id, d.ThreadID); err != nil {
				return err
			}
		case !errors.Is(err, awaken.ErrNotFound):
			return err
		}
		req.admitted = append(req.admitted, id) // what is refused is not: a batch may name it again
	}
	return nil
}

// AdmitThread fails if a thread belongs to another user. The failure names what the client asked for.
func (req *Request) AdmitThread(what, id, threadID string) error {
	t, err := req.tenant.Store.Thread(req.ctx, threadID)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return nil
	case err != nil:
		return err
	case t.UserID != req.User:
		return protocol.NotFound(what, id)
	}
	return nil
}

// Assign determines the user that a submission is for. A confined caller speaks for its own user, on
// threads of that user. Other callers speak for any user; where users are on, a run on a thread that
// belongs to one is for that user.
func (req *Request) Assign(s *mailbox.Submission) error {
	if req.Confined {
		s.Request.UserID, s.Confined = req.User, true
		return req.Admit(s.Request.ThreadID, s.Request.RunID)
	}
	if !req.users || s.Request.ThreadID == "" || req.route.Own {
		return nil
	}
	t, err := req.tenant.Store.Thread(req.ctx, s.Request.ThreadID)
	if errors.Is(err, awaken.ErrNotFound) || err == nil && t.UserID == "" {
		return nil
	}
	if err == nil && s.Request.UserID != req.User && s.Request.UserID != t.UserID {
		return Forbidden("user_id is %q, but thread %s belongs to user %q", s.Request.UserID, t.ID, t.UserID)
	}
	if err == nil {
		s.Request.UserID = t.UserID
	}
	return err
}
