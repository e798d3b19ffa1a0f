package providertest

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/internal/bubbletest"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/provider"
	"github.com/awaken-go/awaken/store/memory"
)

// FaultTable is the Markdown table of how a run ends when its provider fails. [Faults] tests that
// it is true.
//
//go:embed faults.md
var FaultTable string

// Faults runs an agent against a provider with every fault: without retries, with retries and a
// fault that happens once, and with retries and a permanent fault. It checks that each run ends
// as [FaultTable] says, that what was streamed is what is stored, that nothing is in the
// conversation twice, and that a tool is called at most once. The network is in memory and the
// clock is fake, so that waits are measured and take no time.
func Faults(t *testing.T, a Adapter) {
	var mu sync.Mutex
	rows := map[string]string{}
	t.Run("rows", func(t *testing.T) {
		for _, f := range faults() {
			if slices.ContainsFunc(f.needs, func(p Power) bool { return slices.Contains(a.Cannot, p) }) {
				continue
			}
			t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
				t.Parallel()
				row := a.live(t, f)
				mu.Lock()
				defer mu.Unlock()
				rows[f.name] = row
			})
		}
	})
	head, _, _ := strings.Cut(FaultTable, "\n| connection refused")
	seen := []string{head}
	for _, f := range faults() {
		row := rows[f.name]
		if row == "" {
			continue
		}
		seen = append(seen, row)
		if !strings.Contains(FaultTable, "\n"+row+"\n") {
			t.Errorf("the table of faults does not have the row\n%s", row)
		}
	}
	t.Logf("%s:\n%s", a.Provider, strings.Join(seen, "\n"))
}

// fault is a way in which a request fails.
type fault struct {
	name  string
	needs []Power
	calls bool // the model calls a tool; otherwise it tells a story
	// script returns what the provider does on request n, counting from 0. Nil means that the
	// provider is unreachable.
	script func(a *Adapter, n int) script
	want   llm.Error     // the kind and the retry delay that a retry policy sees
	lasts  time.Duration // until the adapter notices
}

// The story, in pieces. A request that is interrupted has sent the first.
var story = []string{"Once ", "upon ", "a ", "time."}

