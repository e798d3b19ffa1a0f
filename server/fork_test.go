package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server"
	"github.com/awaken-go/awaken/server/access"
	"github.com/awaken-go/awaken/server/servertest"
	"github.com/awaken-go/awaken/store/memory"
)

// texts returns the texts of a thread's messages.
func (g *rig) texts(thread string) (out []string) {
	g.t.Helper()
	list := g.want(200, "GET", "/v1/threads/"+thread+"/messages?visibility=all&limit=200", "", admin...)
	for _, item := range list["messages"].([]any) {
		out = append(out, fmt.Sprint(item))
	}
	return out
}

func TestThreads_AForkSharesTheFirstMessages(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, run := g.done(admin...)
	made := g.want(201, "POST", "/v1/threads/"+thread+"/fork", `{"seq":1}`, admin...)
	id := made["id"].(string)
	if made["parent_thread_id"] != thread || made["message_count"] != 1.0 {
		t.Errorf("the fork is %v", made)
	}
	from := g.want(200, "GET", "/v1/threads/"+id, "", admin...)["forked_from"].(map[string]any)
	if from["thread_id"] != thread || from["seq"] != 1.0 {
		t.Errorf("forked_from is %v", from)
	}
	g.want(200, "POST", "/v1/runs", runBody("default", id, "and now"), append([]string{"Accept", "application/json"}, admin...)...)
	if n := len(g.texts(thread)); n != 2 {
		t.Errorf("the thread has %d messages now", n)
	}
	first := g.want(200, "GET", "/v1/runs/"+run, "", admin...)
	if first["status"] != "done" {
		t.Errorf("the run is %v", first)
	}
}

func TestThreads_AForkNeedsAPlaceInTheLog(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	thread, _ := g.done(admin...)
	for body, want := range map[string]string{
		`{}`:                          "message_id and seq: want one of them",
		`{"seq":1,"message_id":"m"}`:  "message_id and seq: want one of them",
		`{"seq":3}`:                   "seq is 3, want 0 to 2",
		`{"seq":-1}`:                  "seq is -1, want 0 to 2",
		`{"message_id":"nope"}`:       "nope",
		`{"message_id":"m","at":"x"}`: "at",
	} {
		status, text := g.ask("POST", "/v1/threads/"+thread+"/fork", body, admin...)
		if status < 400 || status > 422 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want it to say %q", body, status, text, want)
		}
	}
	g.want(404, "POST", "/v1/threads/none/fork", `{"seq":0}`, admin...)
}

// payRig is a rig whose agents can pay, which is counted.
func payRig(t *testing.T) (*rig, *atomic.Int64) { return payRigWith(t) }

func payRigWith(t *testing.T, change ...func(*servertest.Config)) (*rig, *atomic.Int64) {
	t.Helper()
	paid := new(atomic.Int64)
	g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(memory.NewProfile())}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.config = func(c *registry.Config) {
		c.Tools = append(c.Tools, awaken.NewTool(awaken.ToolSpec{ID: "pay"}, func(_ context.Context, _ *awaken.ToolCall, in struct {
			USD int `json:"usd"`
		}) (string, error) {
			paid.Add(1)
			return fmt.Sprintf("receipt for %d", in.USD), nil
		}))
	}
	g.start(change...)
	g.want(200, "PUT", "/v1/config/agents/buyer", `{"id":"buyer","model_id":"m","system_prompt":"Buy."}`, admin...)
	return g, paid
}

// ended waits until a run is done or waits, and returns it.
func (g *rig) ended(run string) map[string]any {
	g.t.Helper()
	var out map[string]any
	g.eventually("the end of the fork", func() bool {
		out = g.want(200, "GET", "/v1/runs/"+run, "", admin...)
		return out["status"] == "done" || out["status"] == "waiting"
	})
	return out
}

