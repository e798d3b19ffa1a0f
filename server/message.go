package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// inputMessage is a message that a client sends. Its content is a text, or blocks.
type inputMessage struct {
	ID      string          `json:"id,omitempty"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// blocks reads a text or a list of blocks.
func blocks(data json.RawMessage) (out []llm.Block, err error) {
	if len(data) > 0 && data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		return []llm.Block{llm.Text(s)}, err
	}
	return out, strict.Unmarshal(data, &out)
}

// messages turns what a client sent into messages of a conversation.
func (c *call) messages(in []inputMessage) ([]*llm.Message, error) {
	if len(in) == 0 {
		return nil, badRequest("at least one message is required")
	}
	if limit := c.srv.cfg.Limits.MessagesPerRun; limit > 0 && len(in) > limit {
		return nil, badRequest(fmt.Sprintf("there are %d messages, want %d at most", len(in), limit))
	}
	out := make([]*llm.Message, 0, len(in))
	for i, m := range in {
		role := llm.Role(m.Role)
		if role != llm.User && role != llm.Assistant && role != llm.System {
			return nil, badRequest(fmt.Sprintf("messages[%d].role is %q, want user, assistant or system", i, m.Role))
		}
		if len(m.Content) == 0 {
			return nil, fail(422, "invalid_body", fmt.Sprintf("messages[%d].content is missing", i))
		}
		content, err := blocks(m.Content)
		if err != nil {
			return nil, fail(422, "invalid_body", fmt.Sprintf("messages[%d].content: %v", i, err))
		}
		if len(content) == 0 {
			return nil, badRequest(fmt.Sprintf("messages[%d].content is empty", i))
		}
		if m.ID != "" && !protocol.ValidID(m.ID) {
			return nil, badRequest(fmt.Sprintf("messages[%d].id is %q, want at most 512 bytes without control characters", i, m.ID))
		}
		out = append(out, &llm.Message{ID: m.ID, Role: role, Content: content})
	}
	return out, nil
}

type messageList struct {
	Messages   []*llm.Message `json:"messages"`
	Total      int            `json:"total"`
	HasMore    bool           `json:"has_more"`
	NextCursor string         `json:"next_cursor,omitempty"`
}

type messageCursor struct {
	Offset int `json:"offset"`
}

func (c *call) listMessages() error {
	offset, limit, err := c.page()
	if err != nil {
		return err
	}
	if text := c.value("cursor"); text != "" {
		var at messageCursor
		if n, err := strconv.Atoi(text); err == nil && n >= 0 {
			at.Offset = n
		} else if err := parseCursor("msg_", text, &at); err != nil || at.Offset < 0 {
			return errCursor
		}
		offset = at.Offset
	}
	visibility, err := c.pick("external", []string{"external", "internal", "all"}, "visibility")
	if err != nil {
		return err
	}
	order, err := c.pick("asc", []string{"asc", "desc"}, "order")
	if err != nil {
		return err
	}
	after, err := c.number("after", 0, 0, 1<<31-1)
	if err != nil {
		return err
	}
	before, err := c.number("before", 0, 0, 1<<31-1)
	if err != nil {
		return err
	}
	runID := c.value("run_id", "runId")
	if _, err := c.thread(); err != nil {
		return err
	}
	list, err := c.conversation(after, before)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m *llm.Message) bool {
		ofRun := m.Metadata != nil && m.Metadata.RunID == runID
		return visibility == "external" && m.IsInternal() || visibility == "internal" && !m.IsInternal() || runID != "" && !ofRun
	})
	if order == "desc" {
		slices.Reverse(list)
	}
	out := messageList{Messages: []*llm.Message{}, Total: len(list)}
	if offset < len(list) {
		out.Messages = list[offset:min(len(list), offset+limit)]
	}
	if next := offset + len(out.Messages); next < len(list) {
		out.HasMore, out.NextCursor = true, cursorText("msg_", messageCursor{next})
	}
	return c.Reply(200, out)
}

// conversation returns what a model would be shown of the thread, of the records
// between two numbers of its log.
func (c *call) conversation(after, before int) ([]*llm.Message, error) {
	records, err := c.tenant.Store.Messages(c.ctx, c.path("thread_id"), awaken.MessageQuery{})
	if err != nil {
		return nil, err
	}
	var view awaken.View
	inside := map[string]bool{}
	for _, r := range records {
		view.Append(r.Message)
		if r.Seq > after && (before == 0 || r.Seq < before) {
			inside[r.Message.ID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(view.Messages()), func(m *llm.Message) bool { return !inside[m.ID] }), nil
}

type postMessages struct {
	AgentID      string         `json:"agent_id,omitempty"`
	AgentIDCamel string         `json:"agentId,omitempty"`
	Mode         string         `json:"mode,omitempty"`     // queue, live_then_queue or steer, interrupt_then_queue, resume_open_run
	Boundary     string         `json:"boundary,omitempty"` // next_step or on_natural_end
	UserID       string         `json:"user_id,omitempty"`  // whom a new run is for
	Messages     []inputMessage `json:"messages"`
}

type messagesAccepted struct {
	Status     string `json:"status"` // running or queued
	ThreadID   string `json:"thread_id"`
	RunID      string `json:"run_id"`
	DispatchID string `json:"dispatch_id,omitempty"`
}

func (c *call) postMessages() error {
	var body postMessages
	if err := c.Decode(&body); err != nil {
		return err
	}
	agent, err := either("agent_id", body.AgentID, body.AgentIDCamel)
	if err != nil {
		return err
	}
	msgs, err := c.messages(body.Messages)
	if err != nil {
		return err
	}
	if _, err := c.thread(); err != nil {
		return err
	}
	s, err := c.submission(body.Mode, mailbox.ModeQueue, body.Boundary)
	if err != nil {
		return err
	}
	if err := c.setUser(s, body.UserID); err != nil {
		return err
	}
	s.Request.ThreadID, s.Request.AgentID, s.Request.Messages = c.path("thread_id"), agent, msgs
	r, err := c.submit(s)
	if err != nil {
		return err
	}
	out := messagesAccepted{Status: "running", ThreadID: r.ThreadID, RunID: r.RunID, DispatchID: r.DispatchID}
	if r.Busy && r.DispatchID != "" {
		out.Status = "queued"
	}
	return c.Reply(202, out)
}

// submission begins a submission with what every route reads the same way.
func (c *call) submission(mode string, def mailbox.Mode, boundary string) (*mailbox.Submission, error) {
	s := &mailbox.Submission{Mode: def}
	if mode != "" {
		m, err := mailbox.ParseMode(mode)
		if err != nil {
			return nil, badRequest(strings.TrimPrefix(err.Error(), "invalid request: "))
		}
		s.Mode = m
	}
	switch boundary {
	case "", "next_step":
	case string(awaken.OnNaturalEnd):
		s.Boundary = awaken.OnNaturalEnd
	default:
		return nil, badRequest(fmt.Sprintf("boundary is %q, want next_step or on_natural_end", boundary))
	}
	return s, c.sign(s)
}

// sign fills in what every submission has: whom it is for, where it comes from, and its
// idempotency key.
func (c *call) sign(s *mailbox.Submission) error {
	if key := c.r.Header.Get("Idempotency-Key"); key != "" {
		if !protocol.ValidID(key) {
			return badRequest("Idempotency-Key must have at most 512 bytes and no control characters")
		}
		s.IdempotencyKey, s.Digest = key, hash(c.r.Method+" "+c.r.URL.Path+"\n"+string(c.body))
	}
	s.Request.UserID = c.user
	s.Request.TransportRequestID = c.w.Header().Get("X-Request-Id")
	return nil
}

// submit submits, after looking whether the agent exists.
func (c *call) submit(s *mailbox.Submission) (*mailbox.Receipt, error) {
	if known, err := c.tenant.Runtime.HasAgent(c.ctx, &s.Request); err != nil {
		return nil, err
	} else if !known {
		return nil, fail(400, "agent_not_found", "agent not found: "+s.Request.AgentID)
	}
	return c.tenant.Submit(c.ctx, *s)
}
