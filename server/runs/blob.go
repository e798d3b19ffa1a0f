package runs

import (
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/blob"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access/permit"
)

// files has the handlers of the files that messages refer to.
type files struct {
	limits  server.FileLimits
	serving context.Context // until Stop
}

func (h *files) routes() []protocol.Route {
	return []protocol.Route{
		{Method: "POST", Path: "/v1/blobs", Needs: permit.WriteThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.upload), Stream: true, Raw: true,
			Summary: "Upload a file", Replies: map[int]any{201: fileBody{}}, Failures: []int{400, 408, 413}},
		{Method: "GET", Path: "/v1/blobs", Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.list),
			Summary: "List files, the newest first", Replies: map[int]any{200: filePage{}},
			Query: []protocol.Param{server.Param("cursor", "string", "next_cursor of the page before"), server.Param("limit", "integer", "maximum number of items, 1 to 200; default 50"), server.UserParam}},
		{Method: "GET", Path: "/v1/blobs/{blob_id}", Needs: permit.ReadThreads, Scope: protocol.ByCaller, Handle: server.Handle(h.download), Stream: true,
			Summary: "Download a file", Replies: map[int]any{200: server.RawFile{}, 206: server.RawFile{}, 304: nil, 416: server.Text("")},
			Headers: []protocol.Param{server.Param("Range", "string", "the part to send"), server.Param("If-None-Match", "string", "the ETag of the client's copy")}},
	}
}

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

func (h *files) upload(req *server.Request) error {
	store := blob.Of(req.Tenant().Store)
	if store == nil {
		return server.Unavailable("this server's store keeps no files")
	}
	if err := req.CheckEncoding(); err != nil {
		return err
	}
	mediaType, err := blob.ParseMediaType(req.HTTP().Header.Get("Content-Type"))
	if err != nil {
		return protocol.BadRequest("Content-Type: %s", err)
	}
	most, err := h.room(req, store)
	if err != nil {
		return err
	}
	body := &arriving{from: req.HTTP().Body, control: http.NewResponseController(req.Writer()), start: time.Now(), limits: &h.limits, most: most, serving: h.serving}
	defer context.AfterFunc(h.serving, func() { _ = body.control.SetReadDeadline(time.Now()) })()
	b, err := store.Put(req.Context(), mediaType, body, blob.User(req.User))
	if err != nil {
		if body.failed != nil {
			req.LeaveBody()
			return body.failed
		}
		return err
	}
	req.Writer().Header().Set("Location", protocol.FilePath+b.ID)
	return req.Reply(http.StatusCreated, fileBody{*b, protocol.FilePath + b.ID})
}

