package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/awaken-go/awaken/internal/httpguard"
)

// wire sends requests to one server, in either binding.
type wire struct {
	http        *http.Client
	auth        authorizer
	headers     map[string]string
	cardTimeout time.Duration
}

// method is an operation of the protocol.
type method struct {
	rpc  string
	verb string
	path func(p map[string]any) string // below the root of the interface, for HTTP+JSON
	body bool                          // whether the parameters are the body
}

var (
	sendMessage   = method{"SendMessage", "POST", func(map[string]any) string { return "/message:send" }, true}
	streamMessage = method{"SendStreamingMessage", "POST", func(map[string]any) string { return "/message:stream" }, true}
	getTask       = method{"GetTask", "GET", func(p map[string]any) string { return taskPath(p, "") + query(p, "historyLength") }, false}
	listTasks     = method{"ListTasks", "GET", func(p map[string]any) string {
		return "/tasks" + query(p, "contextId", "historyLength", "pageSize")
	}, false}
	cancelTask    = method{"CancelTask", "POST", func(p map[string]any) string { return taskPath(p, ":cancel") }, false}
	subscribeTask = method{"SubscribeToTask", "POST", func(p map[string]any) string { return taskPath(p, ":subscribe") }, false}
)

func taskPath(p map[string]any, op string) string {
	return "/tasks/" + url.PathEscape(fmt.Sprint(p["id"])) + op
}

func query(p map[string]any, names ...string) string {
	q := url.Values{}
	for _, name := range names {
		if v, ok := p[name]; ok {
			q.Set(name, fmt.Sprint(v))
		}
	}
	if len(q) == 0 {
		return ""
	}
	return "?" + q.Encode()
}

// Failure is an error that the server answered with, or the failure to get an answer.
type Failure struct {
	Status  int    // of HTTP, 0 if there was no response
	Code    int    // of JSON-RPC, 0 if there is none
	Reason  string // such as TASK_NOT_FOUND, "" if the server gives none
	Message string
	// Sent says whether the server may have acted on the request.
	Sent  bool
	After time.Duration // that the server asks to wait
	Err   error         // the cause, or nil
}

func (f *Failure) Error() string {
	text := cmp.Or(f.Message, f.Reason)
	switch {
	case f.Err != nil:
		text = f.Err.Error()
	case f.Status != 0 && text == "":
		text = http.StatusText(f.Status)
	}
	if f.Status >= 400 {
		text = fmt.Sprintf("%s (status %d)", text, f.Status)
	}
	if f.Reason != "" && !strings.Contains(text, f.Reason) {
		text = f.Reason + ": " + text
	}
	return text
}

func (f *Failure) Unwrap() error { return f.Err }

// transient reports whether the same request may succeed later.
func (f *Failure) transient() bool {
	switch {
	case errors.Is(f.Err, httpguard.ErrAddress), errors.Is(f.Err, httpguard.ErrRedirect), errors.Is(f.Err, httpguard.ErrTooLarge), errors.Is(f.Err, errMalformed):
		return false
	case f.Status == 0:
		return f.Code == 0 || f.Code == codeInternal
	}
	return f.Status == http.StatusTooManyRequests || f.Status == http.StatusRequestTimeout || f.Status >= 500 && f.Status != http.StatusNotImplemented
}

var errMalformed = errors.New("the response is not of A2A 1.0")

// do sends a request. It authenticates again, once, if the server refuses the credentials.
func (w *wire) do(ctx context.Context, verb, at string, body []byte, header http.Header) (*http.Response, error) {
	for again := false; ; again = true {
		var reader io.Reader
		if body != nil {
			reader = bytes.NewReader(body)
		}
		req, err := http.NewRequestWithContext(ctx, verb, at, reader)
		if err != nil {
			return nil, &Failure{Err: err}
		}
		req.Header = header.Clone()
		req.Header.Set("User-Agent", "awaken-go")
		req.Header.Set("A2A-Version", "1.0")
		for name, value := range w.headers {
			req.Header.Set(name, value)
		}
		if err := w.auth.authorize(ctx, req.Header); err != nil {
			return nil, &Failure{Err: err}
		}
		resp, err := w.http.Do(req)
		if err != nil {
			return nil, &Failure{Err: plain(err), Sent: !unsent(err)}
		}
		if resp.StatusCode != http.StatusUnauthorized || again || !w.auth.renew(ctx) {
			return resp, nil
		}
		drain(resp.Body)
	}
}

