package protocol

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/clientdata"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
)

// unseenPage is how many records of a log are read at a time.
const unseenPage = 256

// places returns the place in ids of each message that has an id, counted from 1.
func places(ids []string) map[string]int {
	place := map[string]int{}
	for i, id := range ids {
		if id != "" {
			place[id] = i + 1
		}
	}
	return place
}

// unseen returns the index of the first message that is not in a thread's log. Single says that the client
// sent only one message.
func unseen(ctx context.Context, t *mailbox.Tenant, r *mailbox.Recent, place map[string]int, single bool) (int, error) {
	if len(place) == 0 {
		return 0, nil
	}
	for page := r.Messages; ; {
		found := 0
		for _, m := range page {
			found = max(found, place[m.Message.ID])
		}
		// A single message that is not at the log's end is new: a client that sends only its last
		// message repeats it only if the first response was lost.
		if found > 0 || len(page) < unseenPage || single {
			return found, nil
		}
		var err error
		page, err = t.Store.Messages(ctx, r.Thread.ID, awaken.MessageQuery{Before: page[0].Seq, Limit: unseenPage, Last: true})
		if errors.Is(err, awaken.ErrNotFound) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// Conversation returns the messages of a thread as people see them. Rewound messages are left out;
// messages behind a summary are there, and the summary is internal. Messages of clients are as they were
// sent.
func Conversation(ctx context.Context, t *mailbox.Tenant, threadID string) ([]*llm.Message, error) {
	view, err := t.Store.View(ctx, threadID)
	if err != nil {
		return nil, err
	}
	history := view.History()
	if !slices.ContainsFunc(history, func(m *llm.Message) bool { return m.IsSummary() || AsSent(m) != m }) {
		return history, nil
	}
	out := make([]*llm.Message, len(history))
	for i, m := range history {
		if out[i] = AsSent(m); m.IsSummary() && !m.IsInternal() {
			own := *out[i]
			own.Visibility = llm.Internal
			out[i] = &own
		}
	}
	return out, nil
}

// AnswerAgain makes a request answer the message before index at of a conversation again: what
// follows is hidden. If a run is active and has stored nothing of its answer yet, the message itself is
// hidden and sent again, so that what the run still stores before it ends is hidden too.
func AnswerAgain(req *awaken.RunRequest, view []*llm.Message, at int, active bool) {
	switch {
	case at < len(view):
		req.Rewind = view[at].ID
	case active && at > 0 && view[at-1].Role == llm.User:
		said := *view[at-1]
		req.Rewind, req.Messages = said.ID, append(req.Messages, &said)
	}
}

// AsSent returns a message as its client sent it. The model may be shown it as data of the user.
func AsSent(m *llm.Message) *llm.Message {
	if m.Metadata == nil || m.Metadata.ClientRole == "" {
		return m
	}
	out, md := *m, *m.Metadata
	out.Role, md.ClientRole = md.ClientRole, ""
	out.Content, out.Metadata = slices.Clone(m.Content), &md
	for i := range out.Content {
		if b := &out.Content[i]; b.Type == llm.TextBlock {
			b.Text = clientdata.Unwrap(b.Text)
		}
	}
	return &out
}

// ContextMessage returns an internal message that shows the model the state of a client's page, or
// nil if the state is empty. Like every system message of a client, it is data for agents that do not
// trust clients.
func ContextMessage(state json.RawMessage) *llm.Message {
	switch strings.TrimSpace(string(state)) {
	case "", "null", "{}", "[]":
		return nil
	}
	return &llm.Message{Role: llm.System, Visibility: llm.Internal,
		Content: []llm.Block{llm.Text(clientdata.Context(state))}}
}

// Media converts the attachments of a request and limits their number and size.
type Media struct {
	MaxFiles int // per request; default 16
	MaxBytes int // of all files in the request, decoded; default 16 MiB
	files    int
	bytes    int
}

// URL converts an attachment into a block. The address is a data: URL, that of a stored file of this
// server, or one that the model's provider fetches; the server fetches nothing. Field names the attachment in errors.
func (m *Media) URL(field, mediaType, address, name string) (llm.Block, error) {
	rest, inline := strings.CutPrefix(address, "data:")
	if id, ok := fileOf(address); ok {
		return m.block(field, &llm.Source{Type: "blob", MediaType: mediaType, ID: id}, name)
	}
	if !inline {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return llm.Block{}, BadRequest("%s.url is %q, want a data:, https: or http: URL, or /v1/blobs/ and the ID of a file", field, clip(address))
		}
		return m.block(field, &llm.Source{Type: "url", MediaType: mediaType, URL: address}, name)
	}
	head, data, ok := strings.Cut(rest, ",")
	if !ok {
		return llm.Block{}, BadRequest("%s.url is a data: URL without a comma", field)
	}
	kind, encoded := strings.CutSuffix(head, ";base64")
	kind = cmp.Or(kind, "text/plain")
	if mediaType == "" {
		mediaType = kind
	} else if !sameType(mediaType, kind) {
		return llm.Block{}, BadRequest("%s.mediaType is %q, but its data: URL says %q", field, clip(mediaType), clip(kind))
	}
	if !encoded {
		raw, err := url.PathUnescape(data)
		if err != nil {
			return llm.Block{}, BadRequest("cannot decode %s.url: %v", field, err)
		}
		data = base64.StdEncoding.EncodeToString([]byte(raw))
	}
	return m.Base64(field, mediaType, data, name)
}

// Base64 converts an attachment that is part of the request into a block.
func (m *Media) Base64(field, mediaType, data, name string) (llm.Block, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return llm.Block{}, BadRequest("cannot decode %s: %v", field, err)
	}
	if m.bytes += len(raw); m.bytes > cmp.Or(m.MaxBytes, 16<<20) {
		return llm.Block{}, &Failure{Status: 413, Code: "too_large", Message: fmt.Sprintf("%s: the files together are longer than %d bytes", field, cmp.Or(m.MaxBytes, 16<<20))}
	}
	return m.block(field, &llm.Source{Type: "base64", MediaType: mediaType, Data: data}, name)
}

func (m *Media) block(field string, src *llm.Source, name string) (llm.Block, error) {
	if m.files++; m.files > cmp.Or(m.MaxFiles, 16) {
		return llm.Block{}, BadRequest("%s: the request has more than %d files", field, cmp.Or(m.MaxFiles, 16))
	}
	base, _, err := mime.ParseMediaType(src.MediaType)
	if err != nil {
		return llm.Block{}, BadRequest("%s.mediaType is %q, want one such as image/png", field, clip(src.MediaType))
	}
	block := llm.Block{Source: src, Title: name}
	switch kind, _, _ := strings.Cut(base, "/"); {
	case kind == "image":
		block.Type = llm.ImageBlock
	case kind == "audio":
		block.Type = llm.AudioBlock
	case kind == "video":
		block.Type = llm.VideoBlock
	case kind == "text", base == "application/pdf", base == "application/json":
		block.Type = llm.DocumentBlock
	default:
		return llm.Block{}, BadRequest("%s.mediaType is %q, want image/*, audio/*, video/*, text/*, application/pdf or application/json", field, clip(src.MediaType))
	}
	return block, nil
}

func sameType(a, b string) bool {
	x, _, err1 := mime.ParseMediaType(a)
	y, _, err2 := mime.ParseMediaType(b)
	return err1 == nil && err2 == nil && x == y
}

// clip shortens a text for an error.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
