package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
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

// files has the handlers of the files that messages refer to.
type files struct {
	limits  FileLimits
	serving context.Context // until Stop
}

func (h *files) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/blobs", Access: protocol.Runners, Scope: protocol.ByCaller, Handle: own(h.upload), Stream: true, Raw: true,
			Summary: "Upload a file", Replies: map[int]any{201: fileBody{}}, Failures: []int{400, 408, 413}},
		{Method: "GET", Path: "/v1/blobs", Access: protocol.Readers, Scope: protocol.ByCaller, Handle: own(h.list),
			Summary: "List files, the newest first", Replies: map[int]any{200: filePage{}},
			Query: []protocol.Param{param("cursor", "string", "next_cursor of the page before"), param("limit", "integer", "maximum number of items, 1 to 200; default 50"), userParam}},
		{Method: "GET", Path: "/v1/blobs/{blob_id}", Access: protocol.Readers, Scope: protocol.ByCaller, Handle: own(h.download), Stream: true,
			Summary: "Download a file", Replies: map[int]any{200: rawFile{}, 206: rawFile{}, 304: nil, 416: text("")},
			Headers: []protocol.Param{param("Range", "string", "the part to send"), param("If-None-Match", "string", "the ETag of what the client has")}},
	}
}

// rawFile is a response that is the bytes of a file.
type rawFile struct{}

// fileBody describes a file.
type fileBody struct {
	blob.Blob
	URL string `json:"url"` // relative to the server
}

// filePage is one page of files.
type filePage struct {
	Items      []fileBody `json:"items"`
	NextCursor string     `json:"next_cursor,omitempty"`
}

func (h *files) upload(req *request) error {
	store := blob.Of(req.tenant.Store)
	if store == nil {
		return unavailable("this server's store keeps no files")
	}
	if err := req.checkEncoding(); err != nil {
		return err
	}
	mediaType, err := blob.ParseMediaType(req.r.Header.Get("Content-Type"))
	if err != nil {
		return protocol.BadRequest("Content-Type: %s", err)
	}
	most, err := h.room(req, store)
	if err != nil {
		return err
	}
	body := &arriving{from: req.r.Body, control: http.NewResponseController(req.w), start: time.Now(), limits: &h.limits, most: most, serving: h.serving}
	defer context.AfterFunc(h.serving, func() { _ = body.control.SetReadDeadline(time.Now()) })()
	b, err := store.Put(req.ctx, mediaType, body, blob.User(req.user))
	if err != nil {
		if body.failed != nil {
			req.leaveBody()
			return body.failed
		}
		return err
	}
	req.w.Header().Set("Location", protocol.FilePath+b.ID)
	return req.Reply(http.StatusCreated, fileBody{*b, protocol.FilePath + b.ID})
}

// room returns how many bytes a file may have, or -1.
func (h *files) room(req *request, store blob.Store) (int64, error) {
	most := h.limits.Bytes
	if n := req.r.ContentLength; most >= 0 && n > most {
		return 0, fail(http.StatusRequestEntityTooLarge, "too_large", "the file has %d bytes, want at most %d", n, most)
	}
	if h.limits.Total < 0 {
		return most, nil
	}
	total, err := store.Total(req.ctx)
	if err != nil {
		return 0, err
	}
	rest := max(h.limits.Total-total, 0)
	if rest == 0 || req.r.ContentLength > rest {
		return 0, tooManyFiles(total, h.limits.Total)
	}
	if most < 0 || rest < most {
		return rest, nil
	}
	return most, nil
}

// arriving is the body of an upload, which must arrive at a rate.
type arriving struct {
	from    io.Reader
	control *http.ResponseController
	start   time.Time
	limits  *FileLimits
	most    int64 // bytes, or -1
	serving context.Context
	have    int64
	failed  error // what the client did wrong
}

// by returns when a client that began at start must have sent or read so many bytes.
func (l *FileLimits) by(start time.Time, have int64) time.Time {
	if l.Rate <= 0 {
		return time.Time{}
	}
	return start.Add(l.Grace + time.Duration(have/int64(l.Rate))*time.Second)
}

func (a *arriving) Read(p []byte) (int, error) {
	_ = a.control.SetReadDeadline(a.limits.by(a.start, a.have)) // the writer of a test may not support it
	if a.serving.Err() != nil {
		a.failed = errStopping
		return 0, a.failed
	}
	n, err := a.from.Read(p)
	a.have += int64(n)
	switch {
	case a.most >= 0 && a.have > a.most:
		a.failed = fail(http.StatusRequestEntityTooLarge, "too_large", "the file has more than %d bytes", a.most)
	case err == io.EOF:
		_ = a.control.SetReadDeadline(time.Time{}) // the time to store it is the server's: a deadline would end the request
		return n, err
	case err == nil:
		return n, err
	case a.serving.Err() != nil:
		a.failed = errStopping
	case errors.Is(err, os.ErrDeadlineExceeded):
		a.failed = fail(http.StatusRequestTimeout, "timeout", "the file arrives too slowly: %d bytes in %s, want at least %d bytes per second", a.have, time.Since(a.start).Round(time.Millisecond), a.limits.Rate)
	default:
		a.failed = protocol.BadRequest("cannot read the body")
	}
	return n, a.failed
}

// fileCursor begins the cursors of lists of files.
const fileCursor = "blob_"

