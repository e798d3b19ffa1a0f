package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
)

// elsewhere is a store that takes what runs send to threads that the record does not have, and keeps nothing of it. Such a thread is there unless the record
// says that a delivery to it failed. It tells the stage which messages runs have read.
type elsewhere struct {
	Store
	stage  *stage
	known  map[string]bool           // the threads of the record
	failed map[string]failedDelivery // to others
}

// paying is an elsewhere whose store has budgets.
type paying struct {
	elsewhere
	money.Budget
}

// beyond returns the store of a replay, with the threads beyond the record.
func (s *stage) beyond(store Store) Store {
	e := elsewhere{store, s, map[string]bool{}, map[string]failedDelivery{}}
	for _, p := range s.order {
		e.known[p.rec.Run.ThreadID], e.known[p.rec.Run.ParentThreadID] = true, true
		for _, f := range p.failedDeliveries() {
			e.failed[f.ThreadID] = f
		}
	}
	if b, ok := store.(money.Budget); ok {
		return paying{e, b}
	}
	return e
}

// LoadRun returns a run. One that ended before it started has its record, which says why.
func (e elsewhere) LoadRun(ctx context.Context, id string) (*awaken.Run, error) {
	run, err := e.Store.LoadRun(ctx, id)
	if p := e.stage.of(id); errors.Is(err, awaken.ErrNotFound) && p != nil && p.endsAtOnce(0) {
		was := p.rec.Run
		return &awaken.Run{RunID: id, ThreadID: was.ThreadID, AgentID: p.agent(), Status: awaken.RunDone, StatusReason: was.StatusReason, Termination: was.Termination,
			CreatedAt: was.CreatedAt, FinishedAt: was.FinishedAt}, nil
	}
	return run, err
}

// Thread returns a thread. It does not accept the ID of a run.
func (e elsewhere) Thread(ctx context.Context, id string) (*awaken.Thread, error) {
	if _, err := e.Store.LoadRun(ctx, id); err == nil {
		return e.Store.Thread(ctx, id)
	}
	f, failed := e.failed[id]
	switch {
	case e.known[id] || failed && !f.Foreign:
		return e.Store.Thread(ctx, id)
	case f.Foreign:
		return &awaken.Thread{ID: id, UserID: fmt.Sprintf("the owner of %q", id)}, nil
	}
	return &awaken.Thread{ID: id}, nil
}

// Post delivers items to a thread.
func (e elsewhere) Post(ctx context.Context, threadID string, items ...awaken.InboxItem) error {
	if !e.known[threadID] {
		return nil
	}
	return e.Store.Post(ctx, threadID, items...)
}

// Unread returns what a thread has not read. Its run reads it now.
func (e elsewhere) Unread(ctx context.Context, threadID string) ([]awaken.InboxItem, error) {
	if !e.known[threadID] {
		return nil, nil
	}
	items, err := e.Store.Unread(ctx, threadID)
	s := e.stage
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		for _, m := range it.Messages {
			s.read[m.ID] = true
		}
	}
	s.moved.Broadcast()
	return items, err
}

// Commit commits. A decision or a summary may arrive when a run is about to wait or to end, and the commit is refused then.
func (e elsewhere) Commit(ctx context.Context, c *awaken.Commit) error {
	if c.RequireEmptyInbox {
		e.decideLate(c.Run.RunID)
		e.stage.post(c.Run.RunID, c.Run.Steps, llm.AtEnd)
		if res := e.stage.arrives(c.Run.RunID, c.Run.Steps); res != nil {
			if err := e.Store.Post(ctx, c.ThreadID, awaken.InboxItem{ID: "compaction:" + res.TaskID, Compaction: res}); err != nil {
				return err
			}
		}
	}
	return e.Store.Commit(ctx, c)
}

// decideLate makes the decisions that were made when a run was about to wait.
func (e elsewhere) decideLate(runID string) {
	s := e.stage
	s.mu.Lock()
	var due []awaken.Decision
	p := s.parts[runID]
	if p != nil {
		for at, list := range p.late {
			if from := p.stepStart(at); from >= 0 && from < p.pos {
				due = append(due, list...)
				delete(p.late, at)
			}
		}
	}
	s.mu.Unlock()
	if len(due) == 0 {
		return
	}
	if err := s.rt.Decide(s.ctx, runID, due...); err != nil {
		s.part(p, "a decision", "", err.Error())
	}
}

// failedDelivery is one as a snapshot of the state shows it.
type failedDelivery struct {
	ThreadID string `json:"thread_id"`
	Foreign  bool   `json:"foreign"`
}

// failedDeliveries returns what the run could not deliver.
func (p *past) failedDeliveries() (out []failedDelivery) {
	for i := range p.events {
		if _, ok := p.events[i].Event.(*awaken.StateSnapshot); !ok {
			continue
		}
		var shown struct {
			Snapshot struct {
				Extensions struct {
					Failed []failedDelivery `json:"__runtime.failed_deliveries"`
				} `json:"extensions"`
			} `json:"snapshot"`
		}
		if json.Unmarshal([]byte(p.lines[i]), &shown) == nil {
			out = append(out, shown.Snapshot.Extensions.Failed...)
		}
	}
	return out
}
