package mcp

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// elicitation is the request of the server for input of a person.
type elicitation struct {
	Method string       `json:"method"`
	Params elicitParams `json:"params"`
}

type elicitParams struct {
	Mode    string `json:"mode,omitempty"`
	Message string `json:"message"`
	Schema  form   `json:"requestedSchema"`
}

// form is the restricted JSON Schema of an answer.
type form struct {
	Type       string                     `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required,omitempty"`
}

// asksToRun reports whether a ticket asks whether a call may run: it runs only if the answer says so.
func asksToRun(t *awaken.WaitingTicket) bool {
	return t.ResumeMode == awaken.ReplayToolCall || t.ResumeMode == ""
}

// formOf returns the form for a response schema, if it can be one: an object of plain values.
func formOf(schema json.RawMessage) (form, bool) {
	var s struct {
		form
		More json.RawMessage `json:"patternProperties"`
	}
	if json.Unmarshal(schema, &s) != nil || s.Type != "object" || len(s.Properties) == 0 || len(s.More) > 0 {
		return form{}, false
	}
	for _, p := range s.Properties {
		var prop struct {
			Type  string `json:"type"`
			Items *struct {
				Enum  json.RawMessage `json:"enum"`
				AnyOf json.RawMessage `json:"anyOf"`
			} `json:"items"`
		}
		if json.Unmarshal(p, &prop) != nil {
			return form{}, false
		}
		switch prop.Type {
		case "string", "number", "integer", "boolean":
		case "array":
			if prop.Items == nil || len(prop.Items.Enum) == 0 && len(prop.Items.AnyOf) == 0 {
				return form{}, false
			}
		default:
			return form{}, false
		}
	}
	return s.form, true
}

// answerField is the field of an answer that has no form of its own.
const answerField = "answer"

// question returns the elicitation for a ticket.
func question(t *awaken.WaitingTicket) elicitation {
	text := t.Reason
	f, ok := form{}, false
	if s := t.Suspension; s != nil {
		text = cmp.Or(s.Message, text)
		f, ok = formOf(s.ResponseSchema)
	}
	if asksToRun(t) {
		text = cmp.Or(text, "May the agent call "+t.ToolName+"?")
		if t.ToolName != "" {
			text += "\n" + t.ToolName + " " + compact(t.Arguments)
		}
		if !ok {
			f = form{Properties: map[string]json.RawMessage{"reason": json.RawMessage(`{"type":"string","title":"Reason","description":"Why not, for the agent"}`)}}
		}
		if f.Properties["approved"] == nil {
			f.Properties["approved"] = json.RawMessage(`{"type":"boolean","title":"Approve","description":"Whether the call may run"}`)
		}
		if !slices.Contains(f.Required, "approved") {
			f.Required = append(f.Required, "approved")
		}
	} else if !ok {
		f = form{Properties: map[string]json.RawMessage{answerField: json.RawMessage(`{"type":"string","title":"Answer"}`)}, Required: []string{answerField}}
	}
	f.Type = "object"
	return elicitation{Method: "elicitation/create", Params: elicitParams{Mode: "form", Message: cmp.Or(text, "The agent asks for "+t.ToolName+"."), Schema: f}}
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// elicited is the answer to an elicitation.
type elicited struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
}

// UnmarshalJSON ignores unknown fields.
func (e *elicited) UnmarshalJSON(data []byte) error {
	type plain elicited
	return strict.UnmarshalKnown(data, (*plain)(e))
}

// decide returns the decision that an answer makes on a ticket. A person who declines, or dismisses the question, refuses.
func (e *elicited) decide(t *awaken.WaitingTicket) (awaken.Decision, error) {
	d := awaken.Decision{Target: t.TicketID, ID: "mcp:" + t.TicketID, Action: awaken.ActionCancel}
	switch e.Action {
	case "decline":
		return d, nil
	case "cancel":
		d.Reason = "the question was dismissed"
		return d, nil
	case "accept":
	default:
		return d, invalid("action is %.80q, want accept, decline or cancel", e.Action)
	}
	var fields map[string]json.RawMessage
	if len(e.Content) > 0 && json.Unmarshal(e.Content, &fields) != nil {
		return d, invalid("content is %.80s, want an object", e.Content)
	}
	if !asksToRun(t) {
		return answerTo(t, d, e.Content, fields), nil
	}
	var approved bool
	if json.Unmarshal(fields["approved"], &approved) != nil {
		return d, invalid("content.approved is %.80s, want true or false", cmp.Or(string(fields["approved"]), "missing"))
	}
	if !approved {
		_ = json.Unmarshal(fields["reason"], &d.Reason) // none, if it is no string
		return d, nil
	}
	d.Action = awaken.ActionResume
	d.Result = e.Content
	return d, nil
}

// answerTo makes d the answer to a question that is not an approval.
func answerTo(t *awaken.WaitingTicket, d awaken.Decision, content json.RawMessage, fields map[string]json.RawMessage) awaken.Decision {
	d.Action, d.Result = awaken.ActionResume, content
	if s := t.Suspension; s != nil {
		if _, ok := formOf(s.ResponseSchema); ok {
			return d
		}
	}
	d.Result = fields[answerField]
	var text string
	if json.Unmarshal(d.Result, &text) == nil && !protocol.Fits(t.Suspension, d.Result) && json.Valid([]byte(text)) {
		d.Result = json.RawMessage(text) // the schema wants another type
	}
	return d
}

const elicitPrefix = "elicit_"

// elicitID returns the id of the request that asks a question of a run.
func elicitID(runID, ticketID string) string {
	return elicitPrefix + base64.RawURLEncoding.EncodeToString([]byte(runID+"\n"+ticketID))
}

