package control

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// audits has the handler of the audit log.
type audits struct {
	control *config.Manager
	mailbox *mailbox.Mailbox
}

func (h *audits) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "GET", Path: "/v1/audit-log", Needs: permit.ReadAudit, Handle: server.Handle(h.list),
			Summary: "List audit events, newest first",
			Query:   []protocol.Param{server.Param("since", "string", "only events at or after this time, in RFC 3339"), server.Param("until", "string", "only events before this time, in RFC 3339"), server.Param("action", "string", "only events with this action"), server.Param("resource", "string", "only this resource and the resources below it, such as agents or agents/a"), server.Param("actor", "string", "only actors with this prefix"), server.Param("cursor", "string", "next_cursor of the previous page"), server.ConfigPage[1]},
			Replies: map[int]any{200: auditList{}}},
	}
}

type auditList struct {
	Items      []*config.AuditEvent `json:"items"`
	NextCursor *string              `json:"next_cursor"`
}

func (h *audits) list(req *server.Request) error {
	q := config.AuditQuery{Action: req.Value("action"), Resource: strings.TrimSuffix(req.Value("resource"), "/"), Actor: req.Value("actor")}
	var err error
	if q.Since, err = server.TimeOf("since", req.Value("since")); err != nil {
		return err
	}
	if q.Until, err = server.TimeOf("until", req.Value("until")); err != nil {
		return err
	}
	from, err := req.Behind("aud_", server.FiltersOf(req, q))
	if err != nil {
		return err
	}
	if from.At != "" && !protocol.ValidID(from.At) {
		return server.ErrCursor
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

// judge sets the error of events about decisions that had no effect. It replaces the events that it
// changes.
func judge(ctx context.Context, box *mailbox.Mailbox, events []*config.AuditEvent) error {
	runs := map[string][]string{} // by tenant
	questions := make([][3]string, len(events))
	for i, e := range events {
		var in server.DecidedIn
		run, ticket, ok := strings.Cut(strings.TrimPrefix(e.Resource, "runs/"), "/")
		if !ok || e.Action != "approve" && e.Action != "reject" || json.Unmarshal(e.After, &in) != nil {
			continue
		}
		questions[i] = [3]string{in.Tenant, run, ticket}
		runs[in.Tenant] = append(runs[in.Tenant], run)
	}
	for tenant, ids := range runs {
		q := mailbox.DecisionQuery{RunIDs: ids, Limit: 1000}
		for {
			page, err := box.Tenant(tenant).Decisions(ctx, q)
			if err != nil {
				return err
			}
			for _, d := range page {
				if i := slices.Index(questions, [3]string{tenant, d.RunID, d.TicketID}); i >= 0 && d.Unapplied != "" {
					e := *events[i]
					e.Error = "not applied: " + d.Unapplied
					events[i] = &e
				}
			}
			if len(page) < q.Limit {
				break
			}
			q.After = page[len(page)-1]
		}
	}
	return nil
}
