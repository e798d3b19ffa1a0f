package a2a_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// The cases of the A2A TCK, mandatory ones and those of capabilities, in both bindings. The TCK drives its server by
// prefixes of message ids; here the scripted agents do what these stand for.

func TestTCK_Card(t *testing.T) {
	g := newRig(t)
	resp := g.Send("GET", g.URL+"/.well-known/agent-card.json", "")
	defer resp.Body.Close()
	var card map[string]any
	g.decode([]byte(protocoltest.ReadAll(resp)), &card)
	for _, field := range []string{"name", "description", "version", "supportedInterfaces", "capabilities", "defaultInputModes", "defaultOutputModes", "skills"} {
		if card[field] == nil {
			t.Errorf("the card has no %s", field)
		}
	}
	for _, field := range []string{"url", "id", "protocolVersion", "preferredTransport"} {
		if card[field] != nil {
			t.Errorf("the card has %s, which is not of version 1.0", field)
		}
	}
	for _, i := range card["supportedInterfaces"].([]any) {
		if in := i.(map[string]any); in["url"] != g.URL+"/v1/a2a" || in["protocolVersion"] != "1.0" || in["protocolBinding"] != "HTTP+JSON" && in["protocolBinding"] != "JSONRPC" {
			t.Errorf("%v", in)
		}
	}
	for _, s := range card["skills"].([]any) {
		for _, field := range []string{"id", "name", "description", "tags"} {
			if s.(map[string]any)[field] == nil {
				t.Errorf("a skill has no %s: %v", field, s)
			}
		}
	}
	caps := card["capabilities"].(map[string]any)
	if caps["streaming"] != true || caps["pushNotifications"] != false || caps["extendedAgentCard"] != false {
		t.Errorf("%v", caps)
	}
	tag := resp.Header.Get("ETag")
	if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") || !strings.Contains(resp.Header.Get("Cache-Control"), "max-age=") || tag == "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
	if status, body := g.Ask("GET", g.URL+"/.well-known/agent-card.json", "", "If-None-Match", tag); status != http.StatusNotModified || body != "" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := g.Ask("GET", g.URL+"/v1/a2a/slow/.well-known/agent-card.json", ""); status != 200 || !strings.Contains(body, `"tenant":"slow"`) {
		t.Errorf("%d %s", status, body)
	}
}

func TestTCK_Send(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.say("hello", nil)
		if task.ID == "" || task.ContextID == "" || task.Status.State != a2a.Completed || text(task, "response") == "" || len(task.History) != 2 {
			t.Fatalf("%+v", task)
		}
		if _, err := time.Parse(time.RFC3339, task.Status.Timestamp); err != nil || !strings.HasSuffix(task.Status.Timestamp, "Z") {
			t.Errorf("the timestamp is %q", task.Status.Timestamp)
		}
		for _, m := range task.History {
			if m.TaskID != task.ID || m.ContextID != task.ContextID || m.MessageID == "" {
				t.Errorf("%+v", m)
			}
		}
		// Another task of the same context.
		m := message("and again")
		m.ContextID = task.ContextID
		next := g.task("SendMessage", body(m, nil, ""))
		if next.ContextID != task.ContextID || next.ID == task.ID {
			t.Errorf("%+v", next)
		}
		// A client may choose the context.
		m = message("hello")
		m.ContextID = unique("context")
		if next := g.task("SendMessage", body(m, nil, "")); next.ContextID != m.ContextID || next.ID == m.ContextID {
			t.Errorf("%+v", next)
		}
		// A task that is over takes no messages, and an unknown one does not exist.
		m = message("more")
		m.TaskID = task.ID
		if r := g.ask("SendMessage", body(m, nil, "")); r.reason != "UNSUPPORTED_OPERATION" {
			t.Errorf("%+v", r)
		}
		m = message("more")
		m.TaskID = "no-such-task"
		if r := g.ask("SendMessage", body(m, nil, "")); r.reason != "TASK_NOT_FOUND" {
			t.Errorf("%+v", r)
		}
		open := g.say("RUN_TOOL ask", nil)
		m = message("approve")
		m.TaskID, m.ContextID = open.ID, "another-context"
		if r := g.ask("SendMessage", body(m, nil, "")); r.reason != "INVALID_PARAMS" {
			t.Errorf("%+v", r)
		}
	})
}

func TestTCK_ReturnImmediately(t *testing.T) {
	release := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, release)
	defer close(release)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
		if s := task.Status.State; s != a2a.Submitted && s != a2a.Working {
			t.Errorf("%s", s)
		}
		if now := g.get(task.ID); now.Status.State.Terminal() || len(now.History) == 0 {
			t.Errorf("%+v", now)
		}
	})
}

