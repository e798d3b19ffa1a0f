package awaken

import (
	"errors"

	"github.com/awaken-go/awaken/money"
)

// AgentBudget limits what an agent spends, in US dollars. A nil field sets no limit.
type AgentBudget struct {
	Agent     *float64 `json:"agent_usd,omitempty"` // by all its runs
	RunBudget          // by each run, and on each thread
}

// RunBudget limits what a run spends, in US dollars. A nil field sets no limit.
type RunBudget struct {
	Thread *float64 `json:"thread_usd,omitempty"` // by all runs on the thread
	Run    *float64 `json:"run_usd,omitempty"`    // by the run and its children
}

func (b *AgentBudget) validate() error {
	if b == nil {
		return nil
	}
	return errors.Join(money.CheckLimit("agent_usd", b.Agent), b.RunBudget.Validate())
}

// Validate reports every mistake at once. Nil has none.
func (b *RunBudget) Validate() error {
	if b == nil {
		return nil
	}
	return errors.Join(money.CheckLimit("thread_usd", b.Thread), money.CheckLimit("run_usd", b.Run))
}
