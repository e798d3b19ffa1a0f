//go:build linux

package soaktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/awaken-go/awaken/internal/rigtest"
)

// load is the clients of a server.
type load struct {
	*rigtest.Client
	ids  atomic.Int64
	idle chan *conversation

	mu    sync.Mutex
	waits map[string][]time.Duration // since the last report: for the first event, or the answer
	runs  int                        // followed to their end
	made  map[string]int             // stories told, by name
}

// conversation is a chat that has several turns and is then deleted.
type conversation struct {
	id    string
	turns int
}

// story is something that a client does. Each returns when its runs are over.
type story struct {
	name   string
	weight int
	tell   func(l *load, ctx context.Context) error
}

var stories = []story{
	{"run", 30, func(l *load, ctx context.Context) error {
		id := l.id("run")
		return errors.Join(l.run(ctx, id, "say 20"), l.remove(ctx, id))
	}},
	{"ai-sdk", 20, (*load).aiSDK},
	{"ag-ui", 15, (*load).agUI},
	{"tools", 6, func(l *load, ctx context.Context) error {
		id := l.id("tools")
		return errors.Join(l.run(ctx, id, `get_weather {"location":"Paris"}`), l.run(ctx, id, `progress_demo {"steps":2,"delay_ms":5}`), l.remove(ctx, id))
	}},
	{"decision", 8, (*load).decision},
	{"cancel", 5, (*load).cancel},
	{"interrupt", 5, (*load).interrupt},
	{"background", 6, (*load).background},
	{"lists", 5, (*load).lists},
	{"publication", 1, (*load).publish},
}

// pick returns a story.
func pick() *story {
	all := 0
	for i := range stories {
		all += stories[i].weight
	}
	n := rand.IntN(all)
	for i := range stories {
		if n -= stories[i].weight; n < 0 {
			return &stories[i]
		}
	}
	return &stories[0]
}

func (l *load) id(kind string) string { return fmt.Sprintf("%s-%d", kind, l.ids.Add(1)) }

// waited notes how long a client waited.
func (l *load) waited(what string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits[what] = append(l.waits[what], d)
}

// ask sends a request and decodes the answer, which has the wanted status.
func (l *load) ask(ctx context.Context, want int, method, path, body string, out any) error {
	start := time.Now()
	a, err := l.Send(ctx, method, path, body)
	if err != nil {
		return err
	}
	if err := a.Want(want); err != nil {
		return err
	}
	if method == "GET" {
		l.waited("answer", time.Since(start))
	}
	if out == nil {
		return nil
	}
	return a.Into(out)
}

