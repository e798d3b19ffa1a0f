package server

import (
	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/server/access/permit"
)

// previews makes versions with agents that are not published, for runs of protocols.
type previews struct {
	control   *config.Manager // nil if there is none
	assistant Assisting       // nil if it is disabled
}

// ofAgent makes a version with an agent that is not saved.
func (p *previews) ofAgent(req *Request, agent []byte) (agentID, resolutionID string, err error) {
	if p.control == nil {
		return "", "", ErrNoControl
	}
	if err := req.check(permit.TryConfig); err != nil {
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
