package permission_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/awakentest"
	"github.com/awaken-go/awaken/engine"
	"github.com/awaken-go/awaken/llm/llmtest"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/store/memory"
)

// newTaintRig returns a rig with a tool whose results are not trusted, one that only reads, and two
// that have effects.
func newTaintRig(t *testing.T, section string, turns ...llmtest.Turn) *rig {
	t.Helper()
	r := &rig{Profile: memory.NewProfile()}
	tool := func(spec awaken.ToolSpec) awaken.Tool {
		return awaken.NewTool(spec, func(_ context.Context, c *awaken.ToolCall, _ map[string]any) (string, error) {
			r.made = append(r.made, c.Tool)
			return "done", nil
		})
	}
	r.Harness = awakentest.New(t, engine.Config{
		Agents: []*awaken.AgentSpec{{ID: engine.DefaultAgentID, PluginIDs: []string{permission.Name},
			Sections: map[string]json.RawMessage{permission.Name: json.RawMessage(section)}}},
		Plugins: []awaken.Plugin{permission.New(permission.Config{})},
		Tools: []awaken.Tool{tool(awaken.ToolSpec{ID: "fetch", Effect: awaken.ReadOnly, Untrusted: true}), tool(awaken.ToolSpec{ID: "look", Effect: awaken.ReadOnly, Egress: awaken.Egress{None: true}}),
			tool(awaken.ToolSpec{ID: "peek", Effect: awaken.ReadOnly}), tool(awaken.ToolSpec{ID: "go", Effect: awaken.ReadOnly, Egress: awaken.Egress{Hosts: []string{"go.dev"}}}),
			tool(awaken.ToolSpec{ID: "both", Egress: awaken.Egress{Hosts: []string{"go.dev", "evil.test"}}}), tool(awaken.ToolSpec{ID: "sub", Egress: awaken.Egress{Hosts: []string{"a.go.dev"}}}),
			tool(awaken.ToolSpec{ID: "put", Effect: awaken.Idempotent}), tool(awaken.ToolSpec{ID: "mail"})},
		Profile: r.Profile,
	}, turns...)
	return r
}

// script returns a model that makes calls, one after the other.
func script(tools ...string) []llmtest.Turn {
	var turns []llmtest.Turn
	for i, name := range tools {
		turns = append(turns, llmtest.Turn{ToolCalls: []llmtest.Call{{ID: fmt.Sprint("c", i+1), Name: name}}})
	}
	return append(turns, llmtest.Say("ok"))
}

// hosts returns a rule about tainted runs that allows hosts.
func hosts(behavior, host string) string {
	return fmt.Sprintf(`{"tool":"*","behavior":%q,"when":"tainted","allow_hosts":[%q]}`, behavior, host)
}