func TestRuns_AForkRepeatsNoEffect(t *testing.T) {
	t.Parallel()
	g, paid := payRig(t)
	thread := g.id()
	got := g.want(200, "POST", "/v1/runs", runBody("buyer", thread, `RUN_TOOL pay {"usd":5}`), append([]string{"Accept", "application/json"}, admin...)...)
	run := got["run_id"].(string)
	if paid.Load() != 1 {
		t.Fatalf("paid %d times", paid.Load())
	}
	for step := range 2 {
		for _, tools := range []string{"", "recorded", "refuse", "read_only"} {
			body := fmt.Sprintf(`{"from_step":%d,"system_prompt":"Buy nothing.","overrides":{"temperature":0.5}}`, step)
			if tools != "" {
				body = fmt.Sprintf(`{"from_step":%d,"tools":%q}`, step, tools)
			}
			made := g.want(202, "POST", "/v1/runs/"+run+"/fork", body, admin...)
			end := g.ended(made["run_id"].(string))
			if end["status"] != "done" || end["agent_id"] != "buyer" {
				t.Errorf("step %d with tools %q: the fork is %v", step, tools, end)
			}
			from := g.want(200, "GET", "/v1/threads/"+made["thread_id"].(string), "", admin...)["forked_from"].(map[string]any)
			if from["run_id"] != run || from["thread_id"] != thread || from["step"] != float64(step) {
				t.Errorf("forked_from is %v", from)
			}
		}
	}
	if n := paid.Load(); n != 1 {
		t.Errorf("the forks paid %d times", n-1)
	}
	of := g.want(200, "GET", "/v1/runs/"+run+"/forks", "", admin...)
	if list := of["forks"].([]any); len(list) != 8 || of["forked_from"] != nil || of["has_more"] != false {
		t.Errorf("the forks of the run are %v", of)
	} else {
		last := list[0].(map[string]any)
		same, _ := json.Marshal(last["changed"])
		from, _ := json.Marshal(g.want(200, "GET", "/v1/runs/"+last["run_id"].(string)+"/forks", "", admin...)["forked_from"])
		if want := `"changed":{"tools":"read_only"}`; string(same) != `{"tools":"read_only"}` || !strings.Contains(string(from), want) || !strings.Contains(string(from), `"step":1`) {
			t.Errorf("the last fork is %v and is from %s, want %s", last, from, want)
		}
		first, _ := json.Marshal(list[7])
		if want := `"changed":{"overrides":{"temperature":0.5},"system_prompt":true,"tools":"recorded"}`; !strings.Contains(string(first), want) {
			t.Errorf("the first fork is %s, want %s", first, want)
		}
	}
	made := g.want(202, "POST", "/v1/runs/"+run+"/fork", `{"from_step":0,"tools":"real"}`, admin...)
	end := g.ended(made["run_id"].(string))
	if end["status"] != "waiting" || paid.Load() != 1 {
		t.Fatalf("a real effect did not ask: %v, paid %d times", end, paid.Load())
	}
	ticket := end["waiting"].(map[string]any)["ticket_ids"].([]any)[0].(string)
	g.want(202, "POST", "/v1/approvals/"+made["run_id"].(string)+"/"+ticket, `{"action":"resume"}`, admin...)
	g.eventually("the approved payment", func() bool { return paid.Load() == 2 })
	if n := len(g.texts(thread)); n != 4 {
		t.Errorf("the thread that was forked has %d messages now", n)
	}
}

func TestRuns_AForkMayHaveOtherResults(t *testing.T) {
	t.Parallel()
	g, paid := payRig(t)
	thread := g.id()
	got := g.want(200, "POST", "/v1/runs", runBody("buyer", thread, `RUN_TOOL pay {"usd":5}`), append([]string{"Accept", "application/json"}, admin...)...)
	run := got["run_id"].(string)
	calls := g.want(200, "GET", "/v1/runs/"+run+"/timeline", "", admin...)["calls"].([]any)
	id := calls[0].(map[string]any)["call_id"].(string)
	for body, want := range map[string]string{
		fmt.Sprintf(`{"from_step":1,"results":{%q:"the card was declined"}}`, id):                             "the card was declined",
		fmt.Sprintf(`{"from_step":1,"results":{%q:{"status":"error","message":"no money","data":null}}}`, id): "no money",
		fmt.Sprintf(`{"from_step":1,"refused":{%q:"too dear"}}`, id):                                          "was refused: too dear",
	} {
		made := g.want(202, "POST", "/v1/runs/"+run+"/fork", body, admin...)
		if end := g.ended(made["run_id"].(string)); end["status"] != "done" {
			t.Errorf("%s: the fork is %v", body, end)
		}
		if all := strings.Join(g.texts(made["thread_id"].(string)), "\n"); !strings.Contains(all, want) || strings.Contains(all, "receipt") {
			t.Errorf("%s: the messages are %s", body, all)
		}
	}
	if n := paid.Load(); n != 1 {
		t.Errorf("paid %d times", n)
	}
	for body, want := range map[string]string{
		`{}`:                                      "from_step is missing",
		`{"from_step":7}`:                         "step is 7, want 0 to 1",
		`{"from_step":-1}`:                        "step is -1, want 0 to 1",
		`{"from_step":0,"tools":"maybe"}`:         "maybe",
		`{"from_step":0,"version":"9999"}`:        "9999",
		`{"from_step":0,"agent":"missing-agent"}`: "missing-agent",
		`{"from_step":0,"agent":"default","version":"live"}`:                        "want only one of them",
		`{"from_step":0,"model_id":"none"}`:                                         "none",
		`{"from_step":0,"overrides":{"temperature":9}}`:                             "overrides.temperature is 9, want 0 to 2",
		`{"from_step":0,"overrides":{"max_tokens":-3}}`:                             "overrides.max_tokens is -3, want 1 to",
		`{"from_step":0,"overrides":{"top_p":-1}}`:                                  "overrides.top_p is -1, want 0 to 1",
		`{"from_step":0,"overrides":{"reasoning_effort":"huge"}}`:                   "reasoning effort is",
		`{"from_step":0,"overrides":{"heat":1}}`:                                    "heat",
		`{"from_step":1,"results":{"call_9":"x"}}`:                                  "call_9",
		fmt.Sprintf(`{"from_step":1,"results":{%q:7}}`, id):                         "is not a text",
		fmt.Sprintf(`{"from_step":1,"results":{%q:"x"},"refused":{%q:""}}`, id, id): "want it in one of them",
	} {
		status, text := g.ask("POST", "/v1/runs/"+run+"/fork", body, admin...)
		if status < 400 || status > 422 || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s, want it to say %q", body, status, text, want)
		}
	}
	g.want(404, "POST", "/v1/runs/none/fork", `{"from_step":0}`, admin...)
}

