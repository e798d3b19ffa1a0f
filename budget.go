package awaken

import (
	"errors"

	"github.com/awaken-go/awaken/limit/money"
)

// AgentBudget limits the spending of an agent, in US dollars. A nil field sets no limit.
type AgentBudget struct {
	Agent     *float64 `json:"agent_usd,omitempty"` // limit for all runs of the agent together
	RunBudget          // limits for each run and each thread
}

// RunBudget limits the spending of a run, in US dollars. A nil field sets no limit.
type RunBudget struct {
	Thread *float64 `json:"thread_usd,omitempty"` // limit for all runs on the thread together
	Run    *float64 `json:"run_usd,omitempty"`    // limit for the run and its children
}

func (b *AgentBudget) validate() error {
	if b == nil {
		return nil
	}
	return errors.Join(money.CheckLimit("agent_usd", b.Agent), b.RunBudget.Validate())
}

// Validate reports all problems, joined. A nil budget is valid.
func (b *RunBudget) Validate() error {
	if b == nil {
		return nil
	}
	return errors.Join(money.CheckLimit("thread_usd", b.Thread), money.CheckLimit("run_usd", b.Run))
}
