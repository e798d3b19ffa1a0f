package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/awaken-go/awaken/internal/strict"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol"
)

// call is one request on its way through a route.
type call struct {
	srv    *Server
	w      http.ResponseWriter
	r      *http.Request
	ctx    context.Context
	route  *protocol.Route
	ids    []string // of the path
	key    *Key     // nil without credentials
	user   string   // whom the request is for, if that is known
	tenant *mailbox.Tenant
	query  url.Values
	asked  []byte // the body, once it was decoded, until a stream begins
}

// path returns a part of the path.
func (c *call) path(name string) string { return c.r.PathValue(name) }

// reply answers with JSON. A nil body is no body.
func (c *call) reply(status int, body any) error {
	if body == nil {
		c.w.WriteHeader(status)
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(status)
	_, err = c.w.Write(append(data, '\n'))
	if err != nil {
		c.srv.cfg.Logger.Debug("the client went away", "error", err)
	}
	return nil
}

// decode reads the body into v. A body that is not JSON is 400; one that does not fit,
// 422, with the field named.
func (c *call) decode(v any) error {
	if ct := c.r.Header.Get("Content-Type"); ct != "" {
		kind, _, err := mime.ParseMediaType(ct)
		if err != nil || kind != "application/json" && !strings.HasSuffix(kind, "+json") && kind != "text/plain" {
			return fail(http.StatusUnsupportedMediaType, "unsupported_media_type", fmt.Sprintf("content type is %q, want application/json", ct))
		}
	}
	if enc := c.r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return fail(http.StatusUnsupportedMediaType, "unsupported_media_type", fmt.Sprintf("content encoding is %q, want none", enc))
	}
	data, err := io.ReadAll(c.r.Body)
	if err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return err
		}
		return badRequest("the body could not be read")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}")
	}
	c.asked = data
	if !utf8.Valid(data) {
		return fail(http.StatusBadRequest, "invalid_json", "the body is not UTF-8")
	}
	if !json.Valid(data) {
		var any json.RawMessage
		return fail(http.StatusBadRequest, "invalid_json", fmt.Sprintf("the body is not JSON: %v", json.Unmarshal(data, &any)))
	}
	if limit := c.srv.cfg.Limits.Depth; limit > 0 && depth(data) > limit {
		return fail(http.StatusBadRequest, "invalid_json", fmt.Sprintf("the body is nested deeper than %d levels", limit))
	}
	if err := strict.Unmarshal(data, v); err != nil {
		return fail(http.StatusUnprocessableEntity, "invalid_body", err.Error())
	}
	return nil
}

// depth is how deep valid JSON is nested.
func depth(data []byte) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch b := data[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			level++
			deepest = max(deepest, level)
		case b == '}' || b == ']':
			level--
		}
	}
	return deepest
}

// value returns a parameter of the query, under any of its names.
func (c *call) value(names ...string) string {
	for _, n := range names {
		if c.query.Has(n) {
			return strings.TrimSpace(c.query.Get(n))
		}
	}
	return ""
}

// number returns a parameter that is a number between low and high.
func (c *call) number(name string, def, low, high int) (int, error) {
	s := c.value(name)
	if s == "" {
		return def, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, badRequest(fmt.Sprintf("%s is %q, want a number", name, s))
	}
	return max(low, min(n, high)), nil
}

// page returns which part of a list is asked for.
func (c *call) page() (offset, limit int, err error) {
	if offset, err = c.number("offset", 0, 0, 1<<31-1); err != nil {
		return 0, 0, err
	}
	limit, err = c.number("limit", 50, 1, 200)
	return offset, limit, err
}

// pick returns a parameter that has to be one of few.
func (c *call) pick(def string, want []string, names ...string) (string, error) {
	s := c.value(names...)
	if s == "" {
		return def, nil
	}
	if !slices.Contains(want, s) {
		return "", badRequest(fmt.Sprintf("%s is %q, want %s", names[0], s, strings.Join(want, ", ")))
	}
	return s, nil
}

// either returns the one of two spellings of a field that is set.
func either(name, a, b string) (string, error) {
	a, b = strings.TrimSpace(a), strings.TrimSpace(b)
	if a != "" && b != "" && a != b {
		return "", badRequest(fmt.Sprintf("%s is there twice, as %q and %q", name, a, b))
	}
	if a == "" {
		return b, nil
	}
	return a, nil
}

// cursorText is an opaque token for the next page of a list. It is bound to the filters
// of the list.
func cursorText(prefix string, at any) string {
	data, err := json.Marshal(at)
	if err != nil {
		panic(err) // it is our own struct
	}
	return prefix + base64.RawURLEncoding.EncodeToString(data)
}

var errCursor = badRequest("cursor must be a valid pagination token")

func parseCursor(prefix, s string, at any) error {
	raw, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return errCursor
	}
	data, err := base64.RawURLEncoding.DecodeString(raw)
	if err != nil || strict.Unmarshal(data, at) != nil {
		return errCursor
	}
	return nil
}
