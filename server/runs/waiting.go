package runs

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/limit/money"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/server"
)

// approval is a question to a person. A run that waits for budget or for its version has one without a ticket: it is
// continued, not decided.
type approval struct {
	awaken.WaitingTicket
	RunID       string            `json:"run_id"`
	ThreadID    string            `json:"thread_id"`
	AgentID     string            `json:"agent_id"`
	WaitingOn   string            `json:"waiting_reason"`
	RequestedAt int64             `json:"requested_at"`     // Unix ms
	Effect      string            `json:"effect,omitempty"` // of the tool: effectful, idempotent or read_only
	Rule        string            `json:"rule,omitempty"`   // the pattern of the permission rule that asks; "" if none does
	Version     string            `json:"version,omitempty"`
	UserID      string            `json:"user_id,omitempty"`
	RootRunID   string            `json:"root_run_id"`      // the run that a client started: this one, or one above it
	Budget      *money.Exhausted  `json:"budget,omitempty"` // the limit to raise
	Context     []approvalMessage `json:"context"`          // the messages before the question, oldest first
}

// approvalMessage is the beginning of a message.
type approvalMessage struct {
	MessageID string   `json:"message_id"`
	Role      llm.Role `json:"role"`
	Text      string   `json:"text"`
	Cut       bool     `json:"cut,omitempty"` // there is more text
}

type approvalList struct {
	Items      []approval `json:"items"`
	HasMore    bool       `json:"has_more"`
	Total      int        `json:"total"`   // on all pages
	Partial    bool       `json:"partial"` // more than 5,000 runs wait; the list is of the newest
	NextCursor *string    `json:"next_cursor"`
}

const (
	maxWaitingRuns = 5000 // that a list of approvals is made of
	contextText    = 500  // bytes of a message
)

// approvalReasons are the reasons that an approval can have.
var approvalReasons = []string{
	string(awaken.WaitToolPermission),
	string(awaken.WaitUserInput),
	string(awaken.WaitBudget),
	string(awaken.WaitPin),
	string(awaken.WaitRestored),
}

// approvalCursor identifies the last approval of a page.
type approvalCursor struct {
	At       int64  `json:"a"`
	RunID    string `json:"r"`
	TicketID string `json:"t"`
	Of       string `json:"o,omitempty"` // digest of the list's filters
}

// compare orders approvals by age, oldest first.
func (c *approvalCursor) compare(o *approvalCursor) int {
	return cmp.Or(cmp.Compare(c.At, o.At), strings.Compare(c.RunID, o.RunID), strings.Compare(c.TicketID, o.TicketID))
}

func (a *approval) cursor() *approvalCursor {
	return &approvalCursor{At: a.RequestedAt, RunID: a.RunID, TicketID: a.TicketID}
}

func (h *approvals) list(req *server.Request) error {
	offset, limit := req.Page()
	all, partial, err := h.waiting(req)
	if err != nil {
		return err
	}
	order := func(a, b *approvalCursor) int { return b.compare(a) }
	if req.Value("order") == "oldest" {
		order = (*approvalCursor).compare
	}
	slices.SortFunc(all, func(a, b approval) int { return order(a.cursor(), b.cursor()) })
	filters := server.FiltersOf(req, []string{req.Value("agent_id"), req.Value("tool"), req.Value("user_id"), req.Value("reason"), req.Value("order")})
	out := approvalList{Items: all, Total: len(all), Partial: partial}
	if text := req.Value("cursor"); text != "" {
		var at approvalCursor
		if err := server.ParseCursor("apr_", text, &at); err != nil {
			return err
		}
		if at.Of != filters {
			return server.ErrFilters
		}
		from, found := slices.BinarySearchFunc(all, &at, func(a approval, at *approvalCursor) int { return order(a.cursor(), at) })
		if found {
			from++
		}
		out.Items = all[from:]
	}
	out.Items = out.Items[min(offset, len(out.Items)):]
	if out.HasMore = len(out.Items) > limit; out.HasMore {
		out.Items = out.Items[:limit]
		last := out.Items[limit-1].cursor()
		last.Of = filters
		next := server.CursorText("apr_", last)
		out.NextCursor = &next
	}
	if out.Items, err = h.described(req, out.Items, req.Number("context", 3, 0, 10)); err != nil {
		return err
	}
	return req.Reply(200, out)
}

