package server

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// Request is one request to a route. [Server.answer] fills it in; a handler reads path, query and
// body from it and replies through it. What needs only its caller or its query takes that part.
type Request struct {
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context // done when the client disconnects or the request times out
	route *protocol.Route
	Caller
	Query
	tenant    *mailbox.Tenant // whose threads and runs the caller sees
	admitted  []string        // ids that Admit has checked
	bodies    *bodies
	admission *admission
	body      []byte          // until a stream begins
	held      int64           // memory taken for the body
	turn      *turns          // to give it back to, until a stream begins; nil means that there is none
	trusts    bool            // see [Config.TrustClients]
	recent    *mailbox.Recent // the end of the thread that the request is about, if its handler has read it
	unwatch   func()          // releases the thread that the request will stream; nil if none is watched
}

// Context is done when the client disconnects or the request times out.
func (req *Request) Context() context.Context { return req.ctx }

// HTTP returns the request as it arrived.
func (req *Request) HTTP() *http.Request { return req.r }

// Writer returns the response. Most handlers only set headers through it and answer with Reply.
func (req *Request) Writer() http.ResponseWriter { return req.w }

// Route returns the route of the request.
func (req *Request) Route() *protocol.Route { return req.route }

// Tenant returns the tenant whose threads and runs the caller sees.
func (req *Request) Tenant() *mailbox.Tenant { return req.tenant }

// Path returns a part of the path that the route names.
func (req *Request) Path(name string) string { return req.r.PathValue(name) }

// Reply sends a response with body as JSON. A nil body sends none.
func (req *Request) Reply(status int, body any) error {
	if req.route.Stream { // it has no time limit, and the client may read slowly
		req.Release()
		if limit := req.bodies.time; limit > 0 {
			_ = http.NewResponseController(req.w).SetWriteDeadline(time.Now().Add(limit)) // the writer of a test may not support it
		}
	}
	if body == nil {
		req.w.WriteHeader(status)
		return nil
	}
	return writeJSON(req.w, status, body)
}

// writeJSON sends a response as JSON. It ignores that the client is gone.
func writeJSON(w http.ResponseWriter, status int, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n'))
	return nil
}

// OK replies 200 with a result, unless err is set.
func (req *Request) OK(result any, err error) error {
	if err != nil {
		return err
	}
	return req.Reply(http.StatusOK, result)
}

// Done replies 204, unless err is set.
func (req *Request) Done(err error) error {
	if err != nil {
		return err
	}
	return req.Reply(http.StatusNoContent, nil)
}

// Decode decodes the body into v. A body that is not JSON, or has the character U+0000, is a 400; one
// that does not fit v is a 422 that names the field.
func (req *Request) Decode(v any) error {
	if ct := req.r.Header.Get("Content-Type"); ct != "" {
		kind, _, err := mime.ParseMediaType(ct)
		if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") && kind != "text/plain" {
			return Fail(http.StatusUnsupportedMediaType, "unsupported_media_type", "content type is %q, want application/json", ct)
		}
	}
	if err := req.CheckEncoding(); err != nil {
		return err
	}
	return req.bodies.decode(req, v)
}

// CheckEncoding refuses bodies that are compressed.
func (req *Request) CheckEncoding() error {
	if enc := req.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return Fail(http.StatusUnsupportedMediaType, "unsupported_media_type", "content encoding is %.80q, want identity", enc)
	}
	return nil
}