func faults() []fault {
	status := func(status int, kind llm.Kind, header func() map[string]string) func(*Adapter, int) script {
		return func(a *Adapter, _ int) script {
			h := map[string]string{"Content-Type": "application/json"}
			if header != nil {
				for k, v := range header() {
					h[k] = v
				}
			}
			return script{status: status, header: h, frames: [][]byte{a.ErrorBody(Failure{Kind: kind, Status: status, Message: "not now"})}}
		}
	}
	// after returns a reply that starts and then ends like this.
	after := func(part func(n int) Part, end func(*server, *http.Request), more ...string) func(*Adapter, int) script {
		return func(a *Adapter, n int) script {
			parts, last := a.Speak(Reply{Parts: []Part{part(n)}, Finish: llm.EndTurn})
			for _, m := range more {
				parts = append(parts, []byte(m))
			}
			if len(more) > 0 {
				parts = append(parts, last...)
			}
			return script{frames: parts, end: end}
		}
	}
	tells := func(n int) Part { return text(story[n]) }
	thinks := func(int) Part { return Part{Reasoning: []string{"Let me ", "think"}} }
	asks := func(int) Part { return Part{Call: &Call{"call_1", "look", []string{`{"at":`, `"the`}}} }
	const idle = 60 * time.Second
	return []fault{
		{name: "connection refused", want: llm.Error{Kind: llm.Provider}},
		{name: "reset before an answer", want: llm.Error{Kind: llm.Provider}, script: func(*Adapter, int) script { return script{refuse: true} }},
		{name: "no answer", want: llm.Error{Kind: llm.Timeout}, script: func(*Adapter, int) script { return script{silence: true} }, lasts: provider.DefaultTimeout},
		{name: "reset in text", want: llm.Error{Kind: llm.Interrupted}, script: after(tells, reset)},
		{name: "reset in a call", want: llm.Error{Kind: llm.Interrupted}, script: after(asks, reset), calls: true, needs: []Power{ArgumentText}},
		{name: "reset in reasoning", want: llm.Error{Kind: llm.Interrupted}, script: after(thinks, reset), needs: []Power{Reasoning}},
		{name: "end without a finish", want: llm.Error{Kind: llm.Interrupted}, script: after(tells, nil), needs: []Power{FinishSays}},
		{name: "silence in text", want: llm.Error{Kind: llm.Timeout}, script: after(tells, stall), lasts: idle},
		{name: "error in the middle of text", want: llm.Error{Kind: llm.Overloaded}, script: func(a *Adapter, n int) script {
			parts, _ := a.Speak(Reply{Parts: []Part{tells(n)}})
			return script{frames: append(parts, a.ErrorFrame(Failure{llm.Overloaded, 503, "no capacity"}))}
		}, needs: []Power{MidStreamErrors}},
		{name: "429", want: llm.Error{Kind: llm.RateLimited}, script: status(429, llm.RateLimited, nil)},
		{name: "429, `Retry-After: 20`", want: llm.Error{Kind: llm.RateLimited, RetryAfter: 20 * time.Second}, script: status(429, llm.RateLimited, func() map[string]string { return map[string]string{"Retry-After": "20"} })},
		{name: "429, `Retry-After` with the date in 20 s", want: llm.Error{Kind: llm.RateLimited, RetryAfter: 20 * time.Second}, script: status(429, llm.RateLimited, func() map[string]string {
			return map[string]string{"Retry-After": time.Now().Add(20*time.Second + 999*time.Millisecond).UTC().Format(http.TimeFormat)}
		})},
		{name: "429, `Retry-After: 3600`", want: llm.Error{Kind: llm.RateLimited, RetryAfter: time.Hour}, script: status(429, llm.RateLimited, func() map[string]string { return map[string]string{"Retry-After": "3600"} })},
		{name: "500", want: llm.Error{Kind: llm.Provider}, script: status(500, llm.Provider, nil)},
		{name: "503", want: llm.Error{Kind: llm.Overloaded}, script: status(503, llm.Overloaded, nil)},
		{name: "529", want: llm.Error{Kind: llm.Overloaded}, script: status(529, llm.Overloaded, nil)},
		{name: "400", want: llm.Error{Kind: llm.InvalidRequest}, script: status(400, llm.InvalidRequest, nil)},
		{name: "401", want: llm.Error{Kind: llm.Unauthorized}, script: status(401, llm.Unauthorized, nil)},
		{name: "an event that is not JSON", want: llm.Error{Kind: llm.Interrupted}, script: after(tells, nil, "data: <html>\n\n")},
		{name: "an event with half its JSON", want: llm.Error{Kind: llm.Interrupted}, script: func(a *Adapter, n int) script {
			parts, end := a.Speak(Reply{Parts: []Part{text(story[n], "lost")}, Finish: llm.EndTurn})
			half := bytes.TrimRight(parts[len(parts)-1], "\n")
			if i := slices.IndexFunc(parts, func(p []byte) bool { return bytes.Contains(p, []byte("lost")) }); i >= 0 {
				half, parts = bytes.TrimRight(parts[i], "\n"), parts[:i+1]
			}
			parts[len(parts)-1] = append(bytes.Clone(half[:len(half)-7]), "\n\n"...)
			return script{frames: append(parts, end...)}
		}},
		{name: "200 with a page of HTML", want: llm.Error{Kind: llm.Provider}, script: func(*Adapter, int) script {
			return script{header: map[string]string{"Content-Type": "text/html"}, frames: [][]byte{[]byte("<html>Log in</html>")}}
		}},
	}
}

