package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/protocol/agui"
	"github.com/awaken-go/awaken/protocol/aisdk"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server/servertest"
)

// tower is a schema of a few kilobytes whose references stand for 10^15 subschemas.
func tower() string {
	var sb strings.Builder
	sb.WriteString(`{"type":"object","allOf":[{"$ref":"#/$defs/l0"}],"$defs":{`)
	for i := range 15 {
		fmt.Fprintf(&sb, `"l%d":{"allOf":[%s]},`, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"$ref":"#/$defs/l%d"},`, i+1), 10), ","))
	}
	sb.WriteString(`"l15":{"type":"object"}}}`)
	return sb.String()
}

// inbound is one way to send input.
type inbound struct {
	path  string
	tools string // the field of tools that the client executes
	body  func(tools, messages string, thread string) string
}

var inbounds = map[string]inbound{
	"runs": {"/v1/runs", "frontend_tools", func(tools, messages, thread string) string {
		return `{"agent_id":"default","stream":false,"thread_id":"` + thread + `","frontend_tools":` + tools + `,"messages":` + messages + `}`
	}},
	"ai_sdk": {"/v1/ai-sdk/chat", "frontendTools", func(tools, messages, thread string) string {
		return `{"agentId":"default","id":"` + thread + `","frontendTools":` + tools + `,"messages":` + messages + `}`
	}},
	"ag_ui": {"/v1/ag-ui/run", "tools", func(tools, messages, thread string) string {
		return `{"agentId":"default","threadId":"` + thread + `","tools":` + tools + `,"messages":` + messages + `}`
	}},
}

const oneMessage = `[{"role":"user","id":"u1","content":"hello"}]`

// times returns a list of n items, which may contain their number as %d.
func times(n int, item string) string {
	items := make([]string, n)
	for i := range items {
		items[i] = item
		if strings.Contains(item, "%d") {
			items[i] = fmt.Sprintf(item, i)
		}
	}
	return "[" + strings.Join(items, ",") + "]"
}

// The same input passes or not, whatever the protocol, and what does not pass leaves nothing behind.
func TestAdmission_IsTheSameForEveryProtocol(t *testing.T) {
	t.Parallel()
	g := newRig(t, func(c *servertest.Config) {
		c.Routes = slices.Concat(aisdk.Routes(), agui.Routes())
		c.Limits.MessagesPerRun, c.Limits.ToolsPerRun, c.Limits.SchemaBytes, c.Limits.SchemaParts = 3, 4, 20_000, 100
	})
	const say = `{"role":"user","id":"u%d","content":"hello"}`
	const tool = `{"id":"t%d","name":"t%[1]d","parameters":{"type":"object"}}`
	for name, in := range inbounds {
		for what, tt := range map[string]struct{ tools, messages, want string }{
			"messages":   {`[]`, times(4, say), "4 messages, want at most 3"},
			"tools":      {times(5, tool), oneMessage, in.tools + " has 5 tools, want at most 4"},
			"doubled":    {times(2, `{"id":"t","name":"t"}`), oneMessage, "another tool has"},
			"nameless":   {`[{"id":"","name":""}]`, oneMessage, in.tools + "[0]"},
			"type":       {`[{"id":"t","name":"t","parameters":{"type":"nothing"}}]`, oneMessage, in.tools + "[0].parameters"},
			"tower":      {`[{"id":"t","name":"t","parameters":` + tower() + `}]`, oneMessage, in.tools + "[0].parameters: schemas have"},
			"bytes":      {`[{"id":"t","name":"t","description":"` + strings.Repeat("x", 20_000) + `"}]`, oneMessage, "bytes, want at most 20000"},
			"name":       {`[{"id":"t","name":"` + strings.Repeat("n", 600) + `"},{"id":"` + strings.Repeat("n", 600) + `","name":"` + strings.Repeat("n", 600) + `"}]`, oneMessage, in.tools + "["},
			"reserved":   {`[{"id":"final_output","name":"final_output"}]`, oneMessage, "a tool of the server"},
			"U+0000":     {`[]`, `[{"role":"user","id":"u1","content":"a\u0000b"}]`, "U+0000"},
			"tool text":  {`[{"id":"t","name":"t","description":"\u0000"}]`, oneMessage, "U+0000"},
			"references": {`[{"id":"t","name":"t","parameters":{"type":"object","$ref":"http://127.0.0.1/x"}}]`, oneMessage, in.tools + "[0].parameters"},
		} {
			thread := g.id()
			out := g.want(400, "POST", in.path, in.body(tt.tools, tt.messages, thread))
			if text, _ := out["error"].(string); !strings.Contains(text, tt.want) {
				t.Errorf("%s, %s: %v, want an error with %q", name, what, out, tt.want)
			}
			g.want(404, "GET", "/v1/threads/"+thread, "")
		}
		if status, text := g.ask("POST", in.path, in.body(times(4, tool), times(3, say), g.id())); status != 200 {
			t.Errorf("%s: what fits: %d %s", name, status, text)
		}
	}
	if list := g.want(200, "GET", "/v1/dead-letters", "", admin...)["items"].([]any); len(list) > 0 {
		t.Errorf("dead letters: %v", list)
	}
}

// References are refused for what they stand for, not for their number.
func TestAdmission_RefusesSchemasThatReferencesBlowUp(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	for _, field := range []string{`"frontend_tools":[{"id":"t","name":"t","parameters":` + tower() + `}]`, `"output_schema":` + tower()} {
		out := g.want(400, "POST", "/v1/runs", `{"agent_id":"default","messages":`+oneMessage+`,`+field+`}`)
		if text := out["error"].(string); !strings.Contains(text, "references repeat subschemas too often") {
			t.Errorf("%.40s: %v", field, out)
		}
	}
}

// What a run would fail on is refused before it becomes a run.
func TestAdmission_RefusesWhatWouldBecomeADeadLetter(t *testing.T) {
	t.Parallel()
	g := &rig{t: t, db: newDB(), keys: adminKeys(t)}
	g.config = func(c *registry.Config) {
		c.Models = append(c.Models, awaken.ModelSpec{ID: "free", ProviderID: "p", UpstreamModel: "f"})
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "unpriced", ModelID: "free"})
	}
	g.start()
	out := g.want(400, "POST", "/v1/runs", `{"agent_id":"unpriced","budget":{"run_usd":1},"messages":`+oneMessage+`}`)
	if text := out["error"].(string); !strings.Contains(text, `model "free" of agent "unpriced" has no prices`) {
		t.Errorf("got %v", out)
	}
	// Budgets hold for all runs of the rig.
	out = g.want(400, "POST", "/v1/runs", `{"agent_id":"unpriced","messages":`+oneMessage+`}`)
	if text := out["error"].(string); out["code"] != "model_unpriced" || !strings.Contains(text, `model "free" of agent "unpriced" has no prices; set them in the model's document`) {
		t.Errorf("without a budget of its own: got %v", out)
	}

	// A thread whose agent is deleted meanwhile.
	g.want(201, "POST", "/v1/config/agents", `{"id":"brief","model_id":"m"}`, admin...)
	g.want(200, "POST", "/v1/runs", `{"agent_id":"brief","thread_id":"left","stream":false,"messages":`+oneMessage+`}`)
	g.want(204, "DELETE", "/v1/config/agents/brief", "", admin...)
	for path, body := range map[string]string{
		"/v1/threads/left/messages": `{"messages":[{"role":"user","content":"still there?"}]}`,
		"/v1/threads/left/mailbox":  `{"payload":"still there?"}`,
	} {
		if out := g.want(400, "POST", path, body); out["code"] != "agent_not_found" || !strings.Contains(out["error"].(string), "brief") {
			t.Errorf("%s: %v", path, out)
		}
	}
	if list := g.want(200, "GET", "/v1/dead-letters", "", admin...)["items"].([]any); len(list) > 0 {
		t.Errorf("dead letters: %v", list)
	}
}

