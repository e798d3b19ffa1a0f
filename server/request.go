package server

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// Request is one request to a route. [Server.answer] fills it in; a handler reads path, query and
// body from it and replies through it.
type Request struct {
	w     http.ResponseWriter
	r     *http.Request
	ctx   context.Context // done when the client disconnects or the request times out
	route *protocol.Route
	Caller
	tenant    *mailbox.Tenant // whose threads and runs the caller sees
	admitted  []string        // ids that Admit has checked
	query     url.Values
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

// Query returns the parameters in the query of the URL.
func (req *Request) Query() url.Values { return req.query }

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

// Value returns a query parameter that has several names, or "".
func (req *Request) Value(names ...string) string {
	for _, n := range names {
		if req.query.Has(n) {
			return strings.TrimSpace(req.query.Get(n))
		}
	}
	return ""
}

// checkParam checks the value of a parameter against its kind. An empty value passes.
func checkParam(p protocol.Param, value string) error {
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return protocol.BadRequest("%s is not valid, want UTF-8 without control characters", p.Name)
	}
	value = strings.TrimSpace(value)
	switch {
	case value == "" || p.Kind == "string":
		return nil
	case p.Kind == "integer":
		if _, err := strconv.Atoi(value); err != nil {
			return protocol.BadRequest("%s is %q, want a whole number", p.Name, value)
		}
	case p.Kind == "number":
		if _, err := strconv.ParseFloat(value, 64); err != nil {
			return protocol.BadRequest("%s is %q, want a number", p.Name, value)
		}
	case !slices.Contains(p.Values(), value):
		return protocol.BadRequest("%s is %q, want %s", p.Name, value, strings.Join(p.Values(), ", "))
	}
	return nil
}

// CheckKnown refuses query parameters that the route does not have: a list whose filter is misspelt would
// have everything.
func (req *Request) CheckKnown() error {
	if _, err := url.ParseQuery(req.r.URL.RawQuery); err != nil { // then req.query lacks what is wrong
		return protocol.BadRequest("the query is not valid: %s; want name=value with & between them", Plain(err.Error()))
	}
	var known []string
	for _, p := range req.route.Query {
		known = append(known, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(req.query)) {
		switch best := strict.Nearest(name, known); {
		case slices.Contains(known, name):
		case best != "":
			return protocol.BadRequest("unknown parameter %.80q, did you mean %q?", name, best)
		default:
			return protocol.BadRequest("unknown parameter %.80q, want %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// Number returns an integer parameter of the route, clamped to the range from low to high.
func (req *Request) Number(name string, def, low, high int) int {
	return protocol.NumberParam(req.query, name, def, low, high)
}

// Page returns the offset and limit of a list.
func (req *Request) Page() (offset, limit int) {
	return req.Number("offset", 0, 0, math.MaxInt32), req.Number("limit", 50, 1, 200)
}