func (h *files) list(req *request) error {
	store := blob.Of(req.tenant.Store)
	if store == nil {
		return unavailable("this server's store keeps no files")
	}
	owner, err := req.owner()
	if err != nil {
		return err
	}
	q := blob.Query{User: owner, Limit: req.number("limit", 50, 1, 200) + 1}
	if text := req.value("cursor"); text != "" {
		q.Before = new(blob.Blob)
		if err := parseCursor(fileCursor, text, q.Before); err != nil {
			return err
		}
	}
	list, err := store.List(req.ctx, q)
	if err != nil {
		return err
	}
	out := filePage{Items: []fileBody{}}
	for i, b := range list {
		if i == q.Limit-1 {
			last := list[i-1]
			out.NextCursor = cursorText(fileCursor, blob.Blob{ID: last.ID, CreatedAt: last.CreatedAt})
			break
		}
		out.Items = append(out.Items, fileBody{*b, protocol.FilePath + b.ID})
	}
	return req.Reply(http.StatusOK, out)
}

func (h *files) download(req *request) error {
	store, id := blob.Of(req.tenant.Store), req.path("blob_id")
	if store == nil {
		return unavailable("this server's store keeps no files")
	}
	if req.confined {
		if ok, err := store.Readable(req.ctx, id, req.user); err != nil || !ok {
			return cmp.Or(err, error(protocol.NotFound("blob", id)))
		}
	}
	b, r, err := store.Open(req.ctx, id)
	if errors.Is(err, awaken.ErrNotFound) {
		return protocol.NotFound("blob", id)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	control := http.NewResponseController(req.w)
	_ = control.SetReadDeadline(time.Time{}) // that of the request would end a long download
	head := req.w.Header()
	head.Set("Content-Type", b.MediaType)
	head.Set("ETag", `"`+b.ID+`"`)
	head.Set("Cache-Control", "private, max-age=31536000, immutable") // bytes never change
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Security-Policy", "default-src 'none'; sandbox") // a page that a client uploaded does nothing here
	if !shows(b.MediaType) {
		head.Set("Content-Disposition", "attachment")
	}
	w := &leaving{ResponseWriter: req.w, control: control, start: time.Now(), limits: &h.limits}
	http.ServeContent(w, req.r, "", b.CreatedAt, r)
	return nil
}

// shows reports whether a browser may show a file of a type by itself: none that can have scripts.
func shows(mediaType string) bool {
	base, _, _ := mime.ParseMediaType(mediaType)
	kind, sub, _ := strings.Cut(base, "/")
	return kind == "image" && sub != "svg+xml" || kind == "audio" || kind == "video" || base == "text/plain" || base == "application/pdf"
}

// leaving is the response of a download, which the client must read at a rate.
type leaving struct {
	http.ResponseWriter
	control *http.ResponseController
	start   time.Time
	limits  *FileLimits
	have    int64
}

func (l *leaving) Write(p []byte) (int, error) {
	_ = l.control.SetWriteDeadline(l.limits.by(l.start, l.have)) // the writer of a test may not support it
	n, err := l.ResponseWriter.Write(p)
	l.have += int64(n)
	return n, err
}

// keepFiles stores the large files of a submission, and makes its thread hold those that it refers to. The
// caller must be allowed to read them.
//
// If the client chose the ID of a thread that does not exist, the user holds them until the submission is accepted and
// has made the thread the user's: another user who creates the thread of a submission that was refused must not
// find the files there. It returns the holder, if there are files.
func (req *request) keepFiles(s *mailbox.Submission) (holder blob.Holder, err error) {
	media := func(b llm.Block) bool { return b.Source != nil && b.Source.Type != "url" }
	if !slices.ContainsFunc(s.Request.Messages, func(m *llm.Message) bool { return slices.ContainsFunc(m.Content, media) }) {
		return holder, nil
	}
	store := blob.Of(req.tenant.Store)
	if store == nil {
		return holder, nil // the runtime says so
	}
	holder = blob.User(s.Request.UserID)
	if exists, err := req.threadExists(s.Request.ThreadID); err != nil {
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
				stored, err := req.stored(store, src.ID)
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
	if err := req.admitFiles(store, msgs); err != nil {
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
func (req *request) threadExists(id string) (bool, error) {
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
func (req *request) admitFiles(store blob.Store, msgs []*llm.Message) error {
	size, most := blob.Size(msgs...), req.admission.files
	if size == 0 || most < 0 {
		return nil
	}
	total, err := store.Total(req.ctx)
	if err == nil && total+size > most {
		err = tooManyFiles(total, most)
	}
	return err
}

// tooManyFiles is the error of a file for which a tenant has no room.
func tooManyFiles(total, most int64) error {
	return fail(http.StatusRequestEntityTooLarge, "too_large", "the stored files have %d bytes, which leaves %d of %d: delete threads that hold files", total, max(most-total, 0), most)
}

// stored returns a blob that the caller may read, as a source.
func (req *request) stored(store blob.Store, id string) (*llm.Source, error) {
	if req.confined {
		if ok, err := store.Readable(req.ctx, id, req.user); err != nil || !ok {
			return nil, cmp.Or(err, blob.NotFound(id))
		}
	}
	b, r, err := store.Open(req.ctx, id)
	if err != nil {
		return nil, err
	}
	return llm.Blob(b.ID, b.MediaType, b.Size), r.Close()
}
