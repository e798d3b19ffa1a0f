package a2a_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// rig talks to servers as a client does, in both bindings.
type rig struct {
	*protocoltest.Rig
	rpc bool // whether it speaks JSON-RPC
}

func routes(tb testing.TB, cfg a2a.Config) []protocol.Route {
	tb.Helper()
	out, err := a2a.Routes(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

func newRig(tb testing.TB) *rig { return newRigWith(tb, a2a.Config{}, nil) }

// newRigWith returns a rig whose slow agent continues when a channel is closed.
func newRigWith(tb testing.TB, cfg a2a.Config, slow <-chan struct{}) *rig {
	tb.Helper()
	g := protocoltest.Idle(tb, routes(tb, cfg))
	g.Slow = slow
	g.Box, g.URL = g.Start(true)
	return &rig{Rig: g}
}

// both runs a test in both bindings.
func both(t *testing.T, g *rig, test func(t *testing.T, g *rig)) {
	for _, rpc := range []bool{false, true} {
		name := map[bool]string{false: "REST", true: "JSONRPC"}[rpc]
		t.Run(name, func(t *testing.T) {
			sub := *g.Rig
			sub.TB = t
			test(t, &rig{&sub, rpc})
		})
	}
}

var ids atomic.Int64

// unique returns an id that no other message has.
func unique(prefix string) string { return fmt.Sprint(prefix, "-", ids.Add(1)) }

// message returns a message with one text.
func message(text string) a2a.Message {
	return a2a.Message{MessageID: unique("m"), Role: "ROLE_USER", Parts: []a2a.Part{{Text: &text}}}
}

// config is the configuration of a send request, in JSON.
type config map[string]any

func body(m a2a.Message, cfg config, agent string) map[string]any {
	out := map[string]any{"message": m}
	if cfg != nil {
		out["configuration"] = cfg
	}
	if agent != "" {
		out["tenant"] = agent
	}
	return out
}

// reply is a response in either binding.
type reply struct {
	status int    // of HTTP
	code   int    // of JSON-RPC, 0 if it succeeded or the binding is REST
	reason string // of an error
	text   string // the message of the error
	result json.RawMessage
	header http.Header
}

var paths = map[string]func(p map[string]any) (method, path string){
	"SendMessage":          func(map[string]any) (string, string) { return "POST", "/message:send" },
	"SendStreamingMessage": func(map[string]any) (string, string) { return "POST", "/message:stream" },
	"GetTask":              func(p map[string]any) (string, string) { return "GET", fmt.Sprint("/tasks/", p["id"]) + query(p) },
	"CancelTask":           func(p map[string]any) (string, string) { return "POST", fmt.Sprint("/tasks/", p["id"], ":cancel") },
	"SubscribeToTask":      func(p map[string]any) (string, string) { return "POST", fmt.Sprint("/tasks/", p["id"], ":subscribe") },
	"ListTasks":            func(p map[string]any) (string, string) { return "GET", "/tasks" + query(p) },
	"GetExtendedAgentCard": func(map[string]any) (string, string) { return "GET", "/extendedAgentCard" },
	"CreateTaskPushNotificationConfig": func(p map[string]any) (string, string) {
		return "POST", fmt.Sprint("/tasks/", p["taskId"], "/pushNotificationConfigs")
	},
	"ListTaskPushNotificationConfigs": func(p map[string]any) (string, string) {
		return "GET", fmt.Sprint("/tasks/", p["taskId"], "/pushNotificationConfigs")
	},
	"GetTaskPushNotificationConfig": func(p map[string]any) (string, string) {
		return "GET", fmt.Sprint("/tasks/", p["taskId"], "/pushNotificationConfigs/", p["id"])
	},
	"DeleteTaskPushNotificationConfig": func(p map[string]any) (string, string) {
		return "DELETE", fmt.Sprint("/tasks/", p["taskId"], "/pushNotificationConfigs/", p["id"])
	},
}

func query(p map[string]any) string {
	var out []string
	for name, v := range p {
		if name != "id" && name != "tenant" {
			out = append(out, fmt.Sprintf("%s=%v", name, v))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "?" + strings.Join(out, "&")
}

// request sends a request of a method, and returns the response.
func (g *rig) request(url, method string, params map[string]any, headers ...string) *http.Response {
	g.TB.Helper()
	headers = append([]string{"A2A-Version", "1.0"}, headers...)
	data, err := json.Marshal(params)
	if err != nil {
		g.TB.Fatal(err)
	}
	if g.rpc {
		return g.Send("POST", url+"/v1/a2a", fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, data), headers...)
	}
	verb, path := paths[method](params)
	if t, ok := params["tenant"]; ok && t != "" {
		path = fmt.Sprint("/", t, path)
	}
	if verb != "POST" {
		data = nil
	}
	return g.Send(verb, url+"/v1/a2a"+path, string(data), headers...)
}

// ask sends a request and reads the response.
func (g *rig) ask(method string, params map[string]any, headers ...string) reply {
	g.TB.Helper()
	resp := g.request(g.URL, method, params, headers...)
	defer resp.Body.Close()
	return g.read(resp)
}

func (g *rig) read(resp *http.Response) reply {
	g.TB.Helper()
	data := protocoltest.ReadAll(resp)
	return g.parse(resp.StatusCode, resp.Header, data)
}

func (g *rig) parse(status int, header http.Header, data string) reply {
	g.TB.Helper()
	out := reply{status: status, header: header, result: json.RawMessage(data)}
	type info struct{ Reason, Domain string }
	var failed struct {
		JSONRPC string
		ID      json.RawMessage
		Result  json.RawMessage
		Error   *struct {
			Code          int
			Status        string
			Message       string
			Details, Data []info
		}
	}
	if data == "" {
		return out
	}
	if err := json.Unmarshal([]byte(data), &failed); err != nil {
		g.TB.Fatalf("%d: %v: %s", status, err, data)
	}
	if failed.JSONRPC != "" {
		out.result = failed.Result
	}
	if e := failed.Error; e != nil {
		out.text, out.code = e.Message, e.Code
		list := append(e.Details, e.Data...)
		if len(list) != 1 || list[0].Domain != "a2a-protocol.org" || e.Message == "" {
			g.TB.Errorf("the error is %s", data)
		} else {
			out.reason = list[0].Reason
		}
		if failed.JSONRPC == "" && (e.Code != status || e.Status == "") {
			g.TB.Errorf("the status is %d, the error %s", status, data)
		}
	}
	return out
}

// task sends a request that must succeed, and returns its task.
func (g *rig) task(method string, params map[string]any) *a2a.Task {
	g.TB.Helper()
	r := g.ask(method, params)
	if r.status != 200 || r.reason != "" {
		g.TB.Fatalf("%s: %d %s: %s", method, r.status, r.reason, r.text)
	}
	if method == "SendMessage" {
		var out struct{ Task *a2a.Task }
		g.decode(r.result, &out)
		if out.Task == nil {
			g.TB.Fatalf("no task in %s", r.result)
		}
		return out.Task
	}
	out := new(a2a.Task)
	g.decode(r.result, out)
	return out
}

func (g *rig) decode(data []byte, v any) {
	g.TB.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		g.TB.Fatalf("%v: %s", err, data)
	}
}

// say sends a text in a message of its own, and returns the task.
func (g *rig) say(text string, cfg config) *a2a.Task {
	g.TB.Helper()
	return g.task("SendMessage", body(message(text), cfg, ""))
}

func (g *rig) get(id string) *a2a.Task {
	g.TB.Helper()
	return g.task("GetTask", map[string]any{"id": id})
}

// event is an event of a stream.
type event struct {
	Task         *a2a.Task
	StatusUpdate *struct {
		TaskID, ContextID string
		Status            a2a.Status
	}
	ArtifactUpdate *struct {
		TaskID, ContextID string
		Artifact          a2a.Artifact
		Append, LastChunk bool
	}
}

// events returns the events of a stream, in either binding.
func events(tb testing.TB, stream string) (out []event) {
	tb.Helper()
	for line := range strings.Lines(stream) {
		data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "data: ")
		if !ok {
			continue
		}
		var rpc struct {
			JSONRPC string
			Result  json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &rpc); err != nil {
			tb.Fatalf("%v: %s", err, data)
		}
		if rpc.JSONRPC != "" {
			data = string(rpc.Result)
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			tb.Fatalf("%v: %s", err, data)
		}
		out = append(out, e)
	}
	return out
}

// seen is the task that a client has after events of a stream.
func seen(tb testing.TB, list []event) *a2a.Task {
	tb.Helper()
	var t *a2a.Task
	for _, e := range list {
		switch {
		case e.Task != nil:
			first := *e.Task
			first.Artifacts = slices.Clone(first.Artifacts)
			t = &first
		case t == nil:
			tb.Fatal("the stream does not begin with a task")
		case e.StatusUpdate != nil:
			t.Status = e.StatusUpdate.Status
		case e.ArtifactUpdate != nil:
			add(t, e.ArtifactUpdate.Artifact, e.ArtifactUpdate.Append)
		}
	}
	return t
}

// add adds an artifact to a task, as clients do.
func add(t *a2a.Task, a a2a.Artifact, appends bool) {
	for i := range t.Artifacts {
		if old := &t.Artifacts[i]; old.ArtifactID == a.ArtifactID {
			if !appends {
				*old = a
				return
			}
			if a.Parts[0].Text != nil {
				text := *old.Parts[0].Text + *a.Parts[0].Text
				old.Parts = []a2a.Part{{Text: &text}}
			}
			return
		}
	}
	t.Artifacts = append(t.Artifacts, a)
}

// text returns the text of an artifact, or "".
func text(t *a2a.Task, artifact string) string {
	for _, a := range t.Artifacts {
		if a.ArtifactID == artifact && a.Parts[0].Text != nil {
			return *a.Parts[0].Text
		}
	}
	return ""
}

// stream sends a request whose response is a stream, and returns it when it has ended.
func (g *rig) stream(method string, params map[string]any, headers ...string) string {
	g.TB.Helper()
	resp := g.request(g.URL, method, params, headers...)
	defer resp.Body.Close()
	all := protocoltest.ReadAll(resp)
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		g.TB.Fatalf("%s: %d %s", method, resp.StatusCode, all)
	}
	return all
}