// Budgets hold for all runs: an agent whose model has no prices is warned about when it is written, and its runs are refused, or cost
// nothing if the operator allows that. A budget of the run's own needs prices in any case.
func TestAdmission_ModelsWithoutPrices(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		g := &rig{t: t, db: newDB(), keys: adminKeys(t), free: allowed}
		rule, runs, says := registry.PricesRequired, 400, "its runs are refused"
		if allowed {
			rule, runs, says = registry.PricesExpected, 200, "its runs are held to no budget"
		}
		g.config = func(c *registry.Config) {
			c.Pricing = rule
			c.Models = append(c.Models, awaken.ModelSpec{ID: "free", ProviderID: "p", UpstreamModel: "f"})
		}
		g.start(func(c *servertest.Config) { c.AllowUnpriced = allowed })
		for id, model := range map[string]string{"unpriced": "free", "priced": "m"} {
			resp := g.do("POST", "/v1/config/agents", `{"id":"`+id+`","model_id":"`+model+`"}`, admin...)
			_ = resp.Body.Close()
			warned := strings.Join(resp.Header["X-Awaken-Warning"], "\n")
			want := `model_unpriced: budgets hold for all runs, but model "free" has no prices: ` + says
			if resp.StatusCode != 201 || id == "unpriced" && !strings.Contains(warned, want) || id == "priced" && warned != "" {
				t.Errorf("allowed %t: agent %s: %s, warnings %q", allowed, id, resp.Status, warned)
			}
		}
		out := g.want(runs, "POST", "/v1/runs", `{"agent_id":"unpriced","stream":false,"messages":`+oneMessage+`}`)
		if !allowed && out["code"] != "model_unpriced" {
			t.Errorf("refused with %v", out)
		}
		out = g.want(400, "POST", "/v1/runs", `{"agent_id":"unpriced","budget":{"run_usd":1},"messages":`+oneMessage+`}`)
		if out["code"] != "model_unpriced" {
			t.Errorf("allowed %t: with a budget of its own: %v", allowed, out)
		}
		g.want(200, "POST", "/v1/runs", `{"agent_id":"priced","stream":false,"messages":`+oneMessage+`}`)
		if list := g.want(200, "GET", "/v1/dead-letters", "", admin...)["items"].([]any); len(list) > 0 {
			t.Errorf("allowed %t: dead letters: %v", allowed, list)
		}
	}
}

