package a2a_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/a2a"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

// A message that is sent twice has one task, whether it starts the task, answers it or joins it.
func TestSend_CountsOnce(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		first := body(message("RUN_TOOL ask"), nil, "")
		a, b := g.task("SendMessage", first), g.task("SendMessage", first)
		if a.ID != b.ID || a.ContextID != b.ContextID || a.Status.State != a2a.InputRequired || b.Status.State != a2a.InputRequired {
			t.Errorf("%+v and %+v", a, b)
		}
		other := body(message("something else"), nil, "")
		other["message"] = withID(message("something else"), first["message"].(a2a.Message).MessageID)
		if r := g.ask("SendMessage", other); r.reason != "CONFLICT" {
			t.Errorf("the id of another message: %+v", r)
		}
		yes := message("approve")
		yes.TaskID = a.ID
		answer := body(yes, nil, "")
		done := g.task("SendMessage", answer)
		if done.ID != a.ID || done.Status.State != a2a.Completed {
			t.Fatalf("%+v", done)
		}
		again := g.task("SendMessage", answer)
		if again.ID != a.ID || again.Status.State != a2a.Completed || len(again.History) != len(done.History) {
			t.Errorf("the answer sent again: %+v", again)
		}
		late := message("deny")
		late.TaskID = a.ID
		if r := g.ask("SendMessage", body(late, nil, "")); r.reason != "UNSUPPORTED_OPERATION" {
			t.Errorf("another answer: %+v", r)
		}
	})
}

func withID(m a2a.Message, id string) a2a.Message {
	m.MessageID = id
	return m
}

// A task that waits says what it asks, and takes decisions as data, as words, and by their tickets.
func TestSend_Decides(t *testing.T) {
	g := newRig(t)
	data := func(format string, args ...any) []a2a.Part {
		return []a2a.Part{{Data: json.RawMessage(fmt.Sprintf(format, args...))}}
	}
	word := func(s string) []a2a.Part { return []a2a.Part{{Text: &s}} }
	for _, tt := range []struct {
		name, ask string
		answer    func(ticket string) []a2a.Part
		want      string // in the result of the call
	}{
		{"word", "RUN_TOOL ask", func(string) []a2a.Part { return word(" Approve. ") }, `"told":`},
		{"data", "RUN_TOOL ask", func(string) []a2a.Part { return data(`{"approved":true}`) }, `approved`},
		{"data and word", "RUN_TOOL ask", func(string) []a2a.Part { return append(word("approve"), data(`{"approved":true}`)...) }, `approved`},
		{"ticket", "RUN_TOOL ask", func(id string) []a2a.Part { return data(`{"ticketId":%q,"approved":true}`, id) }, `approved`},
		{"edited", `RUN_TOOL ask {"path":"a"}`, func(string) []a2a.Part { return data(`{"approved":true,"editedArgs":{"path":"b"}}`) }, `"did":"b"`},
		{"refused", "RUN_TOOL ask", func(string) []a2a.Part { return data(`{"approved":false,"reason":"too late"}`) }, "too late"},
		{"refused in words", "RUN_TOOL ask", func(string) []a2a.Part { return word("deny") }, ""},
		{"answer", "RUN_TOOL where", func(string) []a2a.Part { return word("Oslo") }, "Oslo"},
		{"data answer", "RUN_TOOL where", func(string) []a2a.Part { return data(`{"city":"Oslo"}`) }, "Oslo"},
		{"result", "RUN_TOOL where", func(id string) []a2a.Part { return data(`{"ticketId":%q,"result":{"city":"Oslo"}}`, id) }, "Oslo"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			both(t, g, func(t *testing.T, g *rig) {
				task := g.say(tt.ask, nil)
				if task.Status.State != a2a.InputRequired || task.Status.Message == nil || len(task.Status.Message.Parts) != 2 {
					t.Fatalf("%+v", task.Status)
				}
				var asked struct {
					Tickets []struct{ TicketID, Kind, ToolName string }
				}
				g.decode(task.Status.Message.Parts[1].Data, &asked)
				if len(asked.Tickets) != 1 || !strings.Contains(tt.ask, asked.Tickets[0].ToolName) {
					t.Fatalf("%+v", asked)
				}
				m := message("")
				m.TaskID, m.Parts = task.ID, tt.answer(asked.Tickets[0].TicketID)
				done := g.task("SendMessage", body(m, nil, ""))
				if done.Status.State != a2a.Completed || done.ID != task.ID {
					t.Fatalf("%+v", done.Status)
				}
				if result := g.results(t, task.ContextID); !strings.Contains(result, tt.want) {
					t.Errorf("the call's result is %s, want %s in it", result, tt.want)
				}
			})
		})
	}
}

