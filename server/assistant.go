package server

import (
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/config/assistant"
	"github.com/awaken-go/awaken/mailbox"
)

// assistantConfig is what can be set of the server's own agent.
type assistantConfig struct {
	ID           string `json:"id,omitempty"` // default
	PolicyPrompt string `json:"policy_prompt"`
	ModelID      string `json:"model_id,omitempty"`
	Revision     int64  `json:"revision"`
}

func (c *call) getAssistant() error {
	s, err := c.srv.cfg.Control.Assistant().Settings(c.ctx)
	if err != nil {
		return err
	}
	return c.Reply(200, assistantConfig{"default", s.PolicyPrompt, s.ModelID, s.Revision})
}

func (c *call) putAssistant() error {
	var body assistantConfig
	if err := c.Decode(&body); err != nil {
		return err
	}
	if body.ID != "" && body.ID != "default" {
		return badRequest(fmt.Sprintf("id is %q, want default", body.ID))
	}
	if n := len(body.PolicyPrompt); n > assistant.MaxPolicy {
		return badRequest(fmt.Sprintf("policy_prompt has %d bytes, want at most %d", n, assistant.MaxPolicy))
	}
	s, err := c.srv.cfg.Control.Assistant().Set(c.ctx, config.AssistantSettings{PolicyPrompt: body.PolicyPrompt, ModelID: body.ModelID, Revision: body.Revision}, c.actor())
	if err != nil {
		return c.refused(err)
	}
	return c.Reply(200, assistantConfig{"default", s.PolicyPrompt, s.ModelID, s.Revision})
}

// Preview is for [protocol.Call].
func (c *call) Preview(agent []byte) (agentID, resolutionID string, err error) {
	if c.srv.cfg.Control == nil {
		return "", "", errNoControl
	}
	if err := c.checkGlobal(); err != nil {
		return "", "", err
	}
	p, id, err := c.srv.cfg.Control.Versions().Preview(c.ctx, agent, c.actor())
	if err != nil {
		return "", "", c.refused(err)
	}
	return id, p.ResolutionID(), nil
}

// Assistant is for [protocol.Call].
func (c *call) Assistant() (agentID, resolutionID string, err error) {
	if c.srv.cfg.Assistant == nil {
		return "", "", errNoAssistant
	}
	if err := c.checkGlobal(); err != nil {
		return "", "", err
	}
	spec, err := c.srv.cfg.Assistant.Agent(c.ctx)
	if errors.Is(err, assistant.ErrNoModel) {
		return "", "", fail(409, "no_model", err.Error())
	}
	if err != nil {
		return "", "", err
	}
	p, err := c.srv.cfg.Control.Versions().PreviewOwn(c.ctx, spec, c.actor())
	if err != nil {
		return "", "", c.refused(err)
	}
	return spec.ID, p.ResolutionID(), nil
}

// signOwn says who talks to the server's own agent, so that the audit log has them beside
// what the agent does, and records what they decide.
func (c *call) signOwn(s *mailbox.Submission) error {
	by := c.actor()
	s.Request.UserID = by.String()
	for _, d := range s.Request.Decisions {
		action := "approve"
		if d.Action == awaken.ActionCancel {
			action = "reject"
		}
		if err := c.srv.cfg.Control.Audit().Add(c.ctx, action, "admin-assistant/"+s.Request.ThreadID, by); err != nil {
			return err
		}
	}
	return nil
}

var (
	errNoControl   = unavailable("this server has no control plane")
	errNoAssistant = unavailable("this server has no admin assistant")
)