// Results of calls in a fork are those of the record, byte for byte; a fork may also use nothing but fixtures.
func TestRuns_AForkKeepsTheBytesOfResults(t *testing.T) {
	t.Parallel()
	g := &rig{t: t, db: memory.NewDB(), keys: access.NewKeys(memory.NewProfile())}
	if err := g.keys.Fix(adminKey, server.Key{ID: "admin", Kind: server.AdminKey}); err != nil {
		t.Fatal(err)
	}
	g.config = func(c *registry.Config) {
		c.Tools = append(c.Tools, awaken.NewTool(awaken.ToolSpec{ID: "look"}, func(context.Context, *awaken.ToolCall, struct{}) (*awaken.ToolResult, error) {
			return &awaken.ToolResult{Status: awaken.ToolSuccess, Data: json.RawMessage(`{"zebra":1.50,"ant":{"y":10000000000000000000001,"b":[]}}`)}, nil
		}))
	}
	g.start()
	g.want(200, "PUT", "/v1/config/agents/buyer", `{"id":"buyer","model_id":"m","system_prompt":"Look."}`, admin...)
	run := g.want(200, "POST", "/v1/runs", runBody("buyer", g.id(), `RUN_TOOL look {}`), append([]string{"Accept", "application/json"}, admin...)...)["run_id"].(string)
	calls := func(run string) string {
		t.Helper()
		list, err := g.db.Handle("").(awaken.RunStore).Calls(t.Context(), run)
		if err != nil || len(list) != 1 {
			t.Fatalf("%d calls, %v", len(list), err)
		}
		return string(list[0].Result.Data)
	}
	want := calls(run)
	if !strings.HasPrefix(want, `{"zebra":1.50,"ant"`) {
		t.Fatalf("the record has %s", want)
	}
	for body, want := range map[string]string{
		`{"from_step":0}`: want,
		`{"from_step":0,"tools":"fixture","fixtures":[{"tool":"look","result":{"status":"success","data":{"zebra":2.0,"ant":1}}}]}`: `{"zebra":2.0,"ant":1}`,
	} {
		made := g.want(202, "POST", "/v1/runs/"+run+"/fork", body, admin...)["run_id"].(string)
		g.ended(made)
		if got := calls(made); got != want {
			t.Errorf("%s: the fork has %s, want %s", body, got, want)
		}
	}
	for body, want := range map[string]string{
		`{"from_step":0,"fixtures":[{"tool":"look","result":{"status":"success"}},{"tool":""}]}`: `fixtures[1].tool is empty`,
		`{"from_step":0,"fixtures":[{"tool":"look","result":{"status":"odd"}}]}`:                 `fixtures[0].result.status is "odd"`,
	} {
		if got := fmt.Sprint(g.want(400, "POST", "/v1/runs/"+run+"/fork", body, admin...)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	made := g.want(202, "POST", "/v1/runs/"+run+"/fork", `{"from_step":0,"tools":"fixture"}`, admin...)["run_id"].(string)
	g.ended(made)
	if got := calls(made); !strings.Contains(got, "not_recorded") {
		t.Errorf("without fixtures, a fork that uses nothing else has %s", got)
	}
}