// results returns the tool messages of a thread.
func (g *rig) results(t *testing.T, thread string) string {
	t.Helper()
	records, err := g.Box.Tenant("").Store.Messages(t.Context(), thread, awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range records {
		if r.Message.ToolCallID != "" {
			out = append(out, r.Message.Text())
		}
	}
	return strings.Join(out, "\n")
}

// An answer that decides nothing names what is wrong, and the task waits as before.
func TestSend_RefusesAnswers(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.say("RUN_TOOL ask", nil)
		for data, want := range map[string]string{
			`{"approved":"yes"}`:                           "approved",
			`{"remember":"thread"}`:                        ".approved is missing",
			`{"ticketId":"other","approved":true}`:         `.ticketId is "other", want one of`,
			`{"approved":true,"editedArgs":["x"]}`:         ".editedArgs is",
			`{"approved":true,"remember":"everyone-ever"}`: "",
		} {
			m := message("")
			m.TaskID, m.Parts = task.ID, []a2a.Part{{Data: json.RawMessage(data)}}
			if want == "" {
				continue
			}
			if r := g.ask("SendMessage", body(m, nil, "")); r.reason != "INVALID_PARAMS" || !strings.Contains(r.text, want) {
				t.Errorf("%s: %+v, want %s", data, r, want)
			}
		}
		if now := g.get(task.ID); now.Status.State != a2a.InputRequired {
			t.Errorf("%+v", now.Status)
		}
	})
}

// Text to a task that waits for an approval continues the task without it.
func TestSend_TextWithdrawsApproval(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.say("RUN_TOOL ask", nil)
		m := message("never mind, hello")
		m.TaskID = task.ID
		if done := g.task("SendMessage", body(m, nil, "")); done.ID != task.ID || done.Status.State != a2a.Completed {
			t.Errorf("%+v", done)
		}
	})
}

// What a client sends is in the history as it was sent: text, data and files.
func TestSend_KeepsParts(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		hello := "hello"
		m := message("")
		m.Parts = []a2a.Part{{Text: &hello}, {Data: json.RawMessage(`{"a":[1,2.50]}`)}, {Raw: "aGk=", MediaType: "text/plain", Filename: "hi.txt"},
			{URL: "https://example.com/a.png", MediaType: "image/png"}}
		task := g.task("SendMessage", body(m, nil, ""))
		got := task.History[0].Parts
		if len(got) != 4 || *got[0].Text != hello || string(got[1].Data) != `{"a":[1,2.50]}` || got[2].Raw != "aGk=" || got[2].Filename != "hi.txt" || got[3].URL != "https://example.com/a.png" {
			t.Errorf("%+v", got)
		}
		for parts, reason := range map[string]string{
			`[{"raw":"aGk=","mediaType":"application/zip"}]`:                            "CONTENT_TYPE_NOT_SUPPORTED",
			`[{"raw":"%%%","mediaType":"image/png"}]`:                                   "INVALID_PARAMS",
			`[{"url":"file:///etc/passwd","mediaType":"image/png"}]`:                    "INVALID_PARAMS",
			`[{"raw":"` + strings.Repeat("AAAA", 6<<20) + `","mediaType":"image/png"}]`: "INVALID_PARAMS",
			`[{"text":"a","url":"https://example.com"}]`:                                "INVALID_PARAMS",
			`[{}]`: "INVALID_PARAMS",
			`[]`:   "INVALID_PARAMS",
		} {
			params := map[string]any{"message": map[string]any{"messageId": unique("m"), "role": "ROLE_USER", "parts": json.RawMessage(parts)}}
			if r := g.ask("SendMessage", params); r.reason != reason {
				t.Errorf("%.80s: %d %s %.200s, want %s", parts, r.status, r.reason, r.text, reason)
			}
		}
	})
}

