package protocol

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// Say identifies a client's message, so that its thread accepts it once; see [mailbox.Said]. Manner is what else distinguishes
// requests for the message, such as the trigger and the agent. A message without an id, or of another role than the user's, is not
// identified.
func Say(m *llm.Message, manner ...string) (mailbox.Said, error) {
	if m == nil || m.ID == "" || m.Role != llm.User {
		return mailbox.Said{}, nil
	}
	content, err := json.Marshal(named(m.Content))
	if err != nil {
		return mailbox.Said{}, err
	}
	return mailbox.Said{MessageID: m.ID, Content: digest(content), Manner: digest(fmt.Appendf(nil, "%q", manner))}, nil
}

// SayLast is [Say] for the last of some messages.
func SayLast(msgs []*llm.Message, manner ...string) (mailbox.Said, error) {
	if len(msgs) == 0 {
		return mailbox.Said{}, nil
	}
	return Say(msgs[len(msgs)-1], manner...)
}

// named returns blocks with their files by ID, which is the same however a client refers to a file: by its bytes, or as the server has it.
func named(blocks []llm.Block) []llm.Block {
	out := blocks
	for i := range blocks {
		src := blocks[i].Source
		if src == nil || src.Type == "url" {
			continue
		}
		if len(out) > 0 && &out[0] == &blocks[0] {
			out = slices.Clone(blocks)
		}
		id := src.ID
		if raw, err := base64.StdEncoding.DecodeString(src.Data); src.Type == "base64" && err == nil {
			kind, err := blob.ParseMediaType(src.MediaType)
			if err != nil {
				kind = src.MediaType
			}
			d := blob.NewDigest(kind)
			d.Write(raw) // a hash never fails
			id = d.ID()
		}
		out[i].Source = &llm.Source{Type: "blob", ID: id}
	}
	return out
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Answering returns the run that took a message, which the client says again: as the queue has it or, if that was purged, the one that
// answered it. It is "" if there is none. Known reports whether the message is in the conversation. If that is another one with the same
// id, the error is awaken.ErrConflict.
func Answering(ctx context.Context, t *mailbox.Tenant, threadID string, said mailbox.Said) (runID string, known bool, err error) {
	d, err := t.Repeated(ctx, threadID, said)
	if err == nil {
		return d.RunID, true, nil
	}
	if !errors.Is(err, awaken.ErrNotFound) {
		return "", false, err
	}
	view, err := Conversation(ctx, t, threadID)
	if err != nil && !errors.Is(err, awaken.ErrNotFound) {
		return "", false, err
	}
	at := slices.IndexFunc(view, func(m *llm.Message) bool { return m.ID == said.MessageID })
	if at < 0 {
		return "", false, nil
	}
	was, err := Say(view[at])
	if err != nil {
		return "", false, err
	}
	if was.Content != said.Content {
		return "", true, fmt.Errorf("message id %q: %w: thread %s has another message with this id", said.MessageID, awaken.ErrConflict, threadID)
	}
	for _, m := range view[at+1:] {
		if m.Role == llm.User && !m.IsInternal() {
			break
		}
		if runID := RunOf(m); runID != "" {
			return runID, true, nil
		}
	}
	return "", true, nil
}
