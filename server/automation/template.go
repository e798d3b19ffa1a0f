package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
)

// runTemplate describes a run that something other than a client's request starts later.
type runTemplate struct {
	AgentID  string                `json:"agent_id"`
	ThreadID string                `json:"thread_id,omitempty"` // "" means a new thread for each run
	UserID   string                `json:"user_id,omitempty"`   // the user of the run
	Messages []server.InputMessage `json:"messages"`
	// Priority is background, the default, or interactive.
	Priority     string                    `json:"priority,omitempty"`
	Overrides    *awaken.InferenceOverride `json:"overrides,omitempty"`
	OutputSchema json.RawMessage           `json:"output_schema,omitempty"` // JSON Schema of the answer
	Budget       *awaken.RunBudget         `json:"budget,omitempty"`
}

// maxTemplate is how many bytes a template may have.
const maxTemplate = 64 << 10

// templateOf decodes a template.
func templateOf(data json.RawMessage) (*runTemplate, error) {
	t := new(runTemplate)
	if len(data) > maxTemplate {
		return nil, fmt.Errorf("run has %d bytes; want at most %d", len(data), maxTemplate)
	}
	if err := strict.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	return t, nil
}

// submission returns the input that starts a run of the template.
func (t *runTemplate) submission() (*mailbox.Submission, error) {
	if strings.TrimSpace(t.AgentID) == "" {
		return nil, protocol.BadRequest("run.agent_id is missing; want the agent of the run")
	}
	for name, id := range map[string]string{"run.thread_id": t.ThreadID, "run.user_id": t.UserID} {
		if err := protocol.CheckID(name, id); err != nil {
			return nil, err
		}
	}
	for i := range t.Messages {
		if id := t.Messages[i].ID; id != "" {
			return nil, protocol.BadRequest("run.messages[%d].id is %.80q; want none: the messages of each run have ids of their own", i, id)
		}
	}
	msgs, err := server.MessagesOf(t.Messages)
	if err != nil {
		return nil, err
	}
	s := &mailbox.Submission{Mode: mailbox.ModeQueue, Confined: t.UserID != "", Request: awaken.RunRequest{AgentID: t.AgentID, ThreadID: t.ThreadID, UserID: t.UserID, Messages: msgs,
		Overrides: t.Overrides, OutputSchema: t.OutputSchema, Budget: t.Budget}}
	switch t.Priority {
	case "", "background":
		s.Priority = new(mailbox.BackgroundPriority)
	case "interactive":
	default:
		return nil, protocol.BadRequest("run.priority is %.40q; want background or interactive", t.Priority)
	}
	return s, nil
}

// check checks a template as if its run were started now, by the caller.
func (t *runTemplate) check(req *server.Request) error {
	s, err := t.submission()
	if err != nil {
		return err
	}
	if s.Request.UserID, err = req.ForUser(t.UserID); err != nil {
		return err
	}
	if err := req.Assign(s); err != nil {
		return err
	}
	return req.CheckSubmission(s)
}

// errRefused says that a run of a template is not accepted: trying again is of no use.
var errRefused = errors.New("the run was refused")

// launcher starts runs of templates.
type launcher struct {
	mailbox *mailbox.Mailbox
	trusts  bool // see [Config.TrustClients]
}

// launch is a run of a template that is to be started.
type launch struct {
	tenant   string
	template *runTemplate
	runID    string
	threadID string        // of a template that names none
	by       string        // what starts it, such as "schedule report"
	mode     string        // see [awaken.RunRequest.Mode]
	taint    *awaken.Taint // of what fill adds
	fill     func([]*llm.Message)
}

// start starts a run, unless it exists.
func (l *launcher) start(ctx context.Context, n *launch) (*mailbox.Receipt, error) {
	s, err := n.template.submission()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errRefused, server.Plain(err.Error()))
	}
	q := &s.Request
	if q.RunID = n.runID; q.ThreadID == "" {
		q.ThreadID = n.threadID
	}
	q.Untrusted, q.Mode, q.TransportRequestID, q.Taint = !l.trusts, n.mode, n.by, n.taint
	n.fill(q.Messages)
	of := l.mailbox.Tenant(n.tenant)
	known, err := of.Runtime.HasAgent(ctx, q)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, fmt.Errorf("%w: agent %q not found", errRefused, q.AgentID)
	}
	r, err := of.Submit(ctx, *s)
	switch {
	case errors.Is(err, mailbox.ErrExists): // it was started before
		return &mailbox.Receipt{RunID: n.runID, ThreadID: q.ThreadID, Duplicate: true}, nil
	case errors.Is(err, awaken.ErrInvalid), errors.Is(err, awaken.ErrNotFound):
		return nil, fmt.Errorf("%w: %s", errRefused, server.Plain(err.Error()))
	}
	return r, err
}

// active reports whether a run exists that has not ended.
func (l *launcher) active(ctx context.Context, tenant, runID string) (bool, error) {
	run, err := l.mailbox.Tenant(tenant).Store.LoadRun(ctx, runID)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return err == nil && run.Status != awaken.RunDone, err
}

// cancel cancels a run, unless it has ended.
func (l *launcher) cancel(ctx context.Context, tenant, runID string) error {
	err := l.mailbox.Tenant(tenant).Cancel(ctx, runID)
	if errors.Is(err, awaken.ErrNotFound) || errors.Is(err, mailbox.ErrIdle) {
		return nil
	}
	return err
}
