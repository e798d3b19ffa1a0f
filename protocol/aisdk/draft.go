package aisdk

import (
	"net/http"

	"github.com/awaken-go/awaken/protocol"
)

// drafts is a call to a server with a control plane, which makes versions for single conversations.
type drafts interface {
	// Preview makes a version with an agent that is not saved, for runs that name the version. Calls says what becomes of its tool calls, as for forks; nil
	// means that calls that are not read-only wait for a person.
	Preview(agent, calls []byte) (agentID, resolutionID string, err error)
	// Assistant makes one with the admin assistant.
	Assistant() (agentID, resolutionID string, err error)
}

func draftsOf(c protocol.Call) (drafts, error) {
	d, ok := c.(drafts)
	if !ok {
		return nil, &protocol.Failure{Status: http.StatusServiceUnavailable, Code: "unavailable", Message: "this server has no control plane"}
	}
	return d, nil
}

// byPreview chooses the agent in the body.
func byPreview(c protocol.Call, req *chatRequest) (to chosen, err error) {
	if len(req.Agent) == 0 {
		return to, protocol.BadRequest("agent is missing, want the whole agent to preview")
	}
	d, err := draftsOf(c)
	if err != nil {
		return to, err
	}
	to.agentID, to.resolutionID, err = d.Preview(req.Agent, req.Calls)
	return to, err
}

// byAssistant chooses the server's own agent.
func byAssistant(c protocol.Call, _ *chatRequest) (to chosen, err error) {
	d, err := draftsOf(c)
	if err != nil {
		return to, err
	}
	to.agentID, to.resolutionID, err = d.Assistant()
	return to, err
}
