package permission_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/awaken-go/awaken"
	"github.com/awaken-go/awaken/plugin/permission"
	"github.com/awaken-go/awaken/state/profile"
)

// What a trial says is what happens: random rules, random calls, approvals kept or not.
func TestTry_IsWhatHappens(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	rule := func() permission.Rule {
		return permission.Rule{Tool: pick("*", "Bash", "Bash(npm *)", "Bash(rm *)", "read_*", "delete_file", `delete_file(path = "/a")`, `*(path ~ "/b*")`), Behavior: permission.Behavior(pick("allow", "ask", "deny"))}
	}
	seen := map[string]int{}
	for i := range 250 {
		base, cfg := permission.Config{DefaultBehavior: "ask"}, permission.Config{DefaultBehavior: permission.Behavior(pick("allow", "ask", "deny")), OnDeny: "error"}
		for range rnd.IntN(2) {
			base.Rules = append(base.Rules, rule())
		}
		cfg.Rules = []permission.Rule{}
		for range rnd.IntN(4) {
			cfg.Rules = append(cfg.Rules, rule())
		}
		section, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		tool := pick("Bash", "read_file", "delete_file")
		args := pick(`{"command":"npm install"}`, `{"command":"rm -r /"}`, `{"path":"/a"}`, `{"path":"/b/c"}`, `{}`)
		r := newRig(t, base, string(section), call(tool, args)...)
		var kept []permission.Rule
		if rnd.IntN(3) == 0 {
			kept = []permission.Rule{{Tool: pick("Bash", "read_file", `delete_file(path = "/a")`), Behavior: permission.Allow, Scope: permission.Project}}
			data, _ := json.Marshal(kept[0])
			if err := r.Profile.Set(t.Context(), "permission.rules/"+profile.AgentType("default"), kept[0].Tool, data); err != nil {
				t.Fatal(err)
			}
		}
		spec := &awaken.AgentSpec{ID: "default", PluginIDs: []string{permission.Name}, Sections: map[string]json.RawMessage{permission.Name: section}}
		try, err := permission.Try(permission.New(base), spec, kept, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := try(permission.Trial{Tool: tool, Args: json.RawMessage(args)})
		want := map[string]permission.Behavior{"made": permission.Allow, "asked": permission.Ask, "denied": permission.Deny}[r.outcome(r.Say("go"))]
		if got.Behavior != want {
			t.Fatalf("%d: %s %s under %+v and %s, kept %v: trial says %s (%+v), what happens is %s", i, tool, args, base.Rules, section, kept, got.Behavior, got.Rule, want)
		}
		if got.Rule != nil && got.Rule.Behavior != got.Behavior {
			t.Fatalf("rule %+v wins, and the behavior is %s", got.Rule, got.Behavior)
		}
		seen[string(want)]++
	}
	if len(seen) != 3 {
		t.Errorf("outcomes were %v, want all three", seen)
	}
}

// A trial names the rule that decides, where it is, and those that lose.
func TestTry_NamesRules(t *testing.T) {
	spec := &awaken.AgentSpec{ID: "a", PluginIDs: []string{permission.Name}, Sections: map[string]json.RawMessage{permission.Name: json.RawMessage(
		`{"default_behavior":"ask","rules":[{"tool":"Bash","behavior":"ask"},{"tool":"Bash(npm *)","behavior":"allow"},{"tool":"*","behavior":"ask","when":"tainted"}]}`)}}
	try, err := permission.Try(permission.New(permission.Config{Rules: []permission.Rule{{Tool: "Bash(rm *)", Behavior: permission.Deny}}}), spec,
		[]permission.Rule{{Tool: "read_file", Behavior: permission.Allow, Scope: permission.User}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	show := func(r permission.Ruling) string {
		name := func(m permission.Matched) string { return fmt.Sprint(m.Source, m.Index, " ", m.Tool) }
		out := string(r.Behavior) + " by default"
		if r.Rule != nil {
			out = string(r.Behavior) + " by " + name(*r.Rule)
		}
		for _, m := range r.Others {
			out += ", not " + name(m)
		}
		return out
	}
	for _, c := range []struct {
		tool, args string
		tainted    bool
		want       string
	}{
		{"Bash", `{"command":"npm i"}`, false, "allow by agent1 Bash(npm *), not agent0 Bash"},
		{"Bash", `{"command":"rm x"}`, false, "deny by server0 Bash(rm *), not agent0 Bash"},
		{"Bash", `{"command":"npm i"}`, true, "ask by agent2 *, not agent1 Bash(npm *), not agent0 Bash"},
		{"read_file", `{}`, false, "allow by remembered0 read_file"},
		{"other", `{}`, false, "ask by default"},
	} {
		if got := show(try(permission.Trial{Tool: c.tool, Args: json.RawMessage(c.args), Tainted: c.tainted})); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.args, got, c.want)
		}
	}
	spec.PluginIDs = nil
	if try, err = permission.Try(permission.New(permission.Config{}), spec, nil, nil); err != nil || try(permission.Trial{Tool: "x"}).Behavior != permission.Allow {
		t.Errorf("without the plugin: %v", err)
	}
	spec.PluginIDs, spec.Sections = []string{permission.Name}, map[string]json.RawMessage{permission.Name: json.RawMessage(`{"rules":[{"tool":"(","behavior":"deny"}]}`)}
	if _, err = permission.Try(permission.New(permission.Config{}), spec, nil, nil); err == nil || !strings.Contains(err.Error(), "rules[0].tool") {
		t.Errorf("error is %v, want the rule", err)
	}
}