func TestTCK_HistoryLength(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		id := g.say("hello", nil).ID
		for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 100: 2} {
			task := g.task("GetTask", map[string]any{"id": id, "historyLength": n})
			if len(task.History) != want || want == 1 && task.History[0].Role != "ROLE_AGENT" {
				t.Errorf("historyLength %d: %+v", n, task.History)
			}
			if sent := g.say("hello", config{"historyLength": n}); len(sent.History) != want {
				t.Errorf("historyLength %d: %+v", n, sent.History)
			}
		}
		for _, bad := range []any{-1} {
			if r := g.ask("GetTask", map[string]any{"id": id, "historyLength": bad}); r.reason != "INVALID_PARAMS" {
				t.Errorf("%v: %+v", bad, r)
			}
		}
	})
}

func TestTCK_States(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		for said, want := range map[string]a2a.State{"hello": a2a.Completed, "RUN_TOOL ask": a2a.InputRequired, "RUN_TOOL where": a2a.InputRequired, "scenario:error": a2a.Failed} {
			task := g.say(said, nil)
			if task.Status.State != want || (want != a2a.Completed) != (task.Status.Message != nil) {
				t.Errorf("%s: %+v", said, task.Status)
			}
			if now := g.get(task.ID); now.Status.State != want {
				t.Errorf("%s: %+v", said, now.Status)
			}
		}
	})
}

func TestTCK_Stream(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		list := events(t, g.stream("SendStreamingMessage", body(message("go"), nil, "slow")))
		pieces := 0
		for i, e := range list {
			switch {
			case (i == 0) != (e.Task != nil):
				t.Errorf("event %d: %+v", i, e)
			case e.ArtifactUpdate != nil:
				if pieces++; e.ArtifactUpdate.Append == (pieces == 1) {
					t.Errorf("piece %d: append is %v", pieces, e.ArtifactUpdate.Append)
				}
			}
		}
		task := seen(t, list)
		if pieces < 10 || task.Status.State != a2a.Completed || text(task, "response") != protocoltest.SlowText {
			t.Errorf("%d pieces, %+v", pieces, task)
		}
		if last := list[len(list)-2]; last.ArtifactUpdate == nil || !last.ArtifactUpdate.LastChunk {
			t.Errorf("the last piece is %+v", last)
		}
		// A stream ends when the task waits, and the answer to it streams too.
		list = events(t, g.stream("SendStreamingMessage", body(message("RUN_TOOL ask"), nil, "")))
		task = seen(t, list)
		if task.Status.State != a2a.InputRequired {
			t.Fatalf("%+v", task.Status)
		}
		m := message("approve")
		m.TaskID = task.ID
		list = events(t, g.stream("SendStreamingMessage", body(m, nil, "")))
		if end := seen(t, list); list[0].Task == nil || list[0].Task.Status.State != a2a.Working || end.ID != task.ID || end.Status.State != a2a.Completed {
			t.Errorf("%+v", list)
		}
		again := events(t, g.stream("SendStreamingMessage", body(m, nil, "")))
		if end := seen(t, again); end.ID != task.ID || end.Status.State != a2a.Completed {
			t.Errorf("%+v", again)
		}
	})
}

func TestTCK_Subscribe(t *testing.T) {
	release := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, release)
	var tasks []*a2a.Task
	both(t, g, func(t *testing.T, g *rig) {
		if r := g.ask("SubscribeToTask", map[string]any{"id": "no-such-task"}); r.reason != "TASK_NOT_FOUND" {
			t.Errorf("%+v", r)
		}
		over := g.say("hello", nil)
		if r := g.ask("SubscribeToTask", map[string]any{"id": over.ID}); r.reason != "UNSUPPORTED_OPERATION" {
			t.Errorf("%+v", r)
		}
		waits := g.say("RUN_TOOL ask", nil)
		if list := events(t, g.stream("SubscribeToTask", map[string]any{"id": waits.ID})); len(list) != 1 || list[0].Task == nil || list[0].Task.Status.State != a2a.InputRequired {
			t.Errorf("%+v", list)
		}
		tasks = append(tasks, g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow")))
	})
	var all []chan string
	for _, task := range tasks {
		for _, method := range []string{"POST", "GET"} {
			got := make(chan string, 1)
			all = append(all, got)
			resp := g.Send(method, g.URL+"/v1/a2a/tasks/"+task.ID+":subscribe", "")
			go func() {
				defer resp.Body.Close()
				got <- protocoltest.ReadAll(resp)
			}()
		}
	}
	close(release)
	for _, got := range all {
		stream := <-got
		list := events(t, stream)
		if end := seen(t, list); list[0].Task == nil || end.Status.State != a2a.Completed || text(end, "response") != protocoltest.SlowText {
			t.Errorf("%s", stream)
		}
	}
}