// A rule about tainted runs asks about calls that may change something or carry data out, once the run has read
// something untrusted; it takes precedence over what is allowed, not over what is denied.
func TestTainted(t *testing.T) {
	t.Parallel()
	ask := `{"tool":"*","behavior":"ask","when":"tainted"}`
	for _, tt := range []struct {
		name, section string
		calls         []string
		want          string // the calls that were made, and asked if the run waits
	}{
		{"not before", `{"default_behavior":"allow","rules":[` + ask + `]}`, []string{"mail", "put", "look"}, "mail put look"},
		{"an effect after", `{"default_behavior":"allow","rules":[` + ask + `]}`, []string{"mail", "fetch", "look", "mail"}, "mail fetch look asked"},
		{"an idempotent one too", `{"default_behavior":"allow","rules":[` + ask + `]}`, []string{"fetch", "put"}, "fetch asked"},
		{"over a rule that allows", `{"rules":[{"tool":"*","behavior":"allow"},` + ask + `]}`, []string{"fetch", "mail"}, "fetch asked"},
		{"not over one that denies", `{"rules":[{"tool":"mail","behavior":"deny"},{"tool":"*","behavior":"allow"},` + ask + `]}`, []string{"fetch", "mail", "look"}, "fetch look"},
		{"a narrower one", `{"default_behavior":"allow","rules":[{"tool":"mail","behavior":"ask","when":"tainted"}]}`, []string{"fetch", "put", "mail"}, "fetch put asked"},
		{"one that denies", `{"default_behavior":"allow","rules":[{"tool":"mail","behavior":"deny","when":"tainted"}]}`, []string{"mail", "fetch", "mail", "put"}, "mail fetch put"},
		{"a read that may carry data out", `{"default_behavior":"allow","rules":[` + ask + `]}`, []string{"peek", "fetch", "look", "peek"}, "peek fetch look asked"},
		{"a read to a host", `{"default_behavior":"allow","rules":[` + ask + `]}`, []string{"fetch", "go"}, "fetch asked"},
		{"a host that is allowed", `{"default_behavior":"allow","rules":[` + hosts("ask", "go.dev") + `]}`, []string{"fetch", "go", "peek"}, "fetch go asked"},
		{"one of two hosts", `{"default_behavior":"allow","rules":[` + hosts("ask", "go.dev") + `]}`, []string{"fetch", "both"}, "fetch asked"},
		{"a host below", `{"default_behavior":"allow","rules":[` + hosts("ask", "*.go.dev") + `]}`, []string{"fetch", "sub", "go"}, "fetch sub asked"},
		{"no host at all", `{"default_behavior":"allow","rules":[` + hosts("ask", "go.dev") + `]}`, []string{"fetch", "put"}, "fetch asked"},
		{"hosts of a rule that denies", `{"default_behavior":"allow","rules":[` + hosts("deny", "go.dev") + `]}`, []string{"fetch", "go", "both", "mail", "look"}, "fetch go look"},
		{"hosts of a rule that allows", `{"rules":[{"tool":"fetch","behavior":"allow"},` + hosts("allow", "go.dev") + `,` + ask + `]}`, []string{"fetch", "go", "sub"}, "fetch go asked"},
		{"allowed hosts need another rule that allows", `{"rules":[{"tool":"fetch","behavior":"allow"},` + hosts("ask", "go.dev") + `]}`, []string{"fetch", "go"}, "fetch asked"},
		{"an exception", `{"default_behavior":"allow","rules":[{"tool":"put","behavior":"allow","when":"tainted"},` + ask + `]}`, []string{"fetch", "put", "mail"}, "fetch put asked"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newTaintRig(t, tt.section, script(tt.calls...)...)
			rec := r.Say("go")
			got := r.made
			if rec.Result.Status == awaken.RunWaiting {
				got = append(got, "asked")
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("made %q, want %q", got, tt.want)
			}
		})
	}
}

// The question says which result tainted the run. An approval that is remembered counts for tainted
// runs; one that was remembered before does not.
func TestTainted_QuestionsAndMemory(t *testing.T) {
	t.Parallel()
	section := `{"rules":[{"tool":"fetch","behavior":"allow"},{"tool":"*","behavior":"ask","when":"tainted"}]}`
	r := newTaintRig(t, section, script("mail", "fetch", "mail", "mail")...)
	thread := json.RawMessage(`{"remember":"thread"}`)
	rec := r.Say("go")
	q := rec.Result.Waiting.Tickets[0]
	if strings.Contains(q.Reason, "untrusted") || strings.Contains(string(q.Suspension.Parameters), "tainted_by") {
		t.Errorf("a run that has read nothing is asked about as tainted: %s %s", q.Reason, q.Suspension.Parameters)
	}
	rec = r.Resume(rec.Result.RunID, q.Answer(thread))
	if rec.Result.Status != awaken.RunWaiting || strings.Join(r.made, " ") != "mail fetch" {
		t.Fatalf("made %q: what was remembered before the run was tainted counts", r.made)
	}
	q = rec.Result.Waiting.Tickets[0]
	var params struct {
		TaintedBy awaken.Taint `json:"tainted_by"`
	}
	if err := json.Unmarshal(q.Suspension.Parameters, &params); err != nil || params.TaintedBy.Tool != "fetch" || params.TaintedBy.CallID != "c2" || params.TaintedBy.RunID != rec.Result.RunID ||
		!strings.HasSuffix(q.Reason, "the result of tool 'fetch' (call c2)") {
		t.Errorf("the question is %q with %s", q.Reason, q.Suspension.Parameters)
	}
	rec = r.Resume(rec.Result.RunID, q.Answer(thread))
	if rec.Result.Status != awaken.RunDone || strings.Join(r.made, " ") != "mail fetch mail mail" {
		t.Errorf("made %q, the run is %s", r.made, rec.Result.Status)
	}
}

// Hosts are checked when the section is read, and belong to rules about tainted runs.
func TestTainted_Hosts(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		`{"tool":"*","behavior":"ask","allow_hosts":["go.dev"]}`:                             `rules[0].allow_hosts is set and when is "", want tainted`,
		`{"tool":"*","behavior":"ask","when":"tainted","allow_hosts":["go.dev","http://x"]}`: `rules[0].allow_hosts[1] is "http://x", want a host`,
	} {
		var c permission.Config
		if err := json.Unmarshal([]byte(`{"default_behavior":"ask","on_deny":"error","rules":[`+rule+`]}`), &c); err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", rule, err, want)
		}
	}
}