// live runs the agent with a fault three times and returns the fault's row of the table.
func (a *Adapter) live(t *testing.T, f fault) string {
	const off, on = `{"max_retries":0,"max_stream_retries":0}`, `{"max_retries":2,"max_stream_retries":2}`
	cells := []string{f.name, ""}
	for _, c := range []struct {
		retry string
		times int
	}{{off, 1}, {on, 1}, {on, 1000}} {
		bubbletest.Test(t, func(t *testing.T) {
			l := &life{t: t, a: a, f: f, times: c.times}
			l.run(c.retry)
			if l.rec.Err != nil {
				equal(t, "kind", llm.KindOf(l.rec.Err), f.want.Kind)
				cells[1] = "`" + string(llm.KindOf(l.rec.Err)) + "`"
			}
			cells = append(cells, l.String())
		})
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// life is one run.
type life struct {
	t     *testing.T
	a     *Adapter
	f     fault
	times int // how often the fault happens

	network *network
	asked   atomic.Int32 // requests
	looked  int          // calls of the tool
	rec     recording
	took    time.Duration
	kept    string // the model's text that is in the conversation
	thought bool   // a reply has only reasoning
}

func (l *life) run(retry string) {
	t := l.t
	l.network = listen(http.HandlerFunc(l.serve))
	defer l.network.close()
	model := l.a.Open(t, provider.Config{APIKey: key, BaseURL: "http://provider.test", HTTPClient: &http.Client{Transport: l}})
	tool := awaken.NewTool(awaken.ToolSpec{ID: "look", Description: "Looks at something.", Effect: awaken.Effectful},
		func(_ context.Context, _ *awaken.ToolCall, in struct {
			At string `json:"at"`
		}) (string, error) {
			l.looked++
			return "seen " + in.At, nil
		})
	store := memory.New()
	rt, err := engine.New(engine.Config{
		Agents:    []*awaken.AgentSpec{{ID: engine.DefaultAgentID, ModelID: "m", Sections: map[string]json.RawMessage{"retry": json.RawMessage(retry)}}},
		Models:    []awaken.ModelSpec{{ID: "m", ProviderID: "p", UpstreamModel: l.a.Model}},
		Providers: map[string]llm.Model{"p": model},
		Tools:     []awaken.Tool{tool},
		Store:     store,
	})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	l.rec.Result, l.rec.Err = rt.Run(t.Context(), awaken.RunRequest{Messages: []*llm.Message{llm.UserText("Go on.")}}, &l.rec)
	l.took = time.Since(began)
	if l.rec.Result == nil {
		t.Fatal(l.rec.Err)
	}
	log, err := store.Messages(t.Context(), l.rec.Result.ThreadID, awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var msgs []*llm.Message
	for _, r := range log {
		msgs = append(msgs, r.Message)
	}
	l.check(msgs)
}

// recording is the result of a run and what it streamed.
type recording struct {
	Result *awaken.RunResult
	Err    error
	text   string // streamed and not retracted
	step   string // the part of text from the current step
}

// Emit implements awaken.Sink.
func (r *recording) Emit(_ context.Context, e awaken.Entry) error {
	switch ev := e.Event.(type) {
	case *awaken.TextDelta:
		r.step += ev.Delta
	case *awaken.StreamReset:
		r.step = ""
	case *awaken.StepEnd:
		r.text, r.step = r.text+r.step, ""
	}
	return nil
}

// RoundTrip counts requests, and refuses the connection if the provider is unreachable.
func (l *life) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := int(l.asked.Add(1)); l.f.script == nil && n <= l.times {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return l.network.transport.RoundTrip(r)
}

// serve is the provider: it fails as often as configured and then sends the rest.
func (l *life) serve(w http.ResponseWriter, r *http.Request) {
	if n := int(l.asked.Load()); l.f.script != nil && n <= l.times {
		s := &server{script: l.f.script(l.a, min(n-1, len(story)-1)), gone: make(chan time.Time, 1), patience: time.Hour}
		s.serve(w, r)
		return
	}
	body, _ := io.ReadAll(r.Body)
	asked, err := l.a.Read(r, body)
	if err == nil {
		err = paired(asked)
	}
	if err != nil {
		l.t.Errorf("the provider would refuse this: %v\n%s", err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	last := asked.Turns[len(asked.Turns)-1]
	reply := says(story...)
	switch {
	case last.Role == llm.ToolRole:
		reply = says("Seen.")
	case l.f.calls:
		reply = calls(Call{"call_1", "look", []string{`{"at":`, `"the moon"}`}})
	case strings.Contains(last.Text, "Continue exactly where it stopped"):
		reply = says(story[1:]...)
	}
	parts, end := l.a.Speak(reply)
	s := &server{script: script{frames: slices.Concat(parts, end)}}
	s.follow(w, r)
}

// check checks the conversation against what Faults promises.
func (l *life) check(msgs []*llm.Message) {
	t := l.t
	t.Helper()
	var got []string
	for _, m := range msgs {
		got = append(got, string(m.Role)+": "+m.Text())
		for _, c := range m.ToolCalls {
			got = append(got, "call: "+string(c.Arguments))
		}
		if m.Role != llm.Assistant {
			continue
		}
		l.kept += m.Text()
		if l.rec.Err != nil && (m.Metadata == nil || !m.Metadata.Interrupted) {
			t.Errorf("an answer is not marked as interrupted: %+v", m)
		}
		l.thought = l.thought || !slices.ContainsFunc(m.Content, func(b llm.Block) bool { return b.Type != llm.ThinkingBlock }) && len(m.ToolCalls) == 0
	}
	equal(t, "the text that was streamed is what is stored", l.rec.text+l.rec.step, l.kept)
	switch failed := l.rec.Err != nil; {
	case failed && l.kept == "" && !l.thought:
		equal(t, "conversation", got, []string{"user: Go on."})
		equal(t, "calls of the tool", l.looked, 0)
	case failed:
		equal(t, "conversation", got, []string{"user: Go on.", "assistant: " + l.kept})
		if !strings.HasPrefix(strings.Join(story, ""), l.kept) {
			t.Errorf("the conversation has %q, which is no beginning of the story", l.kept)
		}
	case l.f.calls:
		equal(t, "conversation", got, []string{"user: Go on.", "assistant: ", `call: {"at":"the moon"}`, "tool: seen the moon", "assistant: Seen."})
		equal(t, "calls of the tool", l.looked, 1)
	default:
		equal(t, "conversation", got, []string{"user: Go on.", "assistant: " + strings.Join(story, "")})
	}
	if l.rec.Err == nil && l.rec.Result.Termination.Type != awaken.NaturalEnd {
		t.Errorf("termination: %+v", l.rec.Result.Termination)
	}
}

// String returns how the run ended, after how many requests and which wait. The wait has jitter;
// String returns the required minimum.
func (l *life) String() string {
	asked := int(l.asked.Load())
	how := "ends well"
	if l.rec.Err != nil {
		how = "fails"
	}
	if l.f.calls && l.looked > 0 {
		asked-- // the one with the tool's result
	}
	out := fmt.Sprintf("%s, %d %s", how, asked, map[bool]string{true: "request", false: "requests"}[asked == 1])
	failures := min(asked, l.times)
	waited := l.took - time.Duration(failures)*l.f.lasts
	var least time.Duration // according to the policy
	for n := range asked - 1 {
		least += llm.DefaultRetry.Admission(n, &l.f.want).After
	}
	if waited < least || waited > least+least/4+time.Second {
		l.t.Errorf("it waited for %s, want %s and up to a quarter more", waited, least)
	}
	if least > 0 {
		out += fmt.Sprintf(", waits %v s", least.Seconds())
	}
	switch {
	case l.rec.Err != nil && l.kept != "":
		out += ", keeps “" + strings.TrimSpace(l.kept) + "”"
	case l.thought:
		out += ", keeps the reasoning"
	}
	return out
}

// network connects to a server through memory, so that it works in a testing/synctest bubble.
type network struct {
	transport *http.Transport
	server    *http.Server
	conns     chan net.Conn
	closed    chan struct{}
}

// listen serves h.
func listen(h http.Handler) *network {
	n := &network{server: &http.Server{Handler: h}, conns: make(chan net.Conn), closed: make(chan struct{})}
	n.transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		select {
		case n.conns <- there:
			return here, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	go func() { _ = n.server.Serve(n) }()
	return n
}

func (n *network) close() {
	n.transport.CloseIdleConnections()
	n.server.Close()
	synctest.Wait()
}

// Accept, Close and Addr implement net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case c := <-n.conns:
		return c, nil
	case <-n.closed:
		return nil, errors.New("closed")
	}
}

func (n *network) Close() error {
	close(n.closed)
	return nil
}

func (n *network) Addr() net.Addr { return &net.TCPAddr{} }
