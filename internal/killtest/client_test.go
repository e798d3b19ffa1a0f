//go:build unix

package killtest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/awaken-go/awaken"
)

// client talks to servers, any of which may be gone, and does not give up before ctx.
type client struct {
	servers []string
	http    *http.Client
	heard   func(t *transcript) // an event of the run has arrived; may be nil
}

func newClient(servers ...string) *client {
	return &client{servers: servers, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, ResponseHeaderTimeout: 5 * time.Second}}}
}

// do repeats a request until a server answers with something other than "retry later".
func (c *client) do(ctx context.Context, method, path, body string, headers ...string) (*http.Response, error) {
	for {
		req, err := http.NewRequestWithContext(ctx, method, c.servers[rand.IntN(len(c.servers))]+path, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		resp, err := c.http.Do(req)
		if err == nil && resp.StatusCode != http.StatusServiceUnavailable {
			return resp, nil
		}
		if err == nil {
			resp.Body.Close()
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// call sends a request and decodes the answer.
func (c *client) call(ctx context.Context, method, path, body string, out any, headers ...string) (int, error) {
	for {
		resp, err := c.do(ctx, method, path, body, headers...)
		if err != nil {
			return 0, err
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil {
			continue // it died while it answered
		}
		if resp.StatusCode >= 500 {
			return resp.StatusCode, fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, data)
		}
		if out != nil && resp.StatusCode < 300 {
			if err := json.Unmarshal(data, out); err != nil {
				return resp.StatusCode, fmt.Errorf("%s %s: %w in %s", method, path, err, data)
			}
		}
		return resp.StatusCode, nil
	}
}

// seen is an event as a client has it.
type seen struct {
	cursor awaken.Cursor
	data   string
}

// transcript is what a client has put together of a run.
type transcript struct {
	runID, threadID string
	events          []seen
	resets, cuts    int
	over            bool
	accepted, heard time.Time // when the client knew its run, and the last event arrived
}

// follow runs an agent and puts together what it says, however often the stream breaks,
// and answers what it asks. It returns when the run is over.
func (c *client) follow(ctx context.Context, key, threadID, message string) (*transcript, error) {
	var made, again struct {
		RunID string `json:"run_id"`
	}
	body := fmt.Sprintf(`{"payload":{"text":%q}}`, message)
	for _, out := range []any{&made, &again} { // a client that heard nothing asks again
		if status, err := c.call(ctx, "POST", "/v1/threads/"+threadID+"/mailbox", body, out, "Idempotency-Key", key); err != nil || status != 201 {
			return nil, fmt.Errorf("mailbox: %d, %w", status, err)
		}
	}
	if made != again {
		return nil, fmt.Errorf("asked twice with one key: runs %s and %s", made.RunID, again.RunID)
	}
	t := &transcript{runID: made.RunID, threadID: threadID, accepted: time.Now()}
	return t, c.finish(ctx, t)
}

// finish reads until the run is over.
func (c *client) finish(ctx context.Context, t *transcript) error {
	for !t.over {
		if err := c.read(ctx, t); err != nil {
			return err
		}
		t.cuts++
	}
	return nil
}

// chat runs an agent with POST /v1/runs, whose response is the stream, and puts together what it says.
// Begun, if not nil, is called once the run is known.
func (c *client) chat(ctx context.Context, key, threadID, message string, begun func(t *transcript)) (*transcript, error) {
	body := fmt.Sprintf(`{"agent_id":"default","thread_id":%q,"messages":[{"role":"user","content":%q}]}`, threadID, message)
	resp, err := c.do(ctx, "POST", "/v1/runs", body, "Idempotency-Key", key)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(resp.Body)
		return nil, fmt.Errorf("POST /v1/runs: %d %s", resp.StatusCode, data)
	}
	t := &transcript{runID: resp.Header.Get("X-Run-Id"), threadID: threadID, accepted: time.Now()}
	if begun != nil {
		begun(t)
	}
	if err := c.stream(ctx, t, resp.Body); err != nil {
		return t, err
	}
	return t, c.finish(ctx, t)
}

// read continues a transcript until its stream breaks or the run is over.
func (c *client) read(ctx context.Context, t *transcript) error {
	after := awaken.Cursor{}
	if n := len(t.events); n > 0 {
		after = t.events[n-1].cursor
	}
	resp, err := c.do(ctx, "GET", "/v1/runs/"+t.runID+"/events/stream?cursor="+after.String(), "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("stream of run %s after %s: %d %s", t.runID, after, resp.StatusCode, data)
	}
	return c.stream(ctx, t, resp.Body)
}

// stream takes events until the stream breaks or the run is over.
func (c *client) stream(ctx context.Context, t *transcript, body io.Reader) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	var id string
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil //nolint:nilerr // the stream broke; the next one continues it
		}
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = v
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		if err := c.take(ctx, t, id, data); err != nil || t.over {
			return err
		}
	}
}

