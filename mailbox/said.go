package mailbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
)

// Said identifies the client's message that a submission carries. A thread accepts a message once: the dispatch that takes it keeps its
// id, which no other dispatch of the thread can have, and a later submission of the same message gets the receipt of the first. Whether
// it is the same is decided by the transaction that would accept it, so it does not matter how close together requests are, nor which
// replicas they reach.
//
// The dispatch keeps the id while the message is in the conversation, which an edit or a rewind ends: then the id is free, and the same
// message can be said again. It is also free when the dispatch is purged ([Config.TTL]).
type Said struct {
	// MessageID is the id that the client gave to its message. "" accepts the submission as new.
	MessageID string
	// Content is a digest of the message, without line breaks. The same id with other content is awaken.ErrConflict, unless Edits is set.
	Content string
	// Manner is a digest of what else distinguishes requests for the same message, such as the trigger, the agent and the point to rewind
	// to. The same content in another manner is awaken.ErrConflict, unless Edits or RepeatFor is set.
	Manner string
	// Edits says that the request replaces the message: unless it repeats the last edit, the conversation is rewound to the message.
	Edits bool
	// RepeatFor, if not 0, is how long an equal request counts as a repeat. A later one asks for another answer to the message.
	RepeatFor time.Duration
}

// digest returns what a dispatch keeps of the message beside its id.
func (s *Said) digest() string {
	if s.MessageID == "" {
		return ""
	}
	return s.Content + "\n" + s.Manner
}

// reading is what a message is to a thread that has accepted one with the same id.
type reading int

const (
	repeats   reading = iota // the same request
	replaces                 // an edit, or a request for another answer
	conflicts                // another message with the same id
)

// read compares the message with the one that a dispatch has accepted.
func (s *Said) read(d *Dispatch, now int64) reading {
	was := d.said()
	switch {
	case was.Content != s.Content && s.Edits:
		return replaces
	case was.Content != s.Content:
		return conflicts
	case was.Manner != s.Manner && (s.Edits || s.RepeatFor > 0):
		return replaces
	case was.Manner != s.Manner:
		return conflicts
	case s.RepeatFor > 0 && now-d.CreatedAt > s.RepeatFor.Milliseconds():
		return replaces
	}
	return repeats
}

// said returns the message that d has accepted.
func (d *Dispatch) said() Said {
	content, manner, _ := strings.Cut(d.Said, "\n")
	return Said{MessageID: d.MessageID, Content: content, Manner: manner}
}

// conflict is the error of another message with the id of one that d has accepted.
func (s *Said) conflict(d *Dispatch) error {
	return fmt.Errorf("message id %q: %w: it was used for another message, or in another way, on thread %s by run %s",
		s.MessageID, awaken.ErrConflict, d.ThreadID, d.RunID)
}

// Repeated returns the dispatch that has accepted a message which a client says again. The error is awaken.ErrNotFound if none has, or if
// the message is not in the conversation, is an edit, or asks for another answer; and awaken.ErrConflict if it is another message with
// the same id.
func (t *Tenant) Repeated(ctx context.Context, threadID string, said Said) (*Dispatch, error) {
	d, as, err := saying{&said, t.Store, threadID}.compare(ctx)
	switch {
	case err != nil:
		return nil, err
	case d == nil || as == replaces:
		return nil, fmt.Errorf("message id %q of thread %s: %w", said.MessageID, threadID, awaken.ErrNotFound)
	case as == conflicts:
		return nil, said.conflict(d)
	}
	return d, nil
}

// saying is a message on its way to a thread.
type saying struct {
	*Said
	store    Handle
	threadID string
}

// compare reads the message on its thread. The dispatch that has accepted one with the same id is nil if there is none. A message that is
// no longer in the conversation is replaced.
func (s saying) compare(ctx context.Context) (d *Dispatch, as reading, err error) {
	if s.MessageID == "" {
		return nil, replaces, nil
	}
	list, err := s.store.Dispatches(ctx, Query{ThreadID: s.threadID, MessageID: s.MessageID, Limit: 1})
	if err != nil || len(list) == 0 {
		return nil, replaces, err
	}
	d = list[0]
	kept, err := s.kept(ctx, d)
	if !kept || err != nil {
		return d, replaces, err
	}
	var now int64
	if s.RepeatFor > 0 { // the store's clock decides
		if err := s.store.Change(ctx, s.threadID, func(q *Thread) error { now = q.Now; return nil }); err != nil {
			return nil, replaces, err
		}
	}
	return d, s.read(d, now), nil
}

// kept reports whether the message that a dispatch has accepted is in the conversation, or will be.
func (s saying) kept(ctx context.Context, d *Dispatch) (bool, error) {
	if !d.Status.Terminal() {
		return true, nil
	}
	view, err := s.store.View(ctx, s.threadID)
	switch {
	case errors.Is(err, awaken.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case shows(view.Log(), s.MessageID):
		return true, nil
	}
	unread, err := s.store.Unread(ctx, s.threadID)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return slices.ContainsFunc(unread, func(it awaken.InboxItem) bool { return s.isIn(it.Messages) }), err
}

// isIn reports whether the message is one of some.
func (s saying) isIn(msgs []*llm.Message) bool {
	return slices.ContainsFunc(msgs, func(m *llm.Message) bool { return m.ID == s.MessageID })
}

// shows reports whether a log has a message that was not rewound.
func shows(log []*llm.Message, messageID string) bool {
	at := 0 // its last place, from 1
	for i, m := range log {
		if md := m.Metadata; md != nil && md.Rewind != nil && md.Rewind.FromSeq <= at {
			at = 0
		} else if m.ID == messageID {
			at = i + 1
		}
	}
	return at > 0
}

// settle returns the receipt of the submission that has said the same before sub, or nil if sub is to be accepted. If sub replaces what
// was said, the change of the queue releases the message first.
func (s saying) settle(ctx context.Context, sub *Submission) (*Receipt, error) {
	sub.release = ""
	d, as, err := s.compare(ctx)
	if d == nil || err != nil {
		return nil, err
	}
	if sub.Confined {
		th, err := s.store.Thread(ctx, s.threadID)
		if err != nil {
			return nil, err
		}
		if th.UserID != sub.Request.UserID {
			return nil, fmt.Errorf("submit to thread %s: %w", s.threadID, awaken.ErrNotFound)
		}
	}
	switch {
	case d.ID == sub.retries:
		sub.release = d.ID
		return nil, nil
	case as == repeats:
		return d.duplicate(), nil
	case as == conflicts:
		return nil, s.conflict(d)
	}
	sub.release = d.ID
	if sub.Request.Rewind == "" && s.isIn(sub.Request.Messages) { // what is replaced may not have been in the log when the request was read
		sub.Request.Rewind = s.MessageID
	}
	return nil, nil
}