func TestTCK_List(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		context := unique("context")
		var made []string
		for range 5 {
			m := message("hello")
			m.ContextID = context
			made = append(made, g.task("SendMessage", body(m, nil, "")).ID)
		}
		waits := message("RUN_TOOL ask")
		waits.ContextID = context
		made = append(made, g.task("SendMessage", body(waits, nil, "")).ID)
		list := func(params map[string]any) (out struct {
			Tasks               []*a2a.Task
			NextPageToken       *string
			PageSize, TotalSize int
		}) {
			t.Helper()
			r := g.ask("ListTasks", params)
			if r.reason != "" || r.status != 200 {
				t.Fatalf("%v: %+v", params, r)
			}
			g.decode(r.result, &out)
			if out.Tasks == nil || out.NextPageToken == nil {
				t.Fatalf("%s", r.result)
			}
			return out
		}
		all := list(map[string]any{"contextId": context})
		if len(all.Tasks) != 6 || all.TotalSize != 6 || all.PageSize != 50 || *all.NextPageToken != "" || all.Tasks[0].Artifacts != nil || all.Tasks[0].History != nil {
			t.Errorf("%+v", all)
		}
		for i := 1; i < len(all.Tasks); i++ {
			if all.Tasks[i-1].Status.Timestamp < all.Tasks[i].Status.Timestamp {
				t.Errorf("%s before %s", all.Tasks[i-1].Status.Timestamp, all.Tasks[i].Status.Timestamp)
			}
		}
		var paged []string
		params := map[string]any{"contextId": context, "pageSize": 4}
		for {
			page := list(params)
			for _, task := range page.Tasks {
				paged = append(paged, task.ID)
			}
			if *page.NextPageToken == "" {
				break
			}
			params["pageToken"] = *page.NextPageToken
		}
		slices.Sort(made)
		slices.Sort(paged)
		if !slices.Equal(made, paged) {
			t.Errorf("%v, want %v", paged, made)
		}
		if got := list(map[string]any{"contextId": context, "status": a2a.InputRequired}); got.TotalSize != 1 {
			t.Errorf("%+v", got)
		}
		if got := list(map[string]any{"contextId": context, "status": a2a.Completed, "includeArtifacts": true, "historyLength": 1}); got.TotalSize != 5 || len(got.Tasks[0].Artifacts) != 1 || len(got.Tasks[0].History) != 1 {
			t.Errorf("%+v", got)
		}
		if got := list(map[string]any{"contextId": context, "statusTimestampAfter": "2100-01-01T00:00:00Z"}); got.TotalSize != 0 {
			t.Errorf("%+v", got)
		}
		if got := list(map[string]any{"contextId": context, "statusTimestampAfter": all.Tasks[0].Status.Timestamp}); got.TotalSize == 0 {
			t.Errorf("%+v", got)
		}
		if got := list(map[string]any{"contextId": context, "tenant": "slow"}); got.TotalSize != 0 {
			t.Errorf("%+v", got)
		}
		for name, bad := range map[string]any{"pageSize": 0, "pageSize ": 101, "pageToken": "nonsense", "status": "TASK_STATE_HAPPY", "historyLength": -1, "statusTimestampAfter": "yesterday"} {
			if r := g.ask("ListTasks", map[string]any{strings.TrimSpace(name): bad}); r.reason != "INVALID_PARAMS" || !strings.Contains(r.text, strings.TrimSpace(name)) {
				t.Errorf("%s %v: %+v", name, bad, r)
			}
		}
	})
}

