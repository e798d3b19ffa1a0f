package acp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/acp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// client is an editor in a test.
type client struct {
	t      testing.TB
	in     *io.PipeWriter
	served chan error
	// ask answers the requests of the agent. It is called in a goroutine of its own.
	ask func(method string, params json.RawMessage) (any, error)

	mu      sync.Mutex
	next    int
	waiting map[int]chan response
	updates []update
	seen    *sync.Cond
	lines   []string
	asked   []string // methods of the agent's requests
	dropped []string // requests that the agent has withdrawn
}

type response struct {
	Result json.RawMessage `json:"result"`
	Error  *acp.Failure    `json:"error"`
}

// update is a session/update.
type update struct {
	Session string
	Kind    string          `json:"sessionUpdate"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"toolCallId"`
	Title   string          `json:"title"`
	Tool    string          `json:"kind"`
	Status  string          `json:"status"`
	Entries []struct{ Content, Priority, Status string }
	Used    *int64          `json:"used"`
	Size    *int64          `json:"size"`
	Mode    string          `json:"currentModeId"`
	Message string          `json:"messageId"`
	Input   json.RawMessage `json:"rawInput"`
	Files   []struct {
		Path string `json:"path"`
		Line int    `json:"line"`
	} `json:"locations"`
}

// connect starts a connection to the queue of a rig.
func connect(t testing.TB, box *mailbox.Mailbox, change ...func(*acp.Config)) *client {
	t.Helper()
	in, write := io.Pipe()
	read, out := io.Pipe()
	c := &client{t: t, in: write, served: make(chan error, 1), waiting: map[int]chan response{}}
	c.seen = sync.NewCond(&c.mu)
	tenant := box.Tenant("")
	cfg := acp.Config{Tenant: tenant, Version: "test", Logger: slog.New(slog.DiscardHandler),
		Catalogue: func() acp.Catalogue { return tenant.Runtime.(*engine.Runtime).Registry() }}
	for _, fn := range change {
		fn(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := acp.Serve(ctx, cfg, in, out)
		_ = out.Close()
		c.served <- err
	}()
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		c.hear(read)
	}()
	t.Cleanup(func() {
		cancel()
		_ = write.Close()
		_ = read.Close()
		<-heard
	})
	return c
}

// begin connects and initializes.
func begin(t testing.TB, box *mailbox.Mailbox, capabilities string, change ...func(*acp.Config)) *client {
	t.Helper()
	c := connect(t, box, change...)
	c.must("initialize", fmt.Sprintf(`{"protocolVersion":1,"clientInfo":{"name":"test","version":"1"},"clientCapabilities":%s}`, capabilities))
	return c
}

// hear takes what the agent writes.
func (c *client) hear(r io.Reader) {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			c.mu.Lock()
			for _, w := range c.waiting {
				close(w)
			}
			c.waiting = nil
			c.seen.Broadcast()
			c.mu.Unlock()
			return
		}
		var m struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  string          `json:"method"`
			Params  json.RawMessage `json:"params"`
			response
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			c.t.Errorf("the agent writes %q: %v", line, err)
		}
		c.mu.Lock()
		c.lines = append(c.lines, line)
		switch {
		case m.Method == "session/update":
			var p struct {
				SessionID string `json:"sessionId"`
				Update    update `json:"update"`
			}
			if err := json.Unmarshal(m.Params, &p); err != nil {
				c.t.Errorf("%s: %v", line, err)
			}
			p.Update.Session = p.SessionID
			c.updates = append(c.updates, p.Update)
		case m.Method == "$/cancel_request":
			c.dropped = append(c.dropped, string(m.Params))
		case m.Method != "":
			c.asked = append(c.asked, m.Method)
			go c.respond(m.ID, m.Method, m.Params)
		default:
			var id int
			if json.Unmarshal(m.ID, &id) == nil && c.waiting[id] != nil {
				c.waiting[id] <- m.response
				delete(c.waiting, id)
			}
		}
		c.seen.Broadcast()
		c.mu.Unlock()
	}
}

// respond answers a request of the agent.
func (c *client) respond(id json.RawMessage, method string, params json.RawMessage) {
	c.mu.Lock()
	ask := c.ask
	c.mu.Unlock()
	var result any
	err := error(&acp.Failure{Code: -32601, Message: "not here"})
	if ask != nil {
		result, err = ask(method, params)
	}
	if err != nil {
		c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":%q}}`, id, err))
		return
	}
	if result == nil {
		return // the user is thinking
	}
	data, _ := json.Marshal(result)
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, data))
}

// line writes a line.
func (c *client) line(s string) { _, _ = io.WriteString(c.in, s+"\n") }

