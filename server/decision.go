package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/plugin/permission"
)

// DecisionLog adds decisions to the audit log.
type DecisionLog struct {
	Control *config.Manager // has the audit log; may be nil
	Logger  *slog.Logger
}

// DecidedIn is the audit log's detail of a decision: the tenant of the run that asked.
type DecidedIn struct {
	Tenant string `json:"tenant"`
}

// Add adds the records of accepted decisions. They stand, and have records of their own, even if that fails.
func (l DecisionLog) Add(req *Request, made []*awaken.Decided) {
	if l.Control == nil {
		return
	}
	after, _ := json.Marshal(DecidedIn{req.TenantName()}) // cannot fail
	for _, d := range made {
		action := "approve"
		switch {
		case d.Outcome != "":
			action = "settle"
		case d.Action == awaken.ActionCancel:
			action = "reject"
		}
		if err := l.Control.Audit().Add(context.WithoutCancel(req.ctx), action, "runs/"+d.RunID+"/"+d.TicketID, ActorOf(req), after); err != nil {
			l.Logger.Error("cannot add a decision to the audit log", "run", d.RunID, "ticket", d.TicketID, "error", err)
		}
	}
}

// Author returns the caller as the author of a decision, or nil if nothing is known of it.
func Author(req *Request) *awaken.Actor {
	by := awaken.Actor{User: req.User, Label: ActorOf(req).Label}
	if req.Key != nil {
		by.KeyID = req.Key.ID
	}
	if by == (awaken.Actor{}) {
		return nil
	}
	return &by
}

// Vet signs decisions with the caller, and refuses those whose reach exceeds the caller's. A page
// speaks for its user, and so does a confined request; every other caller that may run agents acts
// for all users. The id is that of a thread or a run.
func Vet(req *Request, page bool, id string, ds []awaken.Decision) error {
	for i := range ds {
		ds[i].Actor, ds[i].Remembered, ds[i].RequestID = Author(req), "", ActorOf(req).RequestID
	}
	if !slices.ContainsFunc(ds, func(d awaken.Decision) bool { return permission.Reach(d.Result) != "" }) {
		return nil // each is about one call only
	}
	run, err := req.tenant.Store.LoadRun(req.ctx, id)
	if errors.Is(err, awaken.ErrNotFound) {
		th, err := req.tenant.Store.Thread(req.ctx, id)
		if err != nil || th.OpenRunID == "" {
			return nil // nothing waits there, as Decide will report
		}
		if run, err = req.tenant.Store.LoadRun(req.ctx, th.OpenRunID); err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	calls, err := req.tenant.Store.Calls(req.ctx, run.RunID)
	if err != nil {
		return err
	}
	for i := range ds {
		q := question(calls, ds[i].Target)
		if page || req.Confined {
			if err := permission.Vet(q, ds[i].Result, req.User, run.UserID); err != nil {
				return Forbidden("%v", err)
			}
		}
		if ds[i].Action == awaken.ActionResume {
			ds[i].Remembered = string(permission.Remembers(q, ds[i].Result))
		}
	}
	return nil
}

// question returns the suspension that was asked under an id, by the run itself or by a run below
// it, or nil if it is not known.
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
