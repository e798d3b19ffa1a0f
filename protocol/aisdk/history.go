package aisdk

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// messageList is a page of a chat's messages.
type messageList struct {
	Messages   []storedMessage `json:"messages"`
	Total      int             `json:"total"`
	HasMore    bool            `json:"has_more"`
	NextCursor string          `json:"next_cursor,omitempty"`
	// ActiveRunID is the run in flight, whose answer the messages do not contain. Streaming
	// that run completes the list, even if the run has ended since.
	ActiveRunID string `json:"activeRunId,omitempty"`
	// Waiting is set if the chat's run waits for something other than the client.
	Waiting *waiting `json:"waiting,omitempty"`
}

// storedMessage is a stored message in the form that a client has after streaming it.
type storedMessage struct {
	ID       string `json:"id"`
	Role     string `json:"role"`
	Metadata any    `json:"metadata,omitempty"` // of an answer: its run; else as the page sent it
	Parts    []any  `json:"parts"`

	run   string
	calls callIDs
}

type storedMetadata struct {
	ThreadID string `json:"threadId"`
	RunID    string `json:"runId"`
	AgentID  string `json:"agentId,omitempty"`
	metadata
}

type textPart struct {
	Type  string `json:"type"` // text or reasoning
	Text  string `json:"text"`
	State string `json:"state,omitempty"`
}

type filePart struct {
	Type      string `json:"type"`
	MediaType string `json:"mediaType"`
	URL       string `json:"url"`
	Filename  string `json:"filename,omitempty"`
}

type stepPart struct {
	Type string `json:"type"`
}

type dataPart struct {
	Type string `json:"type"`
	ID   string `json:"id,omitempty"`
	Data any    `json:"data"`
}

type toolPart struct {
	Type       string          `json:"type"`
	ToolCallID string          `json:"toolCallId"`
	State      string          `json:"state"`
	Input      json.RawMessage `json:"input"`
	Output     json.RawMessage `json:"output,omitempty"`
	ErrorText  string          `json:"errorText,omitempty"`
	Approval   *uiApproval     `json:"approval,omitempty"`
	// ProviderExecuted is set on the final output of a call that the page did not make.
	ProviderExecuted bool `json:"providerExecuted,omitempty"`
}

// getMessages lists the messages of a chat.
func getMessages(c protocol.Call) error {
	ctx, t := c.Context(), c.Tenant()
	threadID := c.Request().PathValue("thread_id")
	query := c.Request().URL.Query()
	if text := query.Get("cursor"); text != "" {
		if _, err := strconv.Atoi(text); err != nil {
			return protocol.BadRequest("cursor is %.80q, want a number", text)
		}
		query.Set("offset", text)
	}
	offset, limit := protocol.NumberParam(query, "offset", 0, 0, math.MaxInt32), protocol.NumberParam(query, "limit", 50, 1, 200)
	// Look for the run first: whatever it stores from here on is streamed with it.
	run, _, err := protocol.ActiveRun(ctx, t, threadID)
	if errors.Is(err, awaken.ErrNotFound) {
		return protocol.NotFound("thread", threadID)
	}
	if err != nil {
		return err
	}
	view, err := protocol.Conversation(ctx, t, threadID)
	if err != nil {
		return err
	}
	out := messageList{Messages: []storedMessage{}}
	if run != nil {
		out.ActiveRunID = run.RunID
		view = without(view, run.RunID)
	} else if _, open, err := protocol.OpenRun(ctx, t, threadID); err != nil {
		return err
	} else if open != nil {
		out.Waiting = waitingOf(open.Waiting)
		held, err := heldMessages(ctx, t, open.RunID)
		if err != nil {
			return err
		}
		view = append(slices.Clip(view), held...)
	}
	groups := grouped(view)
	if query.Get("order") == "desc" {
		slices.Reverse(groups)
	}
	out.Total = len(groups)
	if offset < len(groups) {
		end := min(len(groups), offset+limit)
		shown, err := protocol.ShowFiles(c, slices.Concat(groups[offset:end]...))
		if err != nil {
			return err
		}
		for _, g := range groups[offset:end] {
			m, err := stored(ctx, t, threadID, shown[:len(g)])
			shown = shown[len(g):]
			if err != nil {
				return err
			}
			out.Messages = append(out.Messages, *m)
		}
		if end < len(groups) {
			out.HasMore, out.NextCursor = true, strconv.Itoa(end)
		}
	}
	return c.Reply(200, out)
}

