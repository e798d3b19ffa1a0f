package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/protocol"
)

// ask asks the client what a run waits for. It reports whether the run will continue: the client is
// asked, or the run waits for others. Late says that the run has waited before the session was begun.
func (t *turn) ask(w *awaken.Waiting, late bool) bool {
	if w == nil {
		return false
	}
	var decided []*awaken.Decided
	if late {
		decided, _ = t.Tenant.Store.Decisions(t.ctx, mailbox.DecisionQuery{RunIDs: []string{t.runID}, Limit: 1000}) // without it, a question is asked twice, and its first answer counts
	}
	continues := w.Reason == awaken.WaitBackgroundTasks || len(decided) > 0
	for i := range w.Tickets {
		ticket := &w.Tickets[i]
		if slices.ContainsFunc(decided, func(d *awaken.Decided) bool { return d.TicketID == ticket.TicketID }) {
			continue
		}
		switch {
		case t.isClientCall(ticket):
			t.start(ticket, func(ctx context.Context) { t.perform(ctx, ticket, late) })
		case protocol.IsApproval(ticket.ResumeMode, ticket.Suspension):
			t.start(ticket, func(ctx context.Context) { t.permit(ctx, ticket) })
		default:
			t.tell(ticket)
			continue
		}
		continues = true
	}
	return continues
}

// start asks a question in a goroutine, unless it is asked already. Everything that the question needs of
// the encoder is read before.
func (t *turn) start(ticket *awaken.WaitingTicket, fn func(ctx context.Context)) {
	t.mu.Lock()
	_, again := t.asking[ticket.TicketID]
	ctx, cancel := context.WithCancelCause(t.ctx)
	if !again {
		t.asking[ticket.TicketID] = func() { cancel(errOver) }
		t.calls[ticket.ToolCallID] = ticket.TicketID
	}
	t.mu.Unlock()
	if again {
		cancel(nil)
		return
	}
	t.mu.Lock()
	t.announce(ticket)
	t.wire[ticket.TicketID] = t.enc.call[ticket.ToolCallID].id
	t.mu.Unlock()
	t.asks.Go(func() {
		defer cancel(nil)
		fn(ctx)
	})
}

// settled ends the question about a call that has its result: it was answered elsewhere, or has expired.
func (t *turn) settled(callID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	id, ok := t.calls[callID]
	if !ok {
		return
	}
	if cancel := t.asking[id]; cancel != nil {
		cancel()
	}
	delete(t.asking, id)
	delete(t.calls, callID)
}

// announce makes a call known to the client that is not one of the run: that of another agent, or a message
// that a guard holds.
func (t *turn) announce(ticket *awaken.WaitingTicket) {
	if t.enc.known(ticket) != nil {
		return
	}
	c := &call{id: ticket.TicketID, name: ticket.ToolName, kind: kindOf(ticket.ToolName)}
	t.enc.call[ticket.ToolCallID] = c
	u := t.enc.describe(c, ticket.Arguments, "pending")
	u.SessionUpdate = "tool_call"
	c.over = true // no entry tells its end
	t.foreign[ticket.TicketID] = true
	t.update(u)
}

// tell says that the run waits for an answer that the protocol has no word for.
func (t *turn) tell(ticket *awaken.WaitingTicket) {
	t.update(&Update{SessionUpdate: "agent_message_chunk", Content: block{Type: "text",
		Text: fmt.Sprintf("[%s waits for an answer that this editor cannot give: %s. A new message withdraws the call.]", ticket.ToolName, cmp.Or(ticket.Reason, "no question"))}})
}

// Ids of the options of permission requests.
const (
	allowOnce   = "allow_once"
	allowThread = "allow_session"
	allowAlways = "allow_always"
	rejectOnce  = "reject_once"
)

// choices returns the options of a permission request: those that the question offers.
func choices(q *awaken.Suspension) []permissionOption {
	out := []permissionOption{{allowOnce, "Allow once", "allow_once"}}
	scopes := permission.Offers(q)
	if slices.Contains(scopes, permission.Thread) {
		out = append(out, permissionOption{allowThread, "Always allow in this session", "allow_always"})
	}
	if scope := widest(scopes); scope != "" {
		out = append(out, permissionOption{allowAlways, "Always allow", "allow_always"})
	}
	return append(out, permissionOption{rejectOnce, "Reject", "reject_once"})
}