// Lists show many threads, so what is in them has a bound.
func TestAdmission_BoundsWhatAThreadHolds(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	long := strings.Repeat("x", 5000)
	made, _ := g.done()
	for _, tt := range [][3]string{
		{"POST", "/v1/threads", `{"title":"` + long + `"}`},
		{"POST", "/v1/threads", `{"resource_id":"` + long + `"}`},
		{"PATCH", "/v1/threads/" + made, `{"title":"` + long + `"}`},
		{"PATCH", "/v1/threads/" + made, `{"custom":{"a":"` + strings.Repeat("x", 70_000) + `"}}`},
	} {
		if out := g.want(400, tt[0], tt[1], tt[2]); !strings.Contains(out["error"].(string), "want at most") {
			t.Errorf("%.60s: %v", tt[2], out)
		}
	}
	for i := range 3 { // in pieces
		body := fmt.Sprintf(`{"custom":{"k%d":"%s"}}`, i, strings.Repeat("x", 25_000))
		if status, text := g.ask("PATCH", "/v1/threads/"+made, body); (status == 200) != (i < 2) {
			t.Errorf("piece %d: %d %s", i, status, text)
		}
	}
	_, _, ticket := g.waits()
	g.want(400, "POST", "/v1/threads/"+made+"/decision", fmt.Sprintf(`{"tool_call_id":%q,"action":"resume","decision_id":%q}`, ticket, long))
}