// waiting returns what waits for a person and fits the filters of the request, in no order. Partial says that
// there may be more.
func (h *approvals) waiting(req *server.Request) (out []approval, partial bool, err error) {
	owner, err := req.Owner()
	if err != nil {
		return nil, false, err
	}
	runs, err := req.Tenant().Store.ListRuns(req.Context(), awaken.RunQuery{Status: awaken.RunWaiting, Owner: owner, Limit: maxWaitingRuns})
	if err != nil {
		return nil, false, err
	}
	var asking []string
	below := map[string]bool{} // runs of which one below waits for budget
	for _, r := range runs {
		if r.Waiting.Reason == awaken.WaitBudget {
			below[r.ParentRunID] = true
		}
		if len(r.Waiting.Tickets) > 0 {
			asking = append(asking, r.RunID)
		}
	}
	decided, err := decidedTickets(req, asking)
	if err != nil {
		return nil, false, err
	}
	agent, tool, reason := req.Value("agent_id"), req.Value("tool"), req.Value("reason")
	out = []approval{}
	for _, r := range runs {
		if agent != "" && agent != r.AgentID || reason != "" && reason != string(r.Waiting.Reason) {
			continue
		}
		base := approval{RunID: r.RunID, ThreadID: r.ThreadID, AgentID: r.AgentID, WaitingOn: string(r.Waiting.Reason), Version: r.ResolutionID, UserID: r.UserID, RootRunID: r.ParentRunID}
		if w := r.Waiting; w.Reason == awaken.WaitRestored { // its questions come after its release
			if tool == "" {
				a := base
				a.RequestedAt = r.UpdatedAt
				a.WaitingTicket = awaken.WaitingTicket{ResumeMode: awaken.ReplayToolCall, Reason: w.Message, UpdatedAt: r.UpdatedAt}
				out = append(out, a)
			}
			continue
		}
		for _, t := range r.Waiting.Tickets {
			if t.RunID != "" || decided[[2]string{r.RunID, t.TicketID}] || tool != "" && tool != t.ToolName {
				continue // belongs to a child run, which is listed itself; or is decided, and its run about to resume
			}
			a := base
			a.WaitingTicket, a.RequestedAt, a.Rule = t, t.UpdatedAt, ruleOf(t.Suspension)
			out = append(out, a)
		}
		if w := r.Waiting; tool == "" && len(w.Tickets) == 0 && (w.Reason == awaken.WaitPin || w.Reason == awaken.WaitBudget && !below[r.RunID]) {
			a := base
			a.RequestedAt, a.Budget, a.WaitingTicket = r.UpdatedAt, w.Budget, awaken.WaitingTicket{ResumeMode: awaken.ReplayToolCall, Reason: w.Message, UpdatedAt: r.UpdatedAt}
			out = append(out, a)
		}
	}
	return out, len(runs) == maxWaitingRuns, nil
}

// ruleOf returns the rule that asks a question of the permission plugin, or "".
func ruleOf(s *awaken.Suspension) string {
	var p struct {
		Rule string `json:"rule"`
	}
	if s == nil || json.Unmarshal(s.Parameters, &p) != nil { // those of others have other fields
		return ""
	}
	return p.Rule
}

// described adds what only the approvals of a page have.
func (h *approvals) described(req *server.Request, page []approval, messages int) ([]approval, error) {
	roots, contexts, calls := map[string]string{}, map[string][]approvalMessage{}, map[string][]*awaken.CallState{}
	for i := range page {
		a := &page[i]
		if roots[a.RunID] == "" {
			root, err := rootOf(req, a.RunID, a.RootRunID)
			if err != nil {
				return nil, err
			}
			ledger, err := req.Tenant().Store.Calls(req.Context(), a.RunID)
			if err != nil && !errors.Is(err, awaken.ErrNotFound) {
				return nil, err
			}
			roots[a.RunID], calls[a.RunID] = root, ledger
			if contexts[a.ThreadID], err = contextOf(req, a.ThreadID, messages); err != nil {
				return nil, err
			}
		}
		a.RootRunID, a.Context = roots[a.RunID], contexts[a.ThreadID]
		for _, c := range calls[a.RunID] {
			if c.CallID == a.ToolCallID {
				a.Effect = cmp.Or(string(c.Effect), "effectful")
			}
		}
	}
	return page, nil
}

// rootOf returns the run at the top of the tree that a run with that parent belongs to, as far as it still exists.
func rootOf(req *server.Request, id, parent string) (string, error) {
	for range 32 { // deeper than any tree
		if parent == "" {
			break
		}
		run, err := req.Tenant().Store.LoadRun(req.Context(), parent)
		if errors.Is(err, awaken.ErrNotFound) {
			break
		}
		if err != nil {
			return "", err
		}
		id, parent = run.RunID, run.ParentRunID
	}
	return id, nil
}

// contextOf returns the beginnings of the last messages of a thread that have text and that clients may see.
func contextOf(req *server.Request, threadID string, n int) ([]approvalMessage, error) {
	out := []approvalMessage{}
	if n == 0 {
		return out, nil
	}
	end, err := req.Tenant().Store.Recent(req.Context(), threadID, 4*n)
	if errors.Is(err, awaken.ErrNotFound) { // it was just removed
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(end.Messages) {
		m := r.Message
		if text := m.Text(); text != "" && !m.IsInternal() && (m.Role == llm.User || m.Role == llm.Assistant) && len(out) < n {
			short := strings.ToValidUTF8(text[:min(len(text), contextText)], "")
			out = append(out, approvalMessage{MessageID: m.ID, Role: m.Role, Text: short, Cut: len(short) < len(text)})
		}
	}
	slices.Reverse(out)
	return out, nil
}
