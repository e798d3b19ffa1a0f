package server

import (
	"strings"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// audits has the handler of the audit log.
type audits struct {
	control *config.Manager
	mailbox *mailbox.Mailbox
}

func (h *audits) routes() []protocol.Route {
	return forGlobalAdmins([]protocol.Route{
		{Method: "GET", Path: "/v1/audit-log", Handle: own(h.list),
			Summary: "List audit events, newest first",
			Query:   []protocol.Param{param("since", "string", "only events at or after this time, in RFC 3339"), param("until", "string", "only events before this time, in RFC 3339"), param("action", "string", "only events with this action"), param("resource", "string", "only this resource or those below it, such as agents or agents/a"), param("actor", "string", "only actors with this prefix"), param("cursor", "string", "next_cursor of the previous page"), configPage[1]},
			Replies: map[int]any{200: auditList{}}},
	})
}

type auditList struct {
	Items      []*config.AuditEvent `json:"items"`
	NextCursor *string              `json:"next_cursor"`
}

func (h *audits) list(req *request) error {
	q := config.AuditQuery{Action: req.value("action"), Resource: strings.TrimSuffix(req.value("resource"), "/"), Actor: req.value("actor")}
	var err error
	if q.Since, err = timeOf("since", req.value("since")); err != nil {
		return err
	}
	if q.Until, err = timeOf("until", req.value("until")); err != nil {
		return err
	}
	from, err := req.behind("aud_", filtersOf(req, q))
	if err != nil {
		return err
	}
	if from.At != "" && !protocol.ValidID(from.At) {
		return errCursor
	}
	q.Before, q.Limit = from.At, req.number("limit", 100, 1, 1000)
	events, err := h.control.Audit().List(req.ctx, q)
	if err != nil {
		return err
	}
	out := auditList{Items: append([]*config.AuditEvent{}, events...)}
	if err := judge(req.ctx, h.mailbox, out.Items); err != nil {
		return err
	}
	if n := len(events); n == q.Limit {
		from.At = events[n-1].ID
		next := from.next("aud_")
		out.NextCursor = &next
	}
	return req.Reply(200, out)
}

// timeOf parses a parameter that is a time. An empty one is the zero time.
func timeOf(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, protocol.BadRequest("%s is %q, want a time such as 2026-01-02T15:04:05Z", name, s)
	}
	return t, nil
}

// recordChange adds what a caller did to something of its tenant to the audit log, unless there is none.
func recordChange(req *request, audit *config.Manager, action, resource string) error {
	if audit == nil {
		return nil
	}
	if name := req.tenant.Name(); name != "" {
		resource = "tenants/" + name + "/" + resource
	}
	return audit.Audit().Add(req.ctx, action, resource, actorOf(req), nil)
}
