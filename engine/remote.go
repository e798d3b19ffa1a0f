package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/state"
	"github.com/awaken-go/awaken/state/builtin"
)

// exchange makes the request to a remote agent. Whatever that answers, this program has not written it.
func (inf *inference) exchange(req *llm.Request) *registry.Exchange {
	inf.taint(&awaken.Taint{RunID: inf.info.RunID, Tool: inf.agent.Remote.Name(), At: inf.rt.cfg.Now().UnixMilli()})
	return &registry.Exchange{Request: req, Run: inf.info, ID: inf.step.messageID, Notes: builtin.RemoteNotes.Get(inf.st)[inf.agent.Spec.ID],
		Keep: inf.keepNotes, Save: inf.saveNotes, Calls: inf.madeCalls, Retract: inf.retract, Show: inf.showActivity}
}

// keepNotes writes the notes of a remote agent to the state.
func (inf *inference) keepNotes(notes json.RawMessage) {
	if inf.stream == nil {
		return // the run is over
	}
	var b state.Batch
	builtin.WriteRemoteNotes(&b, inf.agent.Spec.ID, notes)
	inf.set(&b) // every remote agent has the keys
}

// saveNotes commits the notes of a remote agent, in the middle of the step.
func (inf *inference) saveNotes(ctx context.Context, notes json.RawMessage, begins bool) error {
	inf.keepNotes(notes)
	if err := inf.journal.commit(ctx, commitOptions{begins: begins}); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// madeCalls returns the run's ledger.
func (inf *inference) madeCalls(ctx context.Context) ([]*awaken.CallState, error) {
	if err := inf.journal.waitInFlight(); err != nil {
		return nil, err
	}
	calls, err := inf.rt.cfg.Store.Calls(ctx, inf.info.RunID)
	if errors.Is(err, awaken.ErrNotFound) { // the run is ephemeral
		return nil, nil
	}
	return calls, err
}

// retract takes back what a remote agent has said in this step.
func (inf *inference) retract(reason string) {
	if s := inf.stream; s != nil && s.started {
		s.retract(reason, "")
	}
}

// showActivity shows what a remote agent is doing.
func (inf *inference) showActivity(activityType string, content json.RawMessage) {
	if s := inf.stream; s != nil {
		s.show(s.ctx, &awaken.ActivitySnapshot{MessageID: inf.step.messageID, ActivityType: activityType, Content: content, Replace: new(true)})
	}
}
