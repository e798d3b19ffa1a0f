//go:build unix

package doubttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// client reads the routes of a server.
type client struct {
	base string
	http *http.Client
}

// talker talks to an agent as a client of one protocol. Each method returns what the client has heard.
type talker interface {
	// say sends a message to a thread. IDs of messages are the client's.
	say(ctx context.Context, thread, id, text string) (string, error)
	// answer decides a question.
	answer(ctx context.Context, k *ticket, yes bool) (string, error)
	cancel(ctx context.Context, thread, run string) (string, error)
}

// chooser is a talker whose threads get their ids from the server.
type chooser interface {
	// thread returns the thread of the first message.
	thread(ctx context.Context) (string, error)
}

// listener is a talker that hears more than answers.
type listener interface {
	heard() []string
}

// protocol makes talkers.
type protocol struct {
	name string
	// joins says that a message to a run that waits becomes part of that run.
	joins bool
	talk  func(c *client, editors, receiver string) talker
}

// protocols are the protocols by which clients talk to agents.
var protocols = slices.Concat(overHTTP, []protocol{
	{"chat", false, func(c *client, _, _ string) talker { return &chat{client: c} }},
	{"mcp", true, func(c *client, _, _ string) talker { return &mcpClient{client: c} }},
	{"acp", false, func(_ *client, editors, _ string) talker { return &editor{address: editors} }},
})

// ticket is a question that a run waits for.
type ticket struct {
	Thread, Run string
	ID          string `json:"ticket_id"`
	Call        string `json:"tool_call_id"`
	Tool        string `json:"tool_name"`
}

type object = map[string]any
type list = []any

// posts is a protocol whose requests are POSTs. Each function returns the path and the body of one.
type posts struct {
	say    func(thread, id, text string) (string, any)
	answer func(k *ticket, yes bool) (string, any)
	cancel func(thread, run string) string
}

// poster is a client of such a protocol.
type poster struct {
	*client
	posts
}

func (p *poster) say(ctx context.Context, thread, id, text string) (string, error) {
	path, body := p.posts.say(thread, id, text)
	return p.post(ctx, path, body)
}

func (p *poster) answer(ctx context.Context, k *ticket, yes bool) (string, error) {
	path, body := p.posts.answer(k, yes)
	return p.post(ctx, path, body)
}

func (p *poster) cancel(ctx context.Context, thread, run string) (string, error) {
	return p.post(ctx, p.posts.cancel(thread, run), object{})
}

func (p posts) talk(c *client, _, _ string) talker { return &poster{c, p} }

var overHTTP = []protocol{
	{"native", false, native.talk},
	{"aisdk", false, aiSDK.talk},
	{"agui", false, agUI.talk},
	{"a2a", false, func(c *client, _, receiver string) talker { return &poster{c, a2aPosts(receiver)} }},
	{"responses", false, responses.talk},
}

var (
	native = posts{func(thread, id, text string) (string, any) {
		return "/v1/runs", object{"agent_id": "default", "thread_id": thread, "messages": list{object{"id": id, "role": "user", "content": text}}}
	}, func(k *ticket, yes bool) (string, any) {
		if yes {
			return "/v1/runs/" + k.Run + "/decision", object{"tool_call_id": k.Call, "action": "resume"}
		}
		return "/v1/runs/" + k.Run + "/decision", object{"tool_call_id": k.Call, "action": "cancel", "reason": "no"}
	}, func(_, run string) string { return "/v1/runs/" + run + "/cancel" }}
	aiSDK = posts{func(thread, id, text string) (string, any) {
		return "/v1/ai-sdk/chat", object{"id": thread, "agentId": "default",
			"messages": list{object{"id": id, "role": "user", "parts": list{object{"type": "text", "text": text}}}}}
	}, func(k *ticket, yes bool) (string, any) {
		part := object{"type": "tool-" + k.Tool, "toolCallId": k.Call, "state": "approval-responded", "input": object{},
			"approval": object{"id": k.ID, "approved": yes, "reason": "said"}}
		return "/v1/ai-sdk/chat", object{"id": k.Thread, "messages": list{object{"id": "a", "role": "assistant", "parts": list{part}}}}
	}, func(thread, _ string) string { return "/v1/ai-sdk/threads/" + thread + "/cancel" }}
	agUI = posts{func(thread, id, text string) (string, any) {
		return "/v1/ag-ui/run", object{"threadId": thread, "runId": id, "agentId": "default",
			"messages": list{object{"id": id, "role": "user", "content": text}}}
	}, func(k *ticket, yes bool) (string, any) {
		return "/v1/ag-ui/run", object{"threadId": k.Thread, "agentId": "default", "resume": list{object{"interruptId": k.ID,
			"status": "resolved", "payload": object{"approved": yes}}}}
	}, func(thread, _ string) string { return "/v1/ag-ui/threads/" + thread + "/cancel" }}
	responses = posts{func(thread, _, text string) (string, any) {
		return "/openai/v1/responses", object{"model": "default", "conversation": thread, "stream": true, "input": text}
	}, func(k *ticket, yes bool) (string, any) {
		return "/openai/v1/responses", object{"model": "default", "previous_response_id": "resp_" + k.Run, "stream": true,
			"input": list{object{"type": "mcp_approval_response", "approval_request_id": "mcpr_" + k.Run + "." + k.ID, "approve": yes}}}
	}, func(_, run string) string { return "/openai/v1/responses/resp_" + run + "/cancel" }}
)

