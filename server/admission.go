package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/schema"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// admission checks what clients send before it is accepted, whatever its protocol: counts, lengths,
// names, schemas, the agent and what the agent's model must be able to do. A run that was accepted
// must not fail because of what its client wrote. Errors name the field, its value and what is
// accepted.
type admission struct {
	messages    int   // in a submission; this and the others: 0 or less means no limit
	tools       int   // that the client executes, in a submission
	schemaBytes int   // of the tools and schemas of a submission
	schemaParts int   // subschemas of a submission
	title       int   // bytes of a thread's title
	metadata    int   // bytes of a thread's custom metadata
	files       int64 // bytes of all files of a tenant; less than 0 means no limit
	unpriced    bool  // runs of models without prices are admitted although budgets hold for all runs

	schemas *turns // to check the schemas of a submission
}

// fewSchemas is how many bytes of schemas are checked at once. Compiling a schema takes 0.1 ms for each
// subschema, so submissions with more take turns.
const fewSchemas = 1 << 10

func newAdmission(serving context.Context, l *Limits) *admission {
	return &admission{messages: l.MessagesPerRun, tools: l.ToolsPerRun, schemaBytes: l.SchemaBytes, schemaParts: l.SchemaParts, title: l.Title, metadata: l.Metadata,
		schemas: newTurns(serving, 1)}
}

// submission checks input for a run.
func (a *admission) submission(req *Request, s *mailbox.Submission) error {
	q := &s.Request
	if err := a.checkMessages(len(q.Messages)); err != nil {
		return err
	}
	if err := a.checkSchemas(req, q); err != nil {
		return err
	}
	for i := range q.Decisions {
		if err := CheckDecision(&q.Decisions[i]); err != nil {
			return err
		}
	}
	if err := a.checkAgent(req, q); err != nil {
		return err
	}
	if q.Overrides != nil {
		return protocol.CheckOverride("overrides", q.Overrides, RuntimeOf(req.tenant).Registry(), q.AgentID)
	}
	return nil
}

// checkMessages checks how many messages a client sends.
func (a *admission) checkMessages(n int) error {
	if a.messages > 0 && n > a.messages {
		return protocol.BadRequest("the request has %d messages, want at most %d", n, a.messages)
	}
	return nil
}

// toolsField is the field in which a protocol has the tools of the client.
var toolsField = map[string]string{"": "frontend_tools", "ai_sdk": "frontendTools", "ag_ui": "tools", "openai": "tools"}

// checkSchemas checks the tools that the client executes and the schema of the answer. What passes,
// a run can use.
func (a *admission) checkSchemas(req *Request, q *awaken.RunRequest) error {
	field, size := toolsField[q.Adapter], len(q.OutputSchema)
	if n := len(q.FrontendTools); a.tools > 0 && n > a.tools {
		return protocol.BadRequest("%s has %d tools, want at most %d", field, n, a.tools)
	}
	for i := range q.FrontendTools {
		t := &q.FrontendTools[i]
		size += len(t.Parameters) + len(t.Description) + len(t.Name) + len(t.ID)
	}
	if a.schemaBytes > 0 && size > a.schemaBytes {
		return protocol.BadRequest("%s and output_schema have %d bytes, want at most %d", field, size, a.schemaBytes)
	}
	if size > fewSchemas {
		return req.heavy(a.schemas, func() error { return a.compile(field, q) })
	}
	return a.compile(field, q)
}

// compile compiles the schemas of a submission, if they are within the bounds.
func (a *admission) compile(field string, q *awaken.RunRequest) error {
	bounds := schema.Bounds{Parts: a.schemaParts}
	ids := make(map[string]bool, len(q.FrontendTools))
	for i := range q.FrontendTools {
		t := &q.FrontendTools[i]
		switch {
		case t.ID == "":
			return protocol.BadRequest("%s[%d].id is empty", field, i)
		case !protocol.ValidID(t.ID):
			return protocol.CheckID(field+"[].id", t.ID)
		case ids[t.ID]:
			return protocol.BadRequest("%s[%d].id is %.80q, which another tool has", field, i, t.ID)
		case t.ID == awaken.FinalOutputTool:
			return protocol.BadRequest("%s[%d].id is %q, which is the name of a tool of the server", field, i, t.ID)
		}
		ids[t.ID] = true
		if err := checkSchema(&bounds, t.Parameters); err != nil {
			return protocol.BadRequest("%s[%d].parameters: %v", field, i, err)
		}
		if _, err := registry.NewTool(awaken.FrontendTool(*t)); err != nil {
			return protocol.BadRequest("%s[%d]: %v", field, i, err)
		}
	}
	if len(q.OutputSchema) > 0 {
		if err := checkSchema(&bounds, q.OutputSchema); err != nil {
			return protocol.BadRequest("output_schema: %v", err)
		}
		return q.CheckOutput()
	}
	return nil
}

