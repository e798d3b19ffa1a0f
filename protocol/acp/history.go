package acp

import (
	"context"
	"errors"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// history is what a session has, as it is stored.
type history struct {
	s        *session
	messages []*llm.Message                  // as people see them
	pending  []*llm.Message                  // accepted, and not part of the conversation yet
	steps    map[string][]awaken.Entry       // the entries of a step, by its message
	order    []string                        // the steps of the open run
	ledger   map[ledgerKey]*awaken.CallState // of the calls in messages without entries
	records  map[string]*awaken.CallState    // of the latest call with an id among them
	enc      *Encoder
	open     *awaken.Run   // the run that is not done, or nil
	end      awaken.Cursor // of the entries
}

// history reads a session. What is committed meanwhile would be shown twice or not at all, so it reads again
// until nothing is.
func (s *session) history(ctx context.Context, id string) (*history, error) {
	for n := 0; ; n++ {
		before, err := s.Tenant.Store.Thread(ctx, id)
		if err != nil {
			return nil, err
		}
		h, err := s.read(ctx, id)
		if err != nil {
			return nil, err
		}
		after, err := s.Tenant.Store.Thread(ctx, id)
		if err != nil || after.End == before.End && after.MessageCount == before.MessageCount && after.OpenRunID == before.OpenRunID || n == 20 {
			return h, err
		}
	}
}

// read reads a session once.
func (s *session) read(ctx context.Context, id string) (*history, error) {
	h := &history{s: s, steps: map[string][]awaken.Entry{}, enc: NewEncoder(EncoderOptions{Cwd: s.cwd, Window: s.window(s.options)})}
	var err error
	if h.open, err = s.unfinished(ctx, id); err != nil {
		return nil, err
	}
	if h.open != nil && h.open.Status == awaken.RunCreated {
		queued, err := s.Tenant.Store.Dispatches(ctx, mailbox.Query{ThreadID: id, RunID: h.open.RunID, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(queued) > 0 && queued[0].Request != nil {
			h.pending = queued[0].Request.Messages
		}
	}
	if h.messages, err = protocol.Conversation(ctx, s.Tenant, id); err != nil {
		return nil, err
	}
	entries, err := s.Tenant.Store.Entries(ctx, id, awaken.EntryQuery{})
	if err != nil {
		return nil, err
	}
	h.sort(entries)
	return h, h.readLedger(ctx)
}

// ledgerKey identifies a call: models reuse ids.
type ledgerKey struct {
	run  string
	step int
	id   string
}

// readLedger reads the records of the calls in messages without entries, such as of a thread that was copied. The store may
// not have them: a thread can come from another one.
func (h *history) readLedger(ctx context.Context) error {
	h.ledger, h.records = map[ledgerKey]*awaken.CallState{}, map[string]*awaken.CallState{}
	read := map[string]bool{}
	for _, m := range h.messages {
		runID := protocol.RunOf(m)
		if len(m.ToolCalls) == 0 || len(h.steps[m.ID]) > 0 || runID == "" || read[runID] {
			continue
		}
		read[runID] = true
		calls, err := h.s.Tenant.Store.Calls(ctx, runID)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return err
		}
		for _, c := range calls {
			h.ledger[ledgerKey{runID, c.Step, c.CallID}] = c
		}
	}
	return nil
}

// sort assigns entries to steps.
func (h *history) sort(entries []awaken.Entry) {
	step := ""
	for i := range entries {
		e := &entries[i]
		h.end = awaken.Cursor{Epoch: e.Epoch, Seq: e.Last()}
		switch ev := e.Event.(type) {
		case *awaken.StepStart:
			step = ev.MessageID
			delete(h.steps, step) // a step that is begun again
			if h.open != nil && h.open.RunID == e.RunID {
				h.order = append(h.order, step)
			}
		case *awaken.StreamReset:
			if ev.Cursor == "" { // what came before it in the step is void
				h.steps[step] = h.steps[step][:min(1, len(h.steps[step]))]
				continue
			}
		}
		h.steps[step] = append(h.steps[step], *e)
	}
}

// unfinished returns the run of a thread that is queued, running or waiting, or nil.
func (s *session) unfinished(ctx context.Context, threadID string) (*awaken.Run, error) {
	_, run, err := protocol.OpenRun(ctx, s.Tenant, threadID)
	if run != nil || err != nil {
		return run, err
	}
	run, _, err = protocol.ActiveRun(ctx, s.Tenant, threadID)
	return run, err
}

// show sends the session to the client: messages of the user as they are, and steps as they were shown
// when they happened. A step without entries, such as one of a thread that was copied, is shown by its
// message.
func (h *history) show() {
	seen := map[string]bool{}
	for _, m := range h.messages {
		switch {
		case m.IsInternal():
		case m.Role == llm.User:
			h.said(m)
		case m.Role == llm.Assistant && len(h.steps[m.ID]) > 0:
			h.step(m.ID)
		case m.Role == llm.Assistant:
			h.answered(m)
		case m.Role == llm.ToolRole:
			h.returned(m)
		}
		seen[m.ID] = true
	}
	for _, id := range h.order { // of the step in progress, whose message is not stored yet
		if !seen[id] {
			seen[id] = true
			h.step(id)
		}
	}
	for _, m := range h.pending {
		if m.Role == llm.User && !m.IsInternal() && !seen[m.ID] {
			h.said(m)
		}
	}
}

// said shows a message of the user.
func (h *history) said(m *llm.Message) {
	for i := range m.Content {
		if b := shown(&m.Content[i]); b != nil {
			h.s.update(&Update{SessionUpdate: "user_message_chunk", Content: *b, MessageID: m.ID})
		}
	}
}

// step shows the entries of a step.
func (h *history) step(id string) {
	for i := range h.steps[id] {
		for _, u := range h.enc.Encode(&h.steps[id][i]) {
			h.s.update(u)
		}
	}
	delete(h.steps, id)
}

// answered shows a message of the agent.
func (h *history) answered(m *llm.Message) {
	h.enc.step = m.ID
	for i := range m.Content {
		b := &m.Content[i]
		switch {
		case b.Type == llm.ThinkingBlock:
			for _, u := range h.enc.chunk("agent_thought_chunk", b.Text) {
				h.s.update(u)
			}
		default:
			if v := shown(b); v != nil {
				h.s.update(&Update{SessionUpdate: "agent_message_chunk", Content: *v, MessageID: m.ID})
			}
		}
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		delete(h.records, c.ID)
		if md := m.Metadata; md != nil && md.StepIndex != nil {
			h.records[c.ID] = h.ledger[ledgerKey{md.RunID, *md.StepIndex, c.ID}]
		}
		for _, u := range h.enc.ready(&awaken.ToolCallReady{ID: c.ID, Name: c.Name, Arguments: c.Arguments}) {
			if h.records[c.ID] == nil {
				u.Status = ""
			}
			h.s.update(u)
		}
	}
}

// returned shows the result of a call whose message had no entries. Its text is no verdict, and may say that it is not known whether
// the call took effect: the status is the record's, and a call without a record gets none.
func (h *history) returned(m *llm.Message) {
	c := h.enc.call[m.ToolCallID]
	if c == nil || c.over {
		return
	}
	status := ""
	if s := h.records[m.ToolCallID]; s != nil {
		if status = "failed"; s.Status == awaken.CallSucceeded && !s.Doubt.Open() {
			status = "completed"
		}
	}
	for _, u := range h.enc.end(c, status, contentOf(&awaken.ToolResult{Content: m.Content}), nil) {
		h.s.update(u)
	}
}
