package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// request is one request on its way through its route. [Server.answer] fills it in; a
// handler reads the path, the query and the body from it, and answers through it.
type request struct {
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context // done when the client is gone or the request's time is up
	route  *protocol.Route
	caller                 // who asks
	tenant *mailbox.Tenant // what they may see
	query  url.Values
	body   []byte // once it was decoded, until a stream begins
	depth  int    // how deep a body may be nested, if that is limited
}

// path returns a part of the path.
func (req *request) path(name string) string { return req.r.PathValue(name) }

// Reply answers with JSON. A nil body is no body.
func (req *request) Reply(status int, body any) error {
	if body == nil {
		req.w.WriteHeader(status)
		return nil
	}
	return writeJSON(req.w, status, body)
}

// writeJSON answers with JSON. That the client is gone is no error.
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

// ok answers 200 with a result, unless there is an error.
func (req *request) ok(result any, err error) error {
	if err != nil {
		return err
	}
	return req.Reply(http.StatusOK, result)
}

// done answers 204, unless there is an error.
func (req *request) done(err error) error {
	if err != nil {
		return err
	}
	return req.Reply(http.StatusNoContent, nil)
}

// Decode reads the body into v. A body that is not JSON is 400; one that does not fit,
// 422, with the field named.
func (req *request) Decode(v any) error {
	if ct := req.r.Header.Get("Content-Type"); ct != "" {
		kind, _, err := mime.ParseMediaType(ct)
		if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") && kind != "text/plain" {
			return fail(http.StatusUnsupportedMediaType, "unsupported_media_type", "content type is %q, want application/json", ct)
		}
	}
	if enc := req.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return fail(http.StatusUnsupportedMediaType, "unsupported_media_type", "content encoding is %q, want none", enc)
	}
	data, err := io.ReadAll(req.r.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return err
		}
		return protocol.BadRequest("the body could not be read")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	req.body = data
	if err := strict.UnmarshalBody(data, req.depth, v); err != nil {
		if _, ok := errors.AsType[*strict.Malformed](err); ok {
			return fail(http.StatusBadRequest, "invalid_json", "the body is %v", err)
		}
		return protocol.Unfit("%v", err)
	}
	return nil
}

// value returns a parameter of the query, under any of its names.
func (req *request) value(names ...string) string {
	for _, n := range names {
		if req.query.Has(n) {
			return strings.TrimSpace(req.query.Get(n))
		}
	}
	return ""
}

// checkParam returns what is wrong with the value of a parameter. An empty one is as good as none.
func checkParam(p protocol.Param, value string) error {
	if !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) {
		return protocol.BadRequest("%s must be UTF-8 without control characters", p.Name)
	}
	value = strings.TrimSpace(value)
	switch {
	case value == "" || p.Kind == "string":
		return nil
	case p.Kind == "integer":
		if _, err := strconv.Atoi(value); err != nil {
			return protocol.BadRequest("%s is %q, want a number", p.Name, value)
		}
	case !slices.Contains(p.Values(), value):
		return protocol.BadRequest("%s is %q, want %s", p.Name, value, strings.Join(p.Values(), ", "))
	}
	return nil
}

// number returns a parameter of the route that is an integer, moved into the range from low to
// high.
func (req *request) number(name string, def, low, high int) int {
	n, err := strconv.Atoi(req.value(name))
	if err != nil {
		return def
	}
	return max(low, min(n, high))
}

// page returns which part of a list is asked for.
func (req *request) page() (offset, limit int) {
	return req.number("offset", 0, 0, math.MaxInt32), req.number("limit", 50, 1, 200)
}
