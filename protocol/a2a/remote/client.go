package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// client speaks with one agent of a server. It is safe for concurrent use.
type client struct {
	wire   *wire
	cards  *cards
	base   *url.URL
	target string
	now    func() time.Time
	hidden []string // secrets, which servers may quote
}

// newClient checks where a server is and how it is entered. It does not use the network.
func newClient(s Server, http *http.Client, now func() time.Time) (*client, error) {
	base, err := readURL("base_url", s.BaseURL)
	if err != nil {
		return nil, err
	}
	auth, err := newAuthorizer(s.Auth, http)
	if err != nil {
		return nil, err
	}
	w := &wire{http: http, auth: auth, headers: s.Headers, cardTimeout: cmp.Or(s.CardTimeout, cardTimeout)}
	c := &client{wire: w, cards: newCards(w, base, s.Target), base: base, target: s.Target, now: now, hidden: slices.Collect(maps.Values(s.Headers))}
	if s.Auth != nil {
		c.hidden = append(c.hidden, s.Auth.Token.Expose(), s.Auth.ClientSecret.Expose())
	}
	return c, nil
}

// hide removes the secrets of the server from a text.
func (c *client) hide(text string) string {
	for _, secret := range c.hidden {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	return text
}

// find returns where the agent is. A server that has no card is spoken to as the configuration says.
func (c *client) find(ctx context.Context, o *settings) (*place, error) {
	k := c.cards.get(ctx, c.now())
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if f, ok := errors.AsType[*Failure](k.problem); ok && k.read == nil && (f.Status == 0 || f.transient()) {
		f := *f
		f.Sent = false // no message
		return nil, &f
	}
	at, err := k.read.choose(c.base, c.target, o.Binding)
	if err != nil {
		return nil, err
	}
	if o.Streaming != nil {
		at.streaming = *o.Streaming
	}
	return at, nil
}

// outgoing is a message and how it is to be answered.
type outgoing struct {
	message *message
	modes   []string // media types of the answer
}

// send sends a message and yields what the server answers: events while the task works, or one response.
func (c *client) send(ctx context.Context, at *place, o *settings, out outgoing) iter.Seq2[*event, error] {
	configuration := map[string]any{"acceptedOutputModes": out.modes}
	if o.HistoryLength != nil {
		configuration["historyLength"] = *o.HistoryLength
	}
	m := streamMessage
	if !at.streaming {
		m = sendMessage
		configuration["returnImmediately"] = o.ReturnImmediately == nil || *o.ReturnImmediately
	}
	return c.events(ctx, at, m, map[string]any{"message": out.message, "configuration": configuration})
}

// subscribe yields the task as it is, and then its events.
func (c *client) subscribe(ctx context.Context, at *place, id string) iter.Seq2[*event, error] {
	return c.events(ctx, at, subscribeTask, map[string]any{"id": id})
}

// get returns a task.
func (c *client) get(ctx context.Context, at *place, id string, history int) (*task, error) {
	params := map[string]any{"id": id}
	if history >= 0 {
		params["historyLength"] = history
	}
	data, err := c.unary(ctx, at, getTask, params)
	if err != nil {
		return nil, err
	}
	t, err := decodeTask(data)
	if err == nil && t.ID != id {
		return nil, malformed("the server returned task %.80q for %.80q", t.ID, id)
	}
	return t, err
}

// list returns the latest tasks of a context, with their messages.
func (c *client) list(ctx context.Context, at *place, contextID string) ([]*task, error) {
	data, err := c.unary(ctx, at, listTasks, map[string]any{"contextId": contextID, "historyLength": 100, "pageSize": 50})
	if err != nil {
		return nil, err
	}
	var page struct {
		Tasks []*task `json:"tasks"`
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return nil, malformed("%v", err)
	}
	for _, t := range page.Tasks {
		if t == nil {
			return nil, malformed("a task of the list is null")
		}
		if err := checkTask(t); err != nil {
			return nil, err
		}
	}
	return page.Tasks, nil
}

// cancel cancels a task. One that is over, or that the server does not know, needs no cancelling.
func (c *client) cancel(ctx context.Context, at *place, id string) error {
	_, err := c.unary(ctx, at, cancelTask, map[string]any{"id": id})
	if f, ok := errors.AsType[*Failure](err); ok && (f.Reason == "TASK_NOT_CANCELABLE" || f.Reason == "TASK_NOT_FOUND") {
		return nil
	}
	return err
}

// unary makes a request that is answered with one JSON object, which it returns.
func (c *client) unary(ctx context.Context, at *place, m method, params map[string]any) (json.RawMessage, error) {
	ctx, stop := context.WithTimeout(ctx, unaryTime)
	defer stop()
	resp, err := c.wire.call(ctx, at, m, params, false)
	if err != nil {
		return nil, err
	}
	defer drain(resp.Body)
	return readObject(resp.Body, at.rpc)
}

// readObject reads a response that is not a stream.
func readObject(r io.Reader, rpc bool) (json.RawMessage, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxResponse+1))
	switch {
	case err != nil:
		return nil, &Failure{Err: err, Sent: true}
	case len(data) > maxResponse:
		return nil, malformed("it is larger than %d bytes", maxResponse)
	case rpc:
		return unwrap(data)
	}
	return data, nil
}