// A task can be cancelled while it runs, while it waits and on any replica, and then it is over.
func TestCancel(t *testing.T) {
	release := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, release)
	defer close(release)
	_, other := g.Start(false)
	both(t, g, func(t *testing.T, g *rig) {
		for _, agent := range []string{"slow", "again"} {
			task := g.task("SendMessage", body(message("go"), config{"returnImmediately": agent == "slow"}, agent))
			if task.Status.State.Terminal() {
				t.Fatalf("%+v", task.Status)
			}
			resp := g.request(other, "CancelTask", map[string]any{"id": task.ID})
			r := g.read(resp)
			resp.Body.Close()
			var got a2a.Task
			g.decode(r.result, &got)
			if got.ID != task.ID || got.Status.State != a2a.Canceled {
				t.Errorf("%s: %d %s", agent, r.status, r.result)
			}
			if r := g.ask("CancelTask", map[string]any{"id": task.ID}); r.reason != "TASK_NOT_CANCELABLE" {
				t.Errorf("%s: cancelled again: %+v", agent, r)
			}
		}
	})
}

// A task goes from replica to replica: what one accepted, another answers for.
func TestReplicas(t *testing.T) {
	release := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, release)
	_, other := g.Start(false)
	both(t, g, func(t *testing.T, g *rig) {
		task := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
		got := make(chan string, 2)
		for _, url := range []string{g.URL, other} {
			resp := g.request(url, "SubscribeToTask", map[string]any{"id": task.ID})
			go func() {
				defer resp.Body.Close()
				got <- protocoltest.ReadAll(resp)
			}()
		}
		if !g.rpc {
			time.AfterFunc(50*time.Millisecond, func() { close(release) })
		}
		for range 2 {
			all := <-got
			if end := seen(t, events(t, all)); end.Status.State != a2a.Completed || text(end, "response") != protocoltest.SlowText {
				t.Errorf("%+v\n%s", end, all)
			}
		}
	})
}

// A message to a task that is queued does not reach the task before it, and starts no other.
func TestSend_ToAQueuedTask(t *testing.T) {
	release := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, release)
	defer close(release)
	both(t, g, func(t *testing.T, g *rig) {
		first := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
		m := message("then this")
		m.ContextID = first.ContextID
		queued := g.task("SendMessage", body(m, config{"returnImmediately": true}, "slow"))
		m = message("for the second")
		m.TaskID = queued.ID
		if r := g.ask("SendMessage", body(m, config{"returnImmediately": true}, "")); r.reason != "CONFLICT" {
			t.Errorf("%+v", r)
		}
		var list struct{ TotalSize int }
		g.decode(g.ask("ListTasks", map[string]any{"contextId": first.ContextID}).result, &list)
		if list.TotalSize != 2 {
			t.Errorf("the context has %d tasks, want 2", list.TotalSize)
		}
	})
}

// Which agents clients may use is configuration, and the others do not show.
func TestAgents_PrivateOnesDoNotShow(t *testing.T) {
	g := newRigWith(t, a2a.Config{Agents: []string{"slow", "again"}, ExtendedCardToken: awaken.NewSecret("s3cret")}, nil)
	hidden := body(message("hi"), nil, "default")
	api := fmt.Sprintf(`{"agent_id":"default","thread_id":"elsewhere","stream":false,"messages":[{"role":"user","content":%q}]}`, "hi")
	if status, text := g.Ask("POST", g.URL+"/v1/runs", api); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	runs, err := g.Box.Tenant("").Store.ListRuns(t.Context(), awaken.RunQuery{})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	both(t, g, func(t *testing.T, g *rig) {
		if r := g.ask("SendMessage", hidden); r.reason != "NOT_FOUND" || !strings.Contains(r.text, "agent not found: default") {
			t.Errorf("%+v", r)
		}
		if r := g.ask("GetTask", map[string]any{"id": runs[0].RunID}); r.reason != "TASK_NOT_FOUND" {
			t.Errorf("%+v", r)
		}
		r := g.ask("ListTasks", map[string]any{})
		if strings.Contains(string(r.result), runs[0].RunID) {
			t.Errorf("%s", r.result)
		}
		mine := g.task("SendMessage", body(message("hi"), nil, ""))
		if run, err := g.Box.Tenant("").Store.LoadRun(t.Context(), mine.ID); err != nil || run.AgentID != "again" || run.Adapter != "a2a" {
			t.Errorf("the public agent: %+v, %v", run, err)
		}
		if r := g.ask("GetTask", map[string]any{"id": mine.ID, "tenant": "slow"}); r.reason != "TASK_NOT_FOUND" {
			t.Errorf("a task of another agent: %+v", r)
		}
		if g.rpc {
			return // a server without keys refuses the header
		}
		if r := g.ask("GetExtendedAgentCard", map[string]any{}, "Authorization", "Bearer s3cret"); strings.Contains(string(r.result), `"default"`) || !strings.Contains(string(r.result), `"slow"`) {
			t.Errorf("%s", r.result)
		}
	})
}

