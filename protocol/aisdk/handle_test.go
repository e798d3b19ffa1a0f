package aisdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/protocol/protocoltest"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/store/memory"
)

// Errors name the field and the value.
func TestChat_RefusesWithReasons(t *testing.T) {
	g := newRig(t)
	g.say("known", "hello")
	many := strings.Repeat(`{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AA=="},`, 17)
	for name, c := range map[string]struct {
		body   string
		status int
		want   string
	}{
		"not JSON":              {`{`, 400, "not JSON"},
		"not an object":         {`[]`, 422, "array"},
		"nothing":               {`{}`, 400, "at least one message is required"},
		"messages is a text":    {`{"messages":"hi"}`, 422, `field \"messages\"`},
		"part is a number":      {`{"messages":[{"role":"user","parts":[7]}]}`, 422, `field \"messages.parts\"`},
		"text is a number":      {`{"messages":[{"role":"user","parts":[{"type":"text","text":7}]}]}`, 422, `field \"messages.parts.text\"`},
		"part without a type":   {`{"messages":[{"role":"user","parts":[{"text":"x"}]}]}`, 422, "messages[0].parts[0].type is missing"},
		"role":                  {`{"messages":[{"role":"robot","parts":[]}]}`, 400, `messages[0].role is \"robot\"`},
		"empty message":         {`{"messages":[{"role":"user","parts":[]}]}`, 400, "messages[0].parts has no text and no file"},
		"trigger":               {`{"trigger":"please","messages":[{"role":"user","content":"x"}]}`, 400, `trigger is \"please\"`},
		"both":                  {`{"message":{"role":"user","content":"x"},"messages":[{"role":"user","content":"y"}]}`, 400, "message and messages are both set"},
		"two threads":           {`{"threadId":"a","thread_id":"b","messages":[{"role":"user","content":"x"}]}`, 400, `threadId is set twice`},
		"id":                    {`{"id":"a\u0001b","messages":[{"role":"user","content":"x"}]}`, 400, "want at most 512 bytes"},
		"message id":            {`{"messages":[{"id":"a\u0001","role":"user","content":"x"}]}`, 400, "messages[0].id is"},
		"agent":                 {`{"agentId":"nonesuch","messages":[{"role":"user","content":"x"}]}`, 400, "agent not found: nonesuch"},
		"file type":             {file("application/x-foo", "data:application/x-foo;base64,AA=="), 400, "mediaType is \\\"application/x-foo\\\""},
		"file says another":     {file("image/png", "data:image/jpeg;base64,AA=="), 400, "its data: URL says"},
		"file is not base64":    {file("image/png", "data:image/png;base64,!!"), 400, "cannot decode"},
		"file scheme":           {file("image/png", "file:///etc/passwd"), 400, "want a data:, https: or http: URL"},
		"too many files":        {`{"messages":[{"role":"user","parts":[` + many[:len(many)-1] + `]}]}`, 400, "more than 16 files"},
		"nothing new":           {`{"id":"known","messages":[]}`, 400, "nothing new: want a message or a decision"},
		"regenerate nothing":    {`{"id":"known","trigger":"regenerate-message","messageId":"nonesuch"}`, 404, "message not found: nonesuch"},
		"frontend tool unnamed": {`{"frontendTools":[{}],"messages":[{"role":"user","content":"x"}]}`, 400, "frontendTools[0].name is empty"},
		"deep":                  {`{"state":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, "nested deeper"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := g.post(g.URL, c.body)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("%d %s, want %d and %q", status, body, c.status, c.want)
			}
		})
	}
}

func file(mediaType, url string) string {
	return fmt.Sprintf(`{"messages":[{"role":"user","parts":[{"type":"file","mediaType":%q,"url":%q}]}]}`, mediaType, url)
}

// Whatever the body is, the server answers with a stream or an error that names the problem.
func FuzzChat(f *testing.F) {
	seeds := []string{
		`{"id":"t","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"RUN_TOOL ask"}]}],"trigger":"submit-message"}`,
		`{"id":"t","messages":[{"role":"assistant","parts":[{"type":"tool-ask","toolCallId":"call_ask_1","state":"approval-responded","input":{},"approval":{"id":"suspend_call_ask_1","approved":true}}]}]}`,
		`{"id":"t","messages":[{"role":"assistant","parts":[{"type":"dynamic-tool","toolCallId":"call_ask_1~2","state":"output-error","errorText":"x"}]}]}`,
		`{"id":"t","trigger":"regenerate-message","messageId":"m"}`,
		`{"id":"t","message":{"id":"m","role":"user","content":[{"type":"text","text":"x"}]},"messageId":"m","state":{"a":1}}`,
		`{"threadId":"t","agent_id":"default","messages":[{"role":"user","parts":[{"type":"file","mediaType":"text/plain","url":"data:,hello%20"}]}]}`,
		`{"frontendTools":[{"name":"x","inputSchema":{"type":"object"}}],"overrides":{"temperature":0.1},"messages":[{"role":"system","content":"x"}]}`,
		`{"messages":null,"id":null}`, `{"id":"t","messages":[null]}`,
	}
	newRig(f).Fuzz(f, 1, seeds, func(_ int, body string) protocoltest.Request {
		return protocoltest.Request{Method: http.MethodPost, Path: "/v1/ai-sdk/chat", Body: body}
	}, func(t *testing.T, resp *http.Response, got string) {
		if resp.StatusCode == 200 {
			return // a run was accepted
		}
		var out struct{ Error, Code string }
		if err := json.Unmarshal([]byte(got), &out); err != nil || out.Error == "" || out.Code == "" {
			t.Errorf("%s without a reason: %v", resp.Status, err)
		}
		if resp.StatusCode < 400 || resp.StatusCode >= 500 {
			t.Errorf("%s: %s", resp.Status, out.Error)
		}
	})
}

// A message that is sent twice is answered once: the second request gets the same answer.
func TestChat_RepeatedMessageIsAnsweredOnce(t *testing.T) {
	g := newRig(t)
	body := `{"id":"t","agentId":"slow","messages":[{"id":"m","role":"user","content":"go"}]}`
	first, err := http.Post(g.URL+"/v1/ai-sdk/chat", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Body.Close()
	_, second := g.post(g.URL, body)
	if whole := protocoltest.ReadAll(first); second != whole {
		t.Errorf("the second got\n%s\nwant\n%s", second, whole)
	}
	if h := g.history(g.URL, "t"); h.Total != 2 {
		t.Errorf("%d messages, want 2", h.Total)
	}
}

// An idempotency key does the same for a request without message ids.
func TestChat_IdempotencyKey(t *testing.T) {
	g := newRig(t)
	var bodies []string
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/ai-sdk/chat", strings.NewReader(`{"id":"t","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Idempotency-Key", "k")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, protocoltest.ReadAll(resp))
		resp.Body.Close()
	}
	if bodies[0] != bodies[1] || !strings.Contains(bodies[0], "Scripted response") {
		t.Errorf("%s\n%s", bodies[0], bodies[1])
	}
}

// Identical concurrent requests are one request: it is answered once, and both clients see
// that answer. Nothing is interrupted.
func TestChat_ConcurrentDuplicatesAreOneRequest(t *testing.T) {
	for name, body := range map[string]string{
		"say":                    `{"id":"t","messages":[{"id":"n","role":"user","content":"go"}]}`,
		"regenerate":             `{"id":"t","trigger":"regenerate-message"}`,
		"regenerate that answer": `{"id":"t","trigger":"regenerate-message","messageId":"ANSWER"}`,
		"edit":                   `{"id":"t","messageId":"m","messages":[{"id":"m","role":"user","content":"another"}]}`,
	} {
		for _, before := range []string{"go", "RUN_TOOL ask"} { // an answer that is over, and one that waits
			t.Run(name+" after "+before, func(t *testing.T) {
				g := newRig(t)
				agent := "slow"
				if before != "go" {
					agent = "default"
				}
				g.post(g.URL, fmt.Sprintf(`{"id":"t","agentId":%q,"messages":[{"id":"m","role":"user","content":%q}]}`, agent, before))
				body := strings.Replace(body, "ANSWER", g.history(g.URL, "t").Messages[1].ID, 1)
				body = strings.Replace(body, "{", `{"agentId":"slow",`, 1)
				const n = 6
				type answer struct{ run, stream string }
				answers := make(chan answer, n)
				for i := range n {
					go func() {
						resp, err := http.Post(g.URL+"/v1/ai-sdk/chat", "application/json", strings.NewReader(body))
						if err != nil {
							t.Errorf("request %d: %v", i, err)
							answers <- answer{}
							return
						}
						defer resp.Body.Close()
						answers <- answer{resp.Header.Get("X-Run-Id"), protocoltest.ReadAll(resp)}
					}()
				}
				first := <-answers
				for range n - 1 {
					// A request that arrives while the run is in flight gets no run id, but the same stream.
					if a := <-answers; a.run != first.run && a.run != "" && first.run != "" || a.stream != first.stream {
						t.Errorf("run %q:\n%s\nand run %q:\n%s", first.run, first.stream, a.run, a.stream)
					}
				}
				if find(chunksOf(t, first.stream), "finish") == nil {
					t.Errorf("it does not end: %s", first.stream)
				}
				ds, err := g.DB.Handle("").Dispatches(t.Context(), mailbox.Query{ThreadID: "t"})
				if err != nil {
					t.Fatal(err)
				}
				started := 0
				for _, d := range ds {
					if d.Request != nil {
						started++
					}
					if d.Status == mailbox.Superseded {
						t.Errorf("dispatch %s was superseded", d.ID)
					}
				}
				if started != 2 {
					t.Errorf("%d runs, want that of the first message and one more", started)
				}
			})
		}
	}
}

// A request repeated with its idempotency key does nothing, even if another answer has begun
// since: that one keeps waiting. So it does when a request is refused because of its key.
func TestChat_IdempotencyKeyOfAnotherAnswer(t *testing.T) {
	const other = `{"id":"t","messages":[{"role":"user","content":"hello"}]}`
	for name, body := range map[string]string{
		"say":                    `{"id":"t","messages":[{"role":"user","content":"RUN_TOOL ask"}]}`,
		"regenerate":             `{"id":"t","trigger":"regenerate-message"}`,
		"regenerate that answer": `{"id":"t","trigger":"regenerate-message","messageId":"ANSWER"}`,
		"edit":                   `{"id":"t","messageId":"m","messages":[{"id":"m","role":"user","content":"RUN_TOOL ask"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t)
			g.post(g.URL, `{"id":"t","messages":[{"id":"m","role":"user","content":"RUN_TOOL ask"}]}`)
			body := strings.Replace(body, "ANSWER", g.history(g.URL, "t").Messages[1].ID, 1)
			send := func(key, body string) (status int, runID, stream string) {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/ai-sdk/chat", strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Idempotency-Key", key)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				return resp.StatusCode, resp.Header.Get("X-Run-Id"), protocoltest.ReadAll(resp)
			}
			old := g.Open("t").RunID
			_, first, answer := send("k", body)
			if first == old || find(chunksOf(t, answer), "tool-approval-request") == nil {
				t.Fatalf("run %q: %s", first, answer)
			}
			if status, again, same := send("k", body); status != 200 || again != first || same != answer {
				t.Errorf("again: %d, run %q, want %q: %s", status, again, first, same)
			}
			if status, _, answer := send("k", other); status != 409 {
				t.Errorf("something else: %d %s", status, answer)
			}
			if status, _, answer := send(strings.Repeat("k", 513), other); status != 400 || !strings.Contains(answer, "Idempotency-Key") {
				t.Errorf("a key that is none: %d %s", status, answer)
			}
			if run := g.Open("t"); run == nil || run.RunID != first || run.Status != awaken.RunWaiting {
				t.Errorf("the open run is %+v, want %s to wait", run, first)
			}
		})
	}
}

// The routes of the original that name a thread, an agent or a run.
func TestRoutes_MatchTheReference(t *testing.T) {
	g := newRig(t)
	post := func(path string) string {
		resp, err := http.Post(g.URL+path, "application/json", strings.NewReader(`{"id":"ignored","agentId":"default","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body := protocoltest.ReadAll(resp)
		if resp.StatusCode != 200 || resp.Header.Get("X-Vercel-Ai-Ui-Message-Stream") != "v1" || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s: %v %s", path, resp.Header, body)
		}
		chunksOf(t, body)
		return resp.Header.Get("X-Run-Id")
	}
	run := post("/v1/ai-sdk/threads/one/runs")
	post("/v1/ai-sdk/agents/slow/runs")
	if h := g.history(g.URL, "one"); h.Total != 2 {
		t.Errorf("%d messages on thread one, want 2", h.Total)
	}
	for _, path := range []string{"/v1/ai-sdk/runs/" + run + "/stream", "/v1/ai-sdk/streams/" + run, "/v1/ai-sdk/chat/one/stream?runId=" + run} {
		if status, body := g.get(g.URL, path, ""); status != 200 || len(chunksOf(t, body)) < 5 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for path, want := range map[string]int{"/v1/ai-sdk/chat/one/stream": 204, "/v1/ai-sdk/threads/one/stream": 204, "/v1/ai-sdk/threads/none/stream": 204, "/v1/ai-sdk/runs/none/stream": 404,
		"/v1/ai-sdk/chat/other/stream?runId=" + run: 404, "/v1/ai-sdk/chat/one/stream?cursor=x": 400, "/v1/ai-sdk/chat/one/stream?cursor=9-1.1": 410,
		"/v1/ai-sdk/threads/none/messages": 404, "/v1/ai-sdk/threads/one/messages?order=up": 400, "/v1/ai-sdk/threads/one/messages?limit=x": 400, "/v1/ai-sdk/threads/none/replay": 404} {
		if status, body := g.get(g.URL, path, ""); status != want {
			t.Errorf("%s: %d %s, want %d", path, status, body, want)
		}
	}
	for _, path := range []string{"cancel", "interrupt"} {
		resp, err := http.Post(g.URL+"/v1/ai-sdk/threads/one/"+path, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if body := protocoltest.ReadAll(resp); resp.StatusCode != 404 || !strings.Contains(body, "has no running, waiting or queued run") {
			t.Errorf("%s: %s %s", path, resp.Status, body)
		}
		resp.Body.Close()
	}
}

// A thread can be read in pages, which add up to the whole stream.
func TestPages_AreTheStream(t *testing.T) {
	g := newRig(t)
	for _, word := range []string{"hello", "RUN_TOOL ask", "RUN_TOOL fail", `RUN_TOOL talk {"n":5}`} {
		g.say("t", word)
	}
	_, whole := g.get(g.URL, "/v1/ai-sdk/threads/t/replay?limit=500", "")
	got, id := "", ""
	for n := 0; ; n++ {
		status, page := g.get(g.URL, "/v1/ai-sdk/chat/t/replay?limit=7", id)
		if status != 200 {
			t.Fatalf("%d: %s", status, page)
		}
		if page == "" {
			break
		}
		got += page
		_, id = protocoltest.Whole(page)
		if n > 100 {
			t.Fatal("there is no end")
		}
	}
	if got != whole || strings.Count(whole, `"type":"start",`) != 4+1 { // the call that waited was cancelled by what came next
		t.Errorf("pages:\n%s\nwhole:\n%s", got, whole)
	}
}

// A chat can be listed in pages, from either end.
func TestMessages_Pages(t *testing.T) {
	g := newRig(t)
	for i := range 5 {
		g.say("t", fmt.Sprint("message ", i))
	}
	type page struct {
		Messages   []struct{ ID string }
		Total      int
		HasMore    bool   `json:"has_more"`
		NextCursor string `json:"next_cursor"`
	}
	all := map[string][]string{}
	for _, order := range []string{"asc", "desc"} {
		for cursor := "0"; cursor != ""; {
			_, body := g.get(g.URL, "/v1/ai-sdk/threads/t/messages?limit=4&order="+order+"&cursor="+cursor, "")
			var p page
			if err := json.Unmarshal([]byte(body), &p); err != nil || p.Total != 10 || p.HasMore != (p.NextCursor != "") {
				t.Fatalf("%v %s", err, body)
			}
			for _, m := range p.Messages {
				all[order] = append(all[order], m.ID)
			}
			cursor = p.NextCursor
		}
	}
	slices.Reverse(all["desc"])
	if len(all["asc"]) != 10 || !slices.Equal(all["asc"], all["desc"]) {
		t.Errorf("%q\n%q", all["asc"], all["desc"])
	}
}

// The OpenAPI document describes the routes of the protocol.
func TestRoutes_AreInTheOpenAPIDocument(t *testing.T) {
	g := newRig(t)
	_, body := g.get(g.URL, "/openapi.json", "")
	var doc struct {
		Paths      map[string]map[string]any
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range aisdk.Routes() {
		if r.Control {
			continue // they need a control plane, which the tests of the server have
		}
		if doc.Paths[r.Path][strings.ToLower(r.Method)] == nil {
			t.Errorf("%s %s is not described", r.Method, r.Path)
		}
	}
	for _, name := range []string{"AisdkChatRequest", "AisdkUiMessage", "AisdkMessageList"} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("%s is not described", name)
		}
	}
}

// A read key can read, and sees only its tenant.
func TestRoutes_Keys(t *testing.T) {
	db := memory.NewDB()
	box, err := mailbox.New(mailbox.Config{Queue: db}, protocoltest.Idle(t, nil).Runtime().With)
	if err != nil {
		t.Fatal(err)
	}
	keys := access.NewKeys(memory.NewProfile())
	for secret, k := range map[string]server.Key{"read": {ID: "r", Kind: server.ReadKey}, "run": {ID: "w", Kind: server.RunKey}} {
		if err := keys.Fix("the-key-to-"+secret, k); err != nil {
			t.Fatal(err)
		}
	}
	srv, err := server.New(server.Config{Mailbox: box, Keys: keys, Open: new(false), Routes: aisdk.Routes()})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range aisdk.Routes() {
		if r.Control {
			continue
		}
		path := strings.NewReplacer("{thread_id}", "t", "{run_id}", "r", "{agent_id}", "a").Replace(r.Path)
		for key, allowed := range map[string]bool{"": false, "read": r.Method == "GET", "run": true} {
			req := httptest.NewRequest(r.Method, path, strings.NewReader("{}"))
			req.Host = "127.0.0.1"
			if key != "" {
				req.Header.Set("Authorization", "Bearer the-key-to-"+key)
			}
			w := httptest.NewRecorder()
			srv.Handler().ServeHTTP(w, req)
			if refused := w.Code == 401 || w.Code == 403; refused == allowed {
				t.Errorf("%s %s with key %q: %d", r.Method, path, key, w.Code)
			}
		}
	}
}

// Of several waiting calls, some can be decided now and others later.
func TestApprovals_OneAfterTheOther(t *testing.T) {
	g := newRig(t)
	path, approval := map[any]string{}, map[string]string{}
	for _, c := range g.say("t", "scenario:approvals") {
		switch c.kind() {
		case "tool-input-available":
			path[c["toolCallId"]] = c["input"].(map[string]any)["path"].(string)
		case "tool-approval-request":
			approval[path[c["toolCallId"]]] = c["approvalId"].(string)
		}
	}
	x, y := approval["/tmp/x"], approval["/tmp/y"]
	part := func(id string) string {
		return fmt.Sprintf(`{"type":"tool-delete_file","toolCallId":"","state":"approval-responded","approval":{"id":%q,"approved":true}}`, id)
	}
	_, first := g.decide(g.URL, "t", part(y))
	list := chunksOf(t, first)
	if c := find(list, "tool-output-available"); c == nil || c["output"].(map[string]any)["did"] != "/tmp/y" || find(list, "text-delta") != nil || find(list, "finish")["finishReason"] != "tool-calls" {
		t.Errorf("after one: %s", first)
	}
	_, second := g.decide(g.URL, "t", part(y)+","+part(x))
	list = chunksOf(t, second)
	if c := find(list, "tool-output-available"); c == nil || c["output"].(map[string]any)["did"] != "/tmp/x" || find(list, "text-delta") == nil {
		t.Errorf("after both: %s", second)
	}
}

// Edited arguments must satisfy the tool's schema; until they do, nothing happens.
func TestApprovals_EditedArgumentsHaveToFit(t *testing.T) {
	g := newRig(t)
	g.say("t", `RUN_TOOL ask {"path":"a"}`)
	edited := func(input string) (int, string) {
		return g.decide(g.URL, "t", strings.Replace(approved, `"state"`, `"input":`+input+`,"state"`, 1))
	}
	if status, body := edited(`{"path":7}`); status != 400 || !strings.Contains(body, "path") {
		t.Errorf("%d %s", status, body)
	}
	if _, body := edited(`{"path":"b"}`); find(chunksOf(t, body), "tool-output-available")["output"].(map[string]any)["did"] != "b" {
		t.Error(body)
	}
	if p := find(g.history(g.URL, "t").Messages[1].Parts, "tool-ask"); p["input"].(map[string]any)["path"] != "b" {
		t.Errorf("%v", p)
	}
}

func toolPart(list []chunk) chunk {
	i := slices.IndexFunc(list, func(c chunk) bool { return strings.HasPrefix(c.kind(), "tool-") })
	if i < 0 {
		return nil
	}
	return list[i]
}

// heldQueue claims nothing until it is released.
type heldQueue struct {
	mailbox.Queue
	may <-chan struct{}
}

func (q heldQueue) Settle(ctx context.Context, s ...mailbox.Settlement) ([]error, error) {
	<-q.may
	return q.Queue.Settle(ctx, s...)
}

// An edit with the same text differs from the message that it edits, even while that message's
// run has ended but is still queued.
func TestChat_AnEditDiffersFromTheOriginal(t *testing.T) {
	g, may := protocoltest.Idle(t, aisdk.Routes()), make(chan struct{})
	g.DB = heldQueue{g.DB, may}
	g.Box, g.URL = g.Start(true)
	send := func(body string) string {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/v1/ai-sdk/chat", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 {
			t.Fatalf("%s", resp.Status)
		}
		id := resp.Header.Get("X-Run-Id")
		for { // until it rests
			if run, err := g.DB.Handle("").LoadRun(t.Context(), id); err == nil && run.Status == awaken.RunWaiting || strings.Contains(body, "messageId") {
				return id
			}
			time.Sleep(time.Millisecond)
		}
	}
	first := send(`{"id":"t","messages":[{"id":"m","role":"user","content":"RUN_TOOL ask"}]}`)
	if edit := send(`{"id":"t","messageId":"m","messages":[{"id":"m","role":"user","content":"RUN_TOOL ask"}]}`); edit == first {
		t.Error("the edit was taken for the message")
	}
	close(may)
}
