package protocol

import (
	"context"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// CallHistory distinguishes the calls that a run waits for from earlier calls with the same id: models
// reuse ids, and a client may not know of the later call yet. It does not cover child runs.
type CallHistory struct {
	runID string
	runs  map[string]string   // message id -> id of the run that produced it, "" if unknown
	calls map[string][]string // call id -> ids of the run's messages with such a call
}

// LoadCallHistory reads the calls of a run and the messages of its thread.
func LoadCallHistory(ctx context.Context, t *mailbox.Tenant, run *awaken.Run) (*CallHistory, error) {
	view, err := t.Store.View(ctx, run.ThreadID)
	if err != nil {
		return nil, err
	}
	log := view.Log()
	a := &CallHistory{runID: run.RunID, runs: make(map[string]string, len(log)), calls: map[string][]string{}}
	for _, m := range log {
		by := RunOf(m)
		a.runs[m.ID] = by
		if m.Role != llm.Assistant || by != run.RunID {
			continue
		}
		for i := range m.ToolCalls {
			a.calls[m.ToolCalls[i].ID] = append(a.calls[m.ToolCalls[i].ID], m.ID)
		}
	}
	return a, nil
}

// Stored reports whether the thread has a message with that id.
func (a *CallHistory) Stored(messageID string) bool {
	_, ok := a.runs[messageID]
	return ok
}

// Elsewhere reports whether a message is known to belong to another run.
func (a *CallHistory) Elsewhere(messageID string) bool {
	by, ok := a.runs[messageID]
	return ok && by != a.runID
}

// Times returns how often the run has made a call with that id.
func (a *CallHistory) Times(callID string) int { return len(a.calls[callID]) }

// Earlier reports whether a message is known not to be the one with the call that the run waits for.
func (a *CallHistory) Earlier(messageID, callID string) bool {
	made := a.calls[callID]
	return a.Stored(messageID) && len(made) > 0 && made[len(made)-1] != messageID
}