// send sends a request. The channel gets the response, and is closed if none comes.
func (c *client) send(method, params string) <-chan response {
	answer := make(chan response, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	if c.waiting == nil {
		close(answer)
	} else {
		c.waiting[id] = answer
	}
	c.mu.Unlock()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return answer
}

// call sends a request and returns the response.
func (c *client) call(method, params string) response {
	c.t.Helper()
	return c.wait(method, c.send(method, params))
}

func (c *client) wait(method string, answer <-chan response) response {
	c.t.Helper()
	select {
	case r, ok := <-answer:
		if !ok {
			c.t.Fatalf("%s: no answer", method)
		}
		return r
	case <-time.After(time.Minute):
		c.t.Fatalf("%s: no answer in a minute", method)
	}
	panic("unreachable")
}

// must sends a request and returns its result.
func (c *client) must(method, params string) json.RawMessage {
	c.t.Helper()
	r := c.call(method, params)
	if r.Error != nil {
		c.t.Fatalf("%s: %+v", method, r.Error)
	}
	return r.Result
}

// session begins a session with an agent.
func (c *client) session(agent string) string {
	c.t.Helper()
	var out struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(c.must("session/new", `{"cwd":"/src","mcpServers":[]}`), &out); err != nil {
		c.t.Fatal(err)
	}
	c.must("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":%q}`, out.SessionID, agent))
	return out.SessionID
}

func promptOf(session, text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, session, text)
}

// prompt sends a prompt and returns the reason why it ended.
func (c *client) prompt(session, text string) string {
	c.t.Helper()
	return stopped(c.t, c.must("session/prompt", promptOf(session, text)))
}

func stopped(t testing.TB, result json.RawMessage) string {
	t.Helper()
	var out struct {
		StopReason string `json:"stopReason"`
	}
	if err := json.Unmarshal(result, &out); err != nil {
		t.Fatal(err)
	}
	return out.StopReason
}

// all returns the updates of a session so far.
func (c *client) all(session string) (out []update) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, u := range c.updates {
		if u.Session == session {
			out = append(out, u)
		}
	}
	return out
}

// until waits until something is true of what the client has.
func (c *client) until(what string, ok func() bool) {
	c.t.Helper()
	over := time.AfterFunc(time.Minute, c.seen.Broadcast)
	defer over.Stop()
	began := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ok() {
		if time.Since(began) >= time.Minute || c.waiting == nil {
			c.t.Fatalf("never: %s\n%s", what, strings.Join(c.lines, ""))
		}
		c.seen.Wait()
	}
}

// transcript returns what a user sees of updates: texts, and the last state of calls.
func transcript(list []update) string {
	type line struct{ kind, message, text string }
	var out []line
	calls := map[string]int{}
	for _, u := range list {
		switch u.Kind {
		case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
			var b struct{ Type, Text string }
			_ = json.Unmarshal(u.Content, &b)
			if n := len(out) - 1; n >= 0 && out[n].kind == u.Kind && out[n].message == u.Message {
				out[n].text += b.Text
				continue
			}
			out = append(out, line{u.Kind, u.Message, b.Text})
		case "tool_call":
			if _, ok := calls[u.CallID]; !ok {
				calls[u.CallID] = len(out)
				out = append(out, line{"call " + u.Title, u.CallID, u.Status})
			}
		case "tool_call_update":
			l := &out[calls[u.CallID]]
			if u.Status != "" {
				l.text = u.Status
			}
			if u.Title != "" {
				l.kind = "call " + u.Title
			}
			if len(u.Content) > 0 {
				l.text = strings.Fields(l.text)[0] + " " + string(u.Content)
			}
		}
	}
	var b strings.Builder
	for _, l := range out {
		fmt.Fprintf(&b, "%s: %s\n", l.kind, l.text)
	}
	return b.String()
}

// choosing returns an ask that chooses an option of permission requests.
func choosing(option string) func(string, json.RawMessage) (any, error) {
	return func(method string, _ json.RawMessage) (any, error) {
		if method != "session/request_permission" {
			return nil, fmt.Errorf("unexpected %s", method)
		}
		return selected(option), nil
	}
}

func selected(option string) any {
	return map[string]any{"outcome": map[string]string{"outcome": "selected", "optionId": option}}
}

func newRig(t testing.TB) *protocoltest.Rig { return protocoltest.New(t, nil) }

func decisionsOf() mailbox.DecisionQuery { return mailbox.DecisionQuery{Limit: 10} }

// tick waits for other goroutines.
func tick() <-chan time.Time { return time.After(time.Millisecond) }

// idle reports whether the last run of a thread is not one that an editor began.
func idle(t testing.TB, g *protocoltest.Rig, thread string) bool {
	th, err := g.Box.Tenant("").Store.Thread(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	run, err := g.Box.Tenant("").Store.LoadRun(t.Context(), th.LatestRunID)
	return err == nil && run.Adapter != "acp" && run.Status == awaken.RunDone
}
