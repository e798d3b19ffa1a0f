package server

import (
	"bytes"
	"encoding/json"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/config"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/registry"
)

// AgentIn returns the agent that a body names: a live one by its id, or an unsaved document.
func AgentIn(req *Request, raw json.RawMessage, reg *registry.Registry, control *config.Manager) (*awaken.AgentSpec, error) {
	var id string
	if json.Unmarshal(raw, &id) == nil {
		if spec := reg.Agent(id); spec != nil {
			return spec, nil
		}
		return nil, protocol.NotFound("agent", id)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, protocol.BadRequest("agent is missing, want the id of an agent or the document of one")
	}
	var body struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(raw, &body) // Validate reports any mistake
	v, err := control.Validate(req.ctx, config.Key{Namespace: config.Agents, ID: body.ID}, raw)
	if err != nil {
		return nil, err
	}
	spec := new(awaken.AgentSpec)
	return spec, json.Unmarshal(v.Normalized, spec)
}