// heldMessages returns the messages of a run that guards hold for review, each as the call
// that a person decides on. The message itself is not disclosed.
func heldMessages(ctx context.Context, t *mailbox.Tenant, runID string) ([]*llm.Message, error) {
	calls, err := t.Store.Calls(ctx, runID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return nil, err
	}
	var out []*llm.Message
	for _, s := range calls {
		if s.Message != nil && s.Status == awaken.CallSuspended {
			out = append(out, &llm.Message{ID: s.CallID, Role: llm.Assistant, Metadata: &llm.Metadata{RunID: runID, StepIndex: &s.Step},
				ToolCalls: []llm.ToolCall{{ID: s.CallID, Name: s.ToolName, Arguments: s.Arguments}}})
		}
	}
	return out, nil
}

// without leaves out the answer of a run.
func without(view []*llm.Message, runID string) []*llm.Message {
	return slices.DeleteFunc(slices.Clone(view), func(m *llm.Message) bool {
		return protocol.RunOf(m) == runID && (m.Role == llm.Assistant || m.Role == llm.ToolRole)
	})
}

// grouped combines the stored messages that are one message for the client: the answers of a
// run, with its tool results.
func grouped(view []*llm.Message) (out [][]*llm.Message) {
	all := make([]*llm.Message, 0, len(view)) // groups are parts of it
	for _, m := range view {
		if m.IsInternal() {
			continue
		}
		if n := len(out); n > 0 && m.Role != llm.User && m.Role != llm.System {
			if last := out[n-1][0]; last.Role == llm.Assistant && (m.Role == llm.ToolRole || protocol.RunOf(m) == protocol.RunOf(last) && protocol.RunOf(m) != "") {
				all = append(all, m)
				out[n-1] = all[len(all)-len(out[n-1])-1:]
				continue
			}
		}
		if m.Role != llm.ToolRole {
			all = append(all, m)
			out = append(out, all[len(all)-1:])
		}
	}
	return out
}

// stored converts a group of stored messages to one client message.
func stored(ctx context.Context, t *mailbox.Tenant, threadID string, group []*llm.Message) (*storedMessage, error) {
	first := group[0]
	out := &storedMessage{ID: first.ID, Role: string(first.Role), Parts: []any{}, run: protocol.RunOf(first)}
	if first.Role != llm.Assistant {
		out.said(first)
		return out, nil
	}
	ledger := map[callKey]*awaken.CallState{}
	if out.run != "" {
		run, err := t.Store.LoadRun(ctx, out.run)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return nil, err
		}
		if run != nil {
			out.Metadata = metadataOf(threadID, run)
		}
		calls, err := t.Store.Calls(ctx, out.run)
		if err != nil && !errors.Is(err, awaken.ErrNotFound) {
			return nil, err
		}
		for _, s := range calls {
			ledger[callKey{s.Step, s.CallID}] = s
		}
	}
	for i, m := range group {
		if m.Role != llm.Assistant {
			continue
		}
		out.Parts = append(out.Parts, stepPart{"step-start"})
		for j := range m.Content {
			out.block(&m.Content[j], "done")
		}
		for _, call := range m.ToolCalls {
			out.call(call, ledger[keyOf(m, call.ID)], answerTo(group[i+1:], call.ID))
		}
	}
	return out, nil
}

// callKey identifies a call within a run: models reuse call ids.
type callKey struct {
	step int
	id   string
}

func keyOf(m *llm.Message, id string) callKey {
	k := callKey{-1, id}
	if m.Metadata != nil && m.Metadata.StepIndex != nil {
		k.step = *m.Metadata.StepIndex
	}
	return k
}

