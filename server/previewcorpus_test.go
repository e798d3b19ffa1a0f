package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/llm"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/delegate"
	"github.com/awaken-go/awaken/plugin/handoff"
	"github.com/awaken-go/awaken/plugin/memory"
	"github.com/awaken-go/awaken/registry"
	"github.com/awaken-go/awaken/server/servertest"
)

// obeys is a model that makes the calls in its instructions, each "CALL tool arguments", unless the conversation has a call of that tool already.
func obeys(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	made := map[string]bool{}
	for _, m := range req.Messages.All() {
		for i := range m.ToolCalls {
			made[m.ToolCalls[i].Name] = true
		}
	}
	turn := llmtest.Turn{Text: llmtest.Text{"done"}}
	for line := range strings.Lines(req.System[0].Text) {
		what, ok := strings.CutPrefix(strings.TrimSpace(line), "CALL ")
		name, args, _ := strings.Cut(what, " ")
		if ok && !made[name] {
			turn = llmtest.Turn{Finish: llm.ToolUse, ToolCalls: append(turn.ToolCalls, llmtest.Call{ID: fmt.Sprint(name, len(turn.ToolCalls)), Name: name, Arguments: json.RawMessage(args)})}
		}
	}
	return llmtest.NewScript(turn).Stream(ctx, req)
}

// kindsOfEffects has an agent for each way in which an agent can make an effect, by name.
var kindsOfEffects = []struct{ name, agent string }{
	{"an effectful tool", `"system_prompt":"CALL pay {\"n\":1}"`},
	{"an idempotent tool", `"system_prompt":"CALL set {\"n\":1}"`},
	{"a tool that says nothing of effects, by another name", `"system_prompt":"CALL bank-pay {\"n\":1}"`},
	{"two calls at once, and one that reads", `"system_prompt":"CALL pay {\"n\":1}\nCALL set {\"n\":2}\nCALL look {\"n\":3}"`},
	{"a rule that allows it", `"system_prompt":"CALL pay {\"n\":1}","plugin_ids":["permission"],"sections":{"permission":{"default_behavior":"allow","rules":[{"tool":"*","behavior":"allow"}]}}`},
	{"a section that would make calls for real", `"system_prompt":"CALL pay {\"n\":1}","sections":{"fork":{"tools":"recorded","results":[{"tool":"other","result":{"status":"success","message":"x"}}]}}`},
	{"a delegate", `"system_prompt":"CALL agent_run_spender {\"prompt\":\"go\"}","delegates":["spender"]`},
	{"a delegate of a delegate", `"system_prompt":"CALL agent_run_manager {\"prompt\":\"go\"}","delegates":["manager"]`},
	{"an agent that takes over", `"system_prompt":"CALL handoff_to_spender {}","plugin_ids":["agent_handoff"],"sections":{"agent_handoff":{"agents":["spender"]}}`},
	{"what it remembers", `"system_prompt":"CALL memory_save {\"text\":\"I was here\"}\nCALL pay {\"n\":1}","plugin_ids":["memory"]`},
}

// previewModes are the ways in which previews treat calls: by default, read-only, and by results that the caller gives.
var previewModes = []struct{ name, calls string }{
	{"asked", ``},
	{"read-only", `"calls":{"tools":"read_only"},`},
	{"stubbed", `"calls":{"tools":"fixture","fixtures":[{"tool":"pay","result":{"status":"success","message":"stubbed"}}]},`},
}