// stream sends a request whose response is a stream, and calls each for the data of every frame. The
// stream is complete if one of the frames contains the text end; the client does not read on after a
// question.
func (l *load) stream(ctx context.Context, path, body, end string, each func(header http.Header, data string) error) error {
	start := time.Now()
	resp, err := l.Open(ctx, "POST", path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		data, _ := io.ReadAll(resp.Body)
		return fmt.Errorf("POST %s: %s %.300s", path, resp.Status, data)
	}
	first, complete, last := true, false, ""
	for f, err := range rigtest.Frames(resp.Body) {
		if err != nil {
			break // which is not complete
		}
		data := f.Data
		if first {
			first = false
			l.waited("first event", time.Since(start))
		}
		if each != nil {
			if err := each(resp.Header, data); err != nil {
				return err
			}
		}
		if complete, last = complete || strings.Contains(data, end), data; complete && end == suspended {
			break
		}
	}
	if !complete {
		return fmt.Errorf("POST %s: the stream ended without %s, after %.2000s", path, end, last)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs++
	return nil
}

// suspended is in the frame of a run that waits for a decision.
const suspended = `"termination":{"type":"suspended"`

// run runs an agent to its natural end.
func (l *load) run(ctx context.Context, thread, text string) error {
	return l.stream(ctx, "/v1/runs", rigtest.RunBody("default", thread, text), `"natural_end"`, nil)
}

// remove deletes a thread, mostly: some are left.
func (l *load) remove(ctx context.Context, thread string) error {
	if rand.IntN(20) == 0 {
		return nil
	}
	return l.ask(ctx, http.StatusNoContent, "DELETE", "/v1/threads/"+thread, "", nil)
}

// turn takes a conversation that no client uses, or begins one.
func (l *load) turn(kind string) *conversation {
	for range 8 {
		select {
		case c := <-l.idle:
			if strings.HasPrefix(c.id, kind) {
				return c
			}
			l.idle <- c
		default:
		}
	}
	return &conversation{id: l.id(kind)}
}

// done gives a conversation back, or deletes it after twenty turns.
func (l *load) done(ctx context.Context, c *conversation) error {
	if c.turns++; c.turns < 20 {
		select {
		case l.idle <- c:
			return nil
		default:
		}
	}
	return l.remove(ctx, c.id)
}

// aiSDK is one turn of a page.
func (l *load) aiSDK(ctx context.Context) error {
	c := l.turn("ai-sdk")
	text := fmt.Sprintf(`{"id":%q,"messages":[{"id":%q,"role":"user","parts":[{"type":"text","text":"say 20"}]}],"trigger":"submit-message"}`, c.id, l.id("m"))
	if err := l.stream(ctx, "/v1/ai-sdk/chat", text, `[DONE]`, nil); err != nil {
		return err
	}
	return l.done(ctx, c)
}

// agUI is one turn of an AG-UI client.
func (l *load) agUI(ctx context.Context) error {
	c := l.turn("ag-ui")
	text := fmt.Sprintf(`{"threadId":%q,"runId":%q,"messages":[{"id":%q,"role":"user","content":"say 20"}],"tools":[],"context":[],"state":{},"forwardedProps":{}}`, c.id, l.id("ag-run"), l.id("m"))
	if err := l.stream(ctx, "/v1/ag-ui/agents/default/runs", text, `RUN_FINISHED`, nil); err != nil {
		return err
	}
	return l.done(ctx, c)
}

// decision approves a tool with an effect.
func (l *load) decision(ctx context.Context) error {
	thread, runID, call := l.id("decision"), "", ""
	err := l.stream(ctx, "/v1/runs", rigtest.RunBody("default", thread, `delete_file {"path":"a"}`), suspended, func(h http.Header, data string) error {
		var ev struct {
			Result struct {
				Waiting *struct {
					Tickets []struct {
						ToolCallID string `json:"tool_call_id"`
					} `json:"tickets"`
				} `json:"waiting"`
			} `json:"result"`
		}
		runID = h.Get("X-Run-Id")
		if strings.Contains(data, `"run_finish"`) && json.Unmarshal([]byte(data), &ev) == nil && ev.Result.Waiting != nil {
			call = ev.Result.Waiting.Tickets[0].ToolCallID
		}
		return nil
	})
	if err != nil {
		return err
	}
	decision := fmt.Sprintf(`{"tool_call_id":%q,"action":"resume"}`, call)
	if err := l.ask(ctx, http.StatusAccepted, "POST", "/v1/runs/"+runID+"/decision", decision, nil); err != nil {
		return err
	}
	return errors.Join(l.ended(ctx, runID, "natural_end"), l.remove(ctx, thread))
}

// ended waits for the end of a run.
func (l *load) ended(ctx context.Context, runID, termination string) error {
	for {
		var run struct {
			Status      string `json:"status"`
			Termination struct {
				Type string `json:"type"`
			} `json:"termination_reason"`
		}
		if err := l.ask(ctx, http.StatusOK, "GET", "/v1/runs/"+runID, "", &run); err != nil {
			return err
		}
		if run.Status == "done" {
			if run.Termination.Type != termination {
				return fmt.Errorf("run %s ended with %q, want %q", runID, run.Termination.Type, termination)
			}
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("run %s is %s: %w", runID, run.Status, ctx.Err())
		}
	}
}

// cancel cancels an answer that takes long.
func (l *load) cancel(ctx context.Context) error {
	thread, asked := l.id("cancel"), false
	err := l.stream(ctx, "/v1/runs", rigtest.RunBody("default", thread, "say 2000"), `"cancelled"`, func(h http.Header, data string) error {
		if asked || !strings.Contains(data, `"text_delta"`) {
			return nil
		}
		asked = true
		return l.ask(ctx, http.StatusAccepted, "POST", "/v1/runs/"+h.Get("X-Run-Id")+"/cancel", "", nil)
	})
	return errors.Join(err, l.remove(ctx, thread))
}

// interrupt says something else while the agent answers.
func (l *load) interrupt(ctx context.Context) error {
	thread := l.id("interrupt")
	var second chan error
	first := l.stream(ctx, "/v1/runs", rigtest.RunBody("default", thread, "say 2000"), `"cancelled"`, func(_ http.Header, data string) error {
		if second == nil && strings.Contains(data, `"text_delta"`) {
			second = make(chan error, 1)
			go func() { second <- l.run(ctx, thread, "say 5") }()
		}
		return nil
	})
	if second != nil {
		first = errors.Join(first, <-second)
	}
	return errors.Join(first, l.remove(ctx, thread))
}

// background queues runs on one thread and waits for the last.
func (l *load) background(ctx context.Context) error {
	thread := l.id("background")
	var made struct {
		RunID string `json:"run_id"`
	}
	for range 3 {
		if err := l.ask(ctx, http.StatusCreated, "POST", "/v1/threads/"+thread+"/mailbox", `{"payload":{"text":"say 5"}}`, &made); err != nil {
			return err
		}
	}
	return errors.Join(l.ended(ctx, made.RunID, "natural_end"), l.remove(ctx, thread))
}

// lists reads what a console shows.
func (l *load) lists(ctx context.Context) error {
	for _, path := range []string{"/v1/threads/summaries?limit=50", "/v1/runs?status=done&limit=50", "/v1/runs?status=running", "/v1/dead-letters", "/v1/config/agents", "/metrics"} {
		var out any
		if path == "/metrics" {
			out = nil
		} else {
			out = new(map[string]any)
		}
		if err := l.ask(ctx, http.StatusOK, "GET", path, "", out); err != nil {
			return err
		}
	}
	return nil
}

// publish changes an agent.
func (l *load) publish(ctx context.Context) error {
	id := fmt.Sprint("soak-", rand.IntN(5))
	doc := fmt.Sprintf(`{"id":%q,"model_id":"default","system_prompt":"You are number %d."}`, id, l.ids.Add(1))
	return l.ask(ctx, http.StatusOK, "PUT", "/v1/config/agents/"+id, doc, nil)
}
