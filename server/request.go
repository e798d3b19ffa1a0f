package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

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
	logger *slog.Logger
}

// path returns a part of the path.
func (req *request) path(name string) string { return req.r.PathValue(name) }

// Reply answers with JSON. A nil body is no body.
func (req *request) Reply(status int, body any) error {
	if body == nil {
		req.w.WriteHeader(status)
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req.w.Header().Set("Content-Type", "application/json")
	req.w.WriteHeader(status)
	_, err = req.w.Write(append(data, '\n'))
	if err != nil {
		req.logger.Debug("the client went away", "error", err)
	}
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

// number returns a parameter that is a number between low and high.
func (req *request) number(name string, def, low, high int) (int, error) {
	s := req.value(name)
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, protocol.BadRequest("%s is %q, want a number", name, s)
	}
	return max(low, min(n, high)), nil
}

// page returns which part of a list is asked for.
func (req *request) page() (offset, limit int, err error) {
	if offset, err = req.number("offset", 0, 0, 1<<31-1); err != nil {
		return 0, 0, err
	}
	limit, err = req.number("limit", 50, 1, 200)
	return offset, limit, err
}

// pick returns a parameter that has to be one of few.
func (req *request) pick(def string, want []string, names ...string) (string, error) {
	s := req.value(names...)
	if s == "" {
		return def, nil
	}
	if !slices.Contains(want, s) {
		return "", protocol.BadRequest("%s is %q, want %s", names[0], s, strings.Join(want, ", "))
	}
	return s, nil
}
