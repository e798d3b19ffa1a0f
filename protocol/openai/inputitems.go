package openai

import (
	"context"
	"net/http"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// itemList is a page of the input of a response.
type itemList struct {
	Object  string      `json:"object"` // list
	Data    []givenItem `json:"data"`
	FirstID *string     `json:"first_id"`
	LastID  *string     `json:"last_id"`
	HasMore bool        `json:"has_more"`
}

// givenItem is an item that a client has sent.
type givenItem struct {
	Type    string      `json:"type"` // message, function_call_output or mcp_approval_response
	ID      string      `json:"id"`
	Status  string      `json:"status,omitempty"`
	Role    string      `json:"role,omitempty"`
	Content []givenPart `json:"content,omitzero"`
	CallID  string      `json:"call_id,omitempty"`
	Output  *string     `json:"output,omitempty"`
	Request string      `json:"approval_request_id,omitempty"`
	Approve *bool       `json:"approve,omitempty"`
}

// givenPart is a part of a message. An image or a file that the server keeps is not repeated.
type givenPart struct {
	Type string `json:"type"` // input_text, output_text, input_image or input_file
	Text string `json:"text,omitempty"`
}

// getInputItems replies with a page of the input of a response.
func getInputItems(c protocol.Call) error {
	run, n, err := find(c, c.Request().PathValue("run_id"))
	if err != nil {
		return err
	}
	items, err := inputOf(c.Context(), c.Tenant(), run, n)
	if err != nil {
		return err
	}
	query := c.Request().URL.Query()
	switch order := query.Get("order"); order {
	case "", "desc":
		slices.Reverse(items)
	case "asc":
	default:
		return refused("order", "order is %s, want asc or desc", quoted(order))
	}
	if after := query.Get("after"); after != "" {
		at := slices.IndexFunc(items, func(it givenItem) bool { return it.ID == after })
		if at < 0 {
			return notFound("after", "item", after)
		}
		items = items[at+1:]
	}
	limit := protocol.NumberParam(query, "limit", 20, 0, 101)
	if limit < 1 || limit > 100 {
		return refused("limit", "limit is %s, want 1 to 100", quoted(query.Get("limit")))
	}
	out := itemList{Object: "list", Data: items[:min(limit, len(items))], HasMore: len(items) > limit}
	if len(out.Data) > 0 {
		out.FirstID, out.LastID = &out.Data[0].ID, &out.Data[len(out.Data)-1].ID
	}
	return c.Reply(http.StatusOK, out)
}

// inputOf returns the input of the nth response of a run: the messages that began the run, or the results that continued it.
func inputOf(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, n int) ([]givenItem, error) {
	if n > 1 {
		return resultsOf(ctx, t, run, n)
	}
	items := []givenItem{}
	if run.Input.FromSeq == 0 {
		return items, nil
	}
	records, err := t.Store.Messages(ctx, run.ThreadID, awaken.MessageQuery{After: run.Input.FromSeq - 1, Before: run.Input.ToSeq + 1})
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if m := r.Message; !m.IsInternal() {
			items = append(items, messageItem(m))
		}
	}
	return items, nil
}

// messageItem returns a message as an item.
func messageItem(m *llm.Message) givenItem {
	it := givenItem{Type: "message", ID: "msg_" + m.ID, Status: "completed", Role: string(m.Role), Content: []givenPart{}}
	for _, b := range m.Content {
		part := givenPart{Type: "input_file"}
		switch {
		case b.Type == llm.TextBlock && m.Role == llm.Assistant:
			part = givenPart{"output_text", b.Text}
		case b.Type == llm.TextBlock:
			part = givenPart{"input_text", b.Text}
		case b.Type == llm.ImageBlock:
			part.Type = "input_image"
		}
		it.Content = append(it.Content, part)
	}
	return it
}

// resultsOf returns the results and approvals that continued a run with its nth response.
func resultsOf(ctx context.Context, t *mailbox.Tenant, run *awaken.Run, n int) ([]givenItem, error) {
	entries, err := t.Store.Entries(ctx, run.ThreadID, awaken.EntryQuery{RunID: run.RunID})
	if err != nil {
		return nil, err
	}
	items := []givenItem{}
	tickets := map[string]awaken.WaitingTicket{} // by the calls that the client was asked about
	number := 1
	for i := range entries {
		switch ev := entries[i].Event.(type) {
		case *awaken.RunFinish:
			if ev.Termination.Type != awaken.Suspended || ev.Result == nil || ev.Result.Waiting == nil {
				continue
			}
			number++
			for _, w := range ev.Result.Waiting.Tickets {
				tickets[w.ToolCallID] = w
			}
		case *awaken.ToolCallResumed:
			if w, ok := tickets[ev.TargetID]; ok && number == n {
				items = append(items, resultItem(run.RunID, &w, ev))
			}
		}
	}
	if number < n {
		return nil, protocol.NotFound("response", responseID(run.RunID, n, kept))
	}
	return items, nil
}

// resultItem returns what the client has said about a call.
func resultItem(runID string, w *awaken.WaitingTicket, ev *awaken.ToolCallResumed) givenItem {
	if protocol.IsApproval(w.ResumeMode, w.Suspension) {
		agreed := ev.Decision != nil && ev.Decision.Action == awaken.ActionResume
		return givenItem{Type: "mcp_approval_response", ID: "mcpr_answer_" + w.TicketID, Request: callID(approvalPrefix, runID, w.TicketID), Approve: &agreed}
	}
	return givenItem{Type: "function_call_output", ID: "fco_" + w.TicketID, Status: "completed", CallID: callID(callPrefix, runID, w.TicketID), Output: new(plain(ev.Result))}
}