// take adds an event to a transcript, and does what it asks for.
func (c *client) take(ctx context.Context, t *transcript, id, data string) error {
	at, err := awaken.ParseCursor(id)
	if err != nil {
		return err
	}
	var frame struct {
		Payload json.RawMessage `json:"payload"`
	}
	if err := json.Unmarshal([]byte(data), &frame); err != nil {
		return fmt.Errorf("%w in %s", err, data)
	}
	if frame.Payload == nil { // a stream of POST /v1/runs
		frame.Payload = json.RawMessage(data)
	}
	ev, err := awaken.UnmarshalEvent(frame.Payload)
	if err != nil {
		return fmt.Errorf("%w in %s", err, data)
	}
	if c.heard != nil {
		c.heard(t)
	}
	t.heard = time.Now()
	switch ev := ev.(type) {
	case *awaken.StreamReset:
		if ev.Cursor == "" {
			break
		}
		back, err := awaken.ParseCursor(ev.Cursor)
		if err != nil {
			return err
		}
		for len(t.events) > 0 && t.events[len(t.events)-1].cursor.Seq > back.Seq {
			t.events = t.events[:len(t.events)-1]
		}
		t.resets++
		return nil
	case *awaken.RunFinish:
		if ev.Termination.Type != awaken.Suspended {
			t.over = true
		} else if err := c.decide(ctx, t, ev); err != nil {
			return err
		}
	}
	if n := len(t.events); n > 0 && at.Seq <= t.events[n-1].cursor.Seq {
		return fmt.Errorf("run %s: event %s came after %s", t.runID, at, t.events[n-1].cursor)
	}
	t.events = append(t.events, seen{at, string(frame.Payload)})
	return nil
}

// decide answers everything that a run waits for.
func (c *client) decide(ctx context.Context, t *transcript, fin *awaken.RunFinish) error {
	if fin.Result == nil || fin.Result.Waiting == nil {
		return errors.New("a suspended run says not what it waits for")
	}
	for _, k := range fin.Result.Waiting.Tickets {
		body := fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","decision_id":%q}`, k.ToolCallID, "yes-"+k.TicketID)
		status, err := c.call(ctx, "POST", "/v1/runs/"+t.runID+"/decision", body, nil)
		if err != nil || status != 202 && status != 409 {
			return fmt.Errorf("decide %s of run %s: %d, %w", k.TicketID, t.runID, status, err)
		}
	}
	return nil
}

// log reads the log of a run, page by page.
func (c *client) log(ctx context.Context, runID string) ([]seen, error) {
	var out []seen
	for cursor := "0-0"; ; {
		var page struct {
			Items []struct {
				Payload        json.RawMessage `json:"payload"`
				CursorsByScope []struct {
					Cursor string `json:"cursor"`
				} `json:"cursors_by_scope"`
			} `json:"items"`
			NextCursor string `json:"next_cursor"`
			HasMore    bool   `json:"has_more"`
		}
		if status, err := c.call(ctx, "GET", "/v1/runs/"+runID+"/events?limit=200&cursor="+cursor, "", &page); err != nil || status != 200 {
			return nil, fmt.Errorf("events of run %s: %d, %w", runID, status, err)
		}
		for _, it := range page.Items {
			at, err := awaken.ParseCursor(it.CursorsByScope[0].Cursor)
			if err != nil {
				return nil, err
			}
			out = append(out, seen{at, string(it.Payload)})
		}
		if !page.HasMore {
			return out, nil
		}
		cursor = page.NextCursor
	}
}