// unwrap returns the result of a JSON-RPC response.
func unwrap(data []byte) (json.RawMessage, error) {
	var resp struct {
		Result json.RawMessage `json:"result"`
		Error  *rpcFailure     `json:"error"`
	}
	switch err := json.Unmarshal(data, &resp); {
	case err != nil:
		return nil, malformed("%v", err)
	case resp.Error != nil:
		return nil, resp.Error.failure()
	case len(resp.Result) == 0:
		return nil, malformed("a JSON-RPC response has no result and no error")
	}
	return resp.Result, nil
}

// events makes a request that is answered with a stream, or with one response.
func (c *client) events(ctx context.Context, at *place, m method, params map[string]any) iter.Seq2[*event, error] {
	return func(yield func(*event, error) bool) {
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		limit := streamIdle
		if m.rpc == sendMessage.rpc {
			limit = 0 // the server may answer when the task is over
		}
		alarm := newAlarm(limit, func() { stop(errSilent) })
		defer alarm.stop()
		resp, err := c.wire.call(ctx, at, m, params, true)
		if err != nil {
			yield(nil, silenced(ctx, err))
			return
		}
		defer resp.Body.Close() // the rest of a stream is not wanted
		kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if kind != "text/event-stream" {
			data, err := readObject(resp.Body, at.rpc)
			if err != nil {
				yield(nil, silenced(ctx, err))
				return
			}
			yield(decodeEvent(data))
			return
		}
		body := &watched{resp.Body, alarm}
		for f, err := range readFrames(body) {
			if err != nil {
				yield(nil, silenced(ctx, broken(err)))
				return
			}
			ev, err := decodeFrame(f, at.rpc)
			if !yield(ev, err) || err != nil {
				return
			}
		}
		if ctx.Err() != nil {
			yield(nil, silenced(ctx, context.Cause(ctx)))
		}
	}
}

// broken returns the failure of a stream that broke off.
func broken(err error) error {
	if _, ok := errors.AsType[*Failure](err); ok {
		return err
	}
	return &Failure{Err: err, Sent: true}
}

var errSilent = errors.New("the server was silent for too long")

// silenced names the silence of a server as the cause of an error.
func silenced(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return &Failure{Err: errSilent, Sent: true}
	}
	return err
}

// decodeFrame decodes an event of a stream.
func decodeFrame(f frame, rpc bool) (*event, error) {
	data := f.data
	switch {
	case rpc:
		result, err := unwrap(data)
		if err != nil {
			return nil, err
		}
		data = result
	case f.failed || isFailure(data):
		return nil, readFailure(http.StatusInternalServerError, nil, data)
	}
	return decodeEvent(data)
}

// alarm calls a function if nothing happens for a while.
type alarm struct {
	timer *time.Timer // nil if there is no limit
	limit time.Duration
}

func newAlarm(limit time.Duration, ring func()) *alarm {
	if limit <= 0 {
		return &alarm{}
	}
	return &alarm{time.AfterFunc(limit, ring), limit}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// watched is a body whose reads put the alarm off.
type watched struct {
	io.Reader
	alarm *alarm
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 && w.alarm.timer != nil {
		w.alarm.timer.Reset(w.alarm.limit)
	}
	return n, err
}
