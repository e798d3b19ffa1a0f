//go:build unix

package killtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/internal/rigtest"
)

// client follows runs on servers, any of which may be gone, and does not give up before ctx.
type client struct {
	*rigtest.Client
	heard func(t *transcript) // an event of the run has arrived; may be nil
}

func newClient(servers ...*process) *client {
	c := &rigtest.Client{Retry: rigtest.Away, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, ResponseHeaderTimeout: 5 * time.Second}}}
	for _, p := range servers {
		c.URLs = append(c.URLs, "http://"+p.job.Address)
	}
	return &client{Client: c}
}

// mail submits a run, and returns its id.
func (c *client) mail(ctx context.Context, key, threadID, message string) (runID string, err error) {
	var made struct {
		RunID string `json:"run_id"`
	}
	err = c.Ask(ctx, "POST", "/v1/threads/"+threadID+"/mailbox", fmt.Sprintf(`{"payload":{"text":%q}}`, message), &made, "Idempotency-Key", key)
	return made.RunID, err
}

// status returns the status of a run.
func (c *client) status(ctx context.Context, runID string) (string, error) {
	var run struct {
		Status string `json:"status"`
	}
	err := c.Ask(ctx, "GET", "/v1/runs/"+runID, "", &run)
	return run.Status, err
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
	var ids [2]string
	for i := range ids { // a client that heard nothing asks again
		var err error
		if ids[i], err = c.mail(ctx, key, threadID, message); err != nil {
			return nil, err
		}
	}
	if ids[0] != ids[1] {
		return nil, fmt.Errorf("asked twice with one key: runs %s and %s", ids[0], ids[1])
	}
	t := &transcript{runID: ids[0], threadID: threadID, accepted: time.Now()}
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
	resp, err := c.Open(ctx, "POST", "/v1/runs", rigtest.RunBody("default", threadID, message), "Idempotency-Key", key)
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
	resp, err := c.Open(ctx, "GET", "/v1/runs/"+t.runID+"/events/stream?cursor="+after.String(), "")
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
	for f, err := range rigtest.Frames(body) {
		if err != nil {
			break // the next stream continues it
		}
		if err := c.take(ctx, t, f.ID, f.Data); err != nil || t.over {
			return err
		}
	}
	return nil
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
		a, err := c.Send(ctx, "POST", "/v1/runs/"+t.runID+"/decision", body)
		if err != nil {
			return err
		}
		if err := a.Want(http.StatusAccepted, http.StatusConflict); err != nil {
			return err
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
		if err := c.Ask(ctx, "GET", "/v1/runs/"+runID+"/events?limit=200&cursor="+cursor, "", &page); err != nil {
			return nil, err
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