// Thirty agents that make effects in every way make none in a preview, unless a person approves the call. Their runs are in no list, and take no version.
func TestPreview_NoAgentMakesAnEffect(t *testing.T) {
	t.Parallel()
	var effects, reads atomic.Int64
	g := newRigOf(t)
	g.config = func(c *registry.Config) {
		tool := func(id string, effect awaken.EffectClass, made *atomic.Int64, aliases ...string) awaken.Tool {
			return awaken.NewTool(awaken.ToolSpec{ID: id, Description: id, Effect: effect, Aliases: aliases}, func(context.Context, *awaken.ToolCall, struct {
				N int `json:"n"`
			}) (string, error) {
				made.Add(1)
				return "made", nil
			})
		}
		c.Tools = append(c.Tools, tool("pay", awaken.Effectful, &effects), tool("set", awaken.Idempotent, &effects), tool("look", awaken.ReadOnly, &reads),
			tool("bank-pay", awaken.Effectful, &effects, "bank/pay"))
		c.Plugins = append(c.Plugins, delegate.New(delegate.Options{}), handoff.New(nil), memory.New())
		c.Models = append(c.Models, awaken.ModelSpec{ID: "obeys", ProviderID: "obeys", UpstreamModel: "obeys", Prices: awaken.Prices{InputPrice: new(1.0), OutputPrice: new(1.0)}})
		c.Providers["obeys"] = llm.ModelFunc(obeys)
		// One is defined in code, the other by a document below.
		c.Agents = append(c.Agents, &awaken.AgentSpec{ID: "spender", ModelID: "obeys", SystemPrompt: `CALL pay {"n":1}`})
	}
	g.start(func(c *servertest.Config) { withAISDK(c) })
	g.want(200, "PUT", "/v1/config/agents/manager", `{"id":"manager","model_id":"obeys","system_prompt":"CALL agent_run_spender {\"prompt\":\"go\"}","delegates":["spender"]}`, admin...)
	version := g.want(200, "GET", "/v1/registry/versions?limit=1", "", admin...)["items"].([]any)[0].(map[string]any)["number"]
	previewed := 0
	for i, kind := range kindsOfEffects {
		for j, mode := range previewModes {
			previewed++
			thread := fmt.Sprintf("preview-%d-%d", i, j)
			agent := fmt.Sprintf(`"agent":{"id":"tried-%d","model_id":"obeys",%s},`, i, kind.agent)
			stream := g.chat(previews, thread, agent+mode.calls, "go", admin...)
			if n := effects.Swap(0); n != 0 {
				t.Errorf("%s, %s: %d effects", kind.name, mode.name, n)
			}
			if !strings.Contains(stream, "toolCallId") {
				t.Errorf("%s, %s: no call was tried: %s", kind.name, mode.name, stream)
			}
			if asks := strings.Contains(stream, "This run is a preview. Make the call of"); asks != (mode.calls == "") && !strings.Contains(kind.name, "delegate") {
				t.Errorf("%s, %s: a person is asked: %v\n%s", kind.name, mode.name, asks, stream)
			}
		}
	}
	if previewed != 30 || reads.Load() == 0 {
		t.Errorf("%d agents were previewed, %d calls read; want 30, and some", previewed, reads.Load())
	}
	// Nothing of it is among the runs, threads and versions of clients; it is listed apart.
	if runs := g.want(200, "GET", "/v1/runs?limit=200", "", admin...)["items"].([]any); len(runs) != 0 {
		t.Errorf("%d runs of previews are among the runs of clients", len(runs))
	}
	g.want(404, "GET", "/v1/threads/preview-0-0", "", admin...)
	apart := g.want(200, "GET", "/v1/previews/runs?limit=200", "", admin...)["items"].([]any)
	if len(apart) < 30 {
		t.Errorf("%d runs of previews are listed, want 30 or more", len(apart))
	}
	id := apart[0].(map[string]any)["run_id"].(string)
	g.want(200, "GET", "/v1/previews/runs/"+id, "", admin...)
	g.want(404, "GET", "/v1/runs/"+id, "", admin...)
	if now := g.want(200, "GET", "/v1/registry/versions?limit=1", "", admin...)["items"].([]any)[0].(map[string]any)["number"]; now != version {
		t.Errorf("after the previews the newest version is %v, it was %v", now, version)
	}
	// Run for real, each of them makes effects: what is above proves something.
	for i, kind := range kindsOfEffects {
		effects.Store(0)
		g.want(200, "PUT", fmt.Sprintf("/v1/config/agents/real-%d", i), fmt.Sprintf(`{"id":"real-%d","model_id":"obeys",%s}`, i, strings.Replace(kind.agent, `,"sections":{"fork":{"tools":"recorded","results":[{"tool":"other","result":{"status":"success","message":"x"}}]}}`, "", 1)), admin...)
		g.want(200, "POST", "/v1/runs", runBody(fmt.Sprintf("real-%d", i), g.id(), "go"), append([]string{"Accept", "application/json"}, admin...)...)
		if effects.Load() == 0 {
			t.Errorf("%s makes no effect for real", kind.name)
		}
	}
}

// What a person approves in a preview is made, once.
func TestPreview_MakesWhatIsApproved(t *testing.T) {
	t.Parallel()
	g, paid := payRigWith(t, withAISDK)
	const agent = `"agent":{"id":"buyer","model_id":"m","system_prompt":"Buy."},`
	stream := g.chat(previews, "t", agent, `RUN_TOOL pay {"usd":5}`, admin...)
	if paid.Load() != 0 {
		t.Fatalf("paid %d times unasked: %s", paid.Load(), stream)
	}
	call := between(stream, `"toolCallId":"`, `"`)
	if status, text := g.answers(previews, "t", agent, "pay", call, true, admin...); status != 200 || paid.Load() != 1 {
		t.Errorf("after the approval %d: paid %d times\n%s", status, paid.Load(), text)
	}
}

func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	out, _, _ := strings.Cut(rest, to)
	return out
}