// plain removes the URL from an error, which the caller names.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// unsent reports whether a request certainly did not reach the server.
func unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return true
	}
	_, dns := errors.AsType[*net.DNSError](err)
	return dns || errors.Is(err, httpguard.ErrAddress)
}

// drain closes a body so that its connection can be used again.
func drain(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, 64<<10)
	_ = body.Close()
}

// call sends a request of an operation. The caller closes the body of the response, which has the status 200.
func (w *wire) call(ctx context.Context, at *place, m method, params map[string]any, stream bool) (*http.Response, error) {
	header := http.Header{"Accept": {"application/json"}}
	if stream {
		header.Set("Accept", "text/event-stream, application/json")
	}
	verb, target, sent := "POST", at.url, any(nil)
	if at.rpc {
		p := map[string]any{}
		for k, v := range params {
			p[k] = v
		}
		if at.tenant != "" {
			p["tenant"] = at.tenant
		}
		sent = map[string]any{"jsonrpc": "2.0", "id": 1, "method": m.rpc, "params": p}
	} else {
		if at.tenant != "" {
			target += "/" + url.PathEscape(at.tenant)
		}
		verb, target = m.verb, target+m.path(params)
		if m.body {
			sent = params
		}
	}
	var body []byte
	if sent != nil {
		var err error
		if body, err = json.Marshal(sent); err != nil {
			return nil, &Failure{Err: err}
		}
	}
	if verb == "POST" {
		header.Set("Content-Type", "application/json")
	}
	resp, err := w.do(ctx, verb, target, body, header)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer drain(resp.Body)
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return nil, readFailure(resp.StatusCode, resp.Header, data)
}

// rpcFailure is the error of a JSON-RPC response; restFailure that of HTTP+JSON.
type rpcFailure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

type restFailure struct {
	Code    int             `json:"code"`
	Status  string          `json:"status"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details"`
}

// reasonOf returns the reason in the details of an error.
func reasonOf(details json.RawMessage) string {
	var list []struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(details, &list) == nil {
		for _, d := range list {
			if d.Reason != "" {
				return clip(d.Reason, 100)
			}
		}
	}
	return ""
}

// codeInternal is the JSON-RPC code of a server that failed.
const codeInternal = -32603

// reasons are the reasons of JSON-RPC codes.
var reasons = map[int]string{-32001: "TASK_NOT_FOUND", -32002: "TASK_NOT_CANCELABLE", -32004: "UNSUPPORTED_OPERATION", -32009: "VERSION_NOT_SUPPORTED", -32601: "METHOD_NOT_FOUND"}

// failure converts the error of a JSON-RPC response. Codes that say that the server failed leave open what it did.
func (f *rpcFailure) failure() *Failure {
	out := &Failure{Code: f.Code, Reason: cmp.Or(reasonOf(f.Data), reasons[f.Code]), Message: clip(f.Message, 500), Sent: f.Code == codeInternal}
	if f.Code == -32601 || f.Code == -32009 {
		out.Message += "; the server may speak another version of A2A, want 1.0"
	}
	return out
}

// readFailure decodes a response that is not a success, or an event that says so: then the status is that of its body.
func readFailure(status int, header http.Header, data []byte) *Failure {
	out := &Failure{Status: status}
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	var rest restFailure
	var text string
	switch {
	case status >= 300 && status < 400:
		out.Message = "the server redirects, which is not followed: use the address that it redirects to"
	case json.Unmarshal(data, &body) != nil:
	case json.Unmarshal(body.Error, &rest) == nil:
		out.Message, out.Reason = clip(rest.Message, 500), reasonOf(rest.Details)
		if header == nil && rest.Code >= 400 && rest.Code < 600 {
			out.Status = rest.Code
		}
	case json.Unmarshal(body.Error, &text) == nil:
		out.Message = clip(text, 500)
	}
	if n, err := strconv.Atoi(header.Get("Retry-After")); err == nil && n >= 0 {
		out.After = time.Duration(min(n, 3600)) * time.Second
	}
	out.Sent = out.Status >= 500 && out.Status != http.StatusNotImplemented && out.Status != http.StatusServiceUnavailable
	return out
}

// isFailure reports whether an event is an error, which some servers do not name as one.
func isFailure(data []byte) bool {
	var body struct {
		Error *restFailure `json:"error"`
	}
	return json.Unmarshal(data, &body) == nil && body.Error != nil
}

// clip shortens text that a server sent, and removes what is not text.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