// checkSchema checks a schema against what is left of the bounds. No schema is fine.
func checkSchema(bounds *schema.Bounds, raw json.RawMessage) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	_, err := bounds.Compile(raw)
	return err
}

// checkAgent checks that the agent of a submission exists and, if the run is held to a budget, that it can be
// kept.
func (a *admission) checkAgent(req *Request, q *awaken.RunRequest) error {
	to := *q
	if to.AgentID == "" && len(to.Decisions) == 0 {
		var err error
		if to.AgentID, err = lastAgent(req, to.ThreadID); err != nil {
			return err
		}
	}
	if known, err := req.tenant.Runtime.HasAgent(req.ctx, &to); err != nil {
		return err
	} else if !known {
		return Fail(400, "agent_not_found", "agent not found: %s", to.AgentID)
	}
	if q.Budget != nil {
		if err := q.Budget.Validate(); err != nil {
			return protocol.BadRequest("%s", Plain(err.Error()))
		}
	}
	return a.checkPrices(req, to.AgentID, q.Budget)
}

// checkPrices checks that a run that is held to a budget, its own or one for all runs, has models with prices.
func (a *admission) checkPrices(req *Request, agentID string, budget *awaken.RunBudget) error {
	rt, ok := req.tenant.Runtime.(Runtime)
	if !ok {
		return nil
	}
	agent, err := rt.Registry().Runnable(agentID)
	if err != nil || agent.Unpriced() == "" {
		return nil // one that cannot run fails for another reason
	}
	switch {
	case budget != nil || agent.Spec.Budget != nil:
		return Fail(400, "model_unpriced", "a budget is set, but %s of agent %q has no prices", agent.Unpriced(), agentID)
	case rt.Budget() != nil && !a.unpriced:
		return Fail(400, "model_unpriced", "budgets hold for all runs, but %s of agent %q has no prices; "+
			"set them in the model's document (a free model has the price 0)", agent.Unpriced(), agentID)
	}
	return nil
}

// lastAgent returns the agent that continues a thread, or "" if that is not known: the thread is new
// or was handed to another agent.
func lastAgent(req *Request, threadID string) (string, error) {
	if threadID == "" {
		return "", nil
	}
	r := req.recent
	if r == nil || r.Thread.ID != threadID {
		var err error
		if r, err = req.tenant.Store.Recent(req.ctx, threadID, 0); err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return "", err
		}
	}
	if r == nil || r.Run == nil || r.Run.FirstAgentID != "" {
		return "", nil
	}
	return r.Run.AgentID, nil
}

// CheckDecision checks the names in a decision.
func CheckDecision(d *awaken.Decision) error {
	if err := protocol.CheckID("tool_call_id", d.Target); err != nil {
		return err
	}
	return protocol.CheckID("decision_id", d.ID)
}

// change checks what a client changes in a thread. What the thread has already may be over a limit
// that did not hold when it was written.
func (a *admission) change(from, to *awaken.Thread) error {
	if n := len(to.Metadata.Title); a.title > 0 && n > a.title && to.Metadata.Title != from.Metadata.Title {
		return protocol.BadRequest("title has %d bytes, want at most %d", n, a.title)
	}
	if to.ResourceID != from.ResourceID {
		if err := protocol.CheckID("resource_id", to.ResourceID); err != nil {
			return err
		}
	}
	if n := customBytes(to); a.metadata > 0 && n > a.metadata && n > customBytes(from) {
		return protocol.BadRequest("custom has %d bytes with what the thread has already, want at most %d", n, a.metadata)
	}
	return nil
}

func customBytes(t *awaken.Thread) (n int) {
	for name, value := range t.Metadata.Custom {
		n += len(name) + len(value)
	}
	return n
}
