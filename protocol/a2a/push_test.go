package a2a_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/automate/webhook"
	"github.com/awaken-go/awaken/automate/webhook/deliver"
	"github.com/awaken-go/awaken/protocol"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// pushed is a notification.
type pushed struct {
	header http.Header
	body   string
	event
}

// newPushRig returns a rig whose servers send push notifications, and a receiver of them.
func newPushRig(t *testing.T, slow <-chan struct{}) (g *rig, receiver string, got <-chan pushed) {
	t.Helper()
	sender := make(chan *deliver.Sender, 1)
	// The routes need the sender, which needs the mailbox of the server: they get it with the first request.
	var all []protocol.Route
	inner := &rig{}
	base := routes(t, a2a.Config{})
	for i := range base {
		n := i
		r := base[i]
		r.Handle = func(c protocol.Call) error {
			s := <-sender
			sender <- s
			return routes(t, a2a.Config{Hooks: s})[n].Handle(c)
		}
		all = append(all, r)
	}
	inner.Rig = protocoltest.Idle(t, all)
	inner.Slow = slow
	inner.Box, inner.URL = inner.Start(true)
	s, err := deliver.New(deliver.Config{Store: new(webhook.Memory), Mailbox: inner.Box, Kinds: map[string]deliver.Kind{a2a.PushKind: a2a.Push}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Poll: 5 * time.Millisecond, Retry: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	sender <- s
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Work(ctx) }()
	notes := make(chan pushed, 100)
	ts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p := pushed{header: r.Header, body: string(body)}
		if err := json.Unmarshal(body, &p.event); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		notes <- p
	}))
	t.Cleanup(func() { cancel(); <-done; ts.Close() })
	return inner, ts.URL + "/told", notes
}

// next returns the next notification, in short: the state of a status, or the text of an artifact.
func next(t *testing.T, got <-chan pushed) (string, pushed) {
	t.Helper()
	select {
	case p := <-got:
		switch {
		case p.StatusUpdate != nil && p.Task == nil && p.ArtifactUpdate == nil:
			return string(p.StatusUpdate.Status.State), p
		case p.ArtifactUpdate != nil && p.Task == nil && p.StatusUpdate == nil:
			if text := p.ArtifactUpdate.Artifact.Parts[0].Text; text != nil {
				return p.ArtifactUpdate.Artifact.ArtifactID + ": " + *text, p
			}
			return p.ArtifactUpdate.Artifact.ArtifactID, p
		}
		t.Fatalf("a notification with none or several of task, status and artifact: %s", p.body)
	case <-time.After(30 * time.Second):
		t.Fatal("no notification")
	}
	return "", pushed{}
}

func wantPushed(t *testing.T, got <-chan pushed, want ...string) {
	t.Helper()
	for i, w := range want {
		if s, p := next(t, got); s != w {
			t.Fatalf("notification %d is %s, want %s", i, p.body, w)
		}
	}
}

// The receiver that a message names is told the states of its task and what the task has made, in order: first when it waits for its
// client, then when it continues and ends. It can check who sends it.
func TestPush_TellsTheStates(t *testing.T) {
	g, receiver, got := newPushRig(t, nil)
	both(t, g, func(t *testing.T, g *rig) {
		push := map[string]any{"id": "c1", "url": receiver, "token": "tok", "authentication": map[string]any{"scheme": "Bearer", "credentials": "cred"}}
		task := g.say("RUN_TOOL ask", config{"taskPushNotificationConfig": push})
		wantPushed(t, got, string(a2a.Working))
		s, p := next(t, got)
		h := p.header
		if s != string(a2a.InputRequired) || p.StatusUpdate.TaskID != task.ID || p.StatusUpdate.ContextID != task.ContextID || p.StatusUpdate.Status.Message == nil {
			t.Errorf("it is told %s", p.body)
		}
		if h.Get("Content-Type") != "application/a2a+json" || h.Get("Authorization") != "Bearer cred" || h.Get("X-A2A-Notification-Token") != "tok" {
			t.Errorf("the headers are %v", h)
		}
		mac := hmac.New(sha256.New, []byte("tok"))
		fmt.Fprintf(mac, "%s.%s.%s", h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), p.body)
		if h.Get("Webhook-Signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) {
			t.Errorf("the signature is %s", h.Get("Webhook-Signature"))
		}
		m := message("approve")
		m.TaskID = task.ID
		done := g.task("SendMessage", body(m, nil, ""))
		wantPushed(t, got, string(a2a.Working), "response: "+text(done, "response"), string(a2a.Completed))
	})
}