func metadataOf(threadID string, run *awaken.Run) *storedMetadata {
	m := &storedMetadata{ThreadID: threadID, RunID: run.RunID, AgentID: run.AgentID,
		metadata: metadata{Usage: usageOf(&run.Usage), CostUSD: run.CostUSD, Output: run.StructuredOutput, FinishReason: run.FinishReason, Diagnostics: run.Diagnostics}}
	switch run.Status {
	case awaken.RunDone:
		m.Termination = &run.Termination
	case awaken.RunWaiting:
		m.Termination = &awaken.Termination{Type: awaken.Suspended}
	}
	return m
}

// answerTo returns the tool message that answers a call, or nil. Rest starts after the message
// that makes the call.
func answerTo(rest []*llm.Message, id string) *llm.Message {
	for _, m := range rest {
		if m.Role == llm.Assistant {
			break
		}
		if m.ToolCallID == id {
			return m
		}
	}
	return nil
}

// block adds the part for a block. State is the state of text parts.
func (m *storedMessage) block(b *llm.Block, state string) {
	switch b.Type {
	case llm.TextBlock:
		m.Parts = append(m.Parts, textPart{"text", b.Text, state})
	case llm.ThinkingBlock:
		if b.Text != "" {
			m.Parts = append(m.Parts, textPart{"reasoning", b.Text, state})
		}
	default:
		if address, mediaType, ok := fileURL(b); ok {
			m.Parts = append(m.Parts, filePart{"file", mediaType, address, b.Title})
		}
	}
}

// call adds the part for a call, and the parts that accompany it. The ledger entry has more
// than the tool message, but may have been removed.
func (m *storedMessage) call(call llm.ToolCall, s *awaken.CallState, answer *llm.Message) {
	p := toolPart{Type: "tool-" + call.Name, ToolCallID: m.calls.begin(call.ID), State: "input-available", Input: orNull(call.Arguments)}
	if s == nil {
		if answer != nil {
			p.State, p.ProviderExecuted = "output-available", true
			p.Output, _ = json.Marshal(answer.Text())
		}
		m.Parts = append(m.Parts, p)
		return
	}
	p.Input = orNull(s.Arguments)
	asked := s.Ticket != nil && s.Ticket.Child == "" && protocol.IsApproval(s.Ticket.ResumeMode, &s.Ticket.Suspension)
	var files []llm.Block
	var question *dataPart
	switch {
	case s.Status == awaken.CallSuspended && s.Ticket != nil:
		question = &dataPart{"data-suspension", s.SuspensionID(), newSuspension(s.Ticket, p.ToolCallID)}
		if asked {
			p.State, p.Approval = "approval-requested", &uiApproval{ID: s.SuspensionID()}
		}
	case s.Status == awaken.CallCancelled && asked && s.Doubt == nil:
		p.State, p.Approval = "output-denied", &uiApproval{ID: s.SuspensionID(), Approved: new(false)}
		if s.Decision != nil {
			p.Approval.Reason = s.Decision.Reason
		}
	case s.Status == awaken.CallFailed || s.Status == awaken.CallCancelled:
		p.State, p.ErrorText = "output-error", "tool execution error"
		if s.Result != nil && s.Result.Message != "" {
			p.ErrorText = s.Result.Message
		}
	case s.Status == awaken.CallSucceeded && s.Result != nil:
		if p.Output = resultData(s.Result); s.Ticket != nil && !asked && isError(p.Output) {
			p.State, p.ErrorText, p.Output = "output-error", errorText(p.Output), nil
			break
		}
		p.State, files = "output-available", s.Result.Content
		if asked && s.Decision != nil {
			p.Approval = &uiApproval{ID: s.SuspensionID(), Approved: new(true)}
		}
	}
	page := s.Ticket != nil && s.Ticket.ResumeMode == awaken.UseDecisionAsToolResult
	p.ProviderExecuted = !page && (p.State == "output-available" || p.State == "output-error")
	m.Parts = append(m.Parts, p)
	if question != nil {
		m.Parts = append(m.Parts, *question)
		for i := range s.Ticket.Tickets { // questions of child runs
			t := &s.Ticket.Tickets[i]
			m.call(llm.ToolCall{ID: t.TicketID, Name: t.ToolName}, &awaken.CallState{Arguments: t.Arguments, Status: awaken.CallSuspended, Ticket: ticketBelow(t)}, nil)
		}
	}
	for i := range files {
		if files[i].Source != nil {
			m.block(&files[i], "")
		}
	}
}