func TestTCK_Errors(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		hello := body(message("hello"), nil, "")
		push := config{"taskPushNotificationConfig": map[string]any{"url": "https://example.com/hook"}}
		for _, tt := range []struct {
			method string
			params map[string]any
			header []string
			reason string
			status int // of REST
			code   int // of JSON-RPC
		}{
			{"GetTask", map[string]any{"id": "nope"}, nil, "TASK_NOT_FOUND", 404, -32001},
			{"CancelTask", map[string]any{"id": "nope"}, nil, "TASK_NOT_FOUND", 404, -32001},
			{"SubscribeToTask", map[string]any{"id": "nope"}, nil, "TASK_NOT_FOUND", 404, -32001},
			{"CancelTask", map[string]any{"id": g.say("hello", nil).ID}, nil, "TASK_NOT_CANCELABLE", 409, -32002},
			{"SendMessage", body(message("hello"), push, ""), nil, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, -32003},
			{"CreateTaskPushNotificationConfig", map[string]any{"taskId": "t", "url": "https://example.com"}, nil, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, -32003},
			{"ListTaskPushNotificationConfigs", map[string]any{"taskId": "t"}, nil, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, -32003},
			{"GetTaskPushNotificationConfig", map[string]any{"taskId": "t", "id": "c"}, nil, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, -32003},
			{"DeleteTaskPushNotificationConfig", map[string]any{"taskId": "t", "id": "c"}, nil, "PUSH_NOTIFICATION_NOT_SUPPORTED", 400, -32003},
			{"GetExtendedAgentCard", map[string]any{}, nil, "UNSUPPORTED_OPERATION", 400, -32004},
			{"SendMessage", body(message("hello"), config{"acceptedOutputModes": []string{"image/png"}}, ""), nil, "CONTENT_TYPE_NOT_SUPPORTED", 415, -32005},
			{"SendMessage", hello, []string{"Content-Type", "text/plain"}, "CONTENT_TYPE_NOT_SUPPORTED", 415, -32005},
			{"SendMessage", hello, []string{"A2A-Version", "0.3"}, "VERSION_NOT_SUPPORTED", 400, -32009},
			{"SendMessage", hello, []string{"A2A-Version", "99.0"}, "VERSION_NOT_SUPPORTED", 400, -32009},
			{"GetTask", map[string]any{"id": "x"}, []string{"A2A-Version", "0.3"}, "VERSION_NOT_SUPPORTED", 400, -32009},
			{"SendMessage", map[string]any{}, nil, "INVALID_PARAMS", 400, -32602},
			{"SendMessage", map[string]any{"message": map[string]any{"role": "ROLE_USER", "parts": []any{}}}, nil, "INVALID_PARAMS", 400, -32602},
			{"SendMessage", map[string]any{"message": map[string]any{"messageId": "m", "role": "user", "parts": []any{map[string]any{"text": "x"}}}}, nil, "INVALID_PARAMS", 400, -32602},
			{"SendMessage", map[string]any{"message": "hello"}, nil, "INVALID_PARAMS", 422, -32602},
		} {
			r := g.ask(tt.method, tt.params, tt.header...)
			if r.reason != tt.reason || !g.rpc && r.status != tt.status || g.rpc && (r.code != tt.code || r.status != 200) {
				t.Errorf("%s %v %v: %d %d %s: %s", tt.method, tt.params, tt.header, r.status, r.code, r.reason, r.text)
			}
			if r.header.Get("Content-Type") != "application/json" {
				t.Errorf("the content type is %s", r.header.Get("Content-Type"))
			}
		}
	})
}

func TestTCK_JSONRPC(t *testing.T) {
	g := newRig(t)
	g.rpc = true
	for _, path := range []string{"/v1/a2a", "/v1/a2a/", "/v1/a2a/default", "/v1/a2a/default/"} {
		for body, want := range map[string]int{
			`{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`:     0,
			`{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`:                 0,
			`{"jsonrpc":"2.0","id":"x","method":"tasks/get","params":{}}`:   -32601,
			`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{}}`:       -32602,
			`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":[1]}`:      -32602,
			`{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":5}}`: -32602,
			`{"jsonrpc":"1.0","id":1,"method":"ListTasks","params":{}}`:     -32600,
			`{"id":1,"method":"ListTasks","params":{}}`:                     -32600,
			`{"jsonrpc":"2.0","id":{},"method":"ListTasks","params":{}}`:    -32600,
			`{"jsonrpc":"2.0","id":null,"method":"ListTasks","params":{}}`:  -32600,
			`{"jsonrpc":"2.0","method":"ListTasks","params":{}}`:            -32600,
			`[{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}]`:   -32600,
			`[]`: -32600,
			`{`:  -32700,
		} {
			resp := g.Send("POST", g.URL+path, body)
			r := g.read(resp)
			resp.Body.Close()
			if r.code != want || r.status != 200 {
				t.Errorf("%s %s: %d %d %s", path, body, r.status, r.code, r.text)
			}
		}
	}
}

// Paths that A2A does not have are errors in its shape.
func TestTCK_UnknownPaths(t *testing.T) {
	g := newRig(t)
	for _, at := range []string{"GET /v1/a2a/default/nothing", "POST /v1/a2a/default/message:shout", "GET /v1/a2a/tasks/a/b/c/d", "POST /v1/a2a/tasks/t:explode", "DELETE /v1/a2a/tasks/t", "POST /v1/a2a/default/tasks"} {
		method, path, _ := strings.Cut(at, " ")
		resp := g.Send(method, g.URL+path, "{}")
		r := g.read(resp)
		resp.Body.Close()
		if r.status != 404 || r.reason == "" {
			t.Errorf("%s: %d %s", at, r.status, r.result)
		}
	}
}
