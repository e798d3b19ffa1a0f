package background

import (
	"encoding/json"

	"github.com/awaken-go/awaken"
)

// Tasks and messages carry the taint of the run, and stay in this process, unless an agent on another server takes them.

// spawnTool is the tool spawn_task.
type spawnTool struct {
	awaken.Tool
	lookup func(agentID string) *awaken.AgentSpec
}

// Egress implements [awaken.Destined]. A tool that runs as a task is judged in the task.
func (t spawnTool) Egress(args json.RawMessage) awaken.Egress {
	var in spawnArgs
	if json.Unmarshal(args, &in) != nil {
		return awaken.Egress{}
	}
	if spec := t.lookup(in.Agent); in.Agent != "" && spec != nil {
		return spec.Egress()
	}
	return awaken.Egress{None: true}
}

// sendTool is the tool send_message.
type sendTool struct {
	awaken.Tool
	agents []string // that tasks may run
	lookup func(agentID string) *awaken.AgentSpec
}

// Egress implements [awaken.Destined]. The agent of another thread may be on another server, unless the call names one that is not.
func (t sendTool) Egress(args json.RawMessage) awaken.Egress {
	var in sendArgs
	if json.Unmarshal(args, &in) != nil {
		return awaken.Egress{}
	}
	switch in.To.Relation {
	case "parent":
		return awaken.Egress{None: true} // which has called tools of this server
	case "child":
		for _, id := range t.agents {
			if spec := t.lookup(id); spec == nil || spec.Endpoint != nil {
				return awaken.Egress{}
			}
		}
		return awaken.Egress{None: true}
	}
	if spec := t.lookup(in.To.AgentID); in.To.AgentID != "" && spec != nil {
		return spec.Egress()
	}
	return awaken.Egress{}
}