func parseElicitID(id json.RawMessage) (runID, ticketID string, ok bool) {
	var text string
	if json.Unmarshal(id, &text) != nil {
		return "", "", false
	}
	text, ok = strings.CutPrefix(text, elicitPrefix)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil {
		return "", "", false
	}
	return strings.Cut(string(data), "\n")
}

// answered takes the response to a request of the server: the answer to a question.
func (x *exchange) answered(m *message) error {
	if x.modern {
		return failure(http.StatusBadRequest, invalidRequest, "the server sends no requests in revision %s", modern)
	}
	runID, ticketID, ok := parseElicitID(x.id)
	if !ok {
		return failure(http.StatusBadRequest, invalidRequest, "id is %.80s, which is no request of the server", x.id)
	}
	in := elicited{Action: "cancel"} // a client that cannot ask answers with an error
	if len(m.Result) > 0 {
		if err := in.UnmarshalJSON(m.Result); err != nil {
			return failure(http.StatusBadRequest, invalidParams, "result: %v", err)
		}
	}
	run, err := x.load(runID)
	if err != nil {
		return refused(x.Failure(err))
	}
	if run.Waiting == nil {
		return x.Reply(http.StatusAccepted, nil) // it was answered
	}
	i := slices.IndexFunc(run.Waiting.Tickets, func(t awaken.WaitingTicket) bool { return t.TicketID == ticketID })
	if i < 0 {
		return x.Reply(http.StatusAccepted, nil)
	}
	d, err := in.decide(&run.Waiting.Tickets[i])
	if err != nil {
		return refused(x.Failure(err))
	}
	_, err = x.Submit(&mailbox.Submission{Mode: mailbox.ModeResume, Request: awaken.RunRequest{ThreadID: run.ThreadID, Decisions: []awaken.Decision{d}}})
	if err != nil && !errors.Is(err, awaken.ErrDecided) && !errors.Is(err, mailbox.ErrIdle) {
		return refused(x.Failure(err))
	}
	return x.Reply(http.StatusAccepted, nil)
}

// refused makes a failure one that does not end the client's session.
func refused(f *protocol.Failure) error {
	if f.Status < 500 && f.Status != http.StatusTooManyRequests && f.Status != http.StatusForbidden && f.Status != http.StatusUnauthorized {
		f.Status, f.Code = http.StatusBadRequest, invalidParams
	}
	return f
}

// proceed continues a run with the answers to its questions, in the newer era. If answers are missing, it asks again.
func (x *toolCall) proceed() error {
	in := x.in
	var st requestState
	if !x.cfg.signer.open("state", in.State, &st) || st.Tool != in.Name {
		return failure(http.StatusBadRequest, invalidParams, "params.requestState is not of an earlier result of this tool")
	}
	run, err := x.load(st.RunID)
	if err != nil {
		return err
	}
	r := &mailbox.Receipt{ThreadID: run.ThreadID, RunID: run.RunID, Duplicate: true}
	var decisions []awaken.Decision
	if run.Waiting != nil && !x.hasInput(run) {
		for i := range run.Waiting.Tickets {
			t := &run.Waiting.Tickets[i]
			raw, ok := in.Responses[t.TicketID]
			if !ok {
				return x.report(r)
			}
			var a elicited
			if err := a.UnmarshalJSON(raw); err != nil {
				return invalid("params.inputResponses[%q]: %v", t.TicketID, err)
			}
			d, err := a.decide(t)
			if err != nil {
				f := x.Failure(err)
				f.Message = "params.inputResponses[" + t.TicketID + "]." + f.Message
				return f
			}
			decisions = append(decisions, d)
		}
	}
	if len(decisions) == 0 {
		return x.report(r)
	}
	r, err = x.Submit(&mailbox.Submission{Mode: mailbox.ModeResume, Request: awaken.RunRequest{ThreadID: run.ThreadID, Decisions: decisions}})
	if errors.Is(err, mailbox.ErrIdle) {
		r, err = &mailbox.Receipt{ThreadID: run.ThreadID, RunID: run.RunID, Duplicate: true}, nil
	}
	if err != nil {
		return err
	}
	if r.Duplicate {
		return x.report(r)
	}
	if x.streams() {
		defer x.abandon(r.RunID)
	}
	return x.after(r)
}

// hasInput reports whether a run that waits has input to continue with.
func (x *toolCall) hasInput(run *awaken.Run) bool {
	items, err := x.Tenant().Store.Unread(x.Context(), run.ThreadID)
	return err == nil && len(items) > 0
}

// after answers with what follows a submission that continued a run.
func (x *toolCall) after(r *mailbox.Receipt) error {
	opts := x.options(r.RunID)
	if !x.streams() {
		return x.collect(r, opts)
	}
	return x.stream(&protocol.Stream{ThreadID: r.ThreadID, RunID: r.RunID, After: protocol.AfterAll(r.After)}, opts)
}

// report answers with where a run is: its result, or its questions. If it has input to continue with, it answers with what
// follows.
func (x *toolCall) report(r *mailbox.Receipt) error {
	run, err := x.load(r.RunID)
	if err != nil {
		return err
	}
	r = &mailbox.Receipt{ThreadID: run.ThreadID, RunID: run.RunID}
	if run.Status == awaken.RunWaiting && x.hasInput(run) {
		th, err := x.Tenant().Store.Thread(x.Context(), run.ThreadID)
		if err != nil {
			return err
		}
		r.After = th.End
		return x.after(r)
	}
	if r.After, err = protocol.LastActivation(x.Context(), x.Tenant(), run.ThreadID, run.RunID); err != nil {
		return err
	}
	return x.after(r)
}