// Users see their own tasks only.
func TestUsers(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		m := message("hi")
		r := g.ask("SendMessage", body(m, nil, ""), protocoltest.UserHeader, "alice")
		var sent struct{ Task a2a.Task }
		g.decode(r.result, &sent)
		for user, reason := range map[string]string{"alice": "", "bob": "TASK_NOT_FOUND", "": "TASK_NOT_FOUND"} {
			for _, method := range []string{"GetTask", "CancelTask", "SubscribeToTask"} {
				r := g.ask(method, map[string]any{"id": sent.Task.ID}, protocoltest.UserHeader, user)
				if reason != "" && r.reason != reason || reason == "" && r.reason == "TASK_NOT_FOUND" {
					t.Errorf("%s by %q: %+v", method, user, r)
				}
			}
			list := g.ask("ListTasks", map[string]any{}, protocoltest.UserHeader, user)
			if strings.Contains(string(list.result), sent.Task.ID) != (user == "alice") {
				t.Errorf("list by %q: %s", user, list.result)
			}
		}
	})
}

// The scenario agent shows data as an artifact, and intermediate text is replaced by the answer.
func TestStream_Artifacts(t *testing.T) {
	g := newRig(t)
	both(t, g, func(t *testing.T, g *rig) {
		list := events(t, g.stream("SendStreamingMessage", body(message(`RUN_TOOL talk {"n":2}`), nil, "")))
		task := seen(t, list)
		if list[0].Task == nil || list[0].Task.Status.State != a2a.Submitted || len(list[0].Task.History) != 1 {
			t.Errorf("the first event is %+v", list[0])
		}
		if i := slices.IndexFunc(task.Artifacts, func(a a2a.Artifact) bool { return a.Name == "custom:greeting" }); i < 0 || string(task.Artifacts[i].Parts[0].Data) != `{"n":2}` {
			t.Errorf("%+v", task.Artifacts)
		}
		stored := g.get(task.ID)
		if stored.Status != task.Status && stored.Status.State != task.Status.State || text(stored, "response") != text(task, "response") || len(stored.Artifacts) != len(task.Artifacts) {
			t.Errorf("streamed %+v\nstored %+v", task, stored)
		}
		if last := list[len(list)-1]; last.StatusUpdate == nil || last.StatusUpdate.Status.State != a2a.Completed {
			t.Errorf("the last event is %+v", last)
		}
	})
}

// A message to a context whose task waits continues that task, and one to a context whose task runs is the next task.
func TestSend_ToABusyContext(t *testing.T) {
	release := make(chan struct{})
	g := newRigWith(t, a2a.Config{}, release)
	var queued []*a2a.Task
	both(t, g, func(t *testing.T, g *rig) {
		waits := g.say("RUN_TOOL ask", nil)
		m := message("hello")
		m.ContextID = waits.ContextID
		more := body(m, nil, "")
		for range 2 {
			if next := g.task("SendMessage", more); next.ID != waits.ID || next.Status.State != a2a.Completed {
				t.Errorf("%+v, want task %s to be completed", next, waits.ID)
			}
		}
		runs := g.task("SendMessage", body(message("go"), config{"returnImmediately": true}, "slow"))
		m = message("then this")
		m.ContextID = runs.ContextID
		next := g.task("SendMessage", body(m, config{"returnImmediately": true}, "slow"))
		if next.ID == runs.ID || next.Status.State != a2a.Submitted {
			t.Errorf("%+v while %+v runs", next, runs)
		}
		queued = append(queued, next)
	})
	close(release)
	for _, task := range queued {
		resp := g.Send("GET", g.URL+"/v1/a2a/tasks/"+task.ID+":subscribe", "")
		if resp.Header.Get("Content-Type") == "text/event-stream" {
			if end := seen(t, events(t, protocoltest.ReadAll(resp))); end.Status.State != a2a.Completed {
				t.Errorf("%+v", end)
			}
		}
		resp.Body.Close()
		if end := g.get(task.ID); end.Status.State != a2a.Completed || text(end, "response") != protocoltest.SlowText {
			t.Errorf("%+v", end)
		}
	}
}