// A limit that came later keeps no thread from being changed in another respect.
func TestAdmission_OfAChangeLeavesTheRestOfAThread(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	old := &awaken.Thread{ID: "old", ResourceID: strings.Repeat("r", 600)}
	old.Metadata.Title = strings.Repeat("x", 5000)
	old.Metadata.Custom = map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("x", 70_000) + `"`)}
	if err := g.db.Handle("").(awaken.ThreadEditor).CreateThread(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	g.want(400, "PATCH", "/v1/threads/old", `{"title":"`+strings.Repeat("y", 5000)+`"}`)
	g.want(400, "PATCH", "/v1/threads/old", `{"resource_id":"`+strings.Repeat("y", 600)+`"}`)
	g.want(400, "PATCH", "/v1/threads/old", `{"custom":{"b":1}}`)
	g.want(200, "PATCH", "/v1/threads/old", `{"custom":{"a":1}}`)
	g.want(200, "PATCH", "/v1/threads/old", `{"custom":{"b":2}}`)
	g.want(200, "PATCH", "/v1/threads/old", `{"resource_id":"r"}`)
	g.want(200, "PATCH", "/v1/threads/old", `{"title":"short"}`)
}

// A page of messages has a bound in bytes too, and a larger message is a page of its own.
func TestMessages_APageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	const bound = 64 << 10
	g := newRig(t, func(c *servertest.Config) { c.Runs.PageBytes = bound })
	sizes := []int{bound / 4, bound / 2, bound / 4 * 5, 100, 100}
	var msgs []string
	for i, n := range sizes {
		msgs = append(msgs, fmt.Sprintf(`{"id":"m%d","role":"user","content":"%s"}`, i, strings.Repeat("x", n)))
	}
	g.want(200, "POST", "/v1/runs", `{"agent_id":"default","stream":false,"thread_id":"long","messages":[`+strings.Join(msgs, ",")+`]}`)
	var pages []int
	for cursor, more := "", true; more && len(pages) < 10; {
		out := g.want(200, "GET", "/v1/threads/long/messages?cursor="+cursor, "")
		pages = append(pages, len(out["messages"].([]any)))
		if more = out["has_more"].(bool); more {
			cursor = out["next_cursor"].(string)
		}
	}
	if want := []int{2, 1, 3}; !slices.Equal(pages, want) { // the last has the answer
		t.Errorf("pages have %v messages, want %v", pages, want)
	}
}

// FuzzAdmission sends bodies to every protocol: each is answered, and none becomes a dead letter.
func FuzzAdmission(f *testing.F) {
	for _, in := range inbounds {
		f.Add(in.body(`[]`, oneMessage, "t"))
		f.Add(in.body(`[{"id":"t","name":"t","parameters":{"type":"object","properties":{"a":{"$ref":"#"}}}}]`, oneMessage, ""))
	}
	f.Add(`{"agent_id":"default","stream":false,"budget":{"run_usd":1},"output_schema":{"type":"object"},"overrides":{"temperature":3},"messages":` + oneMessage + `}`)
	g := newRig(f, func(c *servertest.Config) { c.Routes = slices.Concat(aisdk.Routes(), agui.Routes()) })
	f.Fuzz(func(t *testing.T, body string) {
		g.t = t
		for name, in := range inbounds {
			status, text := g.ask("POST", in.path, body)
			if status >= 500 {
				t.Errorf("%s: %q: %d %s", name, body, status, text)
			}
			if status >= 400 {
				var out struct{ Error, Code string }
				if err := json.Unmarshal([]byte(text), &out); err != nil || out.Error == "" || out.Code == "" {
					t.Errorf("%s: %q: %s, want an error and a code", name, body, text)
				}
			}
		}
		if list := g.want(200, "GET", "/v1/dead-letters", "", admin...)["items"].([]any); len(list) > 0 {
			t.Fatalf("%q: dead letters: %v", body, list)
		}
	})
}
