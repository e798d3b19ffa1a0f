package server

import (
	"cmp"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/plugin/fork"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server/access/permit"
)

// previews makes versions with agents that are not published, for runs of protocols.
type previews struct {
	control   *config.Manager // nil if there is none
	assistant Assisting       // nil if it is disabled
}

// previewCalls says what becomes of the tool calls of a preview, as for forks.
type previewCalls struct {
	Tools    fork.Mode      `json:"tools"`
	Fixtures []fork.Fixture `json:"fixtures,omitempty"`
}

// confine returns an agent with a section that says what becomes of its calls.
func (c *previewCalls) confine(agent []byte) ([]byte, error) {
	section := fork.Config{Tools: cmp.Or(c.Tools, fork.Real), Preview: true}
	for _, f := range c.Fixtures {
		exact, err := f.Verbatim()
		if err != nil {
			return nil, err
		}
		section.Results = append(section.Results, exact)
	}
	if err := section.Check("calls.fixtures"); err != nil {
		return nil, protocol.BadRequest("%v", err)
	}
	var doc, sections map[string]json.RawMessage
	if err := json.Unmarshal(agent, &doc); err != nil || doc == nil {
		return nil, protocol.BadRequest("agent is no object; want the whole agent to preview")
	}
	if raw := doc["sections"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &sections); err != nil {
			return nil, protocol.BadRequest("agent.sections is no object")
		}
	}
	if sections == nil {
		sections = map[string]json.RawMessage{}
	}
	var err error
	if sections[fork.Name], err = json.Marshal(section); err != nil {
		return nil, err
	}
	if doc["sections"], err = json.Marshal(sections); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

// ofAgent makes a version with an agent that is not saved. Its calls have no effect unless a person approves them, whatever its own section says.
func (p *previews) ofAgent(req *Request, agent, calls []byte) (agentID, resolutionID string, err error) {
	if p.control == nil {
		return "", "", ErrNoControl
	}
	if err := req.check(permit.TryConfig); err != nil {
		return "", "", err
	}
	var how previewCalls
	if len(calls) > 0 {
		if err := strict.Unmarshal(calls, &how); err != nil {
			return "", "", protocol.BadRequest("calls: %v", err)
		}
	}
	if agent, err = how.confine(agent); err != nil {
		return "", "", err
	}
	v, id, err := p.control.Versions().Preview(req.ctx, agent, ActorOf(req))
	if err != nil {
		return "", "", err
	}
	return id, v.ResolutionID(), nil
}

// ofAssistant makes a version with the admin assistant.
func (p *previews) ofAssistant(req *Request) (agentID, resolutionID string, err error) {
	if p.assistant == nil {
		return "", "", errNoAssistant
	}
	if err := req.check(permit.UseAssistant); err != nil {
		return "", "", err
	}
	spec, err := p.assistant.Assistant(req.ctx)
	if err != nil {
		return "", "", err
	}
	v, err := p.control.Versions().PreviewOwn(req.ctx, spec, ActorOf(req))
	if err != nil {
		return "", "", err
	}
	return spec.ID, v.ResolutionID(), nil
}

// sign records the caller as the user of a run of the admin assistant, so that the audit log names
// the caller beside what the assistant does. It also records the caller's decisions.
func (p *previews) sign(req *Request, s *mailbox.Submission) error {
	by := ActorOf(req)
	s.Request.UserID = by.String()
	for _, d := range s.Request.Decisions {
		action := "approve"
		if d.Action == awaken.ActionCancel {
			action = "reject"
		}
		if err := p.control.Audit().Add(req.ctx, action, "admin-assistant/"+s.Request.ThreadID, by, nil); err != nil {
			return err
		}
	}
	return nil
}

var (
	ErrNoControl   = Unavailable("this server has no control plane")
	errNoAssistant = Unavailable("this server has no admin assistant")
)
