package server

import (
	"strings"

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
	return ForGlobalAdmins([]protocol.Route{
		{Method: "GET", Path: "/v1/audit-log", Handle: Handle(h.list),
			Summary: "List audit events, newest first",
			Query:   []protocol.Param{Param("since", "string", "only events at or after this time, in RFC 3339"), Param("until", "string", "only events before this time, in RFC 3339"), Param("action", "string", "only events with this action"), Param("resource", "string", "only this resource or those below it, such as agents or agents/a"), Param("actor", "string", "only actors with this prefix"), Param("cursor", "string", "next_cursor of the previous page"), ConfigPage[1]},
			Replies: map[int]any{200: auditList{}}},
	})
}

type auditList struct {
	Items      []*config.AuditEvent `json:"items"`
	NextCursor *string              `json:"next_cursor"`
}

func (h *audits) list(req *Request) error {
	q := config.AuditQuery{Action: req.Value("action"), Resource: strings.TrimSuffix(req.Value("resource"), "/"), Actor: req.Value("actor")}
	var err error
	if q.Since, err = TimeOf("since", req.Value("since")); err != nil {
		return err
	}
	if q.Until, err = TimeOf("until", req.Value("until")); err != nil {
		return err
	}
	from, err := req.Behind("aud_", FiltersOf(req, q))
	if err != nil {
		return err
	}
	if from.At != "" && !protocol.ValidID(from.At) {
		return ErrCursor
	}
	q.Before, q.Limit = from.At, req.Number("limit", 100, 1, 1000)
	events, err := h.control.Audit().List(req.Context(), q)
	if err != nil {
		return err
	}
	out := auditList{Items: append([]*config.AuditEvent{}, events...)}
	if err := judge(req.Context(), h.mailbox, out.Items); err != nil {
		return err
	}
	if n := len(events); n == q.Limit {
		from.At = events[n-1].ID
		next := from.Next("aud_")
		out.NextCursor = &next
	}
	return req.Reply(200, out)
}
