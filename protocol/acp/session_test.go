package acp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/eventlog/threadfile"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/mailbox"
	"github.com/awaken-go/awaken/protocol/acp"
	"github.com/awaken-go/awaken/protocol/protocoltest"
)

type listed struct {
	Sessions   []struct{ SessionID, Cwd, Title, UpdatedAt string }
	NextCursor string
}

func (c *client) list(params string) (ids []string, out listed) {
	c.t.Helper()
	if err := json.Unmarshal(c.must("session/list", params), &out); err != nil {
		c.t.Fatal(err)
	}
	for _, s := range out.Sessions {
		ids = append(ids, s.SessionID)
	}
	return ids, out
}

func (c *client) newIn(cwd string) string {
	c.t.Helper()
	var out struct{ SessionID string }
	if err := json.Unmarshal(c.must("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, cwd)), &out); err != nil {
		c.t.Fatal(err)
	}
	return out.SessionID
}

func of(session string) string {
	return fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":[]}`, session)
}

// Sessions with a prompt are listed, by folder and by page, with the first line of their first prompt, to every connection;
// those of other users and those that no editor began are not.
func TestList(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	long := "/" + strings.Repeat("d", 1000)
	a, b, far, unused := c.newIn("/src"), c.newIn("/src/."), c.newIn(long), c.newIn("/src")
	for _, s := range []string{a, b, far} {
		c.prompt(s, "first line of "+s+"\nmore")
	}
	alice := begin(t, g.Box, `{}`, func(cfg *acp.Config) { cfg.User = "alice" })
	hers := alice.newIn("/src")
	alice.prompt(hers, "hello")
	g.Ask("POST", g.URL+"/v1/runs", `{"agent_id":"default","stream":false,"messages":[{"role":"user","content":"hello"}]}`)
	other := begin(t, g.Box, `{}`)
	ids, list := other.list(`{}`)
	if fmt.Sprint(ids) != fmt.Sprint([]string{far, b, a}) || list.NextCursor != "" || list.Sessions[2].Cwd != "/src" || list.Sessions[2].Title != "first line of "+a || list.Sessions[2].UpdatedAt == "" {
		t.Errorf("%+v, want %s, %s, %s and not %s", list, far, b, a, unused)
	}
	if ids, _ := other.list(`{"cwd":"/src"}`); fmt.Sprint(ids) != fmt.Sprint([]string{b, a}) {
		t.Errorf("%v", ids)
	}
	if ids, _ := other.list(fmt.Sprintf(`{"cwd":%q}`, long)); fmt.Sprint(ids) != fmt.Sprint([]string{far}) {
		t.Errorf("%v", ids)
	}
	if ids, _ := alice.list(`{}`); fmt.Sprint(ids) != fmt.Sprint([]string{hers}) {
		t.Errorf("%v", ids)
	}
	for _, method := range []string{"session/load", "session/resume", "session/prompt", "session/close"} {
		if r := other.call(method, fmt.Sprintf(`{"sessionId":%q,"cwd":"/src","mcpServers":[],"prompt":[{"type":"text","text":"x"}]}`, hers)); r.Error == nil || r.Error.Code != -32002 {
			t.Errorf("%s of another user's session: %s %+v", method, r.Result, r.Error)
		}
	}
	other.must("session/delete", of(hers)) // which changes nothing
	if ids, _ := alice.list(`{}`); len(ids) != 1 {
		t.Error("another user's session was deleted")
	}
}

func TestList_Pages(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	want := map[string]bool{}
	for range 60 {
		s := c.newIn("/src")
		c.prompt(s, "hello")
		want[s] = true
	}
	first, page := c.list(`{}`)
	second, last := c.list(fmt.Sprintf(`{"cursor":%q}`, page.NextCursor))
	if len(first) != 50 || page.NextCursor == "" || len(second) != 10 || last.NextCursor != "" {
		t.Fatalf("%d and %d, %q and %q", len(first), len(second), page.NextCursor, last.NextCursor)
	}
	for _, s := range append(first, second...) {
		delete(want, s)
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

// A session that is closed ends its run and is not known any more, until it is loaded again. One that is deleted is gone,
// also while it runs, and deleting it again succeeds.
func TestCloseAndDelete(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	c.ask = func(string, json.RawMessage) (any, error) { return nil, nil }
	s := c.session("again")
	answer := c.send("session/prompt", promptOf(s, "go"))
	c.until("it asks", func() bool { return len(c.asked) == 1 })
	c.must("session/close", of(s))
	if r := c.wait("prompt", answer); r.Error == nil && stopped(t, r.Result) != "cancelled" {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	if r := c.call("session/prompt", promptOf(s, "more")); r.Error == nil || r.Error.Code != -32002 {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
	c.must("session/load", of(s))
	answer = c.send("session/prompt", promptOf(s, "again"))
	c.until("it asks again", func() bool { return len(c.asked) == 2 })
	c.must("session/delete", of(s))
	c.wait("prompt", answer)
	c.must("session/delete", of(s))
	if r := c.call("session/load", of(s)); r.Error == nil || r.Error.Code != -32002 {
		t.Errorf("%s %+v", r.Result, r.Error)
	}
}

// What a session is set to holds for its runs, and is kept with it.
func TestOptions(t *testing.T) {
	g := newRig(t)
	g.Model.Asked = make(chan *llm.Request, 10)
	c := begin(t, g.Box, `{}`)
	s := c.newIn("/src")
	type options struct {
		Modes         struct{ CurrentModeID string }
		ConfigOptions []struct {
			ID, CurrentValue, Category string
			Options                    []struct{ Value string }
		}
	}
	current := func(raw json.RawMessage) string {
		var o options
		if err := json.Unmarshal(raw, &o); err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, v := range o.ConfigOptions {
			out = append(out, v.ID+"="+v.CurrentValue)
			if !slices.ContainsFunc(v.Options, func(c struct{ Value string }) bool { return c.Value == v.CurrentValue }) {
				t.Errorf("%s is %s, which cannot be chosen", v.ID, v.CurrentValue)
			}
		}
		return strings.Join(out, " ")
	}
	if got := current(c.must("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"effort","value":"high"}`, s))); got != "mode=default model=m effort=high" {
		t.Error(got)
	}
	if got := current(c.must("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"mode","value":"trusting"}`, s))); got != "mode=trusting model=m effort=high" {
		t.Error(got)
	}
	c.prompt(s, "hello")
	if req := <-g.Model.Asked; req.Params.ReasoningEffort == nil || req.Params.ReasoningEffort.Level != "high" {
		t.Errorf("%+v", req.Params)
	}
	th, err := g.Box.Tenant("").Store.Thread(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if run, err := g.Box.Tenant("").Store.LoadRun(t.Context(), th.LatestRunID); err != nil || run.AgentID != "trusting" || run.Adapter != "acp" {
		t.Errorf("%+v, %v", run, err)
	}
	other := begin(t, g.Box, `{}`)
	if got := current(other.must("session/load", of(s))); got != "mode=trusting model=m effort=high" {
		t.Error(got)
	}
	other.must("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"default"}`, s))
	other.until("it is told", func() bool { return strings.Contains(strings.Join(other.lines, ""), "config_option_update") })
	if got := current(other.must("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":"effort","value":"default"}`, s))); got != "mode=default model=m effort=default" {
		t.Error(got)
	}
}

// MCP servers are not used, and the client is told: by a notice if it knows them, or else in the conversation.
func TestMCPServers(t *testing.T) {
	g := newRig(t)
	for capabilities, kind := range map[string]string{`{}`: "agent_message_chunk", `{"session":{"notices":{}}}`: "notice"} {
		c := begin(t, g.Box, capabilities)
		c.must("session/new", `{"cwd":"/src","mcpServers":[{"name":"github","command":"gh","args":[],"env":[]},{"type":"http","name":"web","url":"https://example.com","headers":[]}]}`)
		c.until("it is told", func() bool {
			return slices.ContainsFunc(c.updates, func(u update) bool {
				return u.Kind == kind && strings.Contains(u.Title+string(u.Content), "MCP servers of the editor are not used: github, web")
			})
		})
	}
}

// A copy of a conversation has no log. A call that failed or is in doubt is not shown as completed in it, and no status is made
// up where the store has no record of the call.
func TestLoad_CallsOfACopy(t *testing.T) {
	g, elsewhere := newRig(t), newRig(t)
	store := g.Box.Tenant("").Store
	for tool, status := range map[string]string{"talk": "completed", "fail": "failed", "lose": "failed"} {
		c := begin(t, g.Box, `{}`)
		s := c.session("default")
		c.prompt(s, "RUN_TOOL "+tool)
		th, err := store.Thread(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		fork, err := store.(awaken.ThreadEditor).Fork(t.Context(), s, th.MessageCount, "fork-"+tool, nil)
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if err := threadfile.Export(t.Context(), store, s, &file); err != nil {
			t.Fatal(err)
		}
		here, err := threadfile.Import(t.Context(), store, bytes.NewReader(file.Bytes()), "here-"+tool)
		if err != nil {
			t.Fatal(err)
		}
		there, err := threadfile.Import(t.Context(), elsewhere.Box.Tenant("").Store, &file, "there-"+tool)
		if err != nil {
			t.Fatal(err)
		}
		for _, copied := range []struct {
			rig    *protocoltest.Rig
			thread string
			want   string
		}{{g, s, status}, {g, fork.ID, status}, {g, here.ID, status}, {elsewhere, there.ID, ""}} {
			editor := begin(t, copied.rig.Box, `{}`)
			editor.must("session/load", of(copied.thread))
			var last update
			for _, u := range editor.all(copied.thread) {
				if u.CallID != "" && u.Status != "" {
					last = u
				}
			}
			if last.Status != copied.want {
				t.Errorf("%s: the call of %s is shown as %q, want %q", copied.thread, tool, last.Status, copied.want)
			}
		}
	}
}

// A session that is loaded shows what people see: not what was rewound, and messages of a fork although it has no log.
func TestLoad_RewoundAndForked(t *testing.T) {
	g := newRig(t)
	c := begin(t, g.Box, `{}`)
	s := c.session("default")
	c.prompt(s, "RUN_TOOL talk")
	store := g.Box.Tenant("").Store
	th, err := store.Thread(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := store.(awaken.ThreadEditor).Fork(t.Context(), s, th.MessageCount, "fork", nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := func(id string) string {
		other := begin(t, g.Box, `{}`)
		other.must("session/load", of(id))
		return transcript(other.all(id))
	}
	want := "user_message_chunk: RUN_TOOL talk\n" + transcript(c.all(s))
	if got := shown(fork.ID); got != want {
		t.Errorf("the fork shows\n%s\nwant\n%s", got, want)
	}
	msgs, err := store.Messages(t.Context(), s, awaken.MessageQuery{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.Box.Tenant("").Submit(t.Context(), mailbox.Submission{Request: awaken.RunRequest{ThreadID: s, Rewind: msgs[0].Message.ID, Messages: []*llm.Message{{Role: llm.User, Content: []llm.Block{llm.Text("hello")}}}}}); err != nil {
		t.Fatal(err)
	}
	for g.Open(s) != nil || !idle(t, g, s) {
		<-tick()
	}
	other := begin(t, g.Box, `{}`)
	other.must("session/load", of(s))
	other.until("the new answer", func() bool { return strings.Contains(strings.Join(other.lines, ""), "agent_message_chunk") })
	if got := transcript(other.all(s)); strings.Contains(got, "talk") || !strings.HasPrefix(got, "user_message_chunk: hello\n") {
		t.Errorf("it shows\n%s", got)
	}
}
