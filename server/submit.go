package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// InputMessage is a message from a client. Its content is a string or a list of blocks.
type InputMessage struct {
	ID      string          `json:"id,omitempty"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// blocks decodes a string or a list of blocks.
func blocks(data json.RawMessage) (out []llm.Block, err error) {
	if len(data) > 0 && data[0] == '"' {
		var s string
		err := json.Unmarshal(data, &s)
		return []llm.Block{llm.Text(s)}, err
	}
	return out, strict.Unmarshal(data, &out)
}

// MessagesOf validates and converts a client's messages.
func MessagesOf(in []InputMessage) ([]*llm.Message, error) {
	if len(in) == 0 {
		return nil, protocol.BadRequest("at least one message is required")
	}
	out := make([]*llm.Message, 0, len(in))
	for i, m := range in {
		role := llm.Role(m.Role)
		if role != llm.User && role != llm.Assistant && role != llm.System {
			return nil, protocol.BadRequest("messages[%d].role is %q, want user, assistant or system", i, m.Role)
		}
		if len(m.Content) == 0 {
			return nil, protocol.InvalidBody("messages[%d].content is missing", i)
		}
		content, err := blocks(m.Content)
		if err != nil {
			return nil, protocol.InvalidBody("messages[%d].content: %v", i, err)
		}
		if len(content) == 0 {
			return nil, protocol.BadRequest("messages[%d].content is empty", i)
		}
		if err := protocol.CheckID(fmt.Sprintf("messages[%d].id", i), m.ID); err != nil {
			return nil, err
		}
		out = append(out, &llm.Message{ID: m.ID, Role: role, Content: content})
	}
	return out, nil
}

// NewSubmission returns a submission with what all routes read in the same way.
func NewSubmission(req *Request, mode string, def mailbox.Mode, boundary, priority string) (*mailbox.Submission, error) {
	s := &mailbox.Submission{Mode: def}
	if mode != "" {
		m, err := mailbox.ParseMode(mode)
		if err != nil {
			return nil, protocol.BadRequest("%s", strings.TrimPrefix(err.Error(), awaken.ErrInvalid.Error()+": "))
		}
		s.Mode = m
	}
	switch boundary {
	case "", "next_step":
	case string(awaken.OnNaturalEnd):
		s.Boundary = awaken.OnNaturalEnd
	default:
		return nil, protocol.BadRequest("boundary is %q, want next_step or on_natural_end", boundary)
	}
	switch priority {
	case "", "interactive":
	case "background":
		s.Priority = new(mailbox.BackgroundPriority)
	default:
		return nil, protocol.BadRequest("priority is %q, want interactive or background", priority)
	}
	return s, Sign(req, s)
}

// ForUser returns the user that a request is for: the one that the body names, if the caller may
// speak for it, or else the caller's.
func (c *Caller) ForUser(named string) (string, error) {
	switch err := protocol.CheckID("user_id", named); {
	case err != nil:
		return "", err
	case named == "" || named == c.User:
		return c.User, nil
	case c.Confined:
		return "", c.WrongUser(named)
	}
	return named, nil
}

// Sign fills in what every submission has: its user, its request id and its idempotency key. A key that a protocol has set
// becomes one of the user.
func Sign(req *Request, s *mailbox.Submission) error {
	key, err := req.IdempotencyKey()
	if err != nil {
		return err
	}
	switch {
	case key != "":
		s.IdempotencyKey, s.Digest = key, digest(req.r.Method+" "+req.r.URL.Path+"\n"+string(req.body))
	case s.IdempotencyKey != "": // that of a protocol
		s.IdempotencyKey = req.ownKey(s.IdempotencyKey)
	}
	s.Request.UserID = req.User
	s.Request.TransportRequestID = req.w.Header().Get("X-Request-Id")
	return nil
}

// IdempotencyKey returns the key of the request, or "". Equal keys of two users are not the same: the
// key begins with the user and a line break, which no id contains.
func (req *Request) IdempotencyKey() (string, error) {
	key := req.r.Header.Get("Idempotency-Key")
	if err := protocol.CheckID("Idempotency-Key", key); err != nil {
		return "", err
	}
	return req.ownKey(key), nil
}

// ownKey returns an idempotency key as a key of the caller's user.
func (c *Caller) ownKey(key string) string {
	if key == "" || c.User == "" {
		return key
	}
	return c.User + "\n" + key
}

// Submit submits input that passes admission, for the user that the caller may speak for.
func Submit(req *Request, s *mailbox.Submission) (*mailbox.Receipt, error) {
	if err := req.Assign(s); err != nil {
		return nil, err
	}
	if err := req.admission.submission(req, s); err != nil {
		return nil, err
	}
	holder, err := keepFiles(req, s)
	if err != nil {
		return nil, err
	}
	s.Request.Untrusted = !req.trusts
	if req.route.Stream && req.unwatch == nil { // the run may be over before its stream begins
		s.Request.ThreadID = cmp.Or(s.Request.ThreadID, ids.New())
		req.unwatch = req.tenant.Log.Watch(s.Request.ThreadID)
	}
	r, err := req.tenant.Submit(req.ctx, *s)
	if err == nil && r.Duplicate { // the thread may have been given to another user since
		err = req.Admit(r.ThreadID)
	}
	if err != nil {
		return nil, err
	}
	if holder.Kind == blob.Users && !r.Duplicate { // an error leaves the user's hold; when the run begins, the thread holds them too
		_ = blob.Of(req.tenant.Store).Hold(req.ctx, blob.Thread(r.ThreadID), blob.IDs(s.Request.Messages...)...)
	}
	return r, nil
}

// CheckSubmission checks input for a run as Submit does.
func (req *Request) CheckSubmission(s *mailbox.Submission) error {
	return req.admission.submission(req, s)
}

// CheckMessages checks how many messages the client sends.
func (req *Request) CheckMessages(n int) error { return req.admission.checkMessages(n) }

// CheckThread checks what the client changes in a thread.
func (req *Request) CheckThread(from, to *awaken.Thread) error { return req.admission.change(from, to) }

// digest returns the SHA-256 of a text in hexadecimal digits.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
