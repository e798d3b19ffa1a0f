package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol"
)

// checkUserHeader says what is wrong with a [Config.UserHeader]. Nothing is wrong
// with none.
func checkUserHeader(name string) error {
	if name == "" {
		return nil
	}
	if strings.ContainsFunc(name, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-')
	}) {
		return errors.New("want the name of a header, such as X-User-Id")
	}
	// These say something else, and some of them are secrets, which a run does not keep.
	if taken := []string{"Authorization", "Cookie", "Host", "Origin", "Content-Type", "Idempotency-Key", "Last-Event-Id"}; slices.Contains(taken, http.CanonicalHeaderKey(name)) {
		return errors.New("want a header that has no other meaning, such as X-User-Id")
	}
	return nil
}

// user finds out whom a request is for: the user whose key it has, or the one that the
// proxy names. It is "" if nobody says.
func (a *auth) user(r *http.Request, key *Key) (string, error) {
	own := ""
	if key != nil {
		own = key.User
	}
	name := a.userHeader
	if name == "" {
		return own, nil
	}
	switch values := r.Header.Values(name); {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return own, nil
	case len(values) > 1:
		return "", badRequest("multiple " + name + " headers are not allowed")
	case !protocol.ValidID(values[0]):
		return "", badRequest(name + " must have at most 512 bytes of UTF-8 and no control characters")
	case own != "" && own != values[0]:
		return "", fail(http.StatusForbidden, "forbidden", fmt.Sprintf("%s is %q, and this key is that of user %q", name, values[0], own))
	default:
		return values[0], nil
	}
}

// setUser says whom the run is for, as the body has it. Whoever may run agents speaks for
// all users of the tenant, unless the server knows who asks.
func (c *call) setUser(s *mailbox.Submission, user string) error {
	switch {
	case user == "" || user == c.user:
		return nil // it is signed
	case !protocol.ValidID(user):
		return badRequest("user_id must have at most 512 bytes and no control characters")
	case c.user != "":
		return fail(http.StatusForbidden, "forbidden", fmt.Sprintf("user_id is %q, and the request is made by user %q", user, c.user))
	case c.srv.cfg.UserHeader != "":
		return fail(http.StatusForbidden, "forbidden", fmt.Sprintf("user_id is %q, and this server takes users from the header %s only", user, c.srv.cfg.UserHeader))
	}
	s.Request.UserID = user
	return nil
}

// vet refuses decisions that reach further than whoever takes them. A page speaks for the
// user in front of it, and so does a request that is known to be one user's; everybody
// else who may run agents is an operator. The id is a thread's or a run's.
func (c *call) vet(id string, page bool, ds []awaken.Decision) error {
	if !page && c.user == "" {
		return nil
	}
	if !slices.ContainsFunc(ds, func(d awaken.Decision) bool { return permission.Reach(d.Result) != "" }) {
		return nil // most are about one call only
	}
	run, err := c.tenant.Store.LoadRun(c.ctx, id)
	if errors.Is(err, awaken.ErrNotFound) {
		th, err := c.tenant.Store.Thread(c.ctx, id)
		if err != nil || th.OpenRunID == "" {
			return nil // nothing waits there, which whoever decides is told
		}
		if run, err = c.tenant.Store.LoadRun(c.ctx, th.OpenRunID); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	calls, err := c.tenant.Store.Calls(c.ctx, run.RunID)
	if err != nil {
		return err
	}
	for i := range ds {
		if err := permission.Vet(question(calls, ds[i].Target), ds[i].Result, c.user, run.UserID); err != nil {
			return fail(http.StatusForbidden, "forbidden", err.Error())
		}
	}
	return nil
}

// question is what people were asked under an id, by the run itself or by one below it. It
// is nil if that is not known.
func question(calls []*awaken.CallState, id string) *awaken.Suspension {
	for _, s := range slices.Backward(calls) {
		if s.Ticket != nil && (s.CallID == id || s.SuspensionID() == id) {
			return &s.Ticket.Suspension
		}
	}
	for _, s := range slices.Backward(calls) {
		if s.Ticket == nil {
			continue
		}
		for i := range s.Ticket.Tickets {
			if t := &s.Ticket.Tickets[i]; t.TicketID == id || t.ToolCallID == id {
				return t.Suspension
			}
		}
	}
	return nil
}

// decide delivers a decision to a run, or to the open run of a thread.
func (c *call) decide(id string, d awaken.Decision) error {
	if err := c.vet(id, false, []awaken.Decision{d}); err != nil {
		return err
	}
	_, err := c.tenant.Decide(c.ctx, id, d)
	return err
}