// widest returns the scope that is meant by "always", or "" if the question offers none.
func widest(scopes []permission.Scope) permission.Scope {
	for _, s := range []permission.Scope{permission.User, permission.Project} {
		if slices.Contains(scopes, s) {
			return s
		}
	}
	return ""
}

// permit asks the client whether a call may be made, and decides the ticket with its answer.
func (t *turn) permit(ctx context.Context, ticket *awaken.WaitingTicket) {
	chosen, err := t.request(ctx, ticket, ticket.Reason, nil, choices(ticket.Suspension))
	if err != nil {
		t.unasked(ctx, err)
		return
	}
	var remember permission.Scope
	switch chosen {
	case rejectOnce:
		t.decide(ctx, ticket.Reject("The user rejected the call."))
		return
	case allowThread:
		remember = permission.Thread
	case allowAlways:
		remember = widest(permission.Offers(ticket.Suspension))
	case allowOnce:
	default: // cancelled
		t.cancel()
		return
	}
	d := ticket.Approve()
	d.Result = json.RawMessage(`{"approved":true}`)
	if remember != "" {
		d.Result = json.RawMessage(`{"approved":true,"remember":{"scope":"` + string(remember) + `"}}`)
		d.Remembered = string(permission.Remembers(ticket.Suspension, d.Result))
	}
	if remember != "" && t.hasServer(ticket.ToolName) {
		if err := t.allow(ctx, ticket.ToolName); err != nil {
			t.Logger.Warn("cannot remember an approval for the session", "error", err)
		}
	}
	t.decide(ctx, d)
}

// request asks the client to choose. It returns "" if the client has cancelled the prompt instead.
func (t *turn) request(ctx context.Context, ticket *awaken.WaitingTicket, title string, content []callContent, options []permissionOption) (string, error) {
	args := argumentsOf(ticket.Arguments, t.cwd)
	kind := kindOf(ticket.ToolName)
	if content == nil {
		content = args.diff(kind)
	}
	t.mu.Lock()
	id := t.wire[ticket.TicketID]
	t.mu.Unlock()
	var out permissionResult
	err := t.Conn.call(ctx, methodPermission, permissionParams{SessionID: t.id, Options: options, Call: &callUpdate{CallID: id, Title: cmp.Or(title, args.title(ticket.ToolName, t.cwd)),
		Kind: kind, Status: "pending", Content: content, Locations: args.locations(), RawInput: rawOf(ticket.Arguments)}}, &out)
	if err != nil {
		return "", err
	}
	switch o := &out.Outcome; {
	case o.Outcome == "cancelled":
		return "", nil
	case o.Outcome != "selected" || !slices.ContainsFunc(options, func(p permissionOption) bool { return p.OptionID == o.OptionID }):
		return "", invalidParams("the client's outcome is %.80q with option %.80q, which was not offered", o.Outcome, o.OptionID)
	}
	return out.Outcome.OptionID, nil
}

// unasked ends the turn if the client could not be asked. The run waits.
func (t *turn) unasked(ctx context.Context, err error) {
	if ctx.Err() != nil || errors.Is(err, errClosed) {
		return // answered elsewhere, or the client is gone
	}
	t.Logger.Warn("cannot ask the client for permission", "error", err)
	t.stop(&Failure{Code: codeInternal, Message: "the run waits for a decision, and the client cannot be asked: " + err.Error()})
}

// decide delivers a decision. If the question was decided differently before, that counts.
func (t *turn) decide(ctx context.Context, d awaken.Decision) {
	_, name := t.capabilities()
	t.mu.Lock()
	id, foreign := t.wire[d.Target], t.foreign[d.Target]
	t.mu.Unlock()
	if foreign {
		status := "completed"
		if d.Action == awaken.ActionCancel {
			status = "failed"
		}
		t.update(&Update{SessionUpdate: "tool_call_update", CallID: id, Status: status})
	}
	d.ID, d.Actor = "acp:"+d.Target, &awaken.Actor{User: t.User, Label: cmp.Or(name, "ACP client")}
	r, err := t.Tenant.Decide(context.WithoutCancel(ctx), t.runID, d)
	switch {
	case err == nil:
		if t.Decided != nil {
			t.Decided(r.Decided)
		}
	case errors.Is(err, awaken.ErrDecided), errors.Is(err, awaken.ErrNotFound):
		t.Logger.Info("the question was answered elsewhere, or is withdrawn", "ticket", d.Target)
	default:
		t.Logger.Error("cannot deliver a decision", "ticket", d.Target, "error", err)
		t.stop(failureOf(err, t.Logger))
	}
}