// a2aPosts returns the requests of A2A, whose clients get news of their tasks at receiver.
func a2aPosts(receiver string) posts {
	return posts{func(thread, id, text string) (string, any) {
		return "/v1/a2a/message:stream", object{"tenant": "default",
			"configuration": object{"taskPushNotificationConfig": object{"url": receiver}},
			"message":       object{"messageId": id, "contextId": thread, "role": "ROLE_USER", "parts": list{object{"text": text}}}}
	}, func(k *ticket, yes bool) (string, any) {
		return "/v1/a2a/message:stream", object{"tenant": "default", "message": object{"messageId": k.Run + k.ID, "taskId": k.Run,
			"role": "ROLE_USER", "parts": list{object{"data": object{"ticketId": k.ID, "approved": yes}}}}}
	}, func(_, run string) string { return "/v1/a2a/tasks/" + run + ":cancel" }}
}

// post sends a request and returns the whole answer, of a stream too.
func (c *client) post(ctx context.Context, path string, body any) (string, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	return c.do(ctx, "POST", path, data)
}

func (c *client) do(ctx context.Context, method, path string, body []byte) (string, error) {
	resp, err := c.open(ctx, method, path, body, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// open sends a request and returns the response, if it is no error.
func (c *client) open(ctx context.Context, method, path string, body []byte, headers map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", "1.0")
	req.Header.Set("Authorization", "Bearer "+adminKey)
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil || resp.StatusCode < 300 {
		return resp, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return nil, cmp.Or(err, error(&refusal{fmt.Sprintf("%s %s %s", method, path, body), resp.StatusCode, string(text)}))
}

// refusal is an error that the server answers with.
type refusal struct {
	request string
	status  int
	text    string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s: %d %s", r.request, r.status, r.text) }

// get reads a route into out, if that is not nil.
func (c *client) get(ctx context.Context, path string, out any) (string, error) {
	text, err := c.do(ctx, "GET", path, nil)
	if err == nil && out != nil {
		err = json.Unmarshal([]byte(text), out)
	}
	return text, err
}

// run is the record of a run.
type run struct {
	ID      string `json:"run_id"`
	Status  string `json:"status"`
	InDoubt int    `json:"in_doubt"`
	Waiting *struct {
		Tickets []ticket `json:"tickets"`
	} `json:"waiting"`
}

// runs returns the runs of a thread, the newest first.
func (c *client) runs(ctx context.Context, thread string) ([]run, error) {
	var page struct {
		Items []run `json:"items"`
	}
	_, err := c.get(ctx, "/v1/runs?thread_id="+thread, &page)
	return page.Items, err
}

// latest waits until the latest run of a thread has a status that is wanted.
func (c *client) latest(ctx context.Context, thread string, want ...string) (*run, error) {
	for {
		runs, err := c.runs(ctx, thread)
		if err != nil {
			return nil, err
		}
		if len(runs) > 0 && strings.Contains(strings.Join(want, " "), runs[0].Status) {
			return &runs[0], nil
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("thread %s does not become %s: %+v", thread, want, runs)
		}
	}
}

// asked waits until the run of a thread asks a question.
func (c *client) asked(ctx context.Context, thread string) (*ticket, error) {
	r, err := c.latest(ctx, thread, "waiting")
	if err != nil {
		return nil, err
	}
	if r.Waiting == nil || len(r.Waiting.Tickets) != 1 {
		return nil, fmt.Errorf("run %s waits for %+v, want one question", r.ID, r.Waiting)
	}
	k := &r.Waiting.Tickets[0]
	k.Thread, k.Run = thread, r.ID
	return k, nil
}