// room returns how many bytes a file may have, or -1.
func (h *files) room(req *server.Request, store blob.Store) (int64, error) {
	most := h.limits.Bytes
	if n := req.HTTP().ContentLength; most >= 0 && n > most {
		return 0, server.Fail(http.StatusRequestEntityTooLarge, "too_large", "the file has %d bytes, want at most %d", n, most)
	}
	if h.limits.Total < 0 {
		return most, nil
	}
	total, err := store.Total(req.Context())
	if err != nil {
		return 0, err
	}
	rest := max(h.limits.Total-total, 0)
	if rest == 0 || req.HTTP().ContentLength > rest {
		return 0, server.TooManyFiles(total, h.limits.Total)
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
	limits  *server.FileLimits
	most    int64 // bytes, or -1
	serving context.Context
	have    int64
	failed  error // what the client did wrong
}

// by returns when a client that began at start must have sent or read so many bytes.
func by(l *server.FileLimits, start time.Time, have int64) time.Time {
	if l.Rate <= 0 {
		return time.Time{}
	}
	return start.Add(l.Grace + time.Duration(have/int64(l.Rate))*time.Second)
}

func (a *arriving) Read(p []byte) (int, error) {
	_ = a.control.SetReadDeadline(by(a.limits, a.start, a.have)) // the writer of a test may not support it
	if a.serving.Err() != nil {
		a.failed = server.ErrStopping
		return 0, a.failed
	}
	n, err := a.from.Read(p)
	a.have += int64(n)
	switch {
	case a.most >= 0 && a.have > a.most:
		a.failed = server.Fail(http.StatusRequestEntityTooLarge, "too_large", "the file has more than %d bytes", a.most)
	case err == io.EOF:
		_ = a.control.SetReadDeadline(time.Time{}) // the time to store it is the server's: a deadline would end the request
		return n, err
	case err == nil:
		return n, err
	case a.serving.Err() != nil:
		a.failed = server.ErrStopping
	case errors.Is(err, os.ErrDeadlineExceeded):
		a.failed = server.Fail(http.StatusRequestTimeout, "timeout", "the file arrives too slowly: %d bytes in %s, want at least %d bytes per second", a.have, time.Since(a.start).Round(time.Millisecond), a.limits.Rate)
	default:
		a.failed = protocol.BadRequest("cannot read the body")
	}
	return n, a.failed
}

// fileCursor begins the cursors of lists of files.
const fileCursor = "blob_"

func (h *files) list(req *server.Request) error {
	store := blob.Of(req.Tenant().Store)
	if store == nil {
		return server.Unavailable("this server's store keeps no files")
	}
	owner, err := req.Owner()
	if err != nil {
		return err
	}
	q := blob.Query{User: owner, Limit: req.Number("limit", 50, 1, 200) + 1}
	if text := req.Value("cursor"); text != "" {
		q.Before = new(blob.Blob)
		if err := server.ParseCursor(fileCursor, text, q.Before); err != nil {
			return err
		}
	}
	list, err := store.List(req.Context(), q)
	if err != nil {
		return err
	}
	out := filePage{Items: []fileBody{}}
	for i, b := range list {
		if i == q.Limit-1 {
			last := list[i-1]
			out.NextCursor = server.CursorText(fileCursor, blob.Blob{ID: last.ID, CreatedAt: last.CreatedAt})
			break
		}
		out.Items = append(out.Items, fileBody{*b, protocol.FilePath + b.ID})
	}
	return req.Reply(http.StatusOK, out)
}

func (h *files) download(req *server.Request) error {
	store, id := blob.Of(req.Tenant().Store), req.Path("blob_id")
	if store == nil {
		return server.Unavailable("this server's store keeps no files")
	}
	if req.Confined {
		if ok, err := store.Readable(req.Context(), id, req.User); err != nil || !ok {
			return cmp.Or(err, error(protocol.NotFound("blob", id)))
		}
	}
	b, r, err := store.Open(req.Context(), id)
	if errors.Is(err, awaken.ErrNotFound) {
		return protocol.NotFound("blob", id)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	control := http.NewResponseController(req.Writer())
	_ = control.SetReadDeadline(time.Time{}) // that of the request would end a long download
	head := req.Writer().Header()
	head.Set("Content-Type", b.MediaType)
	head.Set("ETag", `"`+b.ID+`"`)
	head.Set("Cache-Control", "private, max-age=31536000, immutable") // bytes never change
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Security-Policy", "default-src 'none'; sandbox") // a page that a client uploaded does nothing here
	if !shows(b.MediaType) {
		head.Set("Content-Disposition", "attachment")
	}
	w := &leaving{ResponseWriter: req.Writer(), control: control, start: time.Now(), limits: &h.limits}
	http.ServeContent(w, req.HTTP(), "", b.CreatedAt, r)
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
	limits  *server.FileLimits
	have    int64
}

func (l *leaving) Write(p []byte) (int, error) {
	_ = l.control.SetWriteDeadline(by(l.limits, l.start, l.have)) // the writer of a test may not support it
	n, err := l.ResponseWriter.Write(p)
	l.have += int64(n)
	return n, err
}
