package server

import (
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/mailbox"
)

// previews makes versions for runs of protocols that name agents which are not published.
type previews struct {
	control   *config.Manager      // nil if there is no control plane
	assistant *assistant.Assistant // nil if there is no such agent
}

// ofAgent makes a version that has an agent that nobody saved.
func (p *previews) ofAgent(req *request, agent []byte) (agentID, resolutionID string, err error) {
	if p.control == nil {
		return "", "", errNoControl
	}
	if err := req.checkGlobal(); err != nil {
		return "", "", err
	}
	v, id, err := p.control.Versions().Preview(req.ctx, agent, actorOf(req))
	if err != nil {
		return "", "", err
	}
	return id, v.ResolutionID(), nil
}

// ofAssistant makes a version that has the server's own agent.
func (p *previews) ofAssistant(req *request) (agentID, resolutionID string, err error) {
	if p.assistant == nil {
		return "", "", errNoAssistant
	}
	if err := req.checkGlobal(); err != nil {
		return "", "", err
	}
	spec, err := p.assistant.Agent(req.ctx)
	if errors.Is(err, assistant.ErrNoModel) {
		return "", "", fail(409, "no_model", "%v", err)
	}
	if err != nil {
		return "", "", err
	}
	v, err := p.control.Versions().PreviewOwn(req.ctx, spec, actorOf(req))
	if err != nil {
		return "", "", err
	}
	return spec.ID, v.ResolutionID(), nil
}

// sign says who talks to the server's own agent, so that the audit log has them beside
// what the agent does, and records what they decide.
func (p *previews) sign(req *request, s *mailbox.Submission) error {
	by := actorOf(req)
	s.Request.UserID = by.String()
	for _, d := range s.Request.Decisions {
		action := "approve"
		if d.Action == awaken.ActionCancel {
			action = "reject"
		}
		if err := p.control.Audit().Add(req.ctx, action, "admin-assistant/"+s.Request.ThreadID, by); err != nil {
			return err
		}
	}
	return nil
}

var (
	errNoControl   = unavailable("this server has no control plane")
	errNoAssistant = unavailable("this server has no admin assistant")
)