// A task that ends before it begins tells its end.
func TestPush_CancelledInTheQueue(t *testing.T) {
	release := make(chan struct{})
	g, receiver, got := newPushRig(t, release)
	defer close(release)
	push := config{"returnImmediately": true, "taskPushNotificationConfig": map[string]any{"url": receiver}}
	first := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
	m := message("then this")
	m.ContextID = first.ContextID
	queued := g.task("SendMessage", body(m, push, "slow"))
	g.task("CancelTask", map[string]any{"id": queued.ID})
	wantPushed(t, got, string(a2a.Canceled))
}

// Configurations are set, shown without their secrets, listed and deleted, in both bindings. They tell what happens after they were set.
func TestPush_Configurations(t *testing.T) {
	release := make(chan struct{})
	g, receiver, got := newPushRig(t, release)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.task("SendMessage", body(message("RUN_TOOL ask"), nil, ""))
		set := func(id string) reply {
			return g.ask("CreateTaskPushNotificationConfig", map[string]any{"taskId": task.ID, "id": id, "url": receiver, "token": "s3cret", "authentication": map[string]any{"scheme": "Basic", "credentials": "s3cret"}})
		}
		type shown struct {
			ID, TaskID, URL, Token string
			Authentication         struct{ Scheme, Credentials string }
		}
		want := shown{ID: "c1", TaskID: task.ID, URL: receiver}
		want.Authentication.Scheme = "Basic"
		for what, r := range map[string]reply{"set": set("c1"), "got": g.ask("GetTaskPushNotificationConfig", map[string]any{"taskId": task.ID, "id": "c1"})} {
			var c shown
			g.decode(r.result, &c)
			if c != want || strings.Contains(string(r.result), "s3cret") {
				t.Errorf("%s: %s", what, r.result)
			}
		}
		set("c1") // replaces it
		set("")
		list := func() (ids []string) {
			var out struct {
				Configs       []shown
				NextPageToken *string
			}
			g.decode(g.ask("ListTaskPushNotificationConfigs", map[string]any{"taskId": task.ID}).result, &out)
			if out.NextPageToken == nil || *out.NextPageToken != "" {
				t.Errorf("the next page is %v", out.NextPageToken)
			}
			for _, c := range out.Configs {
				ids = append(ids, c.ID)
			}
			return ids
		}
		if ids := list(); !slices.Contains(ids, "c1") || !slices.Contains(ids, task.ID) || len(ids) != 2 {
			t.Errorf("the configurations are %v", ids)
		}
		for range 2 { // again is no error
			if r := g.ask("DeleteTaskPushNotificationConfig", map[string]any{"taskId": task.ID, "id": task.ID}); r.reason != "" || !g.rpc && r.status != 204 {
				t.Errorf("%+v", r)
			}
		}
		if r := g.ask("GetTaskPushNotificationConfig", map[string]any{"taskId": task.ID, "id": task.ID}); r.reason != "TASK_NOT_FOUND" {
			t.Errorf("%+v", r)
		}
		m := message("deny")
		m.TaskID = task.ID
		done := g.task("SendMessage", body(m, nil, ""))
		wantPushed(t, got, string(a2a.Working), "response: "+text(done, "response"), string(a2a.Completed))
		for i := range 20 {
			r := set(fmt.Sprint("many-", i))
			if full := i >= 9; full != (r.reason == "INVALID_PARAMS" && strings.Contains(r.text, "10 push configurations")) {
				t.Errorf("configuration %d: %+v", i+2, r)
			}
		}
	})
	close(release)
}

