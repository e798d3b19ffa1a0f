package rigtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Client sends requests to servers. The zero value with a URL is ready to use.
type Client struct {
	// URLs are where servers are; each request goes to one of them.
	URLs []string
	// Key is sent with every request, unless it is empty.
	Key string
	// HTTP is nil for [http.DefaultClient].
	HTTP *http.Client
	// Retry says whether to send a request again, after a status or an error; nil never does.
	Retry func(status int, err error) bool

	repeated atomic.Int64
}

// Away says to send a request again that no server took: each may be gone, or about to.
func Away(status int, err error) bool { return err != nil || status == http.StatusServiceUnavailable }

// Busy says to send a request again that the server was too busy for.
func Busy(status int, err error) bool {
	return err == nil && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable)
}

// Repeated returns how many requests were sent again.
func (c *Client) Repeated() int64 { return c.repeated.Load() }

// Open sends a request and returns the response, whatever its status. Headers are names and values in turn.
func (c *Client) Open(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, method, c.URLs[rand.IntN(len(c.URLs))]+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		if c.Key != "" {
			req.Header.Set("Authorization", "Bearer "+c.Key)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		sender := c.HTTP
		if sender == nil {
			sender = http.DefaultClient
		}
		resp, err := sender.Do(req)
		status := 0
		if err == nil {
			status = resp.StatusCode
		}
		if c.Retry == nil || !c.Retry(status, err) {
			return resp, err
		}
		if err == nil {
			resp.Body.Close()
		}
		if err := c.pause(ctx, method, path, status, err); err != nil {
			return nil, err
		}
	}
}

// retryPause is how long a client waits before it sends a request again.
const retryPause = 20 * time.Millisecond

// pause waits before a request is sent again.
func (c *Client) pause(ctx context.Context, method, path string, status int, cause error) error {
	c.repeated.Add(1)
	timer := time.NewTimer(retryPause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s %s: %w; last status %d, error %v", method, path, ctx.Err(), status, cause)
	}
}

// Answer is a whole response.
type Answer struct {
	Status int
	Header http.Header
	Text   string

	request string
}

// Send sends a request and returns the whole response, of a stream too.
func (c *Client) Send(ctx context.Context, method, path, body string, headers ...string) (*Answer, error) {
	for {
		resp, err := c.Open(ctx, method, path, body, headers...)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err == nil {
			return &Answer{resp.StatusCode, resp.Header, string(data), method + " " + path}, nil
		}
		if c.Retry == nil || !c.Retry(0, err) {
			return nil, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if err := c.pause(ctx, method, path, resp.StatusCode, err); err != nil { // it died while it answered
			return nil, err
		}
	}
}

// Ask sends a request, and decodes the response, which must have status 200, 201, 202 or 204, into out, if that is not nil.
func (c *Client) Ask(ctx context.Context, method, path, body string, out any, headers ...string) error {
	a, err := c.Send(ctx, method, path, body, headers...)
	if err != nil {
		return err
	}
	if err := a.Want(http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent); err != nil || out == nil {
		return err
	}
	return a.Into(out)
}

// Want returns an error unless the response has one of the wanted statuses.
func (a *Answer) Want(statuses ...int) error {
	if !slices.Contains(statuses, a.Status) {
		return &StatusError{a.request, a.Status, a.Text}
	}
	return nil
}

// Into decodes the response.
func (a *Answer) Into(out any) error {
	if err := json.Unmarshal([]byte(a.Text), out); err != nil {
		return fmt.Errorf("%s: %w in %.300s", a.request, err, a.Text)
	}
	return nil
}

// StatusError is the error of a response that the client does not want.
type StatusError struct {
	Request string
	Status  int
	Text    string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: status %d: %.600s", e.Request, e.Status, e.Text)
}

// RunBody returns the body of POST /v1/runs. Thread may be "".
func RunBody(agent, thread, text string) string {
	req := map[string]any{"agent_id": agent, "messages": []any{map[string]string{"role": "user", "content": text}}}
	if thread != "" {
		req["thread_id"] = thread
	}
	data, _ := json.Marshal(req) // of strings, which always succeeds
	return string(data)
}
