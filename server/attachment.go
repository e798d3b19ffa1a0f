package server

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/internal/ids"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// FileLimits bounds the files that clients upload. A zero field means its default; a negative one means
// no limit.
type FileLimits struct {
	Bytes int64         // of a file; default 32 MiB
	Total int64         // of all files of a tenant; default 10 GiB
	Rate  int           // bytes per second that a client must send or read; default 8 KiB
	Grace time.Duration // until Rate counts; default 10 seconds
}

func (l *FileLimits) setDefaults() {
	l.Bytes, l.Total, l.Rate, l.Grace = cmp.Or(l.Bytes, 32<<20), cmp.Or(l.Total, 10<<30), cmp.Or(l.Rate, 8<<10), cmp.Or(l.Grace, 10*time.Second)
}

// keepFiles stores the large files of a submission, and makes its thread hold those that it refers to. The
// caller must be allowed to read them.
//
// If the client chose the ID of a thread that does not exist, the user holds them until the submission is accepted and
// has made the thread the user's: another user who creates the thread of a submission that was refused must not
// find the files there. It returns the holder, if there are files.
func keepFiles(req *Request, s *mailbox.Submission) (holder blob.Holder, err error) {
	media := func(b llm.Block) bool { return b.Source != nil && b.Source.Type != "url" }
	if !slices.ContainsFunc(s.Request.Messages, func(m *llm.Message) bool { return slices.ContainsFunc(m.Content, media) }) {
		return holder, nil
	}
	store := blob.Of(req.tenant.Store)
	if store == nil {
		return holder, nil // the runtime says so
	}
	holder = blob.User(s.Request.UserID)
	if exists, err := threadExists(req, s.Request.ThreadID); err != nil {
		return holder, err
	} else if exists || s.Request.ThreadID == "" {
		s.Request.ThreadID = cmp.Or(s.Request.ThreadID, ids.New())
		holder = blob.Thread(s.Request.ThreadID)
	}
	msgs := slices.Clone(s.Request.Messages)
	var refs []string
	for i, m := range msgs {
		if !m.HasBlobs() {
			continue
		}
		own := *m
		own.Content = slices.Clone(m.Content)
		for j := range own.Content {
			if src := own.Content[j].Source; src != nil && src.Type == "blob" {
				stored, err := stored(req, store, src.ID)
				if errors.Is(err, awaken.ErrNotFound) {
					return holder, protocol.BadRequest("messages[%d].content[%d].source: blob %q does not exist; upload it with POST /v1/blobs", i, j, src.ID)
				} else if err != nil {
					return holder, err
				}
				if !sameType(src.MediaType, stored.MediaType) {
					return holder, protocol.BadRequest("messages[%d].content[%d].source.media_type is %q, but the file is %q", i, j, src.MediaType, stored.MediaType)
				}
				own.Content[j].Source = stored
				refs = append(refs, src.ID)
			}
		}
		msgs[i] = &own
	}
	if err := admitFiles(req, store, msgs); err != nil {
		return holder, err
	}
	if err := store.Hold(req.ctx, holder, refs...); err != nil {
		return holder, err
	}
	if msgs, err = blob.DetachMessages(req.ctx, store, holder, msgs); err != nil {
		return holder, fmt.Errorf("store the files of messages: %w", err)
	}
	s.Request.Messages = msgs
	return holder, nil
}

// threadExists reports whether a thread exists.
func threadExists(req *Request, id string) (bool, error) {
	if id == "" {
		return false, nil
	}
	_, err := req.tenant.Store.Thread(req.ctx, id)
	if errors.Is(err, awaken.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// sameType reports whether two media types are the same but for their parameters.
func sameType(a, b string) bool {
	x, _, _ := mime.ParseMediaType(a)
	y, _, _ := mime.ParseMediaType(b)
	return x == y
}

// admitFiles refuses messages whose inline files are more than the tenant may still store.
func admitFiles(req *Request, store blob.Store, msgs []*llm.Message) error {
	size, most := blob.Size(msgs...), req.admission.files
	if size == 0 || most < 0 {
		return nil
	}
	total, err := store.Total(req.ctx)
	if err == nil && total+size > most {
		err = TooManyFiles(total, most)
	}
	return err
}

// TooManyFiles is the error of a file for which a tenant has no room.
func TooManyFiles(total, most int64) error {
	return Fail(http.StatusRequestEntityTooLarge, "too_large", "the stored files have %d bytes, which leaves %d of %d: delete threads that hold files", total, max(most-total, 0), most)
}

// stored returns a blob that the caller may read, as a source.
func stored(req *Request, store blob.Store, id string) (*llm.Source, error) {
	if req.Confined {
		if ok, err := store.Readable(req.ctx, id, req.User); err != nil || !ok {
			return nil, cmp.Or(err, blob.NotFound(id))
		}
	}
	b, r, err := store.Open(req.ctx, id)
	if err != nil {
		return nil, err
	}
	return llm.Blob(b.ID, b.MediaType, b.Size), r.Close()
}