// A configuration that nothing may be sent to is refused with the field and the reason, and so is its message.
func TestPush_Refused(t *testing.T) {
	g, _, _ := newPushRig(t, nil)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.say("RUN_TOOL ask", nil)
		for push, want := range map[string]string{
			`{}`:                                          `url is ""`,
			`{"url":"told"}`:                              `url is "told"`,
			`{"url":"ftp://example.com/"}`:                "scheme",
			`{"url":"https://u:p@example.com/"}`:          "credentials",
			`{"url":"http://10.0.0.1/"}`:                  "not on the public internet",
			`{"url":"https://[::1]/"}`:                    "not on the public internet",
			`{"url":"https://169.254.169.254/a"}`:         "not on the public internet",
			`{"url":"https://e.com","id":"a\u0001"}`:      "id is",
			`{"url":"https://e.com","token":"a\nb"}`:      "token has",
			`{"url":"https://e.com","authentication":{}}`: "authentication is not valid",
			`{"url":"https://e.com","authentication":{"scheme":"Bearer","credentials":"a\r\nX: y"}}`: "authentication is not valid",
			`{"url":"https://e.com/` + strings.Repeat("a", 3000) + `"}`:                              "at most 2048",
		} {
			var params map[string]any
			if err := json.Unmarshal([]byte(push), &params); err != nil {
				t.Fatal(err)
			}
			asked := map[string]any{"taskId": task.ID}
			for name, v := range params {
				asked[name] = v
			}
			if r := g.ask("CreateTaskPushNotificationConfig", asked); r.reason != "INVALID_PARAMS" || !strings.Contains(r.text, want) {
				t.Errorf("%s: %+v", push, r)
			}
			m := message("hello")
			m.ContextID = unique("context")
			if r := g.ask("SendMessage", body(m, config{"taskPushNotificationConfig": params}, "")); r.reason != "INVALID_PARAMS" || !strings.Contains(r.text, "configuration.taskPushNotificationConfig."+want) && !strings.Contains(r.text, want) {
				t.Errorf("a message with %s: %+v", push, r)
			}
			if _, err := g.Box.Tenant("").Store.Thread(t.Context(), m.ContextID); err == nil {
				t.Errorf("a message with %s was taken", push)
			}
		}
		for _, method := range []string{"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"} {
			if r := g.ask(method, map[string]any{"taskId": "none", "id": "c", "url": "https://example.com/"}); r.reason != "TASK_NOT_FOUND" {
				t.Errorf("%s: %+v", method, r)
			}
		}
	})
}

// A message whose configuration is one too many for its task is not taken.
func TestPush_NoRoom(t *testing.T) {
	g, _, _ := newPushRig(t, nil)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.say("RUN_TOOL ask", nil)
		for i := range 10 {
			if r := g.ask("CreateTaskPushNotificationConfig", map[string]any{"taskId": task.ID, "id": fmt.Sprint(i), "url": "https://example.com/"}); r.reason != "" {
				t.Fatalf("%+v", r)
			}
		}
		m := message("approve")
		m.TaskID = task.ID
		if r := g.ask("SendMessage", body(m, config{"taskPushNotificationConfig": map[string]any{"id": "more", "url": "https://example.com/"}}, "")); r.reason != "INVALID_PARAMS" || !strings.Contains(r.text, "10 push configurations") {
			t.Errorf("%+v", r)
		}
		if run, err := g.Box.Tenant("").Store.LoadRun(t.Context(), task.ID); err != nil || run.Status != awaken.RunWaiting {
			t.Errorf("the run is %+v, %v", run, err)
		}
		if unread, err := g.Box.Tenant("").Store.Unread(t.Context(), task.ContextID); err != nil || len(unread) > 0 {
			t.Errorf("the message was taken: %v, %v", unread, err)
		}
	})
}

// The task of another user has no configurations that one can see, set or delete.
func TestPush_Users(t *testing.T) {
	g, receiver, _ := newPushRig(t, nil)
	both(t, g, func(t *testing.T, g *rig) {
		var made struct{ Task *a2a.Task }
		g.decode(g.ask("SendMessage", body(message("RUN_TOOL ask"), nil, ""), protocoltest.UserHeader, "alice").result, &made)
		p := map[string]any{"taskId": made.Task.ID, "id": "c", "url": receiver}
		if r := g.ask("CreateTaskPushNotificationConfig", p, protocoltest.UserHeader, "alice"); r.reason != "" {
			t.Fatalf("%+v", r)
		}
		for _, method := range []string{"CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig"} {
			if r := g.ask(method, p, protocoltest.UserHeader, "bob"); r.reason != "TASK_NOT_FOUND" {
				t.Errorf("%s: %+v", method, r)
			}
		}
		if r := g.ask("GetTaskPushNotificationConfig", p, protocoltest.UserHeader, "alice"); r.reason != "" {
			t.Errorf("%+v", r)
		}
	})
}
