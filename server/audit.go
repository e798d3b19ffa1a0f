package server

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
)

type auditList struct {
	Items      []*config.AuditEvent `json:"items"`
	NextCursor *string              `json:"next_cursor"`
}

func (c *call) listAudit() error {
	q := config.AuditQuery{Action: c.value("action"), Resource: strings.TrimSuffix(c.value("resource"), "/"), Actor: c.value("actor")}
	for name, to := range map[string]*time.Time{"since": &q.Since, "until": &q.Until} {
		if s := c.value(name); s != "" {
			t, err := time.Parse(time.RFC3339, s)
			if err != nil {
				return badRequest(fmt.Sprintf("%s is %q, want a time such as 2026-01-02T15:04:05Z", name, s))
			}
			*to = t
		}
	}
	var err error
	if q.Limit, err = c.number("limit", 100, 1, 1000); err != nil {
		return err
	}
	if s := c.value("cursor"); s != "" {
		id, err := base64.RawURLEncoding.DecodeString(s)
		if err != nil || !protocol.ValidID(string(id)) {
			return errCursor
		}
		q.Before = string(id)
	}
	events, err := c.srv.cfg.Control.Audit().List(c.ctx, q)
	if err != nil {
		return err
	}
	out := auditList{Items: append([]*config.AuditEvent{}, events...)}
	if n := len(events); n == q.Limit {
		next := base64.RawURLEncoding.EncodeToString([]byte(events[n-1].ID))
		out.NextCursor = &next
	}
	return c.Reply(200, out)
}
